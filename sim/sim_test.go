package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/steps"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoServer answers every message with the same message, indefinitely.
func echoServer(p *sim.Process[string]) {
	for {
		if from, m, ok := p.Await(sim.Indefinitely); ok {
			p.Send(from, m)
		}
	}
}

// asker asks node 2 until it has an answer, then halts.
func asker(p *sim.Process[string]) {
	for {
		p.Send(2, "hello")
		if from, m, ok := p.Await(100); ok {
			p.Emit("answer", fmt.Sprint(m, " from ", from))
			p.Halt()
		}
		p.Emit("time-out", p.Now())
	}
}

func echo() sim.Cluster[string] {
	return sim.Cluster[string]{Name: "echo", Nodes: 2, New: sim.Blocking(func(p *sim.Process[string]) {
		if p.Self() == 1 {
			asker(p)
		}
		echoServer(p)
	})}
}

// listen is a spec that records events.
type listen struct{ events *[]string }

func (l listen) Properties() []string               { return nil }
func (l listen) New(lockstep.Info) lockstep.Monitor { return l }
func (l listen) Reset()                             {}
func (l listen) Step(r *lockstep.Run) *lockstep.Finding {
	for _, e := range r.Events() {
		*l.events = append(*l.events, fmt.Sprint(e.Node, " ", e.Type, " ", e.Value))
	}
	return nil
}
func (l listen) End(*lockstep.Run) *lockstep.Finding { return nil }
func (listen) EventsOnly() bool                      { return false }
func (l listen) Conclude(bool) lockstep.Conclusion   { return lockstep.Conclusion{} }

func run(t *testing.T, system lockstep.System, list ...lockstep.Step) []string {
	t.Helper()
	var events []string
	_, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: system, Strategy: steps.List(list), Spec: listen{&events}, Runs: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func deliver(id trace.ID) lockstep.Step { return lockstep.Step{Kind: trace.Deliver, Msg: id} }
func at(k trace.Kind, n lockstep.Node) lockstep.Step {
	return lockstep.Step{Kind: k, Node: n}
}

func TestBlocking(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []lockstep.Step
		want  []string
	}{
		{"answer", []lockstep.Step{deliver(1), deliver(2)}, []string{"1 answer hello from 2"}},
		{
			"time-out, then answer",
			[]lockstep.Step{at(trace.Timer, 1), deliver(2), deliver(3)},
			[]string{"1 time-out 100", "1 answer hello from 2"},
		},
		{
			"halted nodes hear nothing",
			[]lockstep.Step{at(trace.Timer, 1), deliver(1), deliver(2), deliver(3), deliver(4)},
			[]string{"1 time-out 100", "1 answer hello from 2"},
		},
		{
			"crash and restart",
			[]lockstep.Step{at(trace.Crash, 1), at(trace.Restart, 1), deliver(2), deliver(3)},
			[]string{"1 answer hello from 2"},
		},
		{
			"halted, then restarted",
			[]lockstep.Step{deliver(1), deliver(2), at(trace.Crash, 1), at(trace.Restart, 1), deliver(3), deliver(4)},
			[]string{"1 answer hello from 2", "1 answer hello from 2"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := run(t, echo(), c.steps...); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Neither a halted node nor one that waits indefinitely has a timer.
func TestBlockingTimeouts(t *testing.T) {
	_, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: echo(), Strategy: steps.List{at(trace.Timer, 2)}, Runs: 1})
	if err == nil {
		t.Error("node 2 waits indefinitely, but its timer fired")
	}
	_, err = lockstep.Explore(context.Background(),
		lockstep.Plan{System: echo(), Strategy: steps.List{deliver(1), deliver(2), at(trace.Timer, 1)}, Runs: 1})
	if err == nil {
		t.Error("node 1 has halted, but its timer fired")
	}
}

// Many runs with crashes leave no coroutine behind (goleak checks that at the end), and are the same with a new or a
// reused deployment.
func TestBlockingIsReused(t *testing.T) {
	plan := lockstep.Plan{
		System:   echo(),
		Strategy: strategy.Walk{Deliver: 3, Drop: 1, Timer: 1, Crash: 1, Restart: 1, Steps: 60},
		Runs:     500,
		Workers:  1,
	}
	one, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	plan.Workers = 3
	three, err := lockstep.Explore(context.Background(), plan)
	if err != nil || one.Digest != three.Digest {
		t.Errorf("digests %x and %x, %v", one.Digest, three.Digest, err)
	}
}

// A panic in a blocking program is a finding, and leaks no coroutine either.
func TestBlockingPanics(t *testing.T) {
	system := sim.Cluster[string]{Name: "angry", Nodes: 2, New: sim.Blocking(func(p *sim.Process[string]) {
		p.Send(2, "x")
		p.Await(sim.Indefinitely)
		panic("enough")
	})}
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: system, Strategy: steps.List{deliver(1)}, Runs: 3, KeepGoing: true})
	if err != nil || result.Verdicts[trace.Fail] != 3 || result.First().Finding.Text != "enough" {
		t.Errorf("%+v, %v", result, err)
	}
	if s := result.First().Finding.Stack; !strings.Contains(s, "TestBlockingPanics") ||
		strings.Contains(s, "lockstep.(*") {
		t.Errorf("the stack does not name the place, or continues into the engine:\n%s", s)
	}
}

