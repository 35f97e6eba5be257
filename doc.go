// Package lockstep tests implementations of consensus and replication protocols by controlling message delivery,
// faults and timers.
//
// The engine makes the choices that such a system cannot make itself: which message arrives and when, which nodes are
// cut off or crash, and when a timer fires. It explores these choices with strategies, some of which guarantee a
// probability of hitting each execution of a class. A failing run comes back short, replayable and drawn as rounds.
//
// A [Plan] names a [System], a [Strategy], a [Spec] and optionally a [Scenario]. [Explore] makes many runs of it,
// each from its own seed. In a run, the engine asks the strategy for the next step and performs it on the system.
// Then watchers, scenario and spec observe its effects, until there is a verdict. Packages above this one repeat
// recorded runs (replay), make them shorter (shrink), and rewrite them as rounds (lockstepform). They store and draw
// runs (artifact, report), and do all of this in a Go test (locksteptest).
//
// A run has an exploring stage, in which faults occur. A settling stage may follow, in which faults stop and delivery
// is fair, so that liveness can be checked ([Plan.Settle]).
//
// A run is a pure function of plan, seed and number. The same three give the same trace, byte for byte, with any
// number of workers. A strategy that learns from earlier runs is the exception: its runs also depend on them. A system
// that cannot promise this says so in its [Info]. The engine then records its runs as they happen and repeats its
// findings.
package lockstep
