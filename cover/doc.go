// Package cover answers how many random tests of a partitioned network are
// enough. It is mathematics: what runs have really covered is counted by package
// coverage, which feeds on the engine, and this package imports nothing of it.
//
// The source is R. Majumdar and F. Niksic, "Why Is Random Testing Effective for
// Partition Tolerance Bugs?", Proc. ACM Program. Lang. 2 (POPL), article 46,
// 2018, https://doi.org/10.1145/3158134; "the paper" below. Theorems, corollaries
// and examples are cited by their numbers there.
//
// The package has five layers, each usable without those above it:
//
//   - Values: a [Set] of nodes, a [Partition] of the nodes 1..n, a [Space] of
//     partitions from which tests are drawn by a [Sampler]. [Links] say which node hears which
//     where that may be no partition.
//   - Goals: a [Criterion] ([Split], [Separate], [Isolate]) names all its goals; a
//     [PartitionGoal] says which partitions cover it. A [Sequence] of operations, a
//     [RoleGoal] and a [PartitionSequence] (partitions one after the other, with operations under and
//     between them) are goals of whole runs: each is an [Goal].
//   - Theorems: [ProbabilityOf] is the probability that one random test covers one goal,
//     exact and as the paper bounds it; [PartitionSequence.Probability] is that of a partition sequence. A [Guarantee]
//     turns it into the number of tests that are enough, and back: [Rule] as the paper
//     states it, [Union] with exact arithmetic in place of the paper's last estimate,
//     [Exact] with no estimate at all where that can be computed.
//   - Families: [Binary], [InTurn], [Dense], [Greedy] and [Smallest] build sets of
//     partitions that cover every goal, [Check] proves that they do.
//   - Use: [Plan] answers a question asked by parameters.
//
// Nothing here reads a clock, starts a goroutine or depends on the order of a map;
// random numbers come from a generator that the caller seeds. No input makes the
// package panic: what is out of range is refused with a [RangeError].
package cover

import "fmt"

// A RangeError reports an argument outside the values allowed for it.
type RangeError struct {
	What  string // the argument
	Value any    // its value
	Want  string // the values allowed
}

// Error names the argument, its value and the allowed range.
func (r *RangeError) Error() string {
	return fmt.Sprintf("%s = %v: want %s", r.What, r.Value, r.Want)
}

// inRange refuses a value below low or above high; why, if not empty, says where
// the limits come from.
func inRange(what string, value, low, high int, why string) error {
	if low <= value && value <= high {
		return nil
	}
	want := fmt.Sprintf("%d to %d", low, high)
	if high < low {
		want = "no value at all"
	}
	if why != "" {
		want += " (" + why + ")"
	}
	return &RangeError{What: what, Value: value, Want: want}
}
