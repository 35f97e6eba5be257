import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;

/**
 * Starts a ZooKeeper server inside this JVM, ends it and starts it again, on commands at a port. The JVM stays warm
 * from one incarnation of the server to the next. An error ends the JVM, or is answered with "no", so that the
 * supervisor ends it.
 */
public final class Host extends QuorumPeerMain {
    /** How long the threads of a server may take to end, in milliseconds. */
    private static final long TIMEOUT = 3000;

    private final ThreadGroup threads = new ThreadGroup("server");
    private final String settings;
    private Thread runs;
    private volatile boolean stopping;

    private Host(String settings) {
        this.settings = settings;
    }

    /** Arguments: the address and the port for commands, and the settings of the server. */
    public static void main(String[] arguments) {
        try {
            obey(arguments);
        } catch (Exception e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(3);
    }

    private static void obey(String[] arguments) throws Exception {
        ServerSocket orders = new ServerSocket(Integer.parseInt(arguments[1]), 10, InetAddress.getByName(arguments[0]));
        Host server = begin(arguments[2]);
        while (true) {
            try (Socket from = orders.accept()) {
                String order = new BufferedReader(new InputStreamReader(from.getInputStream())).readLine();
                boolean done = false;
                if ("stop".equals(order) && server != null) {
                    done = server.end();
                    server = done ? null : server;
                } else if ("start".equals(order) && server == null) {
                    server = begin(arguments[2]);
                    done = true;
                }
                from.getOutputStream().write((done ? "done\n" : "no\n").getBytes());
            }
        }
    }

    private static Host begin(String settings) {
        Host h = new Host(settings);
        h.runs = new Thread(h.threads, h::live);
        h.runs.start();
        return h;
    }

    /** Runs the server until a command ends it. If it ends on its own, the JVM ends. */
    private void live() {
        try {
            initializeAndRun(new String[] {settings});
        } catch (Throwable e) {
            if (!stopping) {
                e.printStackTrace();
            }
        }
        if (!stopping) {
            Runtime.getRuntime().halt(3);
        }
    }

    /**
     * Ends the server, and reports whether nothing of it is left. It first waits until a starting server has started,
     * because an earlier end leaves its port open.
     */
    private boolean end() throws InterruptedException {
        long until = System.nanoTime() + TIMEOUT * 1_000_000;
        while (quorumPeer == null || !quorumPeer.isAlive()) {
            if (System.nanoTime() > until || !runs.isAlive()) {
                return false;
            }
            Thread.sleep(2);
        }
        QuorumPeer peer = quorumPeer;
        stopping = true;
        peer.shutdown();
        while (runs.isAlive() || threads.activeCount() > 0) {
            if (System.nanoTime() > until) {
                return false;
            }
            if (!runs.isAlive()) {
                threads.interrupt(); // some check only every few seconds whether to end
            }
            Thread.sleep(2);
        }
        return true;
    }
}
