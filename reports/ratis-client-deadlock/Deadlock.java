import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;

/**
 * Four threads send a request each by one client of Ratis over Netty, as the threads of the library's counter example
 * do. Two servers, which are sockets of this program, answer that the other one leads. The client must retry every
 * request. Instead all of its threads stop.
 *
 * <p>With -control each thread has a client of its own. The exit status is 1 if no request is retried for 20 seconds.
 */
public final class Deadlock {
    private static final int THREADS = 4;
    private static final AtomicLong answered = new AtomicLong();
    private static final ServerSocket[] servers = new ServerSocket[3];

    public static void main(String[] arguments) throws Exception {
        boolean control = Arrays.asList(arguments).contains("-control");
        List<RaftPeer> peers = new ArrayList<>();
        for (int i = 1; i <= 2; i++) {
            servers[i] = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
            peers.add(new RaftPeer(RaftPeerId.valueOf("n" + i), address(i)));
        }
        for (int i = 1; i <= 2; i++) {
            int me = i;
            start(() -> serve(me));
        }
        System.out.println("two servers answer each request that the other one leads");
        RaftClient shared = client(peers);
        for (int i = 0; i < THREADS; i++) {
            RaftClient client = control ? client(peers) : shared;
            start(() -> client.send(Message.valueOf("INCREMENT")));
        }
        System.out.println(THREADS + " threads send a request each, by " + (control ? "a client each" : "one client"));
        boolean stopped = stops(60, 20);
        System.out.println(stopped ? "no request was sent to a server for 20 seconds"
                : "after 60 seconds requests are still sent to the servers");
        if (stopped) {
            waiting();
        }
        System.out.println(stopped ? "BUG: the client does not retry" : "OK: the client retries");
        System.out.flush();
        Runtime.getRuntime().halt(stopped ? 1 : 0); // threads of the library cannot be ended
    }

    /** Reports whether the servers got no request for some seconds, within a time limit. */
    private static boolean stops(int within, int seconds) throws InterruptedException {
        long before = -1;
        for (int second = 0, still = 0; second < within; second++) {
            Thread.sleep(1000);
            long now = answered.get();
            still = now == before ? still + 1 : 0;
            before = now;
            if (still >= seconds) {
                return true;
            }
        }
        return false;
    }

    /** Prints the deadlock: an event loop waits for a lock, and the holder of that lock for an event loop. */
    private static void waiting() {
        ThreadInfo[] all = ManagementFactory.getThreadMXBean().dumpAllThreads(true, true);
        for (ThreadInfo loop : all) {
            for (ThreadInfo holder : all) {
                if (in(loop, "pollReply") && in(holder, "close") && loop.getLockOwnerId() == holder.getThreadId()) {
                    System.out.println("an event loop is in NettyRpcProxy.Connection.pollReply, "
                            + loop.getThreadState() + " by the lock of the connection");
                    System.out.println("a thread with that lock is in NettyRpcProxy.Connection.close, "
                            + holder.getThreadState() + " for " + loopOf(holder));
                    return;
                }
            }
        }
    }

    private static boolean in(ThreadInfo thread, String method) {
        return Arrays.stream(thread.getStackTrace()).anyMatch(at -> at.getMethodName().equals(method)
                && at.getClassName().endsWith("NettyRpcProxy$Connection"));
    }

    /** Says what a thread waits for, by the method of Netty that it is in. */
    private static String loopOf(ThreadInfo thread) {
        return Arrays.stream(thread.getStackTrace()).anyMatch(at -> at.getClassName().endsWith("DefaultChannelPromise"))
                ? "an event loop to close the channel" : "something else";
    }

    private static String address(int i) {
        return "127.0.0.1:" + servers[i].getLocalPort();
    }

    private static RaftClient client(List<RaftPeer> peers) {
        RaftProperties settings = new RaftProperties();
        settings.set("raft.rpc.type", "NETTY");
        return RaftClient.newBuilder().setProperties(settings)
                .setRaftGroup(RaftGroup.valueOf(RaftGroupId.randomId(), peers)).build();
    }

    private interface Work {
        Object call() throws Exception;
    }

    private static void start(Work work) {
        Thread t = new Thread(() -> {
            try {
                work.call();
            } catch (Exception e) {
                System.out.println("a thread ends with " + e);
            }
        });
        t.setDaemon(true);
        t.start();
    }

    private static Object serve(int me) throws IOException {
        while (true) {
            Socket s = servers[me].accept();
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
                for (int i = 0; i < THREADS && (i == 0 || more(in)); i++) {
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
                .setId(ByteString.copyFromUtf8("n" + other)).setAddress(address(other))).build();
        return RaftNettyServerReplyProto.newBuilder().setRaftClientReply(
                RaftClientReplyProto.newBuilder().setRpcReply(head).setNotLeaderException(why)).build();
    }
}
