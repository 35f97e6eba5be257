// Package lockstep tests implementations of consensus and replication protocols.
//
// It takes over what such a system cannot control itself (which message arrives and
// when, whether a process is cut off or crashes, when a timer fires), explores those
// choices with strategies whose chance of hitting a bug is known, and hands back a
// failing run that is short, replayable and drawn as rounds.
//
// A [Plan] names a [System], a [Strategy], perhaps a [Scenario], and a [Spec].
// [Explore] makes many runs of a plan, each from its own seed. In one run the engine
// asks the strategy for the next step, performs it on the system, and lets scenario
// and spec look at what it caused, until there is a verdict. [Replay] repeats a
// recorded run by its choices, [Shrink] looks for a shorter one that violates the same
// property, and [Test] does all of this inside a Go test.
//
// # Determinism
//
// A run is a pure function of its plan, its seed and its number in the campaign: the
// same three give the same trace, byte for byte, on any machine and with any number of
// workers. Within a run there is no wall clock, no global random source, no goroutine
// of Lockstep's and no dependence on map order. A system that cannot promise as much
// says so in its [Info] and is recorded always.
//
// # Time
//
// Virtual time moves only with steps: to the due time of an alarm that fires, to the
// delivery time of a message that carries one, and to the At of a step that sets it.
package lockstep
