package distal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/distal/async"
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/promela"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/internal/words"
)

// ExportResult is a Promela model.
type ExportResult struct {
	Text string `json:"text"`
}

// Export writes the sequential program as a Promela model, for Spin to check.
func Export(src string, opt Options) (ExportResult, Remarks) {
	m, phases, remarks := NewModel(src, opt)
	if m == nil {
		return ExportResult{}, remarks
	}
	text, err := promela.Export(m, promela.Options{Phases: phases})
	if err != nil {
		return ExportResult{}, append(remarks, failure(err)...)
	}
	return ExportResult{Text: text}, remarks
}

// ExploreOptions of a search.
type ExploreOptions struct {
	Options
	Memory   int64                       // limit in bytes; 0 means explore.DefaultMemory
	Disk     int64                       // limit of temporary disk space in bytes; 0: none is used
	Dir      string                      // directory of the temporary file; empty: the system's
	Workers  int                         // processors to use; 0 means 1
	Progress func(explore.Progress) bool // called now and then; false stops
	Random   *explore.RandomOptions      // search at random instead; its Phases is taken from Options
	Kind     func(*machine.State) string // as in explore.Options
}

// ExploreResult is the result of a search. ElapsedMS and StatesPerSec are for the caller to fill in.
type ExploreResult struct {
	Protocol string `json:"protocol"`
	Test     string `json:"test,omitempty"`
	Nodes    int    `json:"nodes"`
	Phases   int    `json:"phases"`
	Network  string `json:"network"`
	Timeouts string `json:"timeouts"`
	Expect   string `json:"expect,omitempty"` // what the test in the file expects: pass or violation
	explore.Result
	Claims   Claims                `json:"claims"`   // what the verdict rests on
	Replayed bool                  `json:"replayed"` // the counterexample has been reproduced message by message
	Random   *explore.RandomResult `json:"random,omitempty"`
	Trace    string                `json:"trace,omitempty"` // the counterexample for people
}

// Bound words how far a search without a violation went, and whether that is a proof about asynchronous runs. It is one
// where timeouts are free, the network may do anything, every condition is proved, and properties are about single
// nodes or outputs; otherwise it says what is missing.
func (e ExploreResult) Bound() string {
	var missing []string
	if e.Timeouts == core.Eager.String() {
		missing = append(missing, "eager timeouts")
	}
	if n := len(e.Claims.Watched); n > 0 {
		missing = append(missing, words.Count(n, "condition")+" watched")
	}
	if e.Claims.Assumed != "" {
		missing = append(missing, "network "+e.Network)
	}
	var joint []string
	for _, p := range e.Claims.Properties {
		if !p.Exact {
			joint = append(joint, p.Property)
		}
	}
	if len(joint) > 0 {
		missing = append(missing, strings.Join(joint, " and ")+" between rounds only")
	}
	bound := words.Count(e.PhasesComplete, "phase")
	switch {
	case e.Claims.Lockstep:
		return bound + " searched in lock-step"
	case len(missing) > 0:
		return bound + " searched: " + strings.Join(missing, ", ")
	}
	return bound + " proved"
}

// Claims says on what a verdict rests: what is proved from the text, what is only watched, and when each property is
// checked.
type Claims struct {
	// the program is written in lock-step: nothing is said about asynchronous runs
	Lockstep   bool            `json:"lockstep"`
	Proved     int             `json:"conditions_proved"`
	Watched    []check.Proof   `json:"conditions_watched"`
	Properties []PropertyCheck `json:"properties"`
	// what asynchronous runs keep that a pass is about; "": it is about all
	Assumed string `json:"assumed,omitempty"`
	// whether states that differ only by the names of nodes, or by which values they have, were looked at once, or why not
	Alike string `json:"alike,omitempty"`
}

// PropertyCheck is how a property is checked.
type PropertyCheck struct {
	Property string `json:"property"`
	Checked  string `json:"checked"`
	Exact    bool   `json:"exact"` // sequential and asynchronous runs agree on it
}

func claims(p *check.Program, network string) Claims {
	out := Claims{Lockstep: p.Lockstep, Watched: []check.Proof{}, Properties: []PropertyCheck{}}
	if network != "any" && !p.Lockstep {
		out.Assumed = "every node has heard what network " + network + " promises when it acts in a round or leaves it"
	}
	for _, q := range p.Proofs {
		if q.Status == check.Proved {
			out.Proved++
		} else {
			out.Watched = append(out.Watched, q)
		}
	}
	for _, q := range p.Props {
		j := PropertyCheck{Property: q.Name, Checked: "at every state of each node", Exact: true}
		switch {
		case q.Moment == core.OnOutput:
			j.Checked = "at every output"
		case q.Joint:
			j.Checked, j.Exact = "between the halves and at the end of every round", false
		}
		out.Properties = append(out.Properties, j)
	}
	return out
}

// Lines words the claims for people.
func (c Claims) Lines() []string {
	var alike []string
	if c.Alike != "" {
		alike = []string{c.Alike}
	}
	if c.Lockstep {
		return append([]string{"the program is written in lock-step: nothing is said about asynchronous runs"}, alike...)
	}
	out := []string{fmt.Sprintf("%d conditions are proved, %d are only watched", c.Proved, len(c.Watched))}
	for _, w := range c.Watched {
		out = append(out, fmt.Sprintf("  watched: %s: %s, %s: %s", w.Pos, w.Rule, w.Condition, w.Text))
	}
	if c.Assumed != "" {
		out = append(out, "a pass is about asynchronous runs in which "+c.Assumed)
	}
	var joint []string
	for _, j := range c.Properties {
		if !j.Exact {
			joint = append(joint, j.Property)
		}
	}
	if len(joint) > 0 {
		out = append(out,
			fmt.Sprintf("%v relates several nodes and is checked %s: asynchronous runs pass through other states as well", joint,
				"between the halves and at the end of every round"))
	}
	return append(out, alike...)
}

