import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.examples.counter.server.CounterStateMachine;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftGroupIdProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.RaftProtos.StateMachineLogEntryProto;
import org.apache.ratis.proto.RaftProtos.TermIndexProto;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;

/**
 * One server of a group of five, n1. The program calls its methods with the messages that the other four may send in
 * two terms. There is no network and no message loss, and nothing depends on time: the election timeout is minutes.
 *
 * <p>All servers have entry 0. In term 1 n2 leads, and sends entries 1 and 2 to n1 alone. In term 2 n4 and n5, which
 * have entry 0 only, elect n3. These three commit other entries 1 and 2. Then n3 reaches n1. It first sends the
 * heartbeat of a new leader: after the last entry that it had when it was elected, with its commit index. Then it sends
 * its entries. With "voted" n1 learns term 2 earlier, from n3's vote request.
 */
public final class Heartbeat {
    private static final ClientId CLIENT = ClientId.randomId();

    private final RaftServer server;
    private long calls;

    /** Arguments: an address and a port to listen at, which no client uses; a directory; and "voted", or nothing. */
    public static void main(String[] arguments) {
        try {
            Node.onlyAt(InetAddress.getByName(arguments[0]));
            Heartbeat server = new Heartbeat(arguments[0] + ":" + arguments[1], arguments[1], arguments[2]);
            server.run(Arrays.asList(arguments).contains("voted"));
            Runtime.getRuntime().halt(0);
        } catch (Throwable e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(3);
    }

    private Heartbeat(String address, String port, String directory) throws Exception {
        RaftProperties settings = new RaftProperties();
        settings.set("raft.grpc.server.host", address.split(":")[0]);
        settings.set("raft.grpc.server.port", port);
        settings.set("raft.server.storage.dir", directory);
        settings.set("raft.server.rpc.timeout.min", "10min");
        settings.set("raft.server.rpc.timeout.max", "20min");
        List<RaftPeer> peers = new ArrayList<>();
        for (int i = 1; i <= 5; i++) {
            peers.add(Api.peer(RaftPeerId.valueOf("n" + i), address));
        }
        server = Api.builder(false).setServerId(RaftPeerId.valueOf("n1"))
                .setGroup(RaftGroup.valueOf(Node.GROUP, peers)).setProperties(settings)
                .setStateMachine(new CounterStateMachine()).build();
        server.start();
    }

    private void run(boolean voted) throws Exception {
        append("n2", 1, null, 0, entry(1, 0));
        append("n2", 1, at(1, 0), 0, entry(1, 1), entry(1, 2));
        if (voted) {
            vote("n3", 2, at(1, 0));
        }
        append("n3", 2, at(1, 0), 2);
        List<LogEntryProto> log = Arrays.asList(entry(1, 0), entry(2, 1), entry(2, 2));
        long next = 1;
        for (int i = 0; i < 6; i++) { // sends n1 the entries that it requests
            AppendEntriesReplyProto reply = append("n3", 2, at(log.get((int) next - 1).getTerm(), next - 1), 2,
                    log.subList((int) next, 3).toArray(new LogEntryProto[0]));
            if (reply.getResult() == AppendEntriesReplyProto.AppendResult.SUCCESS) {
                break;
            }
            next = reply.getNextIndex();
        }
    }

    private AppendEntriesReplyProto append(String leader, long term, TermIndexProto previous, long commit,
            LogEntryProto... entries) throws Exception {
        AppendEntriesRequestProto.Builder b = AppendEntriesRequestProto.newBuilder().setServerRequest(from(leader))
                .setLeaderTerm(term).setLeaderCommit(commit).addAllEntries(Arrays.asList(entries));
        if (previous != null) {
            b.setPreviousLog(previous);
        }
        AppendEntriesReplyProto reply = server.appendEntries(b.build());
        report(String.format("AppendEntries %s term=%d previous=%s entries=%s commit=%d", leader, term,
                text(previous),
                Arrays.toString(Stream.of(entries).map(e -> e.getTerm() + ":" + e.getIndex()).toArray()), commit),
                String.format("%s term=%d next=%d", reply.getResult(), reply.getTerm(), reply.getNextIndex()));
        return reply;
    }

    private void vote(String candidate, long term, TermIndexProto last) throws Exception {
        RequestVoteReplyProto reply = server.requestVote(RequestVoteRequestProto.newBuilder()
                .setServerRequest(from(candidate)).setCandidateTerm(term).setCandidateLastEntry(last).build());
        report(String.format("RequestVote %s term=%d last=%s", candidate, term, text(last)),
                String.format("%s term=%d", reply.getServerReply().getSuccess() ? "granted" : "refused",
                        reply.getTerm()));
    }

    /**
     * Prints the request and the reply, and the state of the server after it has applied all entries that it considers
     * committed.
     */
    private void report(String said, String answered) throws Exception {
        long committed = Api.log(server, Node.GROUP).getLastCommittedIndex();
        for (int i = 0; i < 3000 && Api.applied(server, Node.GROUP) < committed; i++) {
            Thread.sleep(10);
        }
        System.out.println("STEP " + said + " | " + answered + " | " + Node.state(server));
    }

    private RaftRpcRequestProto from(String peer) {
        return RaftRpcRequestProto.newBuilder().setRequestorId(ByteString.copyFromUtf8(peer))
                .setReplyId(ByteString.copyFromUtf8("n1")).setRaftGroupId(RaftGroupIdProto.newBuilder()
                .setId(Node.GROUP.toByteString())).setCallId(calls++).build();
    }

    private static TermIndexProto at(long term, long index) {
        return TermIndexProto.newBuilder().setTerm(term).setIndex(index).build();
    }

    private static String text(TermIndexProto at) {
        return at == null ? "none" : at.getTerm() + ":" + at.getIndex();
    }

    /** An increment of the counter. */
    private static LogEntryProto entry(long term, long index) {
        return LogEntryProto.newBuilder().setTerm(term).setIndex(index)
                .setStateMachineLogEntry(StateMachineLogEntryProto.newBuilder()
                        .setLogData(ByteString.copyFromUtf8("INCREMENT")).setClientId(CLIENT.toByteString())
                        .setCallId(10 * term + index)).build();
    }
}
