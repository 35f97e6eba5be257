package io.github.lockstepgo.bftsmart;

import bftsmart.reconfiguration.util.TOMConfiguration;
import bftsmart.tom.MessageContext;
import bftsmart.tom.ServiceProxy;
import bftsmart.tom.ServiceReplica;
import bftsmart.tom.server.defaultservices.DefaultSingleRecoverable;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A replicated list of numbers on BFT-SMaRt, and a client of it. */
public final class Replica extends DefaultSingleRecoverable {
    private final List<Integer> values = new ArrayList<>();

    private Replica() {}

    /**
     * {@code server ID PORT...} is a replica that starts when other replicas listen at those ports; {@code client ID}
     * appends the numbers it reads, one on a line, and prints the answers.
     */
    public static void main(String[] arguments) throws Exception {
        int id = Integer.parseInt(arguments[1]);
        TOMConfiguration configuration = new TOMConfiguration(id, "config/system.config", "config/hosts.config");
        if (arguments[0].equals("client")) {
            client(configuration);
            return;
        }
        for (int i = 2; i < arguments.length; i++) {
            awaitListener(Integer.parseInt(arguments[i]));
        }
        Replica replica = new Replica();
        new ServiceReplica(configuration, replica, replica);
        System.out.println("UP " + id);
        if (System.getenv("LOCKSTEP_URL") != null) {
            Hand.obey();
            System.exit(0); // the engine has closed the connection
        }
    }

    private static void client(TOMConfiguration configuration) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (ServiceProxy proxy = new ServiceProxy(configuration, null, null)) {
            System.out.println("UP");
            proxy.setInvokeTimeout(3600);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                byte[] answer = proxy.invokeOrdered(ByteBuffer.allocate(4).putInt(Integer.parseInt(line)).array());
                String text = answer == null ? "none" : String.valueOf(ByteBuffer.wrap(answer).getInt());
                System.out.println("reply " + line + " " + text);
            }
        }
        System.exit(0);
    }

    /**
     * Waits until a process listens at a port. A replica that connects too early retries only after five seconds; a
     * probing connection leaves an error in the log.
     */
    private static void awaitListener(int port) throws IOException, InterruptedException {
        String wanted = String.format(":%04X ", port);
        while (true) {
            for (String table : new String[] {"/proc/net/tcp", "/proc/net/tcp6"}) {
                for (String line : Files.readAllLines(Path.of(table))) {
                    String[] fields = line.trim().split(" +");
                    if ((fields[1] + " ").contains(wanted) && fields[3].equals("0A")) {
                        return;
                    }
                }
            }
            Thread.sleep(20);
        }
    }

    @Override
    public byte[] appExecuteOrdered(byte[] command, MessageContext context) {
        int value = ByteBuffer.wrap(command).getInt();
        values.add(value);
        int consensus = context == null ? -1 : context.getConsensusId();
        Hand.executed(consensus, context == null ? 0 : context.getTimestamp(), value);
        return ByteBuffer.allocate(4).putInt(values.size()).array();
    }

    @Override
    public byte[] appExecuteUnordered(byte[] command, MessageContext context) {
        return new byte[0];
    }

    @Override
    public byte[] getSnapshot() {
        ByteBuffer state = ByteBuffer.allocate(4 * values.size());
        for (int v : values) {
            state.putInt(v);
        }
        return state.array();
    }

    @Override
    public void installSnapshot(byte[] state) {
        values.clear();
        for (ByteBuffer in = ByteBuffer.wrap(state); in.hasRemaining();) {
            values.add(in.getInt());
        }
    }
}
