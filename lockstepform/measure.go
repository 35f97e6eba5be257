package lockstepform

import (
	"context"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Measured is the result of Measure.
type Measured struct {
	Runs int
	// Closed counts the runs in which no late message changed a state.
	Closed int
	Types  []TypeCount // by name
}

// TypeCount counts the deliveries of one type of message.
type TypeCount struct {
	Type      string `json:"type"`      // of the messages
	Delivered int    `json:"delivered"` // number of delivered messages
	Late      int    `json:"late"`      // of an earlier round than the receiver's
	Changed   int    `json:"changed"`   // late, and the receiver's state changed
}

// Measure executes runs of a plan and counts how often late messages change a state. A message is late if its receiver
// is in a later round. The round of a node is that of the latest message it sent in a step that changed its state.
// Findings do not end the campaign, and there is no settling stage. When the context ends, the counts cover the
// completed runs.
func Measure(ctx context.Context, plan lockstep.Plan, runs int) (*Measured, error) {
	g := NewGauge()
	plan = g.Plan(plan)
	plan.Runs = runs
	_, err := lockstep.Explore(ctx, plan)
	return g.Take(), err
}

// Gauge counts late messages like Measure, in runs that a caller executes with its Plan.
type Gauge struct {
	out   Measured
	types map[string]*TypeCount
}

// NewGauge returns a new gauge.
func NewGauge() *Gauge { return &Gauge{types: map[string]*TypeCount{}} }

// Plan returns the plan whose runs are measured: that of a campaign, without a stop at findings and without a settling
// stage.
func (g *Gauge) Plan(plan lockstep.Plan) lockstep.Plan {
	plan.Spec, plan.Settle, plan.KeepGoing, plan.Keep, plan.Texts = nil, 0, true, 1, true
	plan.Observers = append(slices.Clip(plan.Observers), (*gauge)(g))
	return plan
}

// Take returns the counts and resets the gauge.
func (g *Gauge) Take() *Measured {
	out := g.out
	//lockstep:unordered they are sorted below
	for _, t := range g.types {
		out.Types = append(out.Types, *t)
	}
	out.sort()
	g.out = Measured{}
	clear(g.types)
	return &out
}

// Add adds the counts of other runs.
func (m *Measured) Add(other *Measured) {
	m.Runs, m.Closed = m.Runs+other.Runs, m.Closed+other.Closed
	for _, c := range other.Types {
		i := slices.IndexFunc(m.Types, func(t TypeCount) bool { return t.Type == c.Type })
		if i < 0 {
			i = len(m.Types)
			m.Types = append(m.Types, TypeCount{Type: c.Type})
		}
		t := &m.Types[i]
		t.Delivered, t.Late, t.Changed = t.Delivered+c.Delivered, t.Late+c.Late, t.Changed+c.Changed
	}
	m.sort()
}

func (m *Measured) sort() {
	slices.SortFunc(m.Types, func(a, b TypeCount) int { return strings.Compare(a.Type, b.Type) })
}

// gauge is the observer of a Gauge.
type gauge Gauge

// New returns a new watcher.
func (g *gauge) New(info lockstep.Info) lockstep.Watcher {
	return &meter{
		position: newPosition(info),
		state:    states{prints: make([]uint64, info.Nodes+1), texts: make([]string, info.Nodes+1)},
	}
}

// Collect adds the counts of a run.
func (g *gauge) Collect(_ int, noted any) {
	g.out.Runs++
	closed := true
	for _, c := range noted.([]TypeCount) {
		t := g.types[c.Type]
		if t == nil {
			t = &TypeCount{Type: c.Type}
			g.types[c.Type] = t
		}
		t.Delivered, t.Late, t.Changed = t.Delivered+c.Delivered, t.Late+c.Late, t.Changed+c.Changed
		closed = closed && c.Changed == 0
	}
	if closed {
		g.out.Closed++
	}
}

// meter counts in one run after another.
type meter struct {
	position position
	state    states
	types    []TypeCount
}

// Reset begins a new run.
func (m *meter) Reset() {
	m.position.reset()
	m.types = m.types[:0]
}

// Observe counts the last step if it is a delivery.
func (m *meter) Observe(run *lockstep.Run) {
	if run.Last().Kind == trace.Start {
		m.state.begin(run)
		m.position.step(run, 0, false)
		return
	}
	n := actor(run)
	changed := n != 0 && m.state.update(run, n)
	late, _ := m.position.step(run, n, changed)
	if run.Last().Kind != trace.Deliver {
		return
	}
	c := m.count(run.Message(run.Last().Msg).Type)
	c.Delivered++
	if late {
		c.Late++
		if changed {
			c.Changed++
		}
	}
}

func (m *meter) count(kind string) *TypeCount {
	for i := range m.types {
		if m.types[i].Type == kind {
			return &m.types[i]
		}
	}
	m.types = append(m.types, TypeCount{Type: kind})
	return &m.types[len(m.types)-1]
}

// Noted returns the counts of the run.
func (m *meter) Noted() any { return slices.Clone(m.types) }
