package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// director carries out a scenario: it is the compiled scenario and the state of the run.
type director struct {
	name     string
	info     lockstep.Info
	machines []readyMachine
	filters  []readyFilter
	draws    []draw
	reserved []wanted
	must     bool
	watch    *watch
	observe  *observation
	omits    bool // some filter is left out

	rand     *rand.Rand
	moment   Moment
	states   []int        // of each machine
	entered  []trace.Time // when each machine entered its state
	counters []tally
	vars     []any // nil: not set
	injects  []injection
	sets     [][]member
	batches  [][]delivery // deliveries that wait for copies
	marks    []lockstep.Nodes
	drawn    []lockstep.Nodes
	delayed  []delayed
	waits    []wait
	asked    []int32 // requests made at this moment
	steps    int     // of the exploring stage
	guided   int     // taken by the scenario
	done     bool    // the run was ended, and counting has stopped
	success  bool
	counts   []lockstep.Count
}

type readyMachine struct {
	*Machine
	edges    [][]test // by state
	reached  []int    // by state
	succeeds bool     // it has a success state
}

type readyFilter struct {
	*Filter
	when           test
	actions        []act
	needs          bool // it acts on a message in flight
	continues      bool // the cascade continues after it
	omitted        bool
	matched, acted int
	used           map[uint64]int // matches with an effect, by key
}

type delayed struct {
	id trace.ID
	at trace.Time
}

type wait struct {
	until test
	ids   []trace.ID
}

// Reset begins a new run.
func (d *director) Reset(source *rand.Rand) {
	d.rand, d.done, d.success, d.steps, d.guided = source, false, false, 0, 0
	for i := range d.machines {
		m := &d.machines[i]
		if m.reached == nil {
			m.reached = make([]int, len(m.states))
		}
		clear(m.reached)
	}
	for i := range d.filters {
		f := &d.filters[i]
		f.matched, f.acted = 0, 0
		clear(f.used)
	}
	for i := range d.counters {
		d.counters[i].reset()
	}
	for i := range d.sets {
		d.sets[i] = d.sets[i][:0]
	}
	for i := range d.waits {
		d.waits[i].ids = d.waits[i].ids[:0]
	}
	clear(d.states)
	clear(d.entered)
	clear(d.marks)
	clear(d.vars)
	d.delayed, d.asked, d.injects, d.batches = d.delayed[:0], d.asked[:0], d.injects[:0], d.batches[:0]
	for _, w := range d.draws {
		d.draw(w)
	}
	d.watch.begin(d)
}

// Observe processes a step.
func (d *director) Observe(run *lockstep.Run, hand *lockstep.Control) {
	if d.done {
		return
	}
	if d.observe != nil {
		hand = hand.Muted()
	}
	d.asked = d.asked[:0]
	if !run.Settling() {
		d.steps, d.guided = run.Steps(), run.Guided()
	}
	d.reserve(run, hand)
	d.releaseDue(run, hand)
	step := run.Last()
	m := &d.moment
	*m = Moment{Kind: Stepped, Run: run, Node: step.Node, director: d, hand: hand}
	switch step.Kind {
	case trace.Deliver:
		m.Kind, m.Message = Received, run.Message(step.Msg)
		m.Node = m.Message.To
	case trace.Drop, trace.Duplicate, trace.Replace:
		m.Message = run.Message(step.Msg)
	}
	d.see(m)
	events := run.Events()
	for i := range events {
		*m = Moment{Kind: Emitted, Run: run, Event: &events[i], Node: events[i].Node, director: d, hand: hand}
		d.see(m)
	}
	if step.Kind == trace.Duplicate {
		d.replay(run, hand)
		d.inject(run, hand)
		return
	}
	sent := run.Sent()
	for i := range sent {
		*m = Moment{Kind: Sent, Run: run, Message: &sent[i], Node: sent[i].From, director: d, hand: hand}
		d.see(m)
	}
}

// see takes a moment through machines, waits and filters.
func (d *director) see(m *Moment) {
	if d.done {
		return
	}
	d.watch.moment(m)
	for i := range d.machines {
		d.step(&d.machines[i], m)
	}
	if d.done || m.Run.Settling() {
		return
	}
	for i := range d.waits {
		if w := &d.waits[i]; len(w.ids) > 0 && w.until(m) {
			for _, id := range w.ids {
				m.hand.Release(id)
				d.watch.released(m, id)
				d.observe.release(m.Run, id)
			}
			w.ids = w.ids[:0]
		}
	}
	for i := range d.filters {
		if f := &d.filters[i]; d.matches(f, m) {
			d.carryOut(f, m)
			if !f.continues || d.done {
				return
			}
		}
	}
}

