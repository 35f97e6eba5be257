// Package overlay makes runs of Go programs deterministic. It generates, from the installed Go, an overlay of a few
// files of its standard library. The overlay has these effects in a bubble of package testing/synctest:
//
//   - The random choices of the runtime (select, order of maps and of timers, math/rand, crypto/rand) come from a seed.
//   - The order of a map does not depend on addresses.
//   - The wall clock preempts no goroutine.
//   - A goroutine that waits for a lock counts as durably blocked.
//   - Each goroutine knows the node that it belongs to.
//
// The generator edits the syntax trees of the files. Every edit names the function, type or statement that it changes.
// If a Go release has other code there, the generator fails with an error that names the place. It supports Go 1.26,
// which the module needs, and Go 1.25, where two of the edits differ.
//
// [Main] is the go command with the overlay. It stores the generated files in the user's cache directory. Programs
// built with it are for tests only: their random sources are not random.
package overlay
