package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/gen"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/trace"
)

// records lists the effects of a run of the given steps, step by step.
func records(t *testing.T, system lockstep.System, list ...lockstep.Step) []string {
	t.Helper()
	tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: system, Strategy: toy.Steps(list)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range tr.Records {
		text := r.Text
		for _, e := range r.Events {
			text += fmt.Sprintf("; %s %s", e.Type, e.Text)
		}
		all = append(all, text)
	}
	return all
}

func give(id int32) lockstep.Step { return lockstep.Step{Kind: trace.Request, Node: 1, Request: id} }

var fire = at(trace.Timer, 1)

// A blocking program receives messages, requests, named timers and timeouts, each with its kind; Await leaves requests
// and timers to Next.
func TestBlockingNext(t *testing.T) {
	system := sim.Cluster[string]{
		Name:     "ears",
		Nodes:    1,
		Requests: []string{"a", "b"},
		New: sim.Blocking(func(p *sim.Process[string]) {
			p.SetTimer("late", 50)
			p.SetTimer("early", 20)
			p.Send(1, "hello")
			for range 3 {
				a := p.Next(100)
				p.Emit("next", fmt.Sprintf("%d %d %s %d %s", a.Kind, a.Request, a.Text, a.From, a.Message))
			}
			_, m, ok := p.Await(100)
			p.Emit("await", fmt.Sprintf("%s %v", m, ok))
			a := p.Next(100)
			p.Emit("next", fmt.Sprintf("%d %d %s %d", a.Kind, a.Request, a.Text, p.Now()))
			p.StopTimer("late")
		}),
	}
	got := records(t, system, give(1), deliver(1), fire, give(2), fire, fire)
	want := []string{
		"",
		"client->1 a; next 2 1 a 0 ",
		"1->1 message hello; next 1 0  1 hello",
		"1 timer early; next 3 0 early 0 ",
		"client->1 b",
		"1 timer late",
		"1 timer; await  false; next 2 2 b 120",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// timed is an event-driven node with two named timers and an unnamed one.
type timed struct{ stopped *[]string }

func (t timed) Start(c *sim.Context[int]) {
	c.SetTimer("beat", 3)
	c.SetTimer("election", 5)
	c.SetTimeout(4)
}
func (t timed) Receive(*sim.Context[int], lockstep.Node, int) {}
func (t timed) Request(c *sim.Context[int], _ int32, _ string) {
	c.StopTimer("election")
	c.StopTimer("never set")
}
func (t timed) Timeout(c *sim.Context[int]) { c.Emit("timer", c.Now()) }
func (t timed) Timer(c *sim.Context[int], name string) {
	c.Emit(name, c.Now())
	if name == "beat" {
		c.SetTimer("beat", 3)
	}
}
func (t timed) node() sim.Node[int] {
	return sim.With(t, sim.Capabilities[int]{Timer: t.Timer, Stop: t.Stop})
}
func (t timed) Stop() { *t.stopped = append(*t.stopped, "stop") }

// The timer that is due first fires; a stopped one does not, and a crash stops all.
func TestNamedTimers(t *testing.T) {
	var stopped []string
	system := sim.Cluster[int]{
		Name:     "timed",
		Nodes:    1,
		Requests: []string{"calm"},
		New:      func(lockstep.Node, int) sim.Node[int] { return timed{&stopped}.node() },
	}
	got := records(t, system, fire, fire, fire, fire, at(trace.Crash, 1), at(trace.Restart, 1), give(1), fire, fire,
		fire)
	want := []string{
		"",
		"1 timer beat; beat 3",
		"1 timer; timer 4",
		"1 timer election; election 5",
		"1 timer beat; beat 6",
		"1 crash",
		"1 restart",
		"client->1 calm",
		"1 timer beat; beat 9",
		"1 timer; timer 10",
		"1 timer beat; beat 12",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if len(stopped) != 2 { // by the crash, and at the end of the run
		t.Errorf("stopped %d times", len(stopped))
	}
}

// A node is stopped once in each incarnation: by a crash, between runs, at the end. A blocking program runs its
// deferred functions.
func TestStop(t *testing.T) {
	for _, style := range []string{"events", "blocking"} {
		var stopped []string
		system := sim.Cluster[int]{
			Name:  style,
			Nodes: 2,
			New:   func(lockstep.Node, int) sim.Node[int] { return timed{&stopped}.node() },
		}
		if style == "blocking" {
			system.New = sim.Blocking(func(p *sim.Process[int]) {
				defer func() { stopped = append(stopped, "stop") }()
				for {
					p.Next(5)
				}
			})
		}
		plan := lockstep.Plan{
			System:   system,
			Strategy: toy.Steps{at(trace.Crash, 1), at(trace.Restart, 1), at(trace.Crash, 2)},
			Runs:     10,
			Workers:  1,
		}
		if _, err := lockstep.Explore(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if len(stopped) != 30 { // node 1 has two incarnations in a run, node 2 one
			t.Errorf("%s: stopped %d times in 30 incarnations", style, len(stopped))
		}
	}
}

// Programs that share state of the process declare that, and get one worker.
func TestSerial(t *testing.T) {
	info, err := sim.Cluster[int]{
		Name:   "serial",
		Nodes:  1,
		Serial: true,
		New:    sim.Blocking(func(*sim.Process[int]) {}),
	}.Describe()
	if err != nil || !info.Serial {
		t.Errorf("%+v, %v", info, err)
	}
}

var operation = gen.Weighted(
	gen.Case(2, func(s gen.Source) string { return "get " + gen.From("x", "y")(s) }),
	gen.Case(1, func(s gen.Source) string { return fmt.Sprintf("put %s %d", gen.From("x", "y")(s), gen.Int(1, 9)(s)) }))

// The content of a generated request is drawn by the step that gives it. It depends neither on the node nor on earlier
// steps.
func TestGenerated(t *testing.T) {
	system := sim.Cluster[int]{
		Name:              "generated",
		Nodes:             1,
		Generate:          operation,
		GeneratedRequests: 40,
		New: sim.Blocking(func(p *sim.Process[int]) {
			for {
				p.Emit("asked", p.Next(sim.Indefinitely).Text)
			}
		}),
	}
	var list []lockstep.Step
	for id := range int32(40) {
		list = append(list, give(id+1))
	}
	puts := 0
	for _, r := range records(t, system, list...)[1:] {
		asked, emitted, _ := strings.Cut(strings.TrimPrefix(r, "client->1 "), "; asked ")
		if asked != emitted || !strings.HasPrefix(asked, "get ") && !strings.HasPrefix(asked, "put ") {
			t.Errorf("the record says %q", r)
		}
		puts += strings.Count(asked, "put")
	}
	if puts < 4 || puts > 25 {
		t.Errorf("%d of 40 are writes, which should be about a third", puts)
	}
	for name, wrong := range map[string]func(*sim.Cluster[int]){
		"no number":    func(c *sim.Cluster[int]) { c.GeneratedRequests = 0 },
		"no generator": func(c *sim.Cluster[int]) { c.Generate = nil },
		"a list, too":  func(c *sim.Cluster[int]) { c.Requests = []string{"a"} },
		"negative":     func(c *sim.Cluster[int]) { c.GeneratedRequests = -1 },
	} {
		c := system
		wrong(&c)
		if _, err := c.Describe(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
