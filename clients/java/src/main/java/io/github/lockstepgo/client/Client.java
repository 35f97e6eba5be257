package io.github.lockstepgo.client;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;

/**
 * A replica's hold on the world: it takes commands and reports what they cause. The calls may come from any
 * thread.
 *
 * <pre>{@code
 * Client client = Client.fromEnvironment();
 * client.run(new Handler() {
 *     public void deliver(int from, String type, byte[] body) {
 *         client.send(new Message(from, "pong", body));
 *     }
 * });
 * }</pre>
 */
public final class Client {
    private static final String LINE = "/lockstep.remote.v1.Lockstep/Line";

    private final URI url;
    private final int node;
    private final String token;
    private final Map<String, String> info;

    private final Object lock = new Object();
    private Wire.Writer effects = new Wire.Writer();
    private String state = "";
    private String role = "";
    private int busy;
    private int session;
    private int nodes;
    private boolean texts;
    private long now;
    private Map<Integer, Map<String, String>> replicas = Collections.emptyMap();

    /** A replica of that number, which reports to a URL; the token may be empty. */
    public Client(URI url, int node, String token, Map<String, String> info) {
        this.url = url;
        this.node = node;
        this.token = token;
        this.info = info;
    }

    /** The replica that Lockstep has started this program as. */
    public static Client fromEnvironment() {
        String url = System.getenv("LOCKSTEP_URL");
        String node = System.getenv("LOCKSTEP_NODE");
        if (url == null || node == null) {
            throw new IllegalStateException(
                    "LOCKSTEP_URL and LOCKSTEP_NODE are not set: the program is not run by Lockstep");
        }
        String token = System.getenv("LOCKSTEP_TOKEN");
        return new Client(URI.create(url), Integer.parseInt(node), token == null ? "" : token, Collections.emptyMap());
    }

    /** Takes orders until the engine hangs up, which is how a campaign ends. */
    public void run(Handler handler) throws IOException, InterruptedException {
        try (Socket socket = new Socket(url.getHost(), url.getPort())) {
            socket.setTcpNoDelay(true);
            DataInputStream orders = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            OutputStream reports = socket.getOutputStream();
            greet(orders, reports);
            for (Wire.Order order = next(orders); order != null; order = next(orders)) {
                reports.write(obey(order, handler));
            }
        }
    }

    /** Identifies the replica and asks for the connection, as an HTTP request; takes the answer. */
    private void greet(DataInputStream in, OutputStream out) throws IOException {
        byte[] hello = Wire.hello(node, info);
        String head = "POST " + LINE + " HTTP/1.1\r\nHost: " + url.getAuthority()
                + "\r\nConnection: Upgrade\r\nUpgrade: lockstep\r\n"
                + (token.isEmpty() ? "" : "Authorization: Bearer " + token + "\r\n")
                + "Content-Length: " + hello.length + "\r\n\r\n";
        ByteArrayOutputStream request = new ByteArrayOutputStream();
        request.write(head.getBytes(StandardCharsets.UTF_8));
        request.write(hello);
        out.write(request.toByteArray());
        String status = line(in);
        while (!line(in).isEmpty()) {
            continue; // headers do not matter
        }
        if (!status.startsWith("HTTP/1.1 101 ")) {
            throw new IOException(status + ": " + Wire.text(in.readAllBytes()).trim());
        }
    }

    /** A line of the answer's head. */
    private static String line(DataInputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.readUnsignedByte(); c != '\n'; c = in.readUnsignedByte()) {
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }

    /** The next order, or null when the engine has hung up. */
    private static Wire.Order next(DataInputStream orders) throws IOException {
        try {
            orders.readByte(); // 0: there are no other frames
        } catch (IOException gone) {
            return null;
        }
        byte[] message = new byte[orders.readInt()];
        orders.readFully(message);
        return new Wire.Order(message);
    }

    /** Does what an order says, and returns the report as a frame. */
    private byte[] obey(Wire.Order o, Handler h) throws InterruptedException {
        synchronized (lock) {
            now = o.now;
            if (o.kind == Wire.Order.WELCOME) {
                session = o.session;
                nodes = o.nodes;
            } else if (o.kind == Wire.Order.RESET) {
                texts = o.texts;
                replicas = o.replicas;
            } else if (o.kind == Wire.Order.START) {
                texts = o.texts;
            }
        }
        handle(o, h);
        synchronized (lock) {
            while (busy > 0) {
                lock.wait();
            }
            byte[] head = new Wire.Writer().number(1, session).number(2, o.run).number(3, o.number).toBytes();
            byte[] rest = effects.text(5, state).text(6, role).toBytes();
            effects = new Wire.Writer();
            state = "";
            role = "";
            return Wire.frame(head, rest);
        }
    }

    private static void handle(Wire.Order o, Handler h) {
        switch (o.kind) {
            case Wire.Order.RESET:
                h.reset(o.seed);
                h.start();
                break;
            case Wire.Order.START:
                h.start();
                break;
            case Wire.Order.STOP:
                h.stop();
                break;
            case Wire.Order.DELIVER:
                h.deliver(o.from, o.type, o.body);
                break;
            case Wire.Order.FIRE:
                h.fire(o.type);
                break;
            case Wire.Order.REQUEST:
                h.request(o.request, o.text);
                break;
            default: // nothing is to be done
        }
    }

    /**
     * Reports that a thread works on what the replica was asked, until the result is closed. It must be called
     * before the method of the handler returns, or by a thread that is busy already.
     */
    public AutoCloseable busy() {
        synchronized (lock) {
            busy++;
        }
        return () -> {
            synchronized (lock) {
                busy--;
                lock.notifyAll();
            }
        };
    }

    /** The replica's number, from 1. */
    public int node() {
        return node;
    }

    /** The number of replicas. */
    public int nodes() {
        synchronized (lock) {
            return nodes;
        }
    }

    /** Whether messages and states are wanted as text. */
    public boolean texts() {
        synchronized (lock) {
            return texts;
        }
    }

    /** The time of the run. */
    public long now() {
        synchronized (lock) {
            return now;
        }
    }

    /** What another replica reported of itself. */
    public Map<String, String> info(int node) {
        synchronized (lock) {
            return replicas.getOrDefault(node, Collections.emptyMap());
        }
    }

    /** Sends a message. */
    public void send(Message m) {
        effect(new Wire.Writer().number(2, m.to).text(3, m.type).bytes(4, m.body)
                .number(5, m.phase).number(6, m.round).text(7, m.text));
    }

    /** Starts a timer; one of the same name is replaced. */
    public void timer(String name, long after) {
        effect(new Wire.Writer().number(1, 1).text(3, name).number(8, after));
    }

    /** Stops a timer. */
    public void cancel(String name) {
        effect(new Wire.Writer().number(1, 2).text(3, name));
    }

    /** Reports something observable. */
    public void event(String type, String text) {
        effect(new Wire.Writer().number(1, 3).text(3, type).text(7, text));
    }

    /** Puts the replica's state into a few words. */
    public void state(String text) {
        synchronized (lock) {
            state = text;
        }
    }

    /** Names the part that the replica plays. */
    public void role(String name) {
        synchronized (lock) {
            role = name;
        }
    }

    private void effect(Wire.Writer effect) {
        synchronized (lock) {
            effects.message(4, effect.toBytes());
        }
    }
}
