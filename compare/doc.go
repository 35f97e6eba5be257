// Package compare compares strategies by repeated campaigns and by statistics of their runs.
//
// [Strategies] runs several campaigns with each strategy, up to the first finding. It reports how many runs that took,
// with exact confidence intervals, and how often a campaign found nothing. [ProfileOf] executes many runs with one
// strategy. It counts rounds and phases with a quorum, messages and failing runs: a row of Table 2 of "Testing
// Consensus Implementations using Communication Closure".
//
// The package never reads a clock: a caller that wants times passes one in.
package compare
