package shrink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/trace"
)

// Passing is the passing run that is nearest to a failing one: it lacks one fault,
// delay, request, delivery or timeout of it.
type Passing struct {
	Trace *trace.Trace
	// Without describes what the passing run lacks, and Steps are its steps in the failing run.
	Without string
	Steps   []int
	// Differences has the first difference at each node that the two runs have, in the order of the failing run.
	Differences []Difference
	// Extras is what nodes reported and logged in one of the runs alone, in systems whose time passes. What helps most
	// comes first: warnings, then events.
	Extras []Extra
	// Subjects is what the finding is about, in both runs.
	Subjects []Subject
	Attempts int // number of runs executed
}

// Difference is the first point at which a node behaves differently in two runs.
type Difference struct {
	Node             trace.Node // 0: something that belongs to no node
	Failing, Passing Observation
}

// Observation is an event at a node, or its new state.
type Observation struct {
	Step int    // 0: the node did nothing more
	Text string // "" with step 0
}

// ErrEssential reports that a run still fails without any single one of its faults, requests, deliveries and timers.
var ErrEssential = errors.New("shrink: the run still fails without any single one of its steps")

// Nearest searches for the passing run that is nearest to a failing one. It tries to leave out one fault, the last one
// first; then the delay of one message; then one request; then one delivery or timer. A lost message is delivered
// instead, and a forged one is delivered as it was sent. All losses of messages by which a node is isolated in a phase
// of rounds count as one fault.
//
// Nearest is for deterministic systems, and for runs that have been shrunk: in others most steps make no difference.
// Only the option Attempts applies. When the context ends, Nearest returns its error.
func Nearest(ctx context.Context, plan lockstep.Plan, t *trace.Trace, o Options) (*Passing, error) {
	if t.Outcome.Finding == nil {
		return nil, errors.New("shrink: the trace has no finding")
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	s, err := newShrinker(ctx, plan, t, o)
	if err != nil {
		return nil, err
	}
	out, err := s.nearest(t)
	return out, errors.Join(err, s.runner.Close())
}

// nearest searches with the shrinker's runs.
func (s *shrinker) nearest(t *trace.Trace) (*Passing, error) {
	if s.info.Determinism == lockstep.BestEffort {
		return nil, errors.New("shrink: the nearest passing run needs a deterministic system")
	}
	now := actions(t)
	if !s.violates(now) {
		return nil, s.notRepeated("steps")
	}
	variant := s.variants(now)
	var best *Passing
	least := 0
	for _, p := range elements(t, now.head()) {
		if s.exhausted() || best != nil && p.rank != fault && p.rank != request {
			break
		}
		c, ok := variant(p)
		if !ok {
			continue
		}
		s.left--
		s.tried++
		passing, err := s.runner.Record(s.ctx, s.number, c.scheduler(s))
		if err != nil {
			return nil, cmp.Or(s.ctx.Err(), err)
		}
		if o := passing.Outcome; o.Finding != nil || o.Verdict != trace.Pass {
			continue
		}
		lacks := 0
		if s.timed() {
			lacks = missing(t, passing)
		}
		if best == nil || lacks < least {
			best, least = s.passing(t, passing, p), lacks
		}
		if least == 0 {
			break
		}
	}
	if err := s.ctx.Err(); err != nil && best == nil {
		return nil, err
	}
	if best == nil {
		return nil, ErrEssential
	}
	return best, nil
}

// passing describes the passing run that lacks an element of a failing one.
func (s *shrinker) passing(failing, passing *trace.Trace, p element) *Passing {
	found := &Passing{
		Trace:       passing,
		Without:     p.text,
		Steps:       p.steps,
		Differences: differences(failing, passing),
		Attempts:    s.tried,
	}
	if at := failing.Records[p.steps[0]].Now; s.info.Supports.Has(trace.Wait) {
		found.Extras, found.Subjects = extras(failing, passing, at), subjects(failing, passing)
	}
	return found
}

// missing counts what the finding is about that the passing run does not come to, whatever its values are there. A run
// without the request whose answer is wrong passes, and explains nothing.
func missing(failing, passing *trace.Trace) (n int) {
	f := failing.Outcome.Finding
	about := f.About
	if len(about) == 0 {
		about = []int{min(f.Step, len(failing.Records)-1)}
	}
	type happening struct {
		node trace.Node
		kind string
	}
	times := map[happening]int{}
	for i := range failing.Records {
		for _, e := range failing.Records[i].Events {
			times[happening{e.Node, e.Type}]++
		}
	}
	need := map[happening]int{}
	for _, i := range about {
		for _, e := range failing.Records[i].Events {
			h := happening{e.Node, e.Type}
			need[h] = times[h]
		}
	}
	for i := range passing.Records {
		for _, e := range passing.Records[i].Events {
			need[happening{e.Node, e.Type}]--
		}
	}
	for _, k := range need { //lockstep:unordered a sum
		n += max(k, 0)
	}
	return n
}

// variants returns a function that leaves an element out of a run. A run of a system that progresses on its own is
// followed by its times, and any other run by its steps.
func (s *shrinker) variants(now script) func(element) (candidate, bool) {
	if s.timed() {
		c := &clock{Player: lockstep.NewPlayer(trace.Script(now), nil)}
		if s.violates(c) {
			if t := c.timetable(now, 0); s.violates(t) {
				return func(p element) (candidate, bool) { return p.outOfTimetable(t, now.head()) }
			}
		}
	}
	return func(p element) (candidate, bool) { return p.outOfScript(now), true }
}

// element is what can be left out of a run.
type element struct {
	text    string
	steps   []int // records of the trace
	actions []int // of the script
	rank    int   // elements of a lower rank are tried first
	// A delayed message is delivered after this action of the script instead.
	prompt *trace.Action
	after  int
}

// The ranks of elements.
const (
	fault = iota
	delayed
	request
	delivery
)

// outOfScript leaves an element out of a script. What the element lost or forged is delivered.
func (e element) outOfScript(now script) script {
	next := make(script, 0, len(now)+1)
	if e.prompt != nil && e.after < 0 {
		next = append(next, *e.prompt)
	}
	for i, a := range now {
		out := slices.Contains(e.actions, i)
		if out && (a.Step.Kind == trace.Drop || a.Step.Kind == trace.Replace) {
			a.Step.Kind, a.Body, a.Step.Request, out = trace.Deliver, "", 0, false
		}
		if !out {
			next = append(next, a)
		}
		if e.prompt != nil && e.after == i {
			next = append(next, *e.prompt)
		}
	}
	return next
}

// outOfTimetable leaves the acts of an element out of a timetable. A message that is not lost arrives when it is sent.
func (e element) outOfTimetable(t timetable, head int) (candidate, bool) {
	before := len(t.acts)
	if e.prompt != nil {
		return t, false
	}
	t.acts = slices.DeleteFunc(slices.Clone(t.acts), func(m moment) bool {
		return slices.ContainsFunc(e.actions, func(i int) bool { return m.step == i-head+1 })
	})
	return t, len(t.acts) < before
}

// elements lists what can be left out of a run, in the order in which it is tried. head is the number of actions that
// the script has before the first step.
func elements(t *trace.Trace, head int) []element {
	var all []element
	isolated := map[[2]int]int{} // index in all, by phase and node
	at := head
	for i := range t.Records {
		r := &t.Records[i]
		if r.Step.Kind == trace.Start || r.Settle {
			continue
		}
		p := element{text: deed(r) + " " + whence(r), steps: []int{r.Number}, actions: []int{at}}
		at++
		switch r.Step.Kind {
		case trace.Wait, trace.Heal, trace.Restart:
			continue
		case trace.Request:
			p.rank = request
		case trace.Deliver, trace.Timer:
			p.rank = delivery
		case trace.Drop:
			if key, ok := isolation(t, r); ok {
				if k, known := isolated[key]; known {
					all[k].steps, all[k].actions = append(all[k].steps, r.Number), append(all[k].actions, p.actions...)
					continue
				}
				isolated[key] = len(all)
				p.text = fmt.Sprintf("the isolation of node %d in phase %d (from step %d)", key[1], key[0], r.Number)
			}
		}
		all = append(all, p)
	}
	all = append(all, delayedOf(t, head)...)
	slices.SortStableFunc(all, func(a, b element) int {
		return cmp.Or(a.rank-b.rank, b.steps[len(b.steps)-1]-a.steps[len(a.steps)-1])
	})
	return all
}

// delayedOf lists the messages that were not delivered in the step after the one that sent them.
func delayedOf(t *trace.Trace, head int) (all []element) {
	var names trace.Namer
	open := map[trace.ID]int{} // the index in all of a message on its way
	action := head - 1
	for i := range t.Records {
		r := &t.Records[i]
		if r.Settle {
			break
		}
		if r.Step.Kind != trace.Start {
			action++
		}
		if k, known := open[r.Step.Msg]; known {
			switch {
			case r.Step.Kind == trace.Deliver && all[k].after < action-1:
				all[k].actions, all[k].steps = []int{action}, append(all[k].steps, r.Number)
			case r.Step.Kind != trace.Duplicate:
				all[k].prompt = nil // delivered in time, lost or forged
			}
		}
		for _, m := range r.Sent {
			name := names.Add(&m.Message)
			open[m.ID] = len(all)
			all = append(all, element{
				text:   fmt.Sprintf("the delay of %s (sent in step %d)", m.Text, r.Number),
				steps:  []int{r.Number},
				rank:   delayed,
				prompt: &trace.Action{Step: trace.Step{Kind: trace.Deliver}, Msg: name},
				after:  action,
			})
		}
	}
	return slices.DeleteFunc(all, func(e element) bool { return e.prompt == nil })
}

// isolation returns the phase and the isolated node by which a message in a lock-step round was lost.
func isolation(t *trace.Trace, r *trace.Record) (key [2]int, ok bool) {
	m, known := t.Message(r.Step.Msg)
	if r.Round < 1 || r.Round > len(t.Rounds) || !known {
		return key, false
	}
	round := t.Rounds[r.Round-1]
	for _, n := range []trace.Node{m.From, m.To} {
		if n != 0 && !round.Kernel.Has(n) {
			return [2]int{round.Phase, int(n)}, true
		}
	}
	return key, false
}

// whence says when a step was.
func whence(r *trace.Record) string {
	if r.Now == 0 {
		return fmt.Sprintf("(step %d)", r.Number)
	}
	return fmt.Sprintf("at %.3f s (step %d)", time.Duration(r.Now).Seconds(), r.Number)
}

// deed describes a step as text.
func deed(r *trace.Record) string {
	s := &r.Step
	switch s.Kind {
	case trace.Crash, trace.Pause, trace.Jump:
		what := map[trace.Kind]string{trace.Crash: "crash", trace.Pause: "pause", trace.Jump: "clock jump"}[s.Kind]
		return fmt.Sprintf("the %s of node %d", what, s.Node)
	case trace.Timer:
		return fmt.Sprintf("the timeout of node %d", s.Node)
	case trace.Cut:
		return fmt.Sprintf("the cut between nodes %s and %s", s.From, s.To)
	case trace.Request:
		return fmt.Sprintf("the request %s at node %d", strings.TrimSpace(r.Text), s.Node)
	case trace.Drop:
		return "the loss of " + r.Text
	case trace.Duplicate:
		return "the duplicate of " + r.Text
	case trace.Replace:
		return "the forgery of " + r.Text
	default:
		return "the delivery of " + r.Text
	}
}

// differences returns the first differences at each node: that of its events, or else that of its states.
func differences(failing, passing *trace.Trace) (all []Difference) {
	events := apart(observed(failing, eventsOf), observed(passing, eventsOf))
	states := apart(observed(failing, statesOf), observed(passing, statesOf))
	for n := range max(len(events), len(states)) {
		switch e, s := at(events, n), at(states, n); {
		case e != (Difference{}):
			all = append(all, e)
		case s != (Difference{}):
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Difference) int {
		return cmp.Compare(cmp.Or(a.Failing.Step, a.Passing.Step), cmp.Or(b.Failing.Step, b.Passing.Step))
	})
	return all
}

// apart returns the first difference at each node, the zero value where there is none.
func apart(a, b [][]Observation) []Difference {
	all := make([]Difference, max(len(a), len(b)))
	for n := range all {
		x, y := at(a, n), at(b, n)
		i := 0
		for i < len(x) && i < len(y) && x[i].Text == y[i].Text {
			i++
		}
		if i < len(x) || i < len(y) {
			all[n] = Difference{Node: trace.Node(n), Failing: at(x, i), Passing: at(y, i)}
		}
	}
	return all
}

// at returns an element, or the zero value beyond the end.
func at[T any](list []T, i int) (x T) {
	if i < len(list) {
		x = list[i]
	}
	return x
}

// observed lists what a run shows of each node, without the settling stage.
func observed(t *trace.Trace, of func(r *trace.Record, add func(trace.Node, string))) [][]Observation {
	all := make([][]Observation, t.Header.Nodes+1)
	for i := range t.Records {
		r := &t.Records[i]
		of(r, func(n trace.Node, text string) {
			if int(n) < len(all) && !r.Settle {
				all[n] = append(all[n], Observation{r.Number, text})
			}
		})
	}
	return all
}

func eventsOf(r *trace.Record, add func(trace.Node, string)) {
	for _, e := range r.Events {
		add(e.Node, strings.TrimSpace(e.Type+" "+e.Text))
	}
}

func statesOf(r *trace.Record, add func(trace.Node, string)) {
	for _, s := range r.States {
		add(s.Node, s.Text)
	}
}

// Lines describes the difference between the runs in a few lines, at most as many differences as given. Of runs in time
// it prints what each node did in one of the runs alone.
func (p *Passing) Lines(most int) []string {
	lines := []string{"the run passes without " + p.Without}
	for _, s := range p.Subjects[:min(len(p.Subjects), most)] {
		lines = append(lines, fmt.Sprintf("in the failing run, %s; in the passing run, %s", s.Failing, s.Passing))
	}
	if few := some(p.Extras, extrasOfNode); len(few) > 0 {
		for i, e := range few {
			if i == 3*most {
				break
			}
			which := "only in the passing run: "
			if e.Failing {
				which = "only in the failing run: "
			}
			lines = append(lines, which+e.String())
		}
		return lines
	}
	for i, d := range p.Differences {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %s more", words.Count(len(p.Differences)-most, "node")))
			break
		}
		where := fmt.Sprintf("node %d", d.Node)
		if d.Node == 0 {
			where = "clients"
		}
		lines = append(lines, fmt.Sprintf("%s: failing run %s; passing run %s", where, d.Failing, d.Passing))
	}
	return lines
}

// extrasOfNode is how many things a node did in one of the runs alone that are printed.
const extrasOfNode = 2

// String is the observation with its step.
func (o Observation) String() string {
	if o.Step == 0 && o.Text == "" {
		return "nothing more"
	}
	return fmt.Sprintf("%q (step %d)", o.Text, o.Step)
}
