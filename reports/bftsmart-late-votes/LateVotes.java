import bftsmart.consensus.messages.ConsensusMessage;
import bftsmart.consensus.messages.MessageFactory;
import bftsmart.reconfiguration.util.TOMConfiguration;
import bftsmart.tom.MessageContext;
import bftsmart.tom.ServiceProxy;
import bftsmart.tom.ServiceReplica;
import bftsmart.tom.server.defaultservices.DefaultSingleRecoverable;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.ObjectInputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Four unmodified replicas of BFT-SMaRt, each in a JVM of its own, and a client that sends one request. All bytes
 * between replicas pass this program. It delays votes of epoch 0 until the replicas have changed to epoch 1. No message
 * is lost, and no replica stops. The replicas count the late votes, and replicas 0 and 1 decide different batches in
 * the same consensus.
 *
 * <p>With -control no message is delayed. The exit status is 1 if two replicas decide different batches. Timers are
 * real, so the program makes up to five attempts.
 */
public final class LateVotes {
    private static final int REPLICAS = 4;
    private static final int CLIENT = 1001;
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    private static final PrintStream out = System.out;
    private static boolean control;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("replica")) {
            replica(Integer.parseInt(arguments[1]));
            return;
        }
        System.setOut(new PrintStream(OutputStream.nullOutputStream())); // the client's library prints connections
        System.setErr(System.out);
        control = Arrays.asList(arguments).contains("-control");
        out.println("four replicas run, and a client sends one request: append 1");
        out.println(control ? "no message is delayed"
                : "votes of epoch 0 arrive after the replicas have changed to epoch 1, ACCEPT at replica 0 alone");
        boolean differ = false;
        for (int attempt = 0; attempt < (control ? 1 : 5) && !differ; attempt++) {
            try (Cluster cluster = new Cluster()) {
                differ = cluster.run();
            }
        }
        if (differ) {
            out.println("replicas 0 and 1 execute the request in consensus 0, in batches with different times");
            out.println("BUG: two replicas decide different batches");
        } else {
            out.println(control ? "all replicas execute the request in consensus 0, in batches with the same time"
                    : "no two replicas executed the request with different times");
            out.println("OK: the replicas decide the same batch");
        }
        out.flush();
        Runtime.getRuntime().halt(differ ? 1 : 0); // threads of the client's library cannot be ended
    }

    /** Is a replica: it prints UP, and then a line for each request that it executes. */
    private static void replica(int id) throws Exception {
        onlyLoopback();
        ListOfNumbers list = new ListOfNumbers();
        new ServiceReplica(new TOMConfiguration(id, "config/system.config", "config/hosts.config"), list, list);
        System.out.println("UP");
    }

    /** Has replicas, which listen on the wildcard address, listen on the loopback. */
    private static void onlyLoopback() throws Exception {
        Field kept = InetAddress.class.getDeclaredField("impl");
        kept.setAccessible(true);
        Field any = kept.get(null).getClass().getDeclaredField("anyLocalAddress");
        any.setAccessible(true);
        any.set(kept.get(null), LOOPBACK);
    }

    /** The state of a replica. */
    private static final class ListOfNumbers extends DefaultSingleRecoverable {
        private final List<Byte> values = new ArrayList<>();

        @Override
        public synchronized byte[] appExecuteOrdered(byte[] command, MessageContext context) {
            values.add(command[0]);
            System.out.println("EXECUTED " + (context == null ? "without consensus"
                    : context.getConsensusId() + " " + context.getTimestamp()));
            return new byte[] {(byte) values.size()};
        }

        @Override
        public byte[] appExecuteUnordered(byte[] command, MessageContext context) {
            return new byte[0];
        }

        @Override
        public synchronized byte[] getSnapshot() {
            byte[] state = new byte[values.size()];
            for (int i = 0; i < state.length; i++) {
                state[i] = values.get(i);
            }
            return state;
        }

        @Override
        public synchronized void installSnapshot(byte[] state) {
            values.clear();
            for (byte b : state) {
                values.add(b);
            }
        }
    }

    /** Four replicas and what they printed. */
    private static final class Cluster implements AutoCloseable {
        private final Path dir = Files.createTempDirectory("replicas");
        private final int[] ports = new int[REPLICAS];
        private final List<Process> processes = new ArrayList<>();
        private final List<List<String>> printed = new ArrayList<>();
        private final List<ServerSocket> proxies = new ArrayList<>();
        private ServiceProxy client;
        private final List<Delayed> delayed = new ArrayList<>();
        private final Set<Integer> changed = new HashSet<>(); // replicas that have voted in epoch 1

        Cluster() throws IOException {}

        /** Reports whether replicas 0 and 1, or with -control any two, executed the request in different batches. */
        boolean run() throws Exception {
            for (int i = 0; i < REPLICAS; i++) {
                ports[i] = freePort();
            }
            for (int i = 0; i < REPLICAS; i++) {
                start(i);
            }
            for (int i = 0; i < REPLICAS; i++) {
                await(i, "UP", 1, 120);
            }
            Thread.sleep(2000); // the replicas connect
            TOMConfiguration configuration = configuration("client", CLIENT, ports);
            client = new ServiceProxy(configuration, null, null);
            client.setInvokeTimeout(3600);
            background(() -> client.invokeOrdered(new byte[] {1}));
            for (int i = 0; i < (control ? REPLICAS : 2); i++) {
                await(i, "EXECUTED", 1, 30);
            }
            Set<String> batches = new LinkedHashSet<>();
            for (int i = 0; i < (control ? REPLICAS : 2); i++) {
                List<String> executed = lines(i, "EXECUTED");
                if (executed.isEmpty() || !executed.get(0).startsWith("0 ")) {
                    if (control) {
                        throw new IllegalStateException("a replica did not execute the request in consensus 0");
                    }
                    return false;
                }
                batches.add(executed.get(0));
            }
            return batches.size() > 1;
        }

        private static int freePort() throws IOException {
            while (true) {
                try (ServerSocket one = new ServerSocket(0, 1, LOOPBACK);
                        ServerSocket next = new ServerSocket(one.getLocalPort() + 1, 1, LOOPBACK)) {
                    return one.getLocalPort();
                } catch (IOException | IllegalArgumentException e) {
                    // the next port is in use
                }
            }
        }

        /** Starts a replica. The higher of two replicas connects to the lower, by way of a proxy. */
        private void start(int id) throws IOException {
            int[] hosts = ports.clone();
            for (int low = 0; low < id; low++) {
                hosts[low] = freePort();
                ServerSocket at = new ServerSocket(hosts[low] + 1, 50, LOOPBACK);
                proxies.add(at);
                int to = low;
                background(() -> accept(at, id, to));
            }
            configuration("r" + id, id, hosts);
            Process p = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-Xmx128m",
                    "--add-opens=java.base/java.net=ALL-UNNAMED", "-cp", classes(), "LateVotes", "replica", "" + id)
                    .directory(dir.resolve("r" + id).toFile()).redirectErrorStream(true).start();
            processes.add(p);
            List<String> lines = new ArrayList<>();
            printed.add(lines);
            background(() -> {
                BufferedReader in = new BufferedReader(new InputStreamReader(p.getInputStream()));
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    synchronized (lines) {
                        lines.add(line);
                    }
                    pass(); // what waits for an execution
                }
                return null;
            });
        }

        /** Returns the class path of this program, whatever loaded it. */
        private static String classes() {
            Set<String> all = new LinkedHashSet<>();
            for (String name : new String[] {"LateVotes", "bftsmart.tom.ServiceReplica", "io.netty.channel.Channel",
                "org.slf4j.Logger", "org.slf4j.impl.StaticLoggerBinder", "org.apache.commons.codec.binary.Base64"}) {
                try {
                    CodeSource source = Class.forName(name).getProtectionDomain().getCodeSource();
                    all.add(Path.of(source.getLocation().toURI()).toString());
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
            return String.join(File.pathSeparator, all);
        }

        private TOMConfiguration configuration(String name, int id, int[] hosts) throws IOException {
            Path config = Files.createDirectories(dir.resolve(name).resolve("config"));
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < REPLICAS; i++) {
                text.append(i).append(" 127.0.0.1 ").append(hosts[i]).append('\n');
            }
            Files.writeString(config.resolve("hosts.config"), text);
            Files.writeString(config.resolve("system.config"), SETTINGS);
            return new TOMConfiguration(id, config + "/system.config", config + "/hosts.config");
        }

        private List<String> lines(int replica, String kind) {
            List<String> all = printed.get(replica);
            synchronized (all) {
                return all.stream().filter(l -> l.startsWith(kind)).map(l -> l.substring(kind.length()).trim())
                        .collect(Collectors.toList());
            }
        }

        private void await(int replica, String kind, int number, int seconds) throws InterruptedException {
            for (int i = 0; i < 20 * seconds && lines(replica, kind).size() < number; i++) {
                Thread.sleep(50);
            }
        }

        private Object accept(ServerSocket at, int high, int low) throws Exception {
            while (true) {
                Socket from = at.accept();
                Socket to = dial(ports[low] + 1);
                background(() -> pass(from, to, low, true));
                background(() -> pass(to, from, high, false));
            }
        }

        /** Connects to a replica when it listens. */
        private static Socket dial(int port) throws InterruptedException {
            while (true) {
                try {
                    return new Socket(LOOPBACK, port);
                } catch (IOException e) {
                    Thread.sleep(50);
                }
            }
        }

        /** Passes the bytes of a connection: its beginning as it is, and then message by message. */
        private Object pass(Socket from, Socket to, int receiver, boolean opens) throws IOException {
            try (Socket a = from; Socket b = to) {
                DataInputStream in = new DataInputStream(from.getInputStream());
                DataOutputStream out = new DataOutputStream(to.getOutputStream());
                to.setTcpNoDelay(true);
                if (opens) {
                    out.writeInt(in.readInt()); // the number of the replica that connects
                }
                out.write(block(in, 0)); // a key
                out.write(block(in, 0)); // and its signature
                while (true) {
                    byte[] message = block(in, 1); // without authentication a zero follows
                    pass(new Delayed(message, out, receiver));
                }
            }
        }

        /** Passes a message, or delays it, and passes the messages that need not wait any longer. */
        private synchronized void pass(Delayed message) throws IOException {
            if (message.vote != null && message.vote.getType() == MessageFactory.WRITE
                    && message.vote.getEpoch() == 1) {
                changed.add(message.vote.getSender());
            }
            delayed.add(message);
            pass();
        }

        private synchronized void pass() throws IOException {
            for (Iterator<Delayed> all = delayed.iterator(); all.hasNext();) {
                Delayed d = all.next();
                if (!waits(d)) {
                    d.to.write(d.bytes);
                    all.remove();
                }
            }
        }

        private boolean waits(Delayed d) {
            if (control || d.vote == null) {
                return false;
            }
            switch (d.vote.getType()) {
                case MessageFactory.WRITE:
                    return d.vote.getEpoch() == 0 && changed.size() < REPLICAS;
                case MessageFactory.ACCEPT:
                    return d.vote.getEpoch() == 0 ? d.receiver != 0 : lines(0, "EXECUTED").isEmpty();
                default:
                    return false;
            }
        }

        /** Reads a length, so many bytes, and some more. */
        private static byte[] block(DataInputStream in, int more) throws IOException {
            int n = in.readInt();
            byte[] all = ByteBuffer.allocate(4 + n + more).putInt(n).array();
            in.readFully(all, 4, n + more);
            return all;
        }

        @Override
        public void close() throws Exception {
            if (client != null) {
                client.close();
            }
            for (Process p : processes) {
                p.destroyForcibly().waitFor();
            }
            for (ServerSocket s : proxies) {
                s.close();
            }
            try (Stream<Path> files = Files.walk(dir)) {
                files.sorted(Comparator.reverseOrder()).forEach(f -> f.toFile().delete());
            }
        }
    }

    /** A message on its way. */
    private static final class Delayed {
        private final byte[] bytes;
        private final DataOutputStream to;
        private final int receiver;
        private final ConsensusMessage vote; // null: another message

        Delayed(byte[] bytes, DataOutputStream to, int receiver) throws IOException {
            this.bytes = bytes;
            this.to = to;
            this.receiver = receiver;
            ByteArrayInputStream body = new ByteArrayInputStream(bytes, 4, bytes.length - 5);
            try (ObjectInputStream in = new ObjectInputStream(body)) {
                Object m = in.readObject();
                vote = m instanceof ConsensusMessage ? (ConsensusMessage) m : null;
            } catch (ClassNotFoundException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private interface Work {
        Object call() throws Exception;
    }

    private static void background(Work work) {
        Thread t = new Thread(() -> {
            try {
                work.call();
            } catch (Exception e) {
                // the replicas have ended
            }
        });
        t.setDaemon(true);
        t.start();
    }

    /** Messages are neither signed nor authenticated, and replicas write nothing to disk. */
    private static final String SETTINGS = String.join("\n",
            "system.communication.useSenderThread = true",
            "system.communication.defaultkeys = true",
            "system.communication.useMACs = 0",
            "system.communication.useSignatures = 0",
            "system.communication.inQueueSize = 500000",
            "system.communication.outQueueSize = 500000",
            "system.servers.num = 4",
            "system.servers.f = 1",
            "system.initial.view = 0,1,2,3",
            "system.ttp.id = 7002",
            "system.bft = true",
            "system.debug = 0",
            "system.shutdownhook = false",
            "system.totalordermulticast.maxbatchsize = 400",
            "system.totalordermulticast.nonces = 10",
            "system.totalordermulticast.verifyTimestamps = false",
            "system.totalordermulticast.state_transfer = true",
            "system.totalordermulticast.highMark = 10000",
            "system.totalordermulticast.revival_highMark = 10",
            "system.totalordermulticast.timeout_highMark = 200",
            "system.totalordermulticast.log = true",
            "system.totalordermulticast.log_parallel = false",
            "system.totalordermulticast.log_to_disk = false",
            "system.totalordermulticast.sync_log = false",
            "system.totalordermulticast.checkpoint_period = 1000",
            "system.totalordermulticast.global_checkpoint_period = 120000",
            "system.totalordermulticast.checkpoint_to_disk = false",
            "system.totalordermulticast.sync_ckp = false",
            "system.totalordermulticast.timeout = 1000");
}
