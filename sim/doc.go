// Package sim builds a system under test from node programs that run in a deterministic simulation.
//
// A program has one of two styles. An event-driven [Node] has a method for each kind of event. A [Blocking] program is
// a function that sends, awaits the next message, request, timer or timeout, and may halt. These are the three
// primitives of Walker and Runciman's systematic testing of distributed systems. Neither style uses a goroutine visible
// to the engine. A blocking program is a coroutine that runs only while the engine executes a step on it.
//
// A node that crashes loses everything except its [Durable] storage.
//
// A [Cluster] is a [lockstep.System]: the description of nodes that all run the same program. A [Deployment] is the
// running system.
package sim