// memory keeps a durable and a volatile number.
type memory struct {
	volatile int
	durable  *int
}

func (m *memory) Start(c *sim.Context[int]) {
	m.durable = sim.Durable[int](c)
	c.Emit("start", fmt.Sprint(m.volatile, *m.durable))
}
func (m *memory) Receive(*sim.Context[int], lockstep.Node, int) {}
func (m *memory) Timeout(*sim.Context[int])                     {}
func (m *memory) Request(c *sim.Context[int], id int32, text string) {
	m.volatile++
	*m.durable++
	c.Emit(text, fmt.Sprint(m.volatile, *m.durable))
}

func TestDurable(t *testing.T) {
	system := sim.Cluster[int]{Name: "memory", Nodes: 1, Requests: []string{"a", "b", "c"},
		New: func(lockstep.Node, int) sim.Node[int] { return &memory{} }}
	give := func(id int32) lockstep.Step { return lockstep.Step{Kind: trace.Request, Node: 1, Request: id} }
	var events []string
	plan := lockstep.Plan{System: system, Spec: listen{&events}, Runs: 2, Workers: 1,
		Strategy: steps.List{give(1), give(2), at(trace.Crash, 1), at(trace.Restart, 1), give(3)}}
	if _, err := lockstep.Explore(context.Background(), plan); err != nil {
		t.Fatal(err)
	}
	one := []string{"1 start 0 0", "1 a 1 1", "1 b 2 2", "1 start 0 2", "1 c 1 3"}
	// the second run starts from the initial state
	if want := slices.Concat(one, one); !slices.Equal(events, want) {
		t.Errorf("got %q, want %q", events, want)
	}
}

func TestDescribe(t *testing.T) {
	if _, err := (sim.Cluster[int]{Name: "none", Nodes: 1}).Describe(); err == nil {
		t.Error("a cluster without programs is accepted")
	}
	_, err := lockstep.Explore(
		context.Background(),
		lockstep.Plan{
			System:   sim.Cluster[int]{Name: "none", New: sim.Blocking(func(*sim.Process[int]) {})},
			Strategy: strategy.DefaultWalk,
		},
	)
	if err == nil || err.Error() != "none: 0 nodes, allowed are 1..64" {
		t.Error(err)
	}
}

// A forged message is delivered in place of the original one. If the system cannot parse it, the campaign ends with an
// error that names the forged text.
func TestForged(t *testing.T) {
	system := echo()
	if info, err := system.Describe(); err != nil || info.Supports.Has(trace.Replace) {
		t.Errorf("without Parse messages can be forged: %s, %v", info.Supports, err)
	}
	system.Type = func(m string) string { return "say " + m }
	system.Parse = func(s string) (string, error) {
		if s == "nonsense" {
			return "", errors.New("cannot read it")
		}
		return strings.TrimPrefix(s, "the word "), nil
	}
	plan := lockstep.Plan{System: system, Runs: 1}
	forge := func(body string) lockstep.Strategy {
		return steps.Forging{List: steps.List{{Kind: trace.Replace, Msg: 1}, deliver(1), deliver(2)}, Body: body}
	}
	plan.Strategy = forge("the word goodbye")
	tr, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, len(tr.Records))
	for i, r := range tr.Records {
		got[i] = r.Text
		for _, e := range r.Events {
			got[i] += "; " + e.Text
		}
	}
	want := []string{
		"",
		"1->2 say goodbye goodbye",
		"1->2 say goodbye goodbye",
		"2->1 say goodbye goodbye; goodbye from 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	plan.Strategy = forge("nonsense")
	if _, err := lockstep.Explore(t.Context(), plan); err == nil ||
		!strings.Contains(err.Error(), `forged message "nonsense": cannot read it`) {
		t.Errorf("nonsense was forged: error %v", err)
	}
}

