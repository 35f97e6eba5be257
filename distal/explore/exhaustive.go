// Package explore searches the sequential form of a Distal program: exhaustively, level by level up to a number of
// phases, or at random.
//
// A level is the set of global states at the end of a round. Rounds only go forward, so a state is met again only
// within its own level, and two levels in memory are enough; of the older ones only the way back is kept. The first
// level with a broken property therefore gives a shortest counterexample, and among those of that level the one
// with the fewest active rounds (rounds in which some node acts) is shown.
//
// Speed comes from numbering. Local states and messages are interned; for each local state and each combination of
// messages sent to it the model is asked once for all distinct outcomes over all mailboxes that the network allows.
// A global state is a vector of n numbers, and its successors are the product of n short lists.
package explore

import (
	"errors"
	"fmt"
	"math"

	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// DefaultMemory is the memory limit when Options.Memory is 0.
const DefaultMemory = 4 << 30

// Options of an exhaustive search.
type Options struct {
	Phases       int                 // explore phases 1 to Phases; at least 1
	Memory       int64               // limit in bytes, about; 0 means DefaultMemory
	Fingerprints bool                // recognise states by 64-bit fingerprints instead of comparing them
	Progress     func(Progress) bool // called now and then; false stops the search. nil: never called
	_            struct{}
}

// Progress is what a search has done so far. Rates are the caller's to compute: there is no clock in here.
type Progress struct {
	States int64 // distinct states so far
	Phase  int   // the phase being explored
	Round  int   // the round of that phase being explored, from 1
	Memory int64 // bytes in use, about
}

// Verdicts of a search.
const (
	Pass    = "pass"    // every behaviour to the bound keeps the properties
	Fail    = "fail"    // some behaviour breaks one
	Unknown = "unknown" // a limit was reached first
)

// Result of an exhaustive search. ElapsedMS and StatesPerSec are left for the caller, who has a clock.
type Result struct {
	Verdict        string     `json:"verdict"`
	States         int64      `json:"states"`
	PhasesComplete int        `json:"phases_complete"`
	Violation      *Violation `json:"violation,omitempty"`
	ElapsedMS      int64      `json:"elapsed_ms"`
	StatesPerSec   float64    `json:"states_per_sec"`
	Collision      float64    `json:"collision_chance"` // chance that two states shared a fingerprint; 0 when states are compared
	Transitions    int64      `json:"transitions"`
	Memory         int64      `json:"memory_bytes"`
	Levels         []int64    `json:"-"` // distinct states after each round; the first entry counts the initial states
}

// Violation is a shortest way to break a property.
type Violation struct {
	Property     string           `json:"property"`
	Phase        int              `json:"phase"`
	Round        int              `json:"round"` // counted from the start of the run: with 4 rounds a phase, 12 ends phase 3
	RoundName    string           `json:"round_name"`
	ActiveRounds int              `json:"active_rounds"` // rounds in which some node acted
	Text         string           `json:"text"`
	Trace        []sequential.Row `json:"-"`
}

// Complete words how far the result goes: "complete to phase 4".
func (r Result) Complete() string { return fmt.Sprintf("complete to phase %d", r.PhasesComplete) }

// level is the set of states at the end of one round.
type level struct {
	set    *words
	finger []uint64 // with fingerprints: open table of hashes, and set holds only the vectors
	cost   []uint16 // fewest active rounds on a way here
	back   *[]origin
}

// origin is the way back: which state of the level before, and which of its successors.
type origin struct{ parent, choice uint32 }

type search struct {
	opt    Options
	t      *table
	n      int
	past   []*[]origin
	cur    *level
	next   *level
	result Result
	best   *find
	round  *round // being explored; nil while the initial states are made
	tag    machine.Tag
	stop   bool // a limit was reached
	// Buffers of expand.
	alts    [][]alternative
	pick    []int
	key     []uint32
	spans   []span
	at      []uint32
	vec     []uint32
	scratch []uint32
}

// find is a violation met in the level being built.
type find struct {
	problem int
	origin  origin
	cost    uint16
}

var errLimit = errors.New("limit reached")

// Exhaustive explores every behaviour of the model to the given number of phases.
func Exhaustive(m *sequential.Model, opt Options) (Result, error) {
	if opt.Phases < 1 {
		return Result{}, fmt.Errorf("phases is %d; it must be at least 1", opt.Phases)
	}
	if opt.Memory == 0 {
		opt.Memory = DefaultMemory
	}
	n := m.Program.N
	s := &search{opt: opt, t: newTable(m), n: n,
		alts: make([][]alternative, n), pick: make([]int, n), key: make([]uint32, n+1), spans: make([]span, n),
		at: make([]uint32, n), vec: make([]uint32, n), scratch: make([]uint32, n)}
	s.result.Verdict = Pass
	s.start()
	if s.stop {
		s.result.Verdict = Unknown
		return s.result, nil
	}
	for phase := 1; phase <= opt.Phases && s.best == nil; phase++ {
		for round := 0; round < m.Rounds() && s.best == nil; round++ {
			if s.step(machine.Tag{Phase: int64(phase), Round: round}) != nil { // a limit, not a failure
				s.result.Verdict = Unknown
				return s.result, nil //nolint:nilerr // the verdict says it
			}
			if s.best != nil {
				s.violation(phase, round)
			}
		}
		if s.best == nil {
			s.result.PhasesComplete = phase
		}
	}
	return s.result, nil
}

func (s *search) newLevel(expected int) *level {
	l := &level{set: newWords(s.n, 32), back: new([]origin)}
	if s.opt.Fingerprints {
		l.finger = newWords(s.n, expected).slots
	} else {
		l.set = newWords(s.n, expected)
	}
	l.set.keys = make([]uint32, 0, expected*s.n)
	l.cost = make([]uint16, 0, expected)
	*l.back = make([]origin, 0, expected)
	return l
}

// start builds the level of initial states: the product of what each node can start with.
func (s *search) start() {
	s.cur = s.newLevel(64)
	s.next = s.cur
	lists := make([][]uint32, s.n)
	for i := range s.n {
		for _, st := range s.t.model.Initial(i + 1) {
			if st.Problem != nil && s.best == nil {
				s.best = &find{problem: s.t.problem(st.Problem)}
				s.violation(0, -1)
				return
			}
			lists[i] = append(lists[i], s.t.intern(i+1, st.State))
		}
	}
	var walk func(int, uint64)
	walk = func(i int, hash uint64) {
		if i == s.n {
			s.result.Transitions++
			if s.insert(hash, 0, origin{}) && s.t.judge(s.vec, s.scratch) != 0 && s.best == nil {
				s.best = &find{problem: s.t.judge(s.vec, s.scratch)}
			}
			s.look()
			return
		}
		for _, id := range lists[i] {
			if s.stop {
				return
			}
			s.vec[i] = id
			walk(i+1, hash+s.t.locals[id].hash)
		}
	}
	walk(0, 0)
	s.closeLevel(s.cur)
	if s.best != nil {
		s.violation(0, -1)
	}
}

func (s *search) closeLevel(l *level) {
	count := int64(len(l.cost))
	s.result.States += count
	s.result.Levels = append(s.result.Levels, count)
	s.past = append(s.past, l.back)
	if s.opt.Fingerprints {
		// Two of k states share a 64-bit fingerprint with a chance of at most k(k-1)/2^65.
		s.result.Collision = math.Min(1, s.result.Collision+float64(count)*float64(count-1)/math.Pow(2, 65))
	}
	s.cur = l
}

// step expands the current level by one round.
func (s *search) step(tag machine.Tag) error {
	r := newRound(s.t, tag)
	s.next = s.newLevel(len(s.cur.cost) * 3 / 2)
	s.round, s.tag = r, tag
	for i := range s.cur.cost {
		if i&1023 == 0 {
			s.pause()
		}
		s.expand(r, uint32(i))
		if s.stop {
			return errLimit
		}
	}
	s.closeLevel(s.next)
	return nil
}

// look pauses now and then, also within the successors of one state, which can be many.
func (s *search) look() {
	if s.result.Transitions&(1<<16-1) == 0 {
		s.pause()
	}
}

// pause looks at the memory and tells the caller how far the search is.
func (s *search) pause() {
	memory := s.bytes()
	s.result.Memory = max(s.result.Memory, memory)
	s.stop = s.stop || memory > s.opt.Memory
	if s.opt.Progress != nil && !s.opt.Progress(Progress{s.result.States + int64(len(s.next.cost)), int(s.tag.Phase),
		s.tag.Round + 1, memory}) {
		s.stop = true
	}
}

// bytes estimates the memory in use.
func (s *search) bytes() int64 {
	total := s.t.bytes()
	if s.round != nil {
		total += s.round.bytes()
	}
	for _, l := range []*level{s.cur, s.next} {
		total += l.set.bytes() + int64(len(l.finger))*8 + int64(cap(l.cost))*2
	}
	for _, b := range s.past {
		total += int64(cap(*b)) * 8
	}
	return total + int64(cap(*s.next.back))*8
}
