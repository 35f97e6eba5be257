// Package lockstep tests implementations of consensus and replication protocols by controlling message delivery,
// faults and timers.
//
// The engine makes the choices that such a system cannot make itself: which message arrives and when, which nodes are
// cut off or crash, and when a timer fires. It explores these choices with strategies, some of which guarantee a
// probability of hitting each execution of a class. A failing run comes back short and replayable, with a drawing.
//
// # Parts of a plan
//
// A [Plan] names a [System], a [Strategy] and a [Spec]. It may name a [Scenario] and values of [Observer], too. Each of
// these makes a second object for every worker, which acts in one run after the other:
//
//	in the plan  in a run    what it does there
//	System       Deployment  performs the steps
//	Strategy     Scheduler   chooses the next step
//	Scenario     Director    makes some of the choices before the scheduler does
//	Spec         Monitor     checks properties
//	Observer     Watcher     measures the run
//
// [Explore] makes a campaign: many runs of the plan, each from its own seed. Packages above this one repeat recorded
// runs (replay), make them shorter (shrink), and rewrite them as rounds (lockstepform). They store runs and make pages
// of them (artifact, report), and do all of this in a Go test (locksteptest).
//
// # A run
//
// A run is a sequence of steps, e.g. that a message is delivered, that a timer fires or that a node crashes. The engine
// asks the scheduler for the next step, and the deployment performs it. Then watchers, director and monitor observe its
// effects, until there is a verdict.
//
// A run has an exploring stage, in which faults occur. A settling stage may follow, so that liveness can be checked
// ([Plan].Settle): faults stop, cuts heal, crashed nodes restart, and delivery is fair.
//
// A message is in flight from its sending until it is delivered or lost. While it is in flight, it is either free, or
// held back by the scenario. The scheduler sees only free messages.
//
// The system offers a client's request, which then waits. A Request step gives a waiting request to a node. The
// scenario may reserve a waiting request: then only the scenario gives it. A scheduler gives the others.
//
// Some strategies run in lock-step rounds. In a round, all nodes send, and then each receives the messages of that
// round that are not lost. The kernel of a round is the set of nodes that hear each other in it. The other nodes are
// isolated: the messages from and to them do not arrive in the round. A phase is the sequence of rounds that a
// protocol repeats.
//
// Draws are the random numbers that a system asks for itself, e.g. for its timeouts. They are recorded with the step
// that makes them ([Source]).
//
// A run is vacuous if its scenario took no effect, so that its pass says nothing about what the scenario is for.
//
// # Determinism
//
// A run is a pure function of plan, seed and number. The same three give the same trace, byte for byte, with any
// number of workers. A strategy that learns from earlier runs is the exception: its runs also depend on them. A system
// that cannot promise this says so in its [Info]. The engine then records its runs as they happen and repeats its
// findings.
package lockstep