func ExampleCluster() {
	// Two nodes play ping-pong until node 1 has seen three balls.
	system := sim.Cluster[int]{Name: "ping-pong", Nodes: 2, New: sim.Blocking(func(p *sim.Process[int]) {
		if p.Self() == 1 {
			p.Send(2, 1)
		}
		for {
			from, ball, _ := p.Await(sim.Indefinitely)
			if ball == 5 {
				p.Emit("enough", ball)
				p.Halt()
			}
			p.Send(from, ball+1)
		}
	})}
	result, err := lockstep.Explore(context.Background(),
		lockstep.Plan{System: system, Strategy: strategy.Walk{Deliver: 1}, Runs: 1})
	fmt.Println(result.Steps, result.Verdict(), err)
	// Output: 5 pass <nil>
}

func ExampleBare() {
	b := sim.NewBare(echo())
	b.Reset(1)
	from, to := b.Endpoints(0)
	fmt.Println(from, to, b.Message(0), b.Timers())
	b.Deliver(0)
	b.Deliver(1)
	fmt.Println(b.Sent(), b.Events()[0].Value)
	b.Close()
	// Output:
	// 1 2 hello 1
	// 2 hello from 2
}

// BenchmarkBlocking compares a blocking program, a coroutine that is resumed for each message, with an event-driven
// one. It also compares the coroutine with a goroutine that receives messages over channels. The ratio is the
// event-driven time over the other.
//
//	go test ./sim -run '^$' -bench Blocking
func BenchmarkBlocking(b *testing.B) {
	events := measure(b,
		sim.Cluster[int]{Name: "events", Nodes: 2, New: func(lockstep.Node, int) sim.Node[int] { return &ponger{} }})
	blocking := measure(b, sim.Cluster[int]{Name: "blocking", Nodes: 2, New: sim.Blocking(func(p *sim.Process[int]) {
		if p.Self() == 1 {
			p.Send(2, 1)
		}
		for {
			from, ball, _ := p.Await(sim.Indefinitely)
			p.Send(from, ball+1)
		}
	})})
	handOff := measureHandOff(b)
	b.ReportMetric(events, "ns/event")
	b.ReportMetric(blocking, "ns/coroutine")
	b.ReportMetric(handOff, "ns/goroutine")
	b.ReportMetric(events/blocking, "ratio")
	b.ReportMetric(0, "ns/op")
}

type ponger struct{}

func (*ponger) Start(c *sim.Context[int]) {
	if c.Self() == 1 {
		c.Send(2, 1)
	}
}
func (*ponger) Receive(c *sim.Context[int], from lockstep.Node, m int) { c.Send(from, m+1) }
func (*ponger) Timeout(*sim.Context[int])                              {}
func (*ponger) Request(*sim.Context[int], int32, string)               {}

func measure(b *testing.B, c sim.Cluster[int]) float64 {
	bare := sim.NewBare(c)
	defer bare.Close()
	bare.Reset(1)
	start := b.Elapsed()
	for i := range b.N {
		bare.Deliver(i)
	}
	return float64((b.Elapsed() - start).Nanoseconds()) / float64(b.N)
}

// measureHandOff returns the cost of a switch with a goroutine and two channels.
func measureHandOff(b *testing.B) float64 {
	in, out := make(chan int), make(chan int)
	go func() {
		for m := range in {
			out <- m + 1
		}
		close(out)
	}()
	start := b.Elapsed()
	for i := range b.N {
		in <- i
		<-out
	}
	took := float64((b.Elapsed() - start).Nanoseconds()) / float64(b.N)
	close(in)
	<-out
	return took
}

