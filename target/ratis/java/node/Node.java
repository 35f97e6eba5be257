import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.examples.counter.server.CounterStateMachine;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.raftlog.RaftLog;

/**
 * A Ratis server with the counter of its examples, or a client of such servers. It accepts commands at a port: one
 * command on each connection, answered with a line. The class Api has the differences between versions.
 */
public final class Node {
    static final RaftGroupId GROUP = RaftGroupId.valueOf(UUID.fromString("6c6f636b-7374-6570-0000-000000000001"));

    private final String id;
    private final RaftProperties settings = new RaftProperties();
    private final RaftGroup group;
    private RaftServer server;
    private volatile RaftClient client;
    private final Set<Thread> sending = ConcurrentHashMap.newKeySet();

    /**
     * Arguments: address and port for commands, "client" or the name of the server, the settings, and the peers as
     * name=address,...
     */
    public static void main(String[] arguments) {
        try {
            InetAddress address = InetAddress.getByName(arguments[0]);
            onlyAt(address);
            Node node = new Node(arguments[2], arguments[3], arguments[4]);
            ServerSocket orders = new ServerSocket(Integer.parseInt(arguments[1]), 50, address);
            node.order("start");
            while (true) {
                Socket from = orders.accept();
                if (node.server == null) { // a client accepts concurrent commands
                    new Thread(() -> node.obey(from)).start();
                } else {
                    node.obey(from);
                }
            }
        } catch (Throwable e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(3);
    }

    /**
     * Substitutes an address for the wildcard address. Servers of early versions listen on the wildcard address, and
     * have no setting for it. The method replaces the JVM's cached wildcard address.
     */
    static void onlyAt(InetAddress address) throws Exception {
        InetAddress.getByName("127.0.0.1");
        Field kept = InetAddress.class.getDeclaredField("impl");
        kept.setAccessible(true);
        Object addresses = kept.get(null);
        Field any = addresses.getClass().getDeclaredField("anyLocalAddress");
        any.setAccessible(true);
        any.set(addresses, address);
        if (!new InetSocketAddress(0).getAddress().equals(address)) {
            throw new IllegalStateException("this JVM would listen everywhere");
        }
    }

    private Node(String id, String file, String peers) throws IOException {
        this.id = id;
        Properties read = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            read.load(in);
        }
        read.forEach((key, value) -> settings.set((String) key, (String) value));
        List<RaftPeer> all = new ArrayList<>();
        for (String peer : peers.split(",")) {
            String[] is = peer.split("=");
            all.add(Api.peer(RaftPeerId.valueOf(is[0]), is[1]));
        }
        group = RaftGroup.valueOf(GROUP, all);
    }

    private void obey(Socket from) {
        try (Socket s = from) {
            String order = new BufferedReader(new InputStreamReader(s.getInputStream())).readLine();
            String answer;
            try {
                answer = order(order == null ? "" : order);
            } catch (IOException e) {
                answer = "no: " + e.toString().replace('\n', ' ');
            } catch (Exception e) { // which Ratis does not declare
                answer = "broken: " + e.toString().replace('\n', ' ');
            }
            s.getOutputStream().write((answer + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            // the requester no longer waits
        }
    }

    private String order(String what) throws Exception {
        switch (what) {
            case "start":
                start();
                return "done";
            case "stop":
                stop();
                return "done";
            case "state":
                return state(server);
            case "send":
                return send();
            case "waits":
                return waits();
            default:
                return "no: " + what + " is no order";
        }
    }

    private void start() throws IOException {
        if (id.equals("client")) {
            sending.clear();
            client = client();
        } else {
            boolean stored = new File(settings.get("raft.server.storage.dir"), GROUP.getUuid().toString()).exists();
            server = Api.builder(stored).setServerId(RaftPeerId.valueOf(id)).setGroup(group).setProperties(settings)
                    .setStateMachine(new CounterStateMachine()).build();
            server.start();
        }
    }

    private RaftClient client() {
        return RaftClient.newBuilder().setProperties(settings).setRaftGroup(group).build();
    }

    private void stop() throws IOException {
        if (client != null) {
            client.close();
        } else {
            server.close();
        }
    }

    /**
     * Sends the counter an increment, by the client that all requests share or by a separate one that it then closes.
     * Waits for the answer as long as the library does.
     */
    private String send() throws IOException {
        sending.add(Thread.currentThread());
        try (RaftClient own = settings.getBoolean("lockstep.clients.each", false) ? client() : null) {
            return send(own == null ? client : own);
        } finally {
            sending.remove(Thread.currentThread());
        }
    }

    private static String send(RaftClient by) throws IOException {
        RaftClientReply reply = Api.send(by, Message.valueOf("INCREMENT"));
        if (!reply.isSuccess()) {
            return "no: " + String.valueOf(reply).replace('\n', ' ');
        }
        byte[] content = reply.getMessage().getContent().toByteArray();
        return content.length == 4 ? String.valueOf(java.nio.ByteBuffer.wrap(content).getInt())
                : new String(content, StandardCharsets.UTF_8);
    }

    /**
     * Where in Ratis the sending threads are that started after the client: the last calls of each, latest first.
     */
    private String waits() {
        List<String> all = new ArrayList<>();
        for (Thread thread : sending) {
            all.add(Stream.of(thread.getStackTrace()).map(at -> at.getClassName() + "." + at.getMethodName())
                    .filter(at -> at.startsWith("org.apache.ratis.") && !at.contains(".thirdparty.")
                            && !at.contains("ambda") && !at.contains("LifeCycle"))
                    .map(at -> at.substring(at.lastIndexOf('.', at.lastIndexOf('.') - 1) + 1)).limit(4)
                    .collect(Collectors.joining(" < ")));
        }
        return String.join("; ", all);
    }

    /**
     * Whether the server leads, its term, how far its log is committed and applied, where it begins, and the log: term
     * and kind of each entry, and a hash of it.
     */
    static String state(RaftServer server) throws IOException {
        RaftLog log = Api.log(server, GROUP);
        StringBuilder b = new StringBuilder();
        b.append(Api.leads(server, GROUP) ? "leader " : "follower ").append(Api.term(server, GROUP));
        b.append(' ').append(log.getLastCommittedIndex());
        b.append(' ').append(Api.applied(server, GROUP));
        long first = Math.max(log.getStartIndex(), 0);
        b.append(' ').append(first);
        for (long i = first; i < log.getNextIndex(); i++) {
            LogEntryProto e = log.get(i);
            if (e == null) {
                break;
            }
            b.append(' ').append(e.getTerm()).append(kind(e))
                    .append(Integer.toHexString(java.util.Arrays.hashCode(e.toByteArray())));
        }
        return b.toString();
    }

    private static char kind(LogEntryProto e) {
        return e.hasStateMachineLogEntry() ? 's' : e.hasConfigurationEntry() ? 'c' : 'm';
    }
}