// alike words whether the search made use of nodes and values that are alike.
func alike(r explore.Result) string {
	nodes, values := r.Asymmetry.Nodes, r.Asymmetry.Values
	looked := fmt.Sprintf("%d states were looked at, which stand for all %d", r.Kept, r.States)
	switch {
	case nodes == "" && values == "":
		return "the nodes are proved to be alike, and so are values: " + looked
	case nodes == "":
		return fmt.Sprintf("the nodes are proved to be alike: %s (values are not: %s)", looked, values)
	case values == "":
		return fmt.Sprintf("some values are proved to be alike: %s (nodes are not: %s)", looked, nodes)
	}
	return fmt.Sprintf("all states are looked at: neither nodes (%s) nor values (%s) are proved to be alike", nodes,
		values)
}

// confirm reproduces a counterexample message by message. What cannot be reproduced is not reported as one.
func (e *ExploreResult) confirm(m *sequential.Model) {
	v := e.Violation
	e.Trace = m.Text(v.Trace)
	if m.Source == nil {
		return // the program is written in lock-step: there is no other form of it
	}
	if _, err := async.Follow(m, v.Start, v.Trace, v.Property); err != nil {
		e.Verdict, e.Violation = explore.Unknown, nil
		e.Reason = fmt.Sprintf("the sequential program breaks %s, but no asynchronous run was found that does: %v",
			v.Property, err)
		return
	}
	e.Replayed = true
}

// TestResult is how a test of a file ended.
type TestResult struct {
	ExploreResult
	OK bool `json:"ok"` // as the test expects; a test that expects nothing is right unless it fails
}

// Tests runs every test of a program, or those with the given names, and checks whether each ends as it expects.
func Tests(src string, opt ExploreOptions, names ...string) ([]TestResult, Remarks) {
	p, remarks := sequentialisable(src)
	if p == nil {
		return nil, remarks
	}
	for _, name := range names {
		if !slices.ContainsFunc(p.Tests, func(t *core.Test) bool { return t.Name == name }) {
			_, err := instantiate(p, Options{Test: name})
			return nil, append(remarks, failure(err)...)
		}
	}
	var out []TestResult
	for _, t := range p.Tests {
		if len(names) > 0 && !slices.Contains(names, t.Name) {
			continue
		}
		opt.Test = t.Name
		r, errs := Explore(src, opt)
		if len(errs.Errors()) > 0 {
			return out, errs
		}
		want := map[string]string{"pass": explore.Pass, "violation": explore.Fail, "": explore.Pass}[t.Expect]
		out = append(out, TestResult{r, r.Verdict == want})
	}
	return out, remarks
}

// checksNothing reports whether a program promises nothing: it has no property and no assertion of its own.
func checksNothing(p *check.Program) bool {
	nothing := len(p.Props) == 0
	own := func(list []core.Stmt) {
		core.WalkStmts(list, func(s core.Stmt) {
			if a, ok := s.(*core.Assert); ok && a.Name != "" {
				nothing = false
			}
		})
	}
	for _, a := range p.Actions {
		own(a.Body)
	}
	if p.Init != nil {
		own(p.Init.Body)
	}
	for _, r := range p.Rules {
		own(r.Body.Body)
	}
	for _, r := range p.Rounds {
		own(r.Send)
		own(r.Update)
	}
	return nothing
}

// Explore searches the sequential program: exhaustively, or at random when Random is set.
func Explore(src string, opt ExploreOptions) (ExploreResult, Remarks) {
	p, m, inst, remarks := model(src, opt.Options)
	if m == nil {
		return ExploreResult{}, remarks
	}
	out := ExploreResult{Protocol: p.Name, Test: inst.test, Nodes: m.Program.N, Phases: inst.phases,
		Network: p.Networks[inst.network].Name, Timeouts: inst.timeouts.String(), Expect: inst.expect}
	if opt.Random != nil {
		ro := *opt.Random
		ro.Phases, ro.Progress = inst.phases, opt.Progress
		r, err := explore.Random(m, ro)
		if err != nil {
			return ExploreResult{}, append(remarks, failure(err)...)
		}
		out.Random, out.Verdict, out.Violation = &r, r.Verdict, r.Violation
	} else {
		r, err := explore.Exhaustive(m, explore.Options{Phases: inst.phases, Memory: opt.Memory, Disk: opt.Disk,
			Dir: opt.Dir, Workers: opt.Workers, Progress: opt.Progress, Kind: opt.Kind})
		if err != nil {
			return ExploreResult{}, append(remarks, failure(err)...)
		}
		out.Result = r
	}
	if out.Verdict != explore.Fail && checksNothing(p) {
		out.Verdict, out.Reason = explore.Vacuous,
			"the program has neither a property nor an assertion: only a fault could be found"
	}
	out.Claims = claims(p, out.Network)
	if opt.Random == nil {
		out.Claims.Alike = alike(out.Result)
	}
	if out.Violation != nil {
		out.confirm(m)
	}
	return out, remarks
}
