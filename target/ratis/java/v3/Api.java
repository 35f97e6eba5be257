import java.io.IOException;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.server.storage.RaftStorage;

/** The API since Ratis 2. */
final class Api {
    private Api() {}

    static RaftPeer peer(RaftPeerId id, String address) {
        return RaftPeer.newBuilder().setId(id).setAddress(address).build();
    }

    /** A server that recovers its stored state, or initializes its storage. */
    static RaftServer.Builder builder(boolean stored) {
        return RaftServer.newBuilder()
                .setOption(stored ? RaftStorage.StartupOption.RECOVER : RaftStorage.StartupOption.FORMAT);
    }

    static RaftClientReply send(RaftClient client, Message message) throws IOException {
        return client.io().send(message);
    }

    static RaftLog log(RaftServer server, RaftGroupId group) throws IOException {
        return server.getDivision(group).getRaftLog();
    }

    static boolean leads(RaftServer server, RaftGroupId group) throws IOException {
        return server.getDivision(group).getInfo().isLeader();
    }

    static long term(RaftServer server, RaftGroupId group) throws IOException {
        return server.getDivision(group).getInfo().getCurrentTerm();
    }

    static long applied(RaftServer server, RaftGroupId group) throws IOException {
        return server.getDivision(group).getInfo().getLastAppliedIndex();
    }
}
