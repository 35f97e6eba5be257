package io.github.lockstepgo.client;

/** A message to a replica, which may be the sender. */
public final class Message {
    final int to;
    final String type;
    final byte[] body;
    int phase;
    int round;
    String text = "";

    /** A message of a type, with a body that the engine keeps and does not look at. */
    public Message(int to, String type, byte[] body) {
        this.to = to;
        this.type = type;
        this.body = body;
    }

    /** The tag, where the protocol has rounds: phases count from 1, rounds from 0. */
    public Message tagged(int phase, int round) {
        this.phase = phase;
        this.round = round;
        return this;
    }

    /** The content as text, where {@link Client#texts()} wants it. */
    public Message withText(String text) {
        this.text = text;
        return this;
    }
}
