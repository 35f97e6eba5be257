// Package trace records what happened in a run: the steps that were taken, what
// each of them caused, the lock-step rounds they fell into, and the verdict.
//
// A [Trace] holds everything that is needed to read, draw and replay a run without
// the strategy that chose it. [Write] and [Read] store it as JSON lines. A file of another
// format or a newer version is refused, and every error names the line.
//
// The package imports nothing of the rest of Lockstep, so that tools which only look
// at traces stay small.
package trace
