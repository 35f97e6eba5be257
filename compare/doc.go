// Package compare compares strategies by repeated campaigns and by what their runs are
// like.
//
// [Strategies] makes several campaigns with each strategy, up to the first finding, and says
// how many runs that took, with exact confidence intervals, and how often nothing was
// found. [ProfileOf] makes many runs with one strategy and counts rounds and phases with a
// quorum, messages and failing runs: a row of Table 2 of "Testing Consensus
// Implementations using Communication Closure".
//
// The package never looks at a clock: a caller who wants to know times passes one in.
package compare
