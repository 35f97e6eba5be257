// Package sim makes a system under test out of node programs written for it.
//
// A program comes in one of two styles. An event-driven [Node] has a method for each
// thing that can happen to it. A [Blocking] program is a function that sends, awaits
// the next message, request, timer or time-out, and may halt, after the three primitives of Walker
// and Runciman's systematic testing of distributed systems. Both run without a
// goroutine that the engine could see: a blocking program is a coroutine that moves
// only while the engine performs a step on it.
//
// A node that crashes forgets everything but what it keeps in its [Durable] storage.
package sim