// counter counts its requests and has the role full after three.
type counter struct{ ids []int32 }

func (*counter) Start(*sim.Context[int])                       {}
func (*counter) Receive(*sim.Context[int], lockstep.Node, int) {}
func (*counter) Timeout(*sim.Context[int])                     {}
func (n *counter) Request(c *sim.Context[int], id int32, text string) {
	n.ids = append(n.ids, id)
	c.Emit("request", fmt.Sprintf("%d %s", id, text))
}
func (n *counter) Role() string {
	if len(n.ids) >= 3 {
		return "full"
	}
	return ""
}

// Requests are offered as often as Repeat says, under their own numbers, and nodes report their roles.
func TestRepeatAndRoles(t *testing.T) {
	for _, c := range []struct{ repeat, want int }{{0, 2}, {1, 2}, {3, 6}} {
		seen := map[string]int{}
		full := 0
		watch := spec.OnEvent("watch", "request", func(_ *int, run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			seen[e.Value.(string)]++
			full = max(full, run.Playing("full").Len())
			return nil
		})
		_, err := lockstep.Explore(
			context.Background(),
			lockstep.Plan{
				System: sim.Cluster[int]{Name: "counter", Nodes: 1, Requests: []string{"a", "b"}, Repeat: c.repeat,
					Roles: []string{"full"}, New: func(lockstep.Node, int) sim.Node[int] {
						n := &counter{}
						return sim.With(n, sim.Capabilities[int]{Role: n.Role})
					}},
				Strategy: strategy.Walk{Request: 1, Steps: 100},
				Spec:     watch,
				Runs:     1,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != c.want || c.repeat == 3 && (seen["5 a"] != 1 || seen["6 b"] != 1) {
			t.Errorf("repeat %d: %v", c.repeat, seen)
		}
		if want := c.want / 6; full != want {
			t.Errorf("repeat %d: %d nodes were full", c.repeat, full)
		}
	}
}

// numb is a node without capabilities.
type numb struct{ ponger }

// hashed is a node with fingerprints.
type hashed struct{ *ponger }

func (hashed) Fingerprint() uint64 { return 7 }
func (hashed) Role() string        { return "guard" }

// If only some nodes report roles, the others have none. A cluster has fingerprints only if all of its nodes do.
func TestMixedNodes(t *testing.T) {
	for _, c := range []struct {
		name   string
		hashed []lockstep.Node
		states int
	}{
		{"none", nil, 0},
		{"the first", []lockstep.Node{1}, 0},
		{"the last", []lockstep.Node{2}, 0},
		{"both", []lockstep.Node{1, 2}, 1},
	} {
		var guards lockstep.Nodes
		system := sim.Cluster[int]{
			Name:  "mixed",
			Nodes: 2,
			Roles: []string{"guard"},
			New: func(n lockstep.Node, _ int) sim.Node[int] {
				if slices.Contains(c.hashed, n) {
					return sim.With(hashed{&ponger{}},
						sim.Capabilities[int]{Fingerprint: hashed{}.Fingerprint, Role: hashed{}.Role})
				}
				return &numb{}
			},
		}
		result, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{System: system, Strategy: steps.List{deliver(1)}, Runs: 1, Distinct: true,
				Spec: ends(func(run *lockstep.Run) { guards = run.Playing("guard") })},
		)
		if err != nil {
			t.Fatal(err)
		}
		if want := trace.NodesOf(c.hashed...); guards != want || result.States != c.states {
			t.Errorf("%s: guards %v, %d states; want %v, %d", c.name, guards, result.States, want, c.states)
		}
	}
}

// ends is a spec that checks only the end of a run.
type ends func(*lockstep.Run)

func (e ends) Properties() []string                    { return nil }
func (e ends) New(lockstep.Info) lockstep.Monitor      { return e }
func (e ends) Reset()                                  {}
func (e ends) Step(*lockstep.Run) *lockstep.Finding    { return nil }
func (e ends) End(run *lockstep.Run) *lockstep.Finding { e(run); return nil }
func (ends) EventsOnly() bool                          { return false }
func (e ends) Conclude(bool) lockstep.Conclusion       { return lockstep.Conclusion{} }
