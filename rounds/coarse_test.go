package rounds_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// matrix lists for each node, at its number, the nodes that do not hear it.
type matrix []lockstep.Nodes

func (m matrix) with(other matrix) matrix {
	sum := slices.Clone(m)
	for n, to := range other {
		sum[n] |= to
	}
	return sum
}

// matrices lists all ways to cut links between the given number of nodes.
func matrices(nodes int) (list []matrix) {
	list = []matrix{make(matrix, nodes+1)}
	for from := 1; from <= nodes; from++ {
		for to := 1; to <= nodes; to++ {
			if from == to {
				continue
			}
			for _, m := range list {
				with := slices.Clone(m)
				with[from] = with[from].With(lockstep.Node(to))
				list = append(list, with)
			}
		}
	}
	return list
}

// isolating is the matrix in which only the nodes of a kernel hear each other.
func isolating(nodes int, kernel lockstep.Nodes) matrix {
	m := make(matrix, nodes+1)
	for n := lockstep.Node(1); int(n) <= nodes; n++ {
		m[n] = trace.AllNodes(nodes).Without(n)
		if kernel.Has(n) {
			m[n] &^= kernel
		}
	}
	return m
}

// lossPlan is a strategy in rounds that lose the messages of the links of a matrix. Its kernels are the given ones,
// or all nodes.
type lossPlan struct {
	loses   []matrix
	kernels []lockstep.Nodes
	byCrash bool
	// rounds of a phase, between which all nodes are down; 0: there are no phases
	phase int
}

func (l lossPlan) String() string { return "a plan of losses" }
func (l lossPlan) Fit(info lockstep.Info) (lockstep.Terms, error) {
	return lockstep.Terms{}, info.Require("the plan", rounds.NeedIsolation(info, l.byCrash))
}
func (l lossPlan) New(info lockstep.Info) lockstep.Scheduler {
	s := &losing{lossPlan: l}
	s.driver = rounds.New(info, len(l.loses), s)
	if l.byCrash {
		s.driver.ByCrash()
	}
	if l.phase > 0 {
		s.driver.Afresh()
	}
	return s
}

type losing struct {
	rounds.Rules
	lossPlan
	driver *rounds.Driver
	now    matrix
}

func (l *losing) Reset(*lockstep.Start) { l.driver.Reset(len(l.loses)) }
func (l *losing) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	return l.driver.Next(turn, next)
}
func (l *losing) Report(bool) lockstep.SchedulerStats      { return lockstep.SchedulerStats{} }
func (l *losing) Loses(m *trace.Message) bool              { return l.now[m.From].Has(m.To) }
func (l *losing) Give(*lockstep.Turn, *lockstep.Step) bool { return false }
func (l *losing) Open(round int, turn *lockstep.Turn) (int, lockstep.Nodes) {
	l.now = l.loses[round]
	if l.kernels == nil {
		return 1, turn.All()
	}
	if l.phase > 0 {
		return round/l.phase + 1, l.kernels[round]
	}
	return 1, l.kernels[round]
}

// sight is a spec that never fails and passes the cut links on, after every step.
type sight struct {
	look func(run *lockstep.Run, cut matrix)
}

func (s sight) Properties() []string               { return nil }
func (s sight) New(lockstep.Info) lockstep.Monitor { return s }
func (s sight) Reset()                             {}
func (s sight) Step(run *lockstep.Run) *lockstep.Finding {
	cut := make(matrix, run.Info().Nodes+1)
	for n := range run.All().All() {
		cut[n] = run.Cut(n)
	}
	s.look(run, cut)
	return nil
}
func (s sight) End(*lockstep.Run) *lockstep.Finding { return nil }
func (sight) EventsOnly() bool                      { return false }
func (s sight) Conclude(bool) lockstep.Conclusion   { return lockstep.Conclusion{} }

