import java.io.IOException;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.impl.RaftServerImpl;
import org.apache.ratis.server.impl.RaftServerProxy;
import org.apache.ratis.server.raftlog.RaftLog;

/** The API of Ratis 1. */
final class Api {
    private Api() {}

    static RaftPeer peer(RaftPeerId id, String address) {
        return new RaftPeer(id, address);
    }

    /** A server that recovers its stored state, or initializes its storage. */
    static RaftServer.Builder builder(boolean stored) {
        return RaftServer.newBuilder();
    }

    static RaftClientReply send(RaftClient client, Message message) throws IOException {
        return client.send(message);
    }

    private static RaftServerImpl impl(RaftServer server, RaftGroupId group) throws IOException {
        return ((RaftServerProxy) server).getImpl(group);
    }

    static RaftLog log(RaftServer server, RaftGroupId group) throws IOException {
        return impl(server, group).getState().getLog();
    }

    static boolean leads(RaftServer server, RaftGroupId group) throws IOException {
        return impl(server, group).isLeader();
    }

    static long term(RaftServer server, RaftGroupId group) throws IOException {
        return impl(server, group).getState().getCurrentTerm();
    }

    static long applied(RaftServer server, RaftGroupId group) throws IOException {
        return impl(server, group).getState().getLastAppliedIndex();
    }
}
