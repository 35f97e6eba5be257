package lockstep_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a node of the toy system: node 1 sends the numbers 1, 2, ... to all when its
// alarm fires; everyone emits what it receives and counts it in its durable storage.
type counter struct {
	self  lockstep.Node
	total *int
	trick func(c *sim.Context[int], m int)
}

func (n *counter) Start(c *sim.Context[int]) {
	n.total = sim.Durable[int](c)
	if n.self == 1 {
		c.SetAlarm(10)
	}
}

func (n *counter) Receive(c *sim.Context[int], _ lockstep.Node, m int) {
	*n.total += m
	if n.trick != nil {
		n.trick(c, m)
	}
	c.Emit("got", m)
}

func (n *counter) Alarm(c *sim.Context[int]) {
	*n.total++
	c.Broadcast(*n.total)
	c.SetAlarm(10)
}

func (n *counter) Request(c *sim.Context[int], id int32, _ string) { c.Emit("request", int(id)) }
func (n *counter) Reset()                                          { *n = counter{self: n.self, trick: n.trick} }
func (n *counter) String() string                                  { return fmt.Sprintf("total=%d", *n.total) }

// toy is a cluster of counters.
func toy(trick func(*sim.Context[int], int)) sim.Cluster[int] {
	return sim.Cluster[int]{Name: "toy", Nodes: 3, Requests: []string{"one", "two"},
		New: func(self lockstep.Node, _ int) sim.Node[int] { return &counter{self: self, trick: trick} },
		Parse: func(s string) (m int, err error) {
			_, err = fmt.Sscan(s, &m)
			return m, err
		}}
}

// list is a strategy that takes the steps it is given.
type list []lockstep.Step

func (list) String() string                             { return "list" }
func (list) Check(lockstep.Info) error                  { return nil }
func (list) Guarantee(lockstep.Info) lockstep.Guarantee { return lockstep.Guarantee{} }
func (l list) New(lockstep.Info) lockstep.Scheduler     { return &lister{steps: l} }

type lister struct {
	steps list
	at    int
}

func (l *lister) Reset(lockstep.Start) { l.at = 0 }
func (l *lister) Next(run *lockstep.Run, next *lockstep.Step) bool {
	if l.at == len(l.steps) {
		return false
	}
	*next = l.steps[l.at]
	if next.Kind == trace.Replace {
		*next = run.Forge(next.Msg, "100")
	}
	l.at++
	return true
}

// judge is a spec made of functions.
type judge struct {
	step, end func(*lockstep.Run) *lockstep.Finding
}

func (j judge) Properties() []string               { return []string{"judge"} }
func (j judge) New(lockstep.Info) lockstep.Monitor { return j }
func (j judge) Reset()                             {}
func (j judge) Step(r *lockstep.Run) *lockstep.Finding {
	if j.step == nil {
		return nil
	}
	return j.step(r)
}
func (j judge) End(r *lockstep.Run) *lockstep.Finding {
	if j.end == nil {
		return nil
	}
	return j.end(r)
}

var (
	alarm1   = lockstep.Step{Kind: trace.Alarm, Node: 1}
	anything = lockstep.Finding{Property: "judge", Text: "as asked"}
	atEnd    = judge{end: func(*lockstep.Run) *lockstep.Finding { f := anything; return &f }}
)

func deliver(id lockstep.ID) lockstep.Step { return lockstep.Step{Kind: trace.Deliver, Msg: id} }

// one makes a single run and returns its recording, with the steps in words.
func one(t *testing.T, plan lockstep.Plan) *trace.Trace {
	t.Helper()
	plan.Runs, plan.Workers = 1, 1
	if plan.Spec == nil {
		plan.Spec = atEnd
	}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if result.First() == nil {
		t.Fatalf("nothing found: %v %v", result.Verdicts, result.Reasons)
	}
	if result.First().Flaky != "" {
		t.Fatal(result.First().Flaky)
	}
	return result.First().Trace
}

// events lists the events of a trace: "2 got 1".
func events(t *trace.Trace) (list []string) {
	for _, r := range t.Records {
		for _, e := range r.Events {
			list = append(list, fmt.Sprint(e.Node, " ", e.Type, " ", e.Text))
		}
	}
	return list
}

// fails explores and returns the error.
func fails(t *testing.T, plan lockstep.Plan) string {
	t.Helper()
	_, err := lockstep.Explore(context.Background(), plan)
	if err == nil {
		t.Fatal("no error")
	}
	return err.Error()
}

var errBroken = errors.New("broken")