// follow makes one run of a plan on servers with cuts and checks after every step that the cut links follow the plan.
// Exactly the links of the round are cut while time passes. A link that the plan keeps cut stays cut at the border.
// No step is superfluous. A scenario may cut more links.
func follow(t *testing.T, p lossPlan, nodes int, sc lockstep.Scenario, more matrix) {
	t.Helper()
	was := make(matrix, nodes+1)
	passed := 0
	_, err := lockstep.Explore(
		t.Context(),
		lockstep.Plan{System: servers{nodes, cuts}, Strategy: p, Scenario: sc, Runs: 1, Workers: 1,
			Spec: sight{func(run *lockstep.Run, cut matrix) {
				switch last := run.Last(); last.Kind {
				case trace.Wait:
					passed++
					if want := p.loses[passed-1].with(more); !slices.Equal(cut, want) || len(run.Rounds()) != passed ||
						last.For != pace {
						t.Fatalf("%v: time %d passes in round %d, %v are cut, want %v", p.loses, last.For,
							len(run.Rounds()), cut, want)
					}
				case trace.Cut, trace.Heal:
					if slices.Equal(cut, was) {
						t.Fatalf("%v: %s changes nothing", p.loses, last)
					}
					if now := p.loses[min(passed, len(p.loses)-1)]; passed > 0 {
						for n, to := range p.loses[passed-1] {
							if stays := to & now[n]; cut[n]&stays != stays {
								t.Fatalf("%v: %s heals links of node %d that stay cut", p.loses, last, n)
							}
						}
					}
				}
				was = cut
			}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if passed != len(p.loses) {
		t.Errorf("time passed in %d of %d rounds", passed, len(p.loses))
	}
}

// TestCutsFollowThePlan checks all pairs of rounds of three nodes, and long random plans of more nodes.
func TestCutsFollowThePlan(t *testing.T) {
	all := matrices(3)
	if len(all) != 64 {
		t.Fatalf("%d ways to cut six links", len(all))
	}
	for _, first := range all {
		for _, second := range all {
			follow(t, lossPlan{loses: []matrix{first, second}}, 3, nil, nil)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		nodes := 2 + r.IntN(6)
		plan := lossPlan{}
		for range 12 {
			m := make(matrix, nodes+1)
			for n := 1; n <= nodes; n++ {
				// Each node is in m[n] with probability 1/4.
				one, other := lockstep.Nodes(r.Uint64()), lockstep.Nodes(r.Uint64())
				m[n] = one & other & trace.AllNodes(nodes).Without(lockstep.Node(n))
			}
			plan.loses = append(plan.loses, m)
		}
		follow(t, plan, nodes, nil, nil)
	}
}

// TestForeignCutsStay checks that the driver does not heal links of a scenario's cut at the border of a round,
// whether or not the plan wants them cut for a while.
func TestForeignCutsStay(t *testing.T) {
	foreign := make(matrix, 4)
	foreign[1], foreign[2] = trace.NodesOf(2), trace.NodesOf(1)
	for _, first := range matrices(3) {
		sc := scenario.New("a cut of its own")
		sc.If(scenario.Did(trace.Start)).
			Then(scenario.Do("cut 1 from 2", func(_ *scenario.Moment, hand *lockstep.Control) {
				hand.Do(lockstep.Step{Kind: trace.Cut, From: trace.NodesOf(1), To: trace.NodesOf(2)})
			}))
		follow(t, lossPlan{loses: []matrix{first, make(matrix, 4), first}}, 3, sc, foreign)
	}
}

// TestForeignHealing checks that links which a scenario healed while time passed are cut again at the border if the
// plan wants that, and otherwise not healed again.
func TestForeignHealing(t *testing.T) {
	all := matrices(3)
	for _, first := range all {
		for _, second := range []matrix{all[0], all[5], all[63], first} {
			var healed, moved bool // by the scenario; no step was needed at the border
			sc := scenario.New("a helper")
			sc.If(scenario.Did(trace.Wait)).
				Once().
				Then(scenario.Do("heal all", func(m *scenario.Moment, hand *lockstep.Control) {
					hand.Do(lockstep.Step{Kind: trace.Heal, From: m.Run.All(), To: m.Run.All()})
				}))
			_, err := lockstep.Explore(
				t.Context(),
				lockstep.Plan{
					System:   servers{3, cuts},
					Strategy: lossPlan{loses: []matrix{first, second}},
					Scenario: sc,
					Runs:     1,
					Workers:  1,
					Spec: sight{func(run *lockstep.Run, cut matrix) {
						switch run.Last().Kind {
						case trace.Heal:
							if healed {
								t.Fatalf("%v, %v: %s", first, second, run.Last())
							}
							healed = true
						case trace.Cut:
							moved = moved || healed
						case trace.Wait:
							if len(run.Rounds()) == 2 && !slices.Equal(cut, second) {
								t.Fatalf("%v, %v: cut are %v", first, second, cut)
							}
						}
					}},
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			if !healed || moved == slices.Equal(second, all[0]) {
				t.Fatalf("%v, %v: healed by the scenario %v, cut again %v", first, second, healed, moved)
			}
		}
	}
}

// kernelPlans lists all plans of the given number of rounds that isolate nodes.
func kernelPlans(nodes, number int, byCrash bool) (plans []lossPlan) {
	plans = []lossPlan{{byCrash: byCrash}}
	for range number {
		var longer []lossPlan
		for _, p := range plans {
			for kernel := lockstep.Nodes(0); kernel <= trace.AllNodes(nodes); kernel++ {
				longer = append(
					longer,
					lossPlan{
						append(slices.Clip(p.loses), isolating(nodes, kernel)),
						append(slices.Clip(p.kernels), kernel),
						byCrash,
						0,
					},
				)
			}
		}
		plans = longer
	}
	return plans
}

// border lists the steps of each round before its wait, from a trace.
func border(t *trace.Trace) (steps [][]lockstep.Step) {
	steps = make([][]lockstep.Step, len(t.Rounds))
	for _, r := range t.Records[1:] {
		if r.Step.Kind != trace.Wait {
			steps[r.Round-1] = append(steps[r.Round-1], r.Step)
		}
	}
	return steps
}

// TestIsolationByCuts checks the traces of all plans that isolate nodes for three rounds. Links are cut or healed at
// the border of a round exactly if the plan loses other links than in the round before. One step for each isolated
// node is enough.
func TestIsolationByCuts(t *testing.T) {
	for _, plan := range kernelPlans(3, 3, false) {
		follow(t, plan, 3, nil, nil)
		tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: servers{3, cuts}, Strategy: plan}, 0)
		if err != nil {
			t.Fatal(err)
		}
		was := make(matrix, 4)
		for i, steps := range border(tr) {
			if got := tr.Rounds[i].Kernel; got != plan.kernels[i] {
				t.Fatalf("round %d has the kernel %s, want %s", i+1, got, plan.kernels[i])
			}
			if change := !slices.Equal(was, plan.loses[i]); (len(steps) > 0) != change {
				t.Fatalf("kernels %v: %v at the border of round %d", plan.kernels, steps, i+1)
			}
			if i == 0 && len(steps) > 3-plan.kernels[0].Len() {
				t.Fatalf("kernel %v: %v", plan.kernels[0], steps)
			}
			was = plan.loses[i]
		}
	}
}

// TestIsolationByCrashes checks the same with crashes, on systems without cuts and on request: while time passes,
// exactly the nodes of the kernel are up.
func TestIsolationByCrashes(t *testing.T) {
	for _, supports := range []trace.Kinds{crashes, cuts | crashes} {
		for _, plan := range kernelPlans(3, 3, supports.Has(trace.Cut)) {
			passed := 0
			tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: servers{3, supports}, Strategy: plan,
				Spec: sight{func(run *lockstep.Run, _ matrix) {
					if run.Last().Kind == trace.Wait {
						passed++
						if run.Up() != plan.kernels[passed-1] {
							t.Fatalf("kernels %v: %s are up in round %d", plan.kernels, run.Up(), passed)
						}
					}
				}}}, 0)
			if err != nil || passed != 3 {
				t.Fatal(passed, err)
			}
			was := trace.AllNodes(3)
			for i, steps := range border(tr) {
				var down, up lockstep.Nodes
				for _, s := range steps {
					switch s.Kind {
					case trace.Crash:
						down = down.With(s.Node)
					case trace.Restart:
						up = up.With(s.Node)
					default:
						t.Fatalf("kernels %v: %s", plan.kernels, &s)
					}
				}
				is := plan.kernels[i]
				if down != was&^is || up != is&^was || len(steps) != down.Len()+up.Len() {
					t.Fatalf("kernels %v: %v at the border of round %d", plan.kernels, steps, i+1)
				}
				was = is
			}
		}
	}
}

// TestAfresh checks that all nodes are down between phases. Each phase begins with the start of its kernel, whatever
// was up before, and within a phase nodes of the kernel are left alone.
func TestAfresh(t *testing.T) {
	for _, plan := range kernelPlans(3, 4, true) {
		plan.phase = 2
		passed := 0
		var fell lockstep.Nodes // in this round
		_, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{System: servers{3, crashes}, Strategy: plan, Runs: 1, Workers: 1,
				Spec: sight{func(run *lockstep.Run, _ matrix) {
					switch last := run.Last(); last.Kind {
					case trace.Crash:
						fell = fell.With(last.Node)
					case trace.Wait:
						before := trace.AllNodes(3)
						if passed > 0 {
							before = plan.kernels[passed-1]
						}
						want := before &^ plan.kernels[passed]
						if passed%2 == 0 {
							want = before
						}
						if run.Up() != plan.kernels[passed] || fell != want {
							t.Fatalf("kernels %v: in round %d %s fell and %s are up", plan.kernels, passed+1, fell,
								run.Up())
						}
						passed, fell = passed+1, 0
					}
				}}},
		)
		if err != nil || passed != 4 || fell != plan.kernels[3] {
			t.Fatalf("kernels %v: after %d rounds %s fell, %v", plan.kernels, passed, fell, err)
		}
	}
}

// TestForeignCrashesStay checks that the driver does not restart a node that a scenario crashed.
func TestForeignCrashesStay(t *testing.T) {
	sc := scenario.New("a crash of its own")
	sc.If(scenario.Did(trace.Start)).Then(scenario.Crash(scenario.Only(2)))
	for _, plan := range kernelPlans(3, 2, true) {
		if _, err := lockstep.Explore(t.Context(), lockstep.Plan{
			System: servers{3, crashes}, Strategy: plan, Scenario: sc, Runs: 1,
			Spec: sight{func(run *lockstep.Run, _ matrix) {
				if run.Last().Kind == trace.Restart && run.Last().Node == 2 {
					t.Fatalf("kernels %v: node 2 was restarted", plan.kernels)
				}
			}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStrategiesOnServers runs strategies with their defaults on a system without messages. All steps are possible,
// faults happen by the steps that the system supports, requests are given, time passes, and everything depends on the
// seed alone.
func TestStrategiesOnServers(t *testing.T) {
	both := cuts | crashes
	periodic := strategy.Lossy{Rounds: 16, Period: 4, Losses: 6}
	byCrash := strategy.DefaultUniform
	byCrash.By = strategy.ByCrash
	calm := strategy.DefaultBaseline
	calm.Drop = 0
	for _, c := range []struct {
		s        lockstep.Strategy
		supports trace.Kinds
		want     string // kinds of step taken
		refused  string
	}{
		{s: strategy.DefaultUniform, supports: both, want: "request, cut, heal, wait"},
		{s: strategy.DefaultUniform, supports: cuts, want: "request, cut, heal, wait"},
		{s: strategy.DefaultUniform, supports: crashes, want: "crash, restart, request, wait"},
		{
			s:        strategy.DefaultUniform,
			supports: waits,
			refused:  "uniform needs steps that servers does not support: cut, heal",
		},
		{s: byCrash, supports: both, want: "crash, restart, request, wait"},
		{s: byCrash, supports: cuts, refused: "uniform needs steps that servers does not support: crash, restart"},
		{s: strategy.DefaultLossy, supports: both, want: "request, cut, heal, wait"},
		{
			s:        strategy.DefaultLossy,
			supports: crashes,
			refused:  "lossy needs steps that servers does not support: cut, heal",
		},
		{s: periodic, supports: both, want: "request, cut, heal, wait"},
		{s: periodic, supports: crashes, refused: "lossy needs steps that servers does not support: cut, heal"},
		{s: strategy.DefaultWalk, supports: both, want: "request, cut, heal, wait"},
		{s: strategy.DefaultWalk, supports: crashes, want: "crash, restart, request, wait"},
		{
			s:        strategy.DefaultWalk,
			supports: waits,
			refused:  "walk needs steps that servers does not support: cut, heal",
		},
		{s: strategy.DefaultBaseline, supports: both, want: "request, cut, heal, wait"},
		{
			s:        strategy.DefaultBaseline,
			supports: crashes,
			refused:  "baseline needs steps that servers does not support: cut, heal",
		},
		{s: calm, supports: crashes, want: "request, wait"},
		{s: strategy.DefaultPartition, supports: both, want: "request, cut, heal, wait"},
		{
			s:        strategy.DefaultPartition,
			supports: crashes,
			refused:  "partition needs steps that servers does not support: cut, heal",
		},
		{s: strategy.DefaultPOS, supports: both, refused: "pos needs steps that servers does not support: deliver"},
	} {
		t.Run(fmt.Sprintf("%s on %s", c.s, c.supports), func(t *testing.T) {
			var took trace.Kinds
			plan := lockstep.Plan{System: servers{5, c.supports}, Strategy: c.s, Runs: 60, Workers: 1,
				Spec: sight{func(run *lockstep.Run, _ matrix) {
					if run.Last().Kind != trace.Start {
						took |= trace.KindsOf(run.Last().Kind)
					}
				}}}
			one, err := lockstep.Explore(t.Context(), plan)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("error %v, want %s", err, c.refused)
				}
				return
			}
			if err != nil || one.Verdict() != trace.Pass {
				t.Fatal(one, err)
			}
			if took.String() != c.want {
				t.Errorf("steps taken: %s, want %s", took, c.want)
			}
			plan.Spec, plan.Workers = nil, 3
			if three, err := lockstep.Explore(t.Context(), plan); err != nil || three.Digest != one.Digest {
				t.Errorf("with three workers: %v, %v", three, err)
			}
		})
	}
}

// TestLossOfBaselineOnServers checks that time passes under a cut with baseline's probability, and that all ways to
// cut in two are drawn.
func TestLossOfBaselineOnServers(t *testing.T) {
	for _, drop := range []float64{0, 0.25, 1} {
		under, passed := 0, 0
		sides := map[lockstep.Nodes]int{}
		if _, err := lockstep.Explore(t.Context(), lockstep.Plan{
			System: servers{3, cuts}, Strategy: strategy.Baseline{Drop: drop, Steps: 400}, Runs: 100, Workers: 1,
			Spec: sight{func(run *lockstep.Run, cut matrix) {
				switch last := run.Last(); last.Kind {
				case trace.Wait:
					passed++
					if slices.ContainsFunc(cut, func(to lockstep.Nodes) bool { return to != 0 }) {
						under++
					}
				case trace.Cut:
					sides[last.From]++
				}
			}}}); err != nil {
			t.Fatal(err)
		}
		if passed < 20_000 || !odds.Fits(under, passed, drop) {
			t.Errorf("drop=%v: %d of %d waits under a cut", drop, under, passed)
		}
		if drop == 0.25 && len(sides) != 6 {
			t.Errorf("cut off were %v", sides)
		}
	}
}

// TestFindingsOnServers runs the whole process with two bugs, one that needs cuts and one that needs crashes. Each is
// found by its kind of fault and not by the other, shrinks to a single isolation, and replays.
func TestFindingsOnServers(t *testing.T) {
	for _, c := range []struct {
		by     strategy.IsolationMethod
		finds  lockstep.Spec
		passes lockstep.Spec
		shrunk string // the steps at the borders of its rounds
	}{
		{strategy.ByCut, oneLeader, memory, "cut 1 <-> 2,3"},
		{strategy.ByCrash, memory, oneLeader, "request 4 at node 1; crash node 1; restart node 1"},
		{strategy.ByRestart, memory, nil,
			"crash node 1; crash node 2; crash node 3; restart node 1; " +
				"restart node 2; restart node 3; request 5 at node 2; crash node 1; " +
				"crash node 2; crash node 3; restart node 1; restart node 2"},
	} {
		s := strategy.DefaultUniform
		s.By = c.by
		plan := lockstep.Plan{System: servers{3, cuts | crashes}, Strategy: s, Spec: c.passes, Runs: 200}
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil || result.Verdict() != trace.Pass {
			t.Fatalf("by=%s: %v, %v", c.by, result, err)
		}
		plan.Spec = c.finds
		if result, err = lockstep.Explore(t.Context(), plan); err != nil || result.First() == nil ||
			result.First().Flaky != "" {
			t.Fatalf("by=%s: %v, %v", c.by, result, err)
		}
		small, err := shrink.Run(t.Context(), plan, result.First().Trace, shrink.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, s := range slices.Concat(border(small.Trace)...) {
			words = append(words, s.String())
		}
		if got := strings.Join(words, "; "); got != c.shrunk {
			t.Errorf("by=%s: shrunk to %s", c.by, got)
		}
		again, err := replay.Run(t.Context(), plan, small.Trace)
		if err != nil || again.Difference != "" || again.Trace.Outcome.Verdict != trace.Fail {
			t.Errorf("by=%s: replayed %+v, %v", c.by, again, err)
		}
	}
}

// TestServersSettle checks that after the settling stage, in which time passes, all cuts of a run are healed and all
// crashed nodes are up.
func TestServersSettle(t *testing.T) {
	for _, by := range []strategy.IsolationMethod{strategy.ByCut, strategy.ByCrash} {
		s := strategy.Uniform{Period: 4, Isolations: 4, Rounds: 4, Sampler: strategy.Exact, By: by}
		broken, passed := 0, 0
		result, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{System: servers{5, cuts | crashes}, Strategy: s, Runs: 100, Workers: 1, Settle: 20,
				Spec: sight{func(run *lockstep.Run, cut matrix) {
					whole := run.Up() == run.All() &&
						!slices.ContainsFunc(cut, func(to lockstep.Nodes) bool { return to != 0 })
					switch {
					case !run.Settling():
						if len(run.Rounds()) == 4 && !whole {
							broken++
						}
					case run.Last().Kind == trace.Wait:
						if passed++; !whole {
							t.Fatalf("time passes while %s are up and %v cut", run.Up(), cut)
						}
					}
				}}},
		)
		if err != nil || result.Verdict() != trace.Pass || broken == 0 || passed == 0 {
			t.Errorf("by=%s: %v, %v; broken in %d steps at the end, %d waits", by, result, err, broken, passed)
		}
	}
}

// If a step is a period of time, the strategy partition has few of them between partitions and operations.
func TestPartitionPeriods(t *testing.T) {
	waits, longest := 0, 0
	result, err := lockstep.Explore(
		t.Context(),
		lockstep.Plan{
			System:   servers{5, trace.KindsOf(trace.Request, trace.Wait, trace.Cut, trace.Heal)},
			Strategy: strategy.DefaultPartition,
			Runs:     60,
			Workers:  1,
			Spec: sight{func(run *lockstep.Run, _ matrix) {
				if waits++; run.Last().Kind != trace.Wait {
					waits = 0
				}
				longest = max(longest, waits)
			}},
		},
	)
	if err != nil || result.Verdict() != trace.Pass {
		t.Fatal(result, err)
	}
	// The period after an operation follows the previous one if no request waits any more.
	if longest < 2 || longest > 8 {
		t.Errorf("%d periods of time in a row", longest)
	}
}
