// Package trace records what happened in a run: its steps, their effects, its lock-step rounds, and the verdict.
//
// A [Trace] holds everything that is needed to read, draw and replay a run without the strategy that chose it.
// [Write] and [Read] store it as JSON lines. A file of another format or another version is refused, and every error
// names the line.
//
// The package imports no other package of Lockstep, so that tools which only read traces stay small.
package trace
