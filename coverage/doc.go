// Package coverage measures what the runs of a campaign have covered. An [Observer] derives the stages of a run from
// its steps and rounds. A [Meter] counts which goals of package cover the runs met, and compares the count with the
// expectation of the theorems for as many tests.
//
// The mathematics is in package cover, which is independent of runs.
package coverage
