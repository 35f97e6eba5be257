package io.github.lockstepgo.bftsmart;

import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.isDeclaredBy;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import bftsmart.communication.SystemMessage;
import bftsmart.consensus.Epoch;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.LinkedBlockingQueue;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.MemberSubstitution;

/**
 * Hooks into the communication layer of BFT-SMaRt while its classes are loaded; the files on disk stay unchanged.
 * Each sent message goes to the {@link Hand} instead of the sockets. On delivery, the hand puts a message into the
 * queue that the sockets would use.
 */
public final class Agent {
    private Agent() {}

    /**
     * Called by the JVM before the program begins. With the argument {@code loopback} there are no hooks, and the
     * replica only listens on the loopback alone.
     */
    public static void premain(String arguments, Instrumentation jvm) throws ReflectiveOperationException {
        MemberSubstitution loopback = MemberSubstitution.strict()
                .constructor(isDeclaredBy(ServerSocket.class).and(takesArguments(int.class)))
                .replaceWith(Agent.class.getMethod("listen", int.class));
        AgentBuilder.Identified.Extendable layer = new AgentBuilder.Default()
                .type(named("bftsmart.communication.server.ServersCommunicationLayer"))
                .transform((b, type, loader, module, domain) -> b.visit(loopback.on(isConstructor())));
        if ("loopback".equals(arguments)) {
            layer.installOn(jvm);
            return;
        }
        layer.transform((b, type, loader, module, domain) -> b.visit(Advice.to(Send.class).on(named("send"))))
                .type(named("bftsmart.communication.MessageHandler"))
                .transform((b, type, loader, module, domain) ->
                        b.visit(Advice.to(Processed.class).on(named("processData"))))
                .type(named("bftsmart.consensus.Consensus"))
                .transform((b, type, loader, module, domain) -> b.visit(Advice.to(Decided.class).on(named("decided"))))
                .type(named("bftsmart.tom.core.Synchronizer"))
                .transform((b, type, loader, module, domain) ->
                        b.visit(Advice.to(NewEpoch.class).on(named("finalise"))))
                .installOn(jvm);
    }

    /** Listens on the loopback; the original listens on the wildcard address. */
    public static ServerSocket listen(int port) throws IOException {
        return new ServerSocket(port, 0, InetAddress.getLoopbackAddress());
    }

    /** Receives every message that a replica sends to others and to itself. */
    public static final class Send {
        private Send() {}

        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(@Advice.Argument(0) int[] targets, @Advice.Argument(1) SystemMessage message,
                @Advice.FieldValue("inQueue") LinkedBlockingQueue<SystemMessage> queue) {
            return Hand.send(targets, message, queue);
        }
    }

    /** A message was taken from the queue and handled. */
    public static final class Processed {
        private Processed() {}

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(@Advice.Argument(0) SystemMessage message) {
            Hand.processed(message);
        }
    }

    /** A consensus has a decision. The consensus ignores later decisions, such as those of a leader change. */
    public static final class Decided {
        private Decided() {}

        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(0) Epoch epoch, @Advice.FieldValue("decided") boolean already) {
            if (!already) {
                Hand.decided(epoch.getConsensus().getId(), epoch.getTimestamp(), epoch.propValue);
            }
        }
    }

    /** A leader change ended. */
    public static final class NewEpoch {
        private NewEpoch() {}

        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(0) int regency) {
            Hand.newEpoch(regency);
        }
    }
}
