package async_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/async"
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// load checks and compiles a program.
func load(t testing.TB, src string) (*check.Program, *machine.Program) {
	t.Helper()
	c, remarks := distal.Load(src)
	if c == nil {
		t.Fatal(remarks)
	}
	p, err := machine.Compile(c.Program, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

func compile(t testing.TB, src string) *machine.Program {
	t.Helper()
	_, p := load(t, src)
	return p
}

// model is the sequential program of a checked program, with free timeouts under any network.
func model(t testing.TB, c *check.Program) *sequential.Model {
	t.Helper()
	network, err := c.ParseNetwork("any")
	if err != nil {
		t.Fatal(err)
	}
	m, err := sequential.New(c, nil, network, core.Free)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func example(t testing.TB, name string) *machine.Program {
	t.Helper()
	return compile(t, corpus.Example(t, name))
}

// mixes are weights under which different things happen: late messages, losses, impatience.
var mixes = []async.Weights{
	{Deliver: 10, Batch: 2, Drop: 1, Timeout: 1},
	{Deliver: 2, Batch: 1, Drop: 1, Timeout: 2},
	{Deliver: 3, Batch: 8, Double: 3, Timeout: 1},
}

// TestDifferential is the differential check: every random asynchronous run of every example is found again in the
// sequential program, and breaks no condition on the way.
func TestDifferential(t *testing.T) {
	tier.NotShort(t)
	for _, example := range corpus.Examples(t) {
		t.Run(example.Name, func(t *testing.T) {
			if strings.HasPrefix(example.Name, "raftlog") {
				t.Skip("implementations are compared with it message by message, and break its rounds")
			}
			c, p := load(t, example.Source)
			m := model(t, c)
			firings := 0
			for seed := range uint64(60) {
				in := async.RandomRun(p, mixes[seed%3], 150, seed)
				firings += len(in.History())
				if err := async.Replay(in, m); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			if firings < 60*10 {
				t.Errorf("only %d actions in 60 runs: the runs show nothing", firings)
			}
		})
	}
}

// TestDifferentialGenerated does the same for generated programs.
func TestDifferentialGenerated(t *testing.T) {
	tier.NotShort(t)
	firings, phases := 0, int64(0)
	for _, program := range corpus.Generated(400) {
		c, p := load(t, program.Source)
		m := model(t, c)
		for run := range uint64(4) {
			in := async.RandomRun(p, mixes[run%3], 60, run)
			firings += len(in.History())
			phases = max(phases, in.Tag(1).Phase)
			if err := async.Replay(in, m); err != nil {
				t.Fatalf("%s, run %d: %v\n%s", program.Name, run, err, program.Source)
			}
		}
	}
	if firings < 10_000 || phases < 5 {
		t.Errorf("%d actions, phase %d: the runs show nothing", firings, phases)
	}
}

// TestDifferentialCanFail changes the record of a run: the replay must notice.
func TestDifferentialCanFail(t *testing.T) {
	c, p := load(t, corpus.Example(t, "paxos_fixed"))
	m := model(t, c)
	noticed := 0
	for seed := range uint64(20) {
		in := async.RandomRun(p, mixes[0], 100, seed)
		for i, f := range in.History() {
			if f.Rule != nil && f.Received != 0 {
				in.History()[i].Received = 0
				break
			}
		}
		if err := async.Replay(in, m); err != nil {
			noticed++
		}
	}
	if noticed < 15 {
		t.Errorf("the replay noticed %d of 20 forgeries", noticed)
	}
}

// TestProofsAreSound takes generated programs whose guards do not ask for timely messages, so that conditions do
// break, and wants every breach to be of a condition that the checker did not claim to have proved for that rule. It
// also wants runs without breaches to be found in the sequential program.
func TestProofsAreSound(t *testing.T) {
	tier.NotShort(t)
	breaches, proved, replayed := 0, 0, 0
	for _, program := range corpus.Generated(400) {
		src := strings.ReplaceAll(program.Source, " and timely", "")
		c, p := load(t, src)
		m := model(t, c)
		for _, q := range c.Proofs {
			if q.Status == check.Proved {
				proved++
			}
		}
		for run := range uint64(6) {
			mix := mixes[run%3]
			mix.Hoard = true
			in := async.RandomRun(p, mix, 60, run)
			for _, f := range in.History() {
				for _, b := range f.Breaches {
					breaches++
					if c.Proved(b.Condition, f.Rule) {
						t.Fatalf("%s: a condition claimed to be proved is broken: %s\n%s", program.Name, b, src)
					}
				}
			}
			if len(in.Breaches()) > 0 {
				continue
			}
			replayed++
			if err := async.Replay(in, m); err != nil {
				t.Fatalf("%s, run %d: %v\n%s", program.Name, run, err, src)
			}
		}
	}
	if breaches < 100 || proved < 1000 || replayed < 500 {
		t.Errorf("%d breaches, %d proofs, %d runs replayed: the test shows nothing", breaches, proved, replayed)
	}
}

const head = `protocol P(n = 3)
message A { k: int, v: int } tag (k, A)
message B { k: int, v: int } tag (k, B)
rounds A < B
state {
	k: int = 0
	x: int = 0
}
upon timeout do {
	k := k + 1
	send A(k, x) to all
}
`

// TestBreaches runs a program that breaks each condition. It has no sequential form, or is caught by its monitors, and
// can be run asynchronously all the same.
func TestBreaches(t *testing.T) {
	for _, c := range []struct {
		condition core.Condition
		refused   bool
		rules     string
	}{
		{core.Grows, true,
			"upon A m with m.k > k do { k := m.k send B(k, x) to all }\nupon B m with m.k == k and timely do { send A(k, x) " +
				"to all }\n"},
		{core.Grows, false,
			"upon A m with m.k > k do { k := m.k send B(k, x) to all }\nupon B m with m.k == k and timely do { k := k + m.v " +
				"send A(k, x) to all }\n"},
		{core.Carries, true,
			"phase k\nupon A m with m.k > k do { k := m.k send B(k + 1, x) to all }\nupon B m with m.k > k do { k := m.k }\n"},
		{core.Current, true,
			"upon A m with m.k > k do { k := m.k send B(k, x) to all }\nupon B m with m.k < k do { x := m.v + 1 }\n"},
		{core.Current, false,
			"upon A m with m.k > k do { k := m.k send B(k, x) to all }\nupon B m with m.v >= x do { x := m.v }\n"},
		{core.Reads, true,
			"upon A m with m.k > k do { k := m.k send B(k, x) to all }\nupon B m with m.k == k and timely do { x := " +
				"len(received(A)) }\n"},
		{core.Rests, true,
			"upon A m with m.k > k do { k := m.k send B(k, x) to all x := 1 }\nupon B m with m.k == k and timely do { x := 2 " +
				"}\n"},
		{core.Once, true,
			"upon A m with m.k > k do { k := m.k send B(k, x) to all send B(k, 1) to all }\nupon B m with m.k == k and " +
				"timely do { x := m.v }\n"},
	} {
		checked, p := load(t, head+c.rules)
		m, err := sequential.New(checked, nil, 0, core.Free)
		if (err != nil) != c.refused {
			t.Errorf("%s: sequential form: %v\n%s", c.condition, err, c.rules)
		} else if c.refused && !strings.Contains(err.Error(), c.condition.String()) {
			t.Errorf("the refusal does not name %s: %v", c.condition, err)
		}
		seen, actions := false, 0
		for seed := range uint64(50) {
			in := async.RandomRun(p, mixes[seed%3], 80, seed)
			actions += len(in.History())
			for _, b := range in.Breaches() {
				seen = seen || b.Condition == c.condition
			}
			if len(in.Breaches()) > 0 && err == nil && async.Replay(in, m) == nil {
				t.Errorf("%s: a run with breaches is replayed", c.condition)
			}
		}
		if !seen || actions < 200 {
			t.Errorf("%s was not broken in %d actions of\n%s", c.condition, actions, c.rules)
		}
	}
}

// TestPaxosRate compares the chance that an asynchronous run of 150 steps shows the bug of Paxos with figures from an
// independent hand-written model: one run in 40 for weights 10:1:1 of deliver, drop and timeout.
func TestPaxosRate(t *testing.T) {
	tier.NotShort(t)
	p, fixed := example(t, "paxos_buggy"), example(t, "paxos_fixed")
	w := async.Weights{Deliver: 10, Drop: 1, Timeout: 1}
	const runs = 3000
	found := 0
	for seed := range uint64(runs) {
		if async.RandomRun(p, w, 150, seed).Broken() != "" {
			found++
		}
		if seed%10 == 0 && async.RandomRun(fixed, w, 150, seed).Broken() != "" {
			t.Fatalf("the fixed program fails with seed %d", seed)
		}
	}
	if want := runs / 40.0; math.Abs(float64(found)-want) > odds.Sigmas*math.Sqrt(want)+want/5 {
		t.Errorf("%d of %d runs show the bug, want about %.0f", found, runs, want)
	}
}

func TestDeliverUnknown(t *testing.T) {
	in := async.New(example(t, "paxos_fixed"), nil)
	if _, err := in.Deliver(99); err == nil {
		t.Error("message 99 was delivered")
	}
	if err := in.Drop(99); err == nil {
		t.Error("message 99 was dropped")
	}
	if _, err := in.Duplicate(99); err == nil {
		t.Error("message 99 was duplicated")
	}
}

// FuzzRun looks for programs and runs that panic.
func FuzzRun(f *testing.F) {
	corpus.Add(f, uint64(1))
	f.Add(head+"upon A m do { x := 1 / x }\n", uint64(1))
	f.Fuzz(func(t *testing.T, src string, seed uint64) {
		c, _ := distal.Load(src)
		if c == nil {
			return
		}
		p, err := machine.Compile(c.Program, map[string]int64{"n": 3})
		if err != nil || c.Lockstep {
			return
		}
		m, err := sequential.New(c, map[string]int64{"n": 3}, c.Network, core.Free)
		if err != nil {
			return
		}
		in := async.RandomRun(p, mixes[seed%3], 30, seed)
		in.Broken()
		_ = async.Replay(in, m)
	})
}

const greet = `protocol Greet(n = 2)
message Hello { k: int } tag (k, Hello)
rounds Hello
state { k: int = 1 heard: set<node> }
init { send Hello(k) to others }
upon Hello m with m.k == k do { heard := heard + {m.from} }
`

func ExampleInstance() {
	c, _ := distal.Load(greet)
	p, _ := machine.Compile(c.Program, nil)
	in := async.New(p, nil)
	for _, f := range in.InFlight() {
		fmt.Printf("%d->%d %s\n", f.Message.From, f.To, p.FormatMessage(f.Message))
	}
	fired, _ := in.Deliver(in.InFlight()[0].ID)
	fmt.Println(fired[0].Node, fired[0].Rule.Label(p.Core), p.FormatState(in.State(2)))
	// Output:
	// 1->2 Hello(1)
	// 2->1 Hello(1)
	// 2 upon Hello k=1 heard={node(1)}
}

func ExampleReplay() {
	c, _ := distal.Load(greet)
	p, _ := machine.Compile(c.Program, nil)
	m, _ := sequential.New(c, nil, c.Network, core.Free)
	in := async.RandomRun(p, async.Weights{Deliver: 1}, 10, 1)
	fmt.Println(len(in.History()), "actions", async.Replay(in, m))
	// Output: 4 actions <nil>
}

func ExampleRandomRun() {
	c, _ := distal.Load(greet)
	p, _ := machine.Compile(c.Program, nil)
	in := async.RandomRun(p, async.Weights{Deliver: 1, Drop: 1}, 10, 1)
	fmt.Println(len(in.InFlight()), "messages left, broken:", in.Broken() != "")
	// Output: 0 messages left, broken: false
}

// BenchmarkRandomRun measures steps of asynchronous Paxos.
func BenchmarkRandomRun(b *testing.B) {
	p := example(b, "paxos_fixed")
	seed := uint64(0)
	for b.Loop() {
		seed++
		async.RandomRun(p, async.Weights{Deliver: 10, Drop: 1, Timeout: 1}, 150, seed)
	}
	b.ReportMetric(150*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
