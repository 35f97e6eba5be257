import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.proto.RaftProtos.NotLeaderExceptionProto;
import org.apache.ratis.proto.RaftProtos.RaftClientReplyProto;
import org.apache.ratis.proto.RaftProtos.RaftPeerProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcReplyProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.netty.NettyProtos.RaftNettyServerReplyProto;
import org.apache.ratis.proto.netty.NettyProtos.RaftNettyServerRequestProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;

/**
 * The client's library, over Netty, with some threads that each send a request, as the client of the counter's example
 * does. Two fake servers only answer that the other one leads. All pending answers arrive together. No request is ever
 * decided; the library must retry all of them repeatedly. The program reports whether a second passed without any
 * retry, and what the threads did then.
 */
public final class Deadlock {
    private static final AtomicLong answered = new AtomicLong();
    private static final int[] ports = new int[3];
    private static int threads;

    /** Arguments: an address and two ports to listen at, the number of threads, and a duration in seconds. */
    public static void main(String[] arguments) throws Exception {
        InetAddress address = InetAddress.getByName(arguments[0]);
        threads = Integer.parseInt(arguments[3]);
        List<RaftPeer> peers = new ArrayList<>();
        for (int i = 1; i <= 2; i++) {
            int me = i;
            ports[i] = Integer.parseInt(arguments[i]);
            ServerSocket at = new ServerSocket(ports[i], 50, address);
            peers.add(Api.peer(RaftPeerId.valueOf("n" + i), arguments[0] + ":" + ports[i]));
            start(() -> serve(at, me));
        }
        RaftProperties settings = new RaftProperties();
        settings.set("raft.rpc.type", "NETTY");
        RaftClient client = RaftClient.newBuilder().setProperties(settings)
                .setRaftGroup(RaftGroup.valueOf(Node.GROUP, peers)).build();
        for (int i = 0; i < threads; i++) {
            start(() -> {
                Api.send(client, Message.valueOf("INCREMENT"));
                return null;
            });
        }
        String outcome = "RETRIES";
        long before = -1;
        for (int second = 0, still = 0; second < Integer.parseInt(arguments[4]); second++) {
            Thread.sleep(1000);
            long now = answered.get();
            still = now == before ? still + 1 : 0;
            before = now;
            if (still >= 20) {
                outcome = "DEADLOCK";
                break;
            }
        }
        System.out.println(outcome + " after " + before + " answers");
        for (Map.Entry<Thread, StackTraceElement[]> e : Thread.getAllStackTraces().entrySet()) {
            for (StackTraceElement at : e.getValue()) {
                if (at.getClassName().startsWith("org.apache.ratis.netty")) {
                    System.out.println("AT " + e.getKey().getState() + " " + e.getKey().getName() + " " + at);
                }
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private interface Work {
        Object call() throws Exception;
    }

    private static void start(Work work) {
        new Thread(() -> {
            try {
                work.call();
            } catch (Exception e) {
                System.out.println("THROWN " + e);
            }
        }).start();
    }

    private static Object serve(ServerSocket at, int me) throws IOException {
        while (true) {
            Socket s = at.accept();
            s.setTcpNoDelay(true);
            start(() -> answer(s, me));
        }
    }

    /** Answers, together, the requests that arrive on a connection within some milliseconds. */
    private static Object answer(Socket s, int me) throws Exception {
        try (Socket open = s) {
            InputStream in = open.getInputStream();
            while (true) {
                ByteArrayOutputStream replies = new ByteArrayOutputStream();
                for (int i = 0; i < threads && (i == 0 || more(in)); i++) {
                    RaftNettyServerRequestProto request = RaftNettyServerRequestProto.parseDelimitedFrom(in);
                    if (request == null) {
                        return null;
                    }
                    refusal(request.getRaftClientRequest().getRpcRequest(), 3 - me).writeDelimitedTo(replies);
                    answered.incrementAndGet();
                }
                open.getOutputStream().write(replies.toByteArray());
            }
        } catch (IOException e) {
            return null; // the client has closed it
        }
    }

    private static boolean more(InputStream in) throws Exception {
        for (int i = 0; i < 5 && in.available() == 0; i++) {
            Thread.sleep(1);
        }
        return in.available() > 0;
    }

    private static RaftNettyServerReplyProto refusal(RaftRpcRequestProto to, int other) {
        RaftRpcReplyProto head = RaftRpcReplyProto.newBuilder().setRequestorId(to.getRequestorId())
                .setReplyId(to.getReplyId()).setRaftGroupId(to.getRaftGroupId()).setCallId(to.getCallId())
                .setSuccess(false).build();
        NotLeaderExceptionProto why = NotLeaderExceptionProto.newBuilder().setSuggestedLeader(RaftPeerProto.newBuilder()
                .setId(ByteString.copyFromUtf8("n" + other)).setAddress("127.0.0.1:" + ports[other])).build();
        return RaftNettyServerReplyProto.newBuilder().setRaftClientReply(
                RaftClientReplyProto.newBuilder().setRpcReply(head).setNotLeaderException(why)).build();
    }
}