// step lets a machine take at most one edge.
func (d *director) step(machine *readyMachine, m *Moment) {
	from := machine.states[d.states[machine.number]]
	for i, t := range machine.edges[from.number] {
		if d.done || !t(m) {
			continue
		}
		to := from.edges[i].to
		d.states[machine.number] = to.number
		d.entered[machine.number] = m.Run.Now()
		machine.reached[to.number]++
		d.watch.entered(machine, to)
		if to.name == Fail {
			d.fail(
				m,
				fmt.Sprintf("machine %s went from %s to %s on %q: %s", machine.name, from.name, Fail,
					from.edges[i].when, m),
			)
		} else if to.ends {
			d.finish(m)
		}
		return
	}
}

// matches reports whether a filter takes the moment, and counts it.
func (d *director) matches(f *readyFilter, m *Moment) bool {
	if f.omitted || f.needs && (m.Kind != Sent || !m.Run.IsFree(m.Message.ID)) || !f.when(m) {
		return false
	}
	if f.limited && f.used[f.key(m)] >= f.limit {
		return false
	}
	f.matched++
	return true
}

// key is the key of the filter's count of matches.
func (r *readyFilter) key(m *Moment) uint64 {
	if r.per.of == nil {
		return 0
	}
	return r.per.of(m)
}

func (d *director) carryOut(f *readyFilter, m *Moment) {
	acted, key := false, uint64(0)
	if f.limited { // before the actions, which may change the state behind the key
		key = f.key(m)
	}
	for _, a := range f.actions {
		acted = a(m) || acted
	}
	if acted {
		f.acted++
		f.use(key)
	}
	d.observe.capture(f, m)
	d.watch.took(f, acted)
}

// use counts a match that had an effect.
func (r *readyFilter) use(key uint64) {
	if !r.limited {
		return
	}
	if r.used == nil {
		r.used = map[uint64]int{}
	}
	r.used[key]++
}

// reserve reserves requests.
func (d *director) reserve(run *lockstep.Run, hand *lockstep.Control) {
	if len(d.reserved) == 0 || !hand.Active() {
		return
	}
	for i := 0; i < len(run.Pending()); {
		p := run.Pending()[i]
		if slices.ContainsFunc(d.reserved, func(r wanted) bool { return r.is(p) }) {
			hand.Reserve(p.ID)
		} else {
			i++
		}
	}
}

// releaseDue releases the messages whose delay is over.
func (d *director) releaseDue(run *lockstep.Run, hand *lockstep.Control) {
	d.delayed = slices.DeleteFunc(d.delayed, func(x delayed) bool {
		if x.at <= run.Now() {
			hand.Release(x.id)
			d.observe.release(run, x.id)
		}
		return x.at <= run.Now()
	})
}

// Idle advances the clock to the next delayed message when nothing else can happen.
func (d *director) Idle(run *lockstep.Run, hand *lockstep.Control) bool {
	if len(d.delayed) == 0 || d.observe != nil || len(run.FreeMessages()) > 0 || run.AnyTimer() || len(run.Pending()) > 0 {
		return false
	}
	first := slices.MinFunc(d.delayed, func(a, b delayed) int { return int(a.at - b.at) })
	d.delayed = slices.DeleteFunc(d.delayed, func(x delayed) bool { return x == first })
	step := lockstep.Step{Kind: trace.Deliver, Msg: first.id, At: first.at}
	if !run.Possible(step) {
		hand.Release(first.id)
		return true
	}
	hand.Do(step)
	return true
}

// finish ends the run without a finding.
func (d *director) finish(m *Moment) {
	if d.observe != nil {
		return
	}
	d.done = true
	m.hand.Finish()
}

// fail ends the run with a finding.
func (d *director) fail(m *Moment, text string) {
	if d.observe != nil {
		return
	}
	d.done = true
	m.hand.Fail(lockstep.Finding{Property: "scenario " + d.name, Text: text, Nodes: one(m.Node)})
}

// End checks the end of a run.
func (d *director) End(run *lockstep.Run, hand *lockstep.Control) {
	if d.observe != nil {
		d.observe.end()
		return
	}
	if d.vacuous() != "" {
		return
	}
	var missed []string
	any := false
	for i := range d.machines {
		m := &d.machines[i]
		any = any || m.succeeds
		if at := m.states[d.states[i]]; m.succeeds && !at.success {
			missed = append(missed, fmt.Sprintf("machine %s ended in state %s", m.name, at.name))
		}
	}
	d.success = any && len(missed) == 0
	if d.must && !d.success {
		hand.Fail(lockstep.Finding{Property: "scenario " + d.name, Text: "no success: " + strings.Join(missed, ", ")})
	}
}
