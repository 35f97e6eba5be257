package rounds_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/trace"
)

// climber is a node that increments its phase at each timer and announces it to all in round A. A node that receives
// a phase not behind its own joins it and answers in round B. A node that receives an answer sends again in round A,
// which is over by then.
type climber struct{ phase int32 }

func (n *climber) Start(c *sim.Context[trace.Tag])                { c.SetTimeout(1) }
func (n *climber) Request(*sim.Context[trace.Tag], int32, string) {}
func (n *climber) Timeout(c *sim.Context[trace.Tag])              { n.phase++; n.send(c, 0); c.SetTimeout(1) }
func (n *climber) send(c *sim.Context[trace.Tag], round int32) {
	c.Broadcast(trace.Tag{Phase: n.phase, Round: round})
}
func (n *climber) Receive(c *sim.Context[trace.Tag], _ lockstep.Node, m trace.Tag) {
	if m.Phase < n.phase {
		return
	}
	n.phase = m.Phase
	n.send(c, 1-m.Round)
}

func climbers() sim.Cluster[trace.Tag] {
	return sim.Cluster[trace.Tag]{Name: "climbers", Nodes: 3, Rounds: []string{"A", "B"},
		Tag: func(m trace.Tag) trace.Tag { return m },
		New: func(lockstep.Node, int) sim.Node[trace.Tag] { return &climber{} }}
}

// loosely is turns whose messages wait for the next round of their name.
type loosely struct{ turns }

func (l loosely) New(info lockstep.Info) lockstep.Scheduler {
	p := l.turns.New(info)
	p.(*turning).inner.Loosely(true)
	return p
}

// Messages of a closed round or phase are lost permanently: no delivery crosses a phase. Check, which uses the trace
// alone, confirms it. It detects the deliveries that do so if messages may wait.
func TestRoundsAreClosed(t *testing.T) {
	set := trace.NodesOf
	s := turns{number: 30, kernels: []lockstep.Nodes{set(1, 2), set(1, 2), set(1, 2, 3), set(2, 3), set(2, 3)}}
	strict := record(t, climbers(), s)
	if err := rounds.Check(strict); err != nil {
		t.Error(err)
	}
	sent, phase, heard := map[trace.ID]int{}, int32(0), map[int32]bool{}
	for _, r := range strict.Records {
		for _, m := range r.Sent {
			sent[m.ID] = max(r.Round, 1)
		}
		if r.Step.Kind != trace.Deliver {
			continue
		}
		m, _ := strict.Message(r.Step.Msg)
		if (sent[m.ID]-1)/2 != (r.Round-1)/2 || m.Tag.Phase < phase {
			t.Errorf("step %d delivers %s, sent in round %d, of phase %d after %d, in round %d", r.Number, m.Message,
				sent[m.ID], m.Tag.Phase, phase, r.Round)
		}
		phase, heard[m.Tag.Phase] = m.Tag.Phase, true
	}
	if len(heard) < 5 {
		t.Errorf("messages of the phases %v arrived", heard)
	}
	loose, err := lockstep.Record(t.Context(), lockstep.Plan{System: climbers(), Strategy: loosely{s}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := rounds.Check(loose); err == nil || !strings.Contains(err.Error(), "in the phase before") {
		t.Errorf("where messages wait: %v", err)
	}
}

// leaper is a node that answers a call of round A in round B. A node that receives an answer sends in round A of the
// next phase, which has not begun, and in round A of this phase, which is over.
type leaper struct{ climber }

func (l *leaper) Timeout(c *sim.Context[trace.Tag]) {
	if l.phase == 0 && c.Self() == 1 {
		l.phase = 1
		l.send(c, 0)
	}
	c.SetTimeout(1)
}

func (l *leaper) Receive(c *sim.Context[trace.Tag], from lockstep.Node, m trace.Tag) {
	switch {
	case m.Phase < l.phase:
	case m.Round == 0:
		l.phase = m.Phase
		c.Send(from, trace.Tag{Phase: l.phase, Round: 1})
	case from == 2: // one answer is enough
		l.send(c, 0)
		l.phase++
		l.send(c, 0)
	}
}

// A message of a phase that has not begun at the time of sending is for the next phase, in any round. A message of
// the current phase is lost if its round is over.
func TestPhasesToCome(t *testing.T) {
	system := climbers()
	system.New = func(lockstep.Node, int) sim.Node[trace.Tag] { return &leaper{} }
	tr := record(t, system, turns{number: 10, kernels: []lockstep.Nodes{trace.AllNodes(3)}})
	if err := rounds.Check(tr); err != nil {
		t.Error(err)
	}
	arrived, lost := map[trace.Tag]int{}, map[trace.Tag]int{}
	for _, r := range tr.Records {
		switch m, _ := tr.Message(r.Step.Msg); r.Step.Kind {
		case trace.Deliver:
			arrived[m.Tag]++
			if int(m.Tag.Phase) != (r.Round+1)/2 {
				t.Errorf("round %d delivers %s of phase %d", r.Round, m.Message, m.Tag.Phase)
			}
		case trace.Drop:
			lost[m.Tag]++
		}
	}
	for phase := int32(1); phase <= 5; phase++ {
		calls := trace.Tag{Phase: phase}
		if arrived[calls] != 3 || phase < 5 && lost[calls] != 3 {
			t.Errorf("of the calls of phase %d %d arrived and %d were lost", phase, arrived[calls], lost[calls])
		}
	}
}

func ExampleCheck() {
	set := trace.NodesOf
	t, err := lockstep.Record(context.Background(), lockstep.Plan{System: climbers(),
		Strategy: loosely{turns{number: 4, kernels: []lockstep.Nodes{set(1, 2, 3)}}}}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rounds.Check(t))
	// Output: step 43 delivers 1->1 message in round 3, but it was sent in round 2, in the phase before
}
