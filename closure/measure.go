package closure

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Measured is what Measure counted.
type Measured struct {
	Runs int
	// Closed counts the runs in which no late message changed a state.
	Closed int
	Types  []TypeCount // by name
}

// TypeCount counts the deliveries of one type of message.
type TypeCount struct {
	Type      string
	Delivered int
	Late      int // of a round that the receiver had left
	Changed   int // late, and the receiver's state changed
}

// Measure makes runs of a plan and counts how often late messages change a state. A
// message is late when its receiver is in a later round: the round of a node is that of
// the latest message it sent in a step that changed its state. Findings do not end the
// campaign, and there is no settling stage. When the context ends, the counts cover the
// runs made so far.
func Measure(ctx context.Context, plan lockstep.Plan, runs int) (*Measured, error) {
	g := &gauge{}
	plan.Spec, plan.Runs, plan.Settle, plan.KeepGoing, plan.Keep = g, runs, 0, true, 1
	_, err := lockstep.Explore(ctx, plan)
	return g.sum(), err
}

// gauge is a spec that judges nothing and counts late messages.
type gauge struct {
	mutex  sync.Mutex // workers make their monitors at the same time
	meters []*meter
}

// Properties implements [lockstep.Spec].
func (g *gauge) Properties() []string { return nil }

// New implements [lockstep.Spec].
func (g *gauge) New(info lockstep.Info) lockstep.Monitor {
	m := &meter{position: newPosition(info), types: map[string]*TypeCount{},
		state: states{prints: make([]uint64, info.Nodes+1), texts: make([]string, info.Nodes+1)}}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.meters = append(g.meters, m)
	return m
}

// sum adds up what the workers counted.
func (g *gauge) sum() *Measured {
	out := &Measured{}
	types := map[string]*TypeCount{}
	for _, m := range g.meters {
		out.Runs += m.runs
		out.Closed += m.runs - m.leaky
		//lockstep:unordered the counts are summed up
		for name, c := range m.types {
			if types[name] == nil {
				types[name] = &TypeCount{Type: name}
			}
			t := types[name]
			t.Delivered, t.Late, t.Changed = t.Delivered+c.Delivered, t.Late+c.Late, t.Changed+c.Changed
		}
	}
	//lockstep:unordered they are sorted below
	for _, t := range types {
		out.Types = append(out.Types, *t)
	}
	slices.SortFunc(out.Types, func(a, b TypeCount) int { return strings.Compare(a.Type, b.Type) })
	return out
}

// meter counts in the runs of one worker.
type meter struct {
	position position
	state    states
	types    map[string]*TypeCount
	broken   bool // a late message changed a state in this run
	runs     int
	leaky    int // runs in which one did
}

// Reset implements [lockstep.Monitor].
func (m *meter) Reset() {
	m.position.reset()
	m.broken = false
	m.runs++
}

// Step implements [lockstep.Monitor].
func (m *meter) Step(run *lockstep.Run) *lockstep.Finding {
	if run.Last().Kind == trace.Start {
		m.state.begin(run)
		m.position.step(run, 0, false)
		return nil
	}
	n := actor(run)
	changed := n != 0 && m.state.update(run, n)
	late, _ := m.position.step(run, n, changed)
	if run.Last().Kind != trace.Deliver {
		return nil
	}
	c := m.types[run.Message(run.Last().Msg).Type]
	if c == nil {
		c = &TypeCount{}
		m.types[run.Message(run.Last().Msg).Type] = c
	}
	c.Delivered++
	if late {
		c.Late++
		if changed {
			c.Changed++
			if !m.broken {
				m.leaky++
			}
			m.broken = true
		}
	}
	return nil
}

// End implements [lockstep.Monitor].
func (m *meter) End(*lockstep.Run) *lockstep.Finding { return nil }
