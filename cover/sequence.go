package cover

import (
	"fmt"
	"math/big"
	"slices"
)

// Sequences is the criterion of Theorem 3.2: of Operations operations, drawn
// independently and uniformly, some one of the target sequences of Length operations
// is to occur contiguously.
type Sequences struct {
	Operations int // r, the number of different operations
	Length     int // k, the length of a target sequence
	Targets    int // |T|, the number of target sequences; 0 means 1
}

// maxLength keeps the number of all sequences within reason.
const maxLength = 64

func (s Sequences) check() error {
	if err := inRange("operations", s.Operations, 1, 1<<31-1, ""); err != nil {
		return err
	}
	if err := inRange("length of a sequence", s.Length, 1, maxLength, ""); err != nil {
		return err
	}
	all := power(s.Operations, s.Length)
	if s.Targets < 0 || big.NewInt(int64(s.Targets)).Cmp(all) > 0 {
		return &RangeError{"target sequences", s.Targets, fmt.Sprintf("1 to %v, all sequences of length %d", all, s.Length)}
	}
	return nil
}

// Probability is the probability that Length drawn operations are a target sequence. There is
// one goal: any of the targets.
func (s Sequences) Probability() (Probability, error) {
	if err := s.check(); err != nil {
		return Probability{}, err
	}
	p := ratio(big.NewInt(int64(max(s.Targets, 1))), power(s.Operations, s.Length))
	return Probability{P: p, Bound: p, Goals: big.NewInt(1), Source: "proof of Theorem 3.2"}, nil
}

// Rules lists the paper's guarantees, which count operations: Theorem 3.2, and the
// step of its proof that applies Theorem 3.1 to blocks of Length operations, which
// does not lose up to one block by rounding.
func (s Sequences) Rules() ([]Rule, error) {
	probability, err := s.Probability()
	if err != nil {
		return nil, err
	}
	blocks, err := Theorem31(probability.P, probability.Goals)
	if err != nil {
		return nil, err
	}
	length := float64(s.Length)
	theorem := Rule{Name: "Theorem 3.2", A: length, B: length * blocks.B}
	blocks.Name, blocks.Step = "proof of Theorem 3.2", s.Length
	return []Rule{theorem, blocks}, nil
}

// Union is the guarantee by whole blocks of Length operations, with exact
// arithmetic. For Length 1 it is the exact probability.
func (s Sequences) Union() (Union, error) {
	probability, err := s.Probability()
	return Union{P: probability.P, Goals: probability.Goals, Step: s.Length}, err
}

// Occurs is the exact probability that at least one of the target sequences occurs
// contiguously among length operations drawn uniformly from 0..operations-1. The
// targets may have different lengths.
//
// It counts the sequences without a target by the automaton that remembers the
// longest suffix which begins a target; length times the total length of the
// targets is limited to a million.
func Occurs(operations, length int, targets ...[]int) (*big.Rat, error) {
	if err := inRange("operations", operations, 1, 1<<31-1, ""); err != nil {
		return nil, err
	}
	if err := inRange("number of target sequences", len(targets), 1, goalLimit, ""); err != nil {
		return nil, err
	}
	total := 0
	for _, target := range targets {
		if len(target) == 0 {
			return nil, &RangeError{"length of a target sequence", 0, "at least 1"}
		}
		for _, op := range target {
			if err := inRange("operation", op, 0, operations-1, "the operations"); err != nil {
				return nil, err
			}
		}
		total += len(target)
	}
	if err := inRange("length", length, 0, 1_000_000/total,
		"so that length times the targets stay below a million"); err != nil {
		return nil, err
	}
	a := newAutomaton(operations, targets)
	without := a.avoid(length)
	all := power(operations, length)
	return ratio(without.Sub(all, without), all), nil
}

// An automaton reads operations; its states are the prefixes of the targets.
type automaton struct {
	operations int
	used       []int   // the operations that occur in targets, ascending
	next       [][]int // next[state][i] is the state after used[i]; after others it is 0
	accepts    []bool
}

// newAutomaton is the construction of Aho and Corasick: first the tree of prefixes,
// then, by length, what to do where a prefix cannot be continued.
func newAutomaton(operations int, targets [][]int) *automaton {
	a := &automaton{operations: operations}
	for _, target := range targets {
		a.used = append(a.used, target...)
	}
	slices.Sort(a.used)
	a.used = slices.Compact(a.used)
	a.grow()
	for _, target := range targets {
		state := 0
		for _, op := range target {
			i, _ := slices.BinarySearch(a.used, op)
			if a.next[state][i] == 0 {
				a.next[state][i] = a.grow()
			}
			state = a.next[state][i]
		}
		a.accepts[state] = true
	}
	fallback := make([]int, len(a.next))
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		state := queue[0]
		for i, child := range a.next[state] {
			after := 0
			if state != 0 {
				after = a.next[fallback[state]][i]
			}
			if child == 0 {
				a.next[state][i] = after
				continue
			}
			fallback[child] = after
			a.accepts[child] = a.accepts[child] || a.accepts[after]
			queue = append(queue, child)
		}
	}
	return a
}

func (a *automaton) grow() int {
	a.next = append(a.next, make([]int, len(a.used)))
	a.accepts = append(a.accepts, false)
	return len(a.next) - 1
}

// avoid is the number of sequences of the given length that contain no target.
func (a *automaton) avoid(length int) *big.Int {
	others := big.NewInt(int64(a.operations - len(a.used)))
	count := make([]*big.Int, len(a.next))
	fresh := make([]*big.Int, len(a.next))
	for i := range count {
		count[i], fresh[i] = new(big.Int), new(big.Int)
	}
	count[0].SetInt64(1)
	for range length {
		for i := range fresh {
			fresh[i].SetInt64(0)
		}
		for state, ways := range count {
			if ways.Sign() == 0 {
				continue
			}
			fresh[0].Add(fresh[0], new(big.Int).Mul(ways, others))
			for _, to := range a.next[state] {
				if !a.accepts[to] {
					fresh[to].Add(fresh[to], ways)
				}
			}
		}
		count, fresh = fresh, count
	}
	sum := new(big.Int)
	for _, ways := range count {
		sum.Add(sum, ways)
	}
	return sum
}
