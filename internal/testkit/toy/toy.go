// Package toy provides a small system, strategies and specs for tests of the engine and of the packages that use it.
package toy

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/trace"
)

// counter is a node of the toy system. Node 1 sends the numbers 1, 2, ... to all nodes when its timer fires. Every node
// emits each number that it receives and counts it in its durable storage.
type counter struct {
	self  lockstep.Node
	total *int
	trick func(c *sim.Context[int], m int)
}

func (n *counter) Start(c *sim.Context[int]) {
	n.total = sim.Durable[int](c)
	if n.self == 1 {
		c.SetTimeout(10)
	}
}

func (n *counter) Receive(c *sim.Context[int], _ lockstep.Node, m int) {
	*n.total += m
	if n.trick != nil {
		n.trick(c, m)
	}
	c.Emit("got", m)
}

func (n *counter) Timeout(c *sim.Context[int]) {
	*n.total++
	c.Broadcast(*n.total)
	c.SetTimeout(10)
}

func (n *counter) Request(c *sim.Context[int], id int32, _ string) { c.Emit("request", int(id)) }
func (n *counter) Reset()                                          { *n = counter{self: n.self, trick: n.trick} }
func (n *counter) String() string                                  { return fmt.Sprintf("total=%d", *n.total) }

// Cluster returns a cluster of three counters. They call trick, if it is set, with each number that they receive.
func Cluster(trick func(*sim.Context[int], int)) sim.Cluster[int] {
	return sim.Cluster[int]{Name: "toy", Nodes: 3, Requests: []string{"one", "two"},
		New: func(self lockstep.Node, _ int) sim.Node[int] {
			n := &counter{self: self, trick: trick}
			return sim.With(n, sim.Capabilities[int]{Reset: n.Reset, State: n.String})
		},
		Parse: func(s string) (m int, err error) {
			_, err = fmt.Sscan(s, &m)
			return m, err
		}}
}

// Steps is a strategy that takes the given steps. A Replace step has the body 100.
type Steps []lockstep.Step

// String returns the name of the strategy.
func (Steps) String() string { return "list" }

// Fit gives no guarantee.
func (Steps) Fit(lockstep.Info) (t lockstep.Terms, err error) { return t, nil }

// New returns a scheduler.
func (s Steps) New(lockstep.Info) lockstep.Scheduler { return &lister{steps: s} }

type lister struct {
	steps Steps
	at    int
}

func (l *lister) Reset(*lockstep.Start)                   { l.at = 0 }
func (l *lister) Report(bool) (a lockstep.SchedulerStats) { return a }
func (l *lister) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if l.at == len(l.steps) {
		return false
	}
	*next = l.steps[l.at]
	if next.Kind == trace.Replace {
		*next = turn.Forge(next.Msg, "100")
	}
	l.at++
	return true
}

// Checker is a spec made of functions.
type Checker struct {
	OnStep, AtEnd func(*lockstep.Run) *lockstep.Finding
	// Undecided is the reason why no run can be checked; empty: runs can be checked.
	Undecided string
}

// Properties returns the single property.
func (c Checker) Properties() []string { return []string{"checker"} }

// New returns a monitor.
func (c Checker) New(lockstep.Info) lockstep.Monitor { return c }

// Reset begins a new run.
func (c Checker) Reset() {}

// Step checks a step.
func (c Checker) Step(r *lockstep.Run) *lockstep.Finding {
	if c.OnStep == nil {
		return nil
	}
	return c.OnStep(r)
}

// End checks the end of a run.
func (c Checker) End(r *lockstep.Run) *lockstep.Finding {
	if c.AtEnd == nil {
		return nil
	}
	return c.AtEnd(r)
}

// EventsOnly reports that steps without events are checked, too.
func (Checker) EventsOnly() bool { return false }

// Conclude counts nothing.
func (c Checker) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Undecided: c.Undecided}
}

// A step, a finding and a spec that tests use.
var (
	Timer1   = lockstep.Step{Kind: trace.Timer, Node: 1}
	Anything = lockstep.Finding{Property: "checker", Text: "as asked"}
	AtEnd    = Checker{AtEnd: func(*lockstep.Run) *lockstep.Finding { return &Anything }}
)

// Deliver returns the step that delivers a message.
func Deliver(id trace.ID) lockstep.Step { return lockstep.Step{Kind: trace.Deliver, Msg: id} }

// One makes a single run that fails and returns its recording. Without a spec it fails at
// its end.
func One(t testing.TB, plan lockstep.Plan) *trace.Trace {
	t.Helper()
	plan.Runs, plan.Workers = 1, 1
	if plan.Spec == nil {
		plan.Spec = AtEnd
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

// Find explores a plan and returns its findings.
func Find(t testing.TB, plan lockstep.Plan) []lockstep.Failure {
	t.Helper()
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Failures) == 0 {
		t.Fatalf("%s found nothing", plan.Strategy)
	}
	return result.Failures
}

// Events lists the events of a trace: "2 got 1".
func Events(t *trace.Trace) (list []string) {
	for _, r := range t.Records {
		for _, e := range r.Events {
			list = append(list, fmt.Sprint(e.Node, " ", e.Type, " ", e.Text))
		}
	}
	return list
}

// Wrapped is a system that is changed by functions.
type Wrapped struct {
	lockstep.System
	Info   func(*lockstep.Info)
	Placed func(*lockstep.Env) error
	Do     func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error
	Closed func()
}

// Describe changes the system's description.
func (w Wrapped) Describe() (lockstep.Info, error) {
	info, err := w.System.Describe()
	if w.Info != nil {
		w.Info(&info)
	}
	return info, err
}

// Deploy returns a deployment whose steps are changed.
func (w Wrapped) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	if w.Placed != nil {
		if err := w.Placed(p); err != nil {
			return nil, err
		}
	}
	d, err := w.System.Deploy(ctx, p)
	return wrapped{d, w}, err
}

type wrapped struct {
	lockstep.Deployment
	by Wrapped
}

func (w wrapped) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if w.by.Do == nil {
		return w.Deployment.Do(ctx, s, out)
	}
	return w.by.Do(ctx, w.Deployment, s, out)
}

func (w wrapped) Close() error {
	if w.by.Closed != nil {
		w.by.Closed()
	}
	return w.Deployment.Close()
}
