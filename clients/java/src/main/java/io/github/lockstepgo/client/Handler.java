package io.github.lockstepgo.client;

/**
 * What a replica does at a command. A method returns when what was asked is done; where other
 * threads work on it, they say so with {@link Client#busy()}.
 */
public interface Handler {
    /** A run begins: forget everything, what is on disk, too. {@link #start()} follows. */
    default void reset(long seed) {}

    /** Start, at the beginning of a run and after a crash. */
    default void start() {}

    /** A crash: forget everything that would not survive one. */
    default void stop() {}

    /** A message arrives. */
    default void deliver(int from, String type, byte[] body) {}

    /** A timer fires. */
    default void fire(String timer) {}

    /** A client asks for something. */
    default void request(int id, String text) {}
}
