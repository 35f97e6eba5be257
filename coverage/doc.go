// Package coverage measures what the runs of a campaign have covered: an [Observer] reads
// the stages of a run off its steps and rounds, a [Meter] counts which aims of package
// cover they met, and compares that with what the theorems expect of as many tests.
//
// The mathematics is in package cover, which knows nothing of runs.
package coverage
