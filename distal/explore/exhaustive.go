// Package explore searches the sequential form of a Distal program: exhaustively, level by level up to a number of
// phases, or at random.
//
// A level is the set of global states at the end of a round. The first level with a broken property gives a shortest
// counterexample, and among those of that level one with the fewest active rounds (rounds in which some node acts) is
// shown.
//
// Speed comes from numbering. Local states and messages are interned; for each local state and each combination of
// messages sent to it the model is asked once for all distinct outcomes over all mailboxes that the network allows.
// A global state is a vector of n numbers, and its successors are the product of n short lists. The search itself is
// package levels, which knows only numbers; the table stands between it and the model.
package explore

import (
	"fmt"
	"slices"
	"sync"

	"github.com/lockstep-go/lockstep/distal/internal/levels"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// DefaultMemory is the memory limit when Options.Memory is 0.
const DefaultMemory = 4 << 30

// Options of an exhaustive search.
type Options struct {
	Phases int   // how many phases to explore, from the first one on; at least 1
	Memory int64 // limit in bytes, about; 0 means DefaultMemory
	// limit of temporary disk space in bytes; 0: none is used, and the search ends at the memory limit
	Disk    int64
	Dir     string // directory of the temporary file; empty: the system's
	Workers int    // how many processors to use; 0 means 1. Results do not depend on it
	Whole   bool   // look at every state, also where nodes or values are proved to be alike
	// describes a local state: what nodes do between such kinds of states is collected as Result.Reached. nil: it is not
	Kind func(*machine.State) string
	// called now and then, by one goroutine at a time; false stops the search. nil: never called
	Progress func(Progress) bool
	_        struct{}
}

// Progress is what a search has done so far. Rates are the caller's to compute: there is no clock in here.
type Progress struct {
	States   int64 // distinct states so far
	Phase    int   // the phase being explored
	Round    int   // the round of that phase being explored, from 1
	Done     int64 // of the states before this round, so many have been expanded
	Of       int64 // states before this round
	Estimate int64 // how many states there will be at the bound, from the growth so far; 0: too early to say
	Memory   int64 // bytes in use, about
	Disk     int64 // bytes of temporary disk space in use
}

// Verdicts of a search.
const (
	Pass    = "pass"    // every behavior to the bound keeps the properties
	Fail    = "fail"    // some behavior breaks one
	Unknown = "unknown" // a limit was reached first
	Vacuous = "vacuous" // nothing was found because nothing happened, or because nothing is promised
)

// Result of an exhaustive search. ElapsedMS and StatesPerSec are left for the caller, which has a clock.
type Result struct {
	Verdict        string     `json:"verdict"`
	Reason         string     `json:"reason,omitempty"` // why the verdict is unknown or vacuous
	States         int64      `json:"states"`
	FirstPhase     int        `json:"first_phase"`     // with which the run begins
	PhasesComplete int        `json:"phases_complete"` // how many phases from there on are complete
	Violation      *Violation `json:"violation,omitempty"`
	ElapsedMS      int64      `json:"elapsed_ms"`
	StatesPerSec   float64    `json:"states_per_sec"`
	Transitions    int64      `json:"transitions"`
	Memory         int64      `json:"memory_bytes"`            // most in use at once, about
	Disk           int64      `json:"disk_bytes"`              // most in use at once
	Never          []Idle     `json:"never_fired,omitempty"`   // rules that never fired
	Silent         []int64    `json:"silent_phases,omitempty"` // phases in which nothing was sent
	// of the states, so many were looked at: each stands for all that are like it
	Kept      int64     `json:"states_kept"`
	Asymmetry Asymmetry `json:"asymmetry"`
	Levels    []int64   `json:"-"` // distinct states after each round; the first entry counts the initial states
	// what nodes did, in order, if it was asked for
	Reached []machine.Transition `json:"-"`
}

// Asymmetry says what states that are alike could not be made use of.
type Asymmetry struct {
	Nodes  string `json:"nodes,omitempty"`  // why the nodes are not known to be alike; "": they are
	Values string `json:"values,omitempty"` // why no values are known to be alike; "": some are
}

// Idle is a rule that never fired.
type Idle struct {
	Rule string     `json:"rule"`
	Pos  syntax.Pos `json:"pos"`
}

// Violation is a shortest way to break a property.
type Violation struct {
	Property string `json:"property"`
	Phase    int    `json:"phase"`
	// counted from the start of the run: with 4 rounds a phase, 12 ends phase 3
	Round        int              `json:"round"`
	RoundName    string           `json:"round_name"`
	ActiveRounds int              `json:"active_rounds"` // rounds in which some node acted
	Text         string           `json:"text"`
	Pos          syntax.Pos       `json:"pos"` // of the property, the broken condition, or the fault
	Start        []*machine.State `json:"-"`   // in which the nodes begin
	Trace        []sequential.Row `json:"-"`
}

// Complete words how far the result goes: "complete to phase 4".
func (r Result) Complete() string {
	if r.PhasesComplete == 0 {
		return "no phase is complete"
	}
	return fmt.Sprintf("complete to phase %d", r.FirstPhase+r.PhasesComplete-1)
}

// Exhaustive explores every behavior of the model to the given number of phases.
func Exhaustive(m *sequential.Model, opt Options) (Result, error) {
	if opt.Phases < 1 {
		return Result{}, fmt.Errorf("phases is %d; it must be at least 1", opt.Phases)
	}
	if opt.Memory < 0 || opt.Disk < 0 || opt.Workers < 0 {
		return Result{}, fmt.Errorf("memory is %d, disk %d and workers %d; none may be negative", opt.Memory, opt.Disk,
			opt.Workers)
	}
	if opt.Memory == 0 {
		opt.Memory = DefaultMemory
	}
	t := newTable(m)
	t.kind = opt.Kind
	nodes, values := t.alike(opt.Whole)
	lo := levels.Options{Rounds: opt.Phases * m.Rounds(), Period: m.Rounds(), Memory: opt.Memory, Disk: opt.Disk,
		Dir:     opt.Dir,
		Workers: max(1, opt.Workers)}
	if nodes == "" || values == "" {
		lo.Canon = t.canon
	}
	if opt.Progress != nil {
		lo.Progress = func(p levels.Progress) bool {
			tag := t.tag(p.Round)
			return opt.Progress(Progress{States: p.States, Phase: int(tag.Phase), Round: tag.Round + 1, Done: p.Done, Of: p.Of,
				Estimate: p.Estimate, Memory: p.Memory, Disk: p.Disk})
		}
	}
	found, err := levels.Search(t, lo)
	if err != nil {
		return Result{}, err
	}
	r := Result{FirstPhase: int(m.Program.Core.First), Verdict: Pass, Transitions: found.Transitions, Memory: found.Memory,
		Disk: found.Disk, Levels: found.Levels,
		Kept: found.Kept, Asymmetry: Asymmetry{nodes, values}}
	for _, size := range found.Levels {
		r.States += size
	}
	done := len(found.Levels) - 1
	switch {
	case found.Found != nil:
		r.Verdict, r.Violation = Fail, t.violation(found.Found)
		done = max(0, r.Violation.Round-1)
	case found.Stopped != nil:
		r.Verdict, r.Reason = Unknown, found.Stopped.Error()
	}
	r.PhasesComplete = max(0, done) / m.Rounds()
	t.vacuity(&r)
	t.reached.Range(func(key, _ any) bool {
		r.Reached = append(r.Reached, key.(machine.Transition))
		return true
	})
	slices.SortFunc(r.Reached, machine.Transition.Compare)
	return r, nil
}

// vacuity notes what never happened. A search that met nothing proves nothing.
func (t *table) vacuity(r *Result) {
	rules := false
	for _, a := range t.model.Program.Core.Actions {
		if a.Rule == nil {
			continue
		}
		_, acted := t.acted.Load(a)
		rules = rules || acted
		if !acted {
			r.Never = append(r.Never, Idle{t.model.Label(a), a.Pos})
		}
	}
	if t.model.Source == nil {
		rules = some(&t.acted)
	}
	for phase := range int64(r.PhasesComplete) {
		p := int64(r.FirstPhase) + phase
		if _, busy := t.busy.Load(p); !busy {
			r.Silent = append(r.Silent, p)
		}
	}
	if r.Verdict == Pass && (!rules || !some(&t.busy)) {
		r.Verdict, r.Reason = Vacuous, "nothing happened: no message was sent, or no rule fired"
	}
}

// some says whether a set has an element.
func some(set *sync.Map) (yes bool) {
	set.Range(func(any, any) bool {
		yes = true
		return false
	})
	return yes
}
