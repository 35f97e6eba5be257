package io.github.lockstepgo.bftsmart;

import bftsmart.communication.SystemMessage;
import bftsmart.consensus.messages.ConsensusMessage;
import bftsmart.statemanagement.SMMessage;
import bftsmart.tom.leaderchange.LCMessage;
import io.github.lockstepgo.client.Client;
import io.github.lockstepgo.client.Handler;
import io.github.lockstepgo.client.Message;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The engine's control of a replica: messages that the replica sends go to the engine, and the engine delivers
 * messages to the replica. Until the engine begins a run, the replica's own sockets carry all messages, so that it
 * can start. They always carry state transfer.
 *
 * <p>The replica is quiescent when it has handled every delivered message, and nothing was sent and nothing happened
 * for a while: {@code -Dlockstep.silence}, in milliseconds.
 */
public final class Hand implements Handler {
    private static final long SILENCE = Long.getLong("lockstep.silence", 10) * 1_000_000;
    private static final int HANDLE = 4; // bytes of a number
    private static final Hand HAND = new Hand();

    private final Set<SystemMessage> pending = Collections.newSetFromMap(new IdentityHashMap<>());
    private final List<SystemMessage> own = new ArrayList<>(); // messages of the replica to itself
    private Client client; // null until a run has begun
    private LinkedBlockingQueue<SystemMessage> queue; // of the replica
    private AutoCloseable busy; // null while the replica is quiescent
    private long last; // when something happened

    private Hand() {}

    /** Executes the engine's orders until it closes the connection. */
    static void obey() throws IOException, InterruptedException {
        Client client = Client.fromEnvironment();
        Thread silence = new Thread(HAND::watch, "silence");
        silence.setDaemon(true);
        silence.start();
        client.run(new Handler() {
            @Override
            public void start() {
                HAND.begin(client);
            }

            @Override
            public void deliver(int from, String type, byte[] body) {
                HAND.deliver(from, type, body);
            }
        });
    }

    private synchronized void begin(Client c) {
        client = c;
        active();
    }

    /** Records activity: the replica is not quiescent for a while. */
    private synchronized void active() {
        last = System.nanoTime();
        if (busy == null) {
            busy = client.busy();
            notifyAll();
        }
    }

    /** Reports when the replica has become quiescent. */
    private synchronized void watch() {
        try {
            while (true) {
                long left = busy == null ? Long.MAX_VALUE : last + SILENCE - System.nanoTime();
                if (busy == null || !pending.isEmpty() && left <= 0) {
                    wait();
                } else if (left > 0) {
                    wait(left / 1_000_000 + 1);
                } else {
                    AutoCloseable done = busy;
                    busy = null;
                    done.close();
                }
            }
        } catch (Exception e) { // of wait, which no thread interrupts, and close, which does not throw
            throw new IllegalStateException(e);
        }
    }

    /** Intercepts a message of the replica; returns whether it did. */
    public static boolean send(int[] targets, SystemMessage message, LinkedBlockingQueue<SystemMessage> queue) {
        return HAND.take(targets, message, queue);
    }

    private synchronized boolean take(int[] targets, SystemMessage message, LinkedBlockingQueue<SystemMessage> to) {
        queue = to;
        if (client == null || message instanceof SMMessage) {
            return false;
        }
        active();
        byte[] body = serialized(message);
        for (int target : targets) {
            byte[] sent = body;
            if (target + 1 == client.node()) {
                own.add(message);
                sent = ByteBuffer.allocate(body.length + HANDLE).put(body).putInt(own.size()).array();
            }
            client.send(tagged(message, new Message(target + 1, type(message), sent)));
        }
        return true;
    }

    /** Delivers a message to the replica, as its sockets would. */
    @Override
    public synchronized void deliver(int from, String type, byte[] body) {
        active();
        SystemMessage message = from == client.node() ? own(body) : deserialized(body);
        message.authenticated = true;
        pending.add(message);
        queue.add(message);
    }

    /**
     * A message of the replica to itself. Its serialization is incomplete. Delivery therefore returns the same object,
     * identified by a number after its bytes, unless a step has replaced the message.
     */
    private SystemMessage own(byte[] body) {
        ByteBuffer in = ByteBuffer.wrap(body);
        SystemMessage message = own.get(in.getInt(body.length - HANDLE) - 1);
        byte[] bytes = Arrays.copyOf(body, body.length - HANDLE);
        return Arrays.equals(bytes, serialized(message)) ? message : deserialized(bytes);
    }

    /** A message has been handled. */
    public static void processed(SystemMessage message) {
        synchronized (HAND) {
            if (HAND.pending.remove(message)) {
                HAND.active();
                HAND.notifyAll();
            }
        }
    }

    /** A consensus has a decision. */
    public static void decided(int consensus, int epoch, byte[] value) {
        String text = value == null ? "none" : digest(value);
        event("Decided", "consensus=" + consensus + " epoch=" + epoch + " value=" + text);
    }

    /** A leader change ended. */
    public static void newEpoch(int regency) {
        event("NewEpoch", "epoch=" + regency);
    }

    /** The replica's state machine has executed a request, of a batch with a timestamp. */
    static void executed(int consensus, long time, int value) {
        String text = "consensus=" + consensus + " time=" + time + " value=" + value;
        System.out.println("Executed " + text);
        event("Executed", text);
    }

    private static void event(String type, String text) {
        synchronized (HAND) {
            if (HAND.client != null) {
                HAND.active();
                HAND.client.event(type, text);
            }
        }
    }

    /** A few digits that distinguish values. */
    private static String digest(byte[] value) {
        long hash = 0xcbf29ce484222325L;
        for (byte b : value) {
            hash = (hash ^ (b & 0xff)) * 0x100000001b3L;
        }
        return Long.toHexString(hash);
    }

    private static final String[] CONSENSUS = {"PROPOSE", "WRITE", "ACCEPT"};
    private static final int PROPOSE = 44781;

    /** The name of a message. */
    private static String type(SystemMessage message) {
        if (message instanceof ConsensusMessage) {
            return CONSENSUS[((ConsensusMessage) message).getType() - PROPOSE];
        }
        if (message instanceof LCMessage) {
            switch (((LCMessage) message).getType()) {
                case 3: return "STOP";
                case 4: return "STOPDATA";
                case 5: return "SYNC";
                default: return "TIMEOUT"; // which a replica sends to itself
            }
        }
        return message.getClass().getSimpleName();
    }

    /**
     * The phase of a message: a consensus and an epoch of it. Messages that lead to an epoch belong to the end of the
     * previous one.
     */
    private static Message tagged(SystemMessage message, Message m) {
        if (message instanceof ConsensusMessage) {
            ConsensusMessage c = (ConsensusMessage) message;
            return m.tagged(Math.max(0, c.getNumber()) + c.getEpoch() + 1, c.getType() - PROPOSE);
        }
        if (message instanceof LCMessage) {
            int type = ((LCMessage) message).getType();
            return m.tagged(Math.max(1, ((LCMessage) message).getReg()), type >= 3 && type <= 5 ? type : 3);
        }
        return m;
    }

    private static byte[] serialized(SystemMessage message) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(message);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static SystemMessage deserialized(byte[] body) {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(body))) {
            return (SystemMessage) in.readObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
