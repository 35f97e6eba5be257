import java.lang.instrument.Instrumentation;
import java.util.UUID;

import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.matcher.ElementMatchers;

import org.apache.cassandra.service.paxos.Commit;

/**
 * Applies the change of CASSANDRA-5985 to Cassandra 2.0.0: a server that prepares a ballot and learns of an update in
 * progress proposes that update with the ballot that it has just prepared. Without the change it proposes the update
 * with the update's old ballot, which servers that promised the new one refuse.
 */
public final class Agent {
    /** The ballot that a thread has prepared last. */
    public static final ThreadLocal<UUID> PREPARED = new ThreadLocal<>();

    /** Installs the change before the server starts. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        new AgentBuilder.Default()
            .with(AgentBuilder.Listener.StreamWriting.toSystemError().withErrorsOnly())
            .type(ElementMatchers.named("org.apache.cassandra.service.StorageProxy"))
            .transform((builder, type, loader, module, domain) -> builder
                .visit(Advice.to(Prepare.class).on(ElementMatchers.named("preparePaxos")))
                .visit(Advice.to(Refresh.class).on(ElementMatchers.namedOneOf("proposePaxos", "commitPaxos"))))
            .installOn(instrumentation);
    }

    /** Records the ballot. */
    public static final class Prepare {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(0) Commit prepared) {
            PREPARED.set(prepared.ballot);
        }
    }

    /** Replaces the ballot of an earlier update by the prepared one. */
    public static final class Refresh {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(value = 0, readOnly = false) Commit proposal) {
            UUID ballot = PREPARED.get();
            if (ballot != null && !ballot.equals(proposal.ballot)) {
                proposal = Commit.newProposal(proposal.key, ballot, proposal.update);
            }
        }
    }
}
