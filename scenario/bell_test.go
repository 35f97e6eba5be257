package scenario_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/sim"
)

// bell is the small system of these tests. When the timer of node 1 fires, it sends an Ask to the others, which
// Answer; a request makes any node ask. A node that asked emits "heard" for each answer, with the number of answers
// so far, and "done" when all have answered.
func bell() sim.Cluster[note] {
	return sim.Cluster[note]{
		Name: "bell", Nodes: 3,
		New: func(self lockstep.Node, _ int) sim.Node[note] {
			r := &ringer{self: self}
			return sim.With(r, sim.Capabilities[note]{Reset: r.Reset})
		},
		Type:     func(n note) string { return n.Kind },
		Types:    []string{"Ask", "Answer"},
		Events:   []string{"heard", "done"},
		Text:     func(n note) string { return fmt.Sprint(n.Number) },
		Requests: nil,
		Parse: func(text string) (n note, err error) {
			_, err = fmt.Sscanf(text, "%s %d", &n.Kind, &n.Number)
			return n, err
		},
	}
}

// note is a message of a bell.
type note struct {
	Kind   string
	Number int
}

// String is the note in the format that Parse reads.
func (n note) String() string { return fmt.Sprintf("%s %d", n.Kind, n.Number) }

type ringer struct {
	self   lockstep.Node
	number int
	heard  int
}

func (r *ringer) Reset() { *r = ringer{self: r.self} }

func (r *ringer) Start(c *sim.Context[note]) {
	if r.self == 1 {
		c.SetTimeout(10)
	}
}

func (r *ringer) Timeout(c *sim.Context[note]) { r.ask(c) }

func (r *ringer) Request(c *sim.Context[note], _ int32, _ string) { r.ask(c) }

func (r *ringer) ask(c *sim.Context[note]) {
	r.number++
	r.heard = 0
	for n := range c.Nodes() {
		if to := lockstep.Node(n + 1); to != r.self {
			c.Send(to, note{"Ask", r.number})
		}
	}
}

func (r *ringer) Receive(c *sim.Context[note], from lockstep.Node, m note) {
	if m.Kind == "Ask" {
		c.Send(from, note{"Answer", m.Number})
		return
	}
	r.heard++
	c.Emit("heard", r.heard)
	if r.heard == c.Nodes()-1 {
		c.Emit("done", r.number)
	}
}

// bellPlan is a synchronous run of a bell under a scenario.
func bellPlan(sc lockstep.Scenario) lockstep.Plan {
	return lockstep.Plan{System: bell(), Strategy: scenario.Synchronous{}, Scenario: sc}
}

// show explains a run of a bell under a scenario.
func show(sc *scenario.Scenario) { showOn(bell(), sc) }

func showOn(system lockstep.System, sc *scenario.Scenario) {
	plan := bellPlan(sc)
	plan.System = system
	var text strings.Builder
	if err := scenario.Explain(context.Background(), plan, &text); err != nil {
		fmt.Println(err)
	}
	// Moments before the scenario's first action are left out.
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for len(lines) > 1 && !strings.Contains(lines[0], "|") && !strings.HasPrefix(lines[0], "drawn") {
		lines = lines[1:]
	}
	fmt.Println(strings.Join(lines, "\n"))
}

// asking is a bell with two requests; its timers do not matter.
func asking() sim.Cluster[note] {
	b := bell()
	b.Requests = []string{"x", "y"}
	return b
}

// watched lists the moments of a run of a bell at which a condition holds.
func watched(c scenario.Condition) {
	sc := scenario.New("watch")
	sc.If(c).Then(scenario.Do("print", func(m *scenario.Moment, _ *lockstep.Control) { fmt.Println(m) }))
	once(sc)
}

// once makes one run of a bell under a scenario.
func once(sc *scenario.Scenario) {
	plan := bellPlan(sc)
	plan.Runs, plan.Workers = 1, 1
	if _, err := lockstep.Explore(context.Background(), plan); err != nil {
		fmt.Println(err)
	}
}
