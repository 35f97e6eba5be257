package io.github.lockstepgo.client;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.SubmissionPublisher;

/**
 * A replica's hold on the world: it takes orders and tells what they cause. The calls may come from any
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
    private static final String SERVICE = "/lockstep.remote.v1.Lockstep/";
    private static final int LAST = 2; // the flag of the last frame of a stream

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
            throw new IllegalStateException("LOCKSTEP_URL and LOCKSTEP_NODE are not set: the program is not run by Lockstep");
        }
        String token = System.getenv("LOCKSTEP_TOKEN");
        return new Client(URI.create(url), Integer.parseInt(node), token == null ? "" : token, Collections.emptyMap());
    }

    /** Takes orders until the engine hangs up, which is how a campaign ends. */
    public void run(Handler handler) throws IOException, InterruptedException {
        HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpRequest.BodyPublisher hello = HttpRequest.BodyPublishers.ofByteArray(Wire.frame(Wire.hello(node, info)).array());
        HttpResponse<InputStream> answer = http.send(call("Orders", hello), HttpResponse.BodyHandlers.ofInputStream());
        if (answer.statusCode() != 200) {
            throw new IOException(answer.statusCode() + ": " + Wire.text(answer.body().readAllBytes()).trim());
        }
        try (InputStream orders = answer.body();
                SubmissionPublisher<ByteBuffer> reports = new SubmissionPublisher<>(Runnable::run, 256)) {
            http.sendAsync(call("Reports", HttpRequest.BodyPublishers.fromPublisher(reports)), HttpResponse.BodyHandlers.discarding());
            while (reports.getNumberOfSubscribers() == 0) {
                Thread.sleep(1); // until the call has been made: what is published before it is lost
            }
            for (Wire.Order order = next(orders); order != null; order = next(orders)) {
                reports.submit(Wire.frame(obey(order, handler)));
            }
        }
    }

    private HttpRequest call(String procedure, HttpRequest.BodyPublisher body) {
        HttpRequest.Builder call = HttpRequest.newBuilder(url.resolve(SERVICE + procedure))
                .header("Content-Type", "application/connect+proto").POST(body);
        return token.isEmpty() ? call.build() : call.header("Authorization", "Bearer " + token).build();
    }

    /** The next order, or null when the stream has ended. */
    private static Wire.Order next(InputStream orders) throws IOException {
        byte[] head;
        try {
            head = orders.readNBytes(5);
        } catch (IOException gone) {
            return null; // the engine was ended
        }
        if (head.length < 5) {
            return null;
        }
        ByteBuffer in = ByteBuffer.wrap(head);
        int flags = in.get();
        int size = in.getInt();
        byte[] message = orders.readNBytes(size);
        if (message.length < size) {
            throw new EOFException("an order that ends in the middle");
        }
        if ((flags & LAST) != 0) {
            String end = Wire.text(message);
            if (end.contains("\"error\"")) {
                throw new IOException(end);
            }
            return null;
        }
        return new Wire.Order(message);
    }

    /** Does what an order says, and returns the report. */
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
            Wire.Writer report = new Wire.Writer().number(1, session).number(2, o.run).number(3, o.number);
            byte[] rest = effects.text(5, state).text(6, role).toBytes();
            effects = new Wire.Writer();
            state = "";
            role = "";
            byte[] head = report.toBytes();
            byte[] whole = new byte[head.length + rest.length];
            System.arraycopy(head, 0, whole, 0, head.length);
            System.arraycopy(rest, 0, whole, head.length, rest.length);
            return whole;
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
     * Tells that a thread works on what the replica was told, until the result is closed. It must be called
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

    /** Whether messages and states are wanted in words. */
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

    /** What another replica told of itself. */
    public Map<String, String> info(int node) {
        synchronized (lock) {
            return replicas.getOrDefault(node, Collections.emptyMap());
        }
    }

    /** Sends a message. */
    public void send(Message m) {
        effect(new Wire.Writer().number(2, m.to).text(3, m.type).bytes(4, m.body).number(5, m.phase).number(6, m.round).text(7, m.text));
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
