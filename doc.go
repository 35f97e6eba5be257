// Package lockstep tests implementations of consensus and replication protocols.
//
// It takes over what such a system cannot control itself (which message arrives and
// when, whether a process is cut off or crashes, when a timer fires), explores those
// choices with strategies whose chance of hitting a bug is known, and hands back a
// failing run that is short, replayable and drawn as rounds.
//
// A [Plan] names a [System], a [Strategy], perhaps a [Scenario], and a [Spec]. [Explore]
// makes many runs of it, each from its own seed. In one run the engine asks the strategy
// for the next step, performs it on the system, and lets watchers, scenario and spec look
// at what it caused, until there is a verdict. Packages above repeat recorded runs
// (replay), make them shorter (shrink), rewrite them as rounds (closure), store and draw
// them (keep, report), and do all of it in a Go test (locktest).
//
// A run is a pure function of plan, seed and number: the same three give the same trace,
// byte for byte, with any number of workers. A system that cannot promise as much says so
// in its [Info]; its runs are recorded as they happen and its findings repeated.
package lockstep
