package io.github.lockstepgo.example;

import io.github.lockstepgo.client.Client;
import io.github.lockstepgo.client.Handler;
import io.github.lockstepgo.client.Message;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/** Replicas that elect leaders. They forget their votes in a crash, which is the bug. */
public final class Election implements Handler {
    private final Client client;
    private Random random = new Random();
    private int term;
    private int voted;
    private int grants;

    private Election(Client client) {
        this.client = client;
    }

    /** Takes part until the campaign ends. */
    public static void main(String[] args) throws Exception {
        Client client = Client.fromEnvironment();
        client.run(new Election(client));
    }

    @Override
    public void reset(long seed) {
        random = new Random(seed + client.node());
        stop();
    }

    @Override
    public void stop() {
        term = 0;
        voted = 0;
        grants = 0;
    }

    @Override
    public void start() {
        client.timer("election", 10 + random.nextInt(10));
    }

    @Override
    public void fire(String timer) {
        term++;
        grants = 0;
        for (int to = 1; to <= client.nodes(); to++) {
            send(to, "vote", term);
        }
        start();
    }

    @Override
    public void deliver(int from, String type, byte[] body) {
        int of = Integer.parseInt(new String(body, StandardCharsets.UTF_8));
        if (type.equals("vote") && of > voted) {
            voted = of;
            term = Math.max(term, of);
            send(from, "grant", of);
        } else if (type.equals("grant") && of == term && ++grants == client.nodes() / 2 + 1) {
            client.event("leader", Integer.toString(term));
        }
    }

    private void send(int to, String type, int of) {
        String text = Integer.toString(of);
        client.send(new Message(to, type, text.getBytes(StandardCharsets.UTF_8)).withText(text));
    }
}
