package strategy_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/trace"
)

// diary keeps the stages of all runs.
type diary struct {
	coverage.Observer
	runs [][]cover.Stage
}

func (d *diary) Collect(_ int, noted any) { d.runs = append(d.runs, noted.([]cover.Stage)) }

// stagesOf executes runs on the register and returns their stages.
func stagesOf(t *testing.T, nodes, runs int, s lockstep.Strategy) [][]cover.Stage {
	t.Helper()
	d := &diary{}
	enginetest.Explore(
		t,
		lockstep.Plan{
			System:    register.Cluster{Nodes: nodes, Requests: 100},
			Strategy:  s,
			Runs:      runs,
			Seed:      11,
			Observers: []lockstep.Observer{d},
		},
	)
	return d.runs
}

// A run has the stages, partitions and operations of the strategy's options.
func TestPartitionStages(t *testing.T) {
	for _, s := range []strategy.Partition{
		{Stages: 1, Before: 2, During: 3, After: 1, Steps: 20},
		{Stages: 3, Before: 1, During: 2, Steps: 30, Vary: true, Wipe: true},
		{Stages: 2, K: 3, During: 6, After: 2, Steps: 1, Sides: true},
		{Stages: 2, Criterion: strategy.Separation, K: 1, L: 2, Bridge: 1, Before: 1, During: 1, After: 1, Steps: 9},
		{Stages: 4, Criterion: strategy.MinorityIsolation, Balanced: true, Family: true, Steps: 5, During: 1},
	} {
		_, space, err := s.Tested(5)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range stagesOf(t, 5, 50, s) {
			if len(run) != 2*s.Stages+1 {
				t.Fatalf("%s: %d stages", s, len(run))
			}
			for i, stage := range run {
				want := s.Before + s.After
				switch {
				case i == 0:
					want = s.Before
				case i == 2*s.Stages:
					want = s.After
				case i%2 == 1:
					want = s.During
				}
				if len(stage.Ops) != want {
					t.Errorf("%s: %d operations in stage %d, want %d", s, len(stage.Ops), i, want)
				}
				if i%2 == 0 && stage.Partition.Len() != 1 {
					t.Errorf("%s: stage %d has the partition %v", s, i, stage.Partition)
				}
				if i%2 == 1 {
					if err := space.Contains(stage.Partition); err != nil {
						t.Errorf("%s: %v", s, err)
					}
				}
				for j, op := range stage.Ops {
					if sides := stage.Partition.Sides(); i%2 == 1 && s.Sides && !sides[j%len(sides)].Has(op.Node) {
						t.Errorf("%s: operation %d under %v went to node %d", s, j, stage.Partition, op.Node)
					}
				}
			}
		}
	}
}

// A walk through a family covers every goal in as many runs as the guarantee says, starting at any run.
func TestPartitionFamily(t *testing.T) {
	for _, s := range []strategy.Partition{
		{Stages: 1, Steps: 1, Family: true},
		{Stages: 2, Steps: 1, Family: true, K: 3},
		{Stages: 3, Steps: 1, Family: true, Criterion: strategy.Separation, K: 1, L: 2},
		{Stages: 2, Steps: 1, Family: true, Criterion: strategy.MinorityIsolation, Balanced: true},
		{Stages: 7, Steps: 1, Family: true, Criterion: strategy.MinorityIsolation},
	} {
		for _, nodes := range []int{5, 6} {
			criterion, _, err := s.Tested(nodes)
			if err != nil {
				t.Fatal(err)
			}
			enough := int(math.Round(1 / guarantee(s, register.Cluster{Nodes: nodes}).PerRun))
			runs := stagesOf(t, nodes, 3*enough, s)
			for from := range 2 * enough {
				goals, err := cover.Goals(criterion, nodes)
				if err != nil {
					t.Fatal(err)
				}
				for goal := range goals {
					covered := false
					for _, run := range runs[from : from+enough] {
						covered = covered || goal.In(run)
					}
					if !covered {
						t.Errorf("%s on %d nodes: runs %d to %d do not %v", s, nodes, from, from+enough-1, goal)
					}
				}
			}
		}
	}
}

// A walk through a whole family is certain and reports that. An incomplete walk, or one with truncated runs, is not.
func TestFamilyIsCertain(t *testing.T) {
	s := strategy.Partition{Stages: 2, Steps: 1, Family: true}
	enough := int(math.Round(1 / guarantee(s, register.Cluster{Nodes: 6}).PerRun))
	if enough < 2 {
		t.Fatalf("%d runs", enough)
	}
	for _, c := range []struct {
		runs, steps int
		want        bool
	}{{enough, 0, true}, {3 * enough, 0, true}, {enough - 1, 0, false}, {enough, 4, false}} {
		g := enginetest.Explore(
			t,
			lockstep.Plan{System: register.Cluster{Nodes: 6, Requests: 100}, Strategy: s, Runs: c.runs, Steps: c.steps},
		).Guarantee
		if g.Certain != c.want ||
			strings.HasPrefix(g.String(), "certain: the runs hit every goal of 2-splitting (there are 15)") != c.want {
			t.Errorf("%d runs of at most %d steps: %s", c.runs, c.steps, g)
		}
	}
}

// The guarantee is the computed probability: it agrees with the share of runs that cover a given goal.
func TestPartitionGuarantee(t *testing.T) {
	const runs = 4000
	for _, s := range []strategy.Partition{
		{Stages: 1, Steps: 1},
		{Stages: 2, Steps: 1, K: 3, Balanced: true},
		{Stages: 1, Steps: 1, Criterion: strategy.Separation, K: 2, L: 2},
		{Stages: 3, Steps: 1, Criterion: strategy.MinorityIsolation, Balanced: true},
		{Stages: 1, Steps: 1, Bridge: 1},
	} {
		criterion, _, err := s.Tested(5)
		if err != nil {
			t.Fatal(err)
		}
		goals, err := cover.Goals(criterion, 5)
		if err != nil {
			t.Fatal(err)
		}
		made := stagesOf(t, 5, runs, s)
		p := guarantee(s, register.Cluster{Nodes: 5}).PerRun
		for goal := range goals {
			hits := 0
			for _, run := range made {
				if goal.In(run) {
					hits++
				}
			}
			if off := (float64(hits) - runs*p) / math.Sqrt(runs*p*(1-p)); math.Abs(off) > 4.5 {
				t.Errorf("%s: %d of %d runs %v, the guarantee is %.4f", s, hits, runs, goal, p)
			}
		}
	}
}

// With a role, every partition covers its goal for the nodes that currently play the role.
func TestPartitionRoles(t *testing.T) {
	for _, c := range []struct {
		s    strategy.Partition
		goal cover.RoleGoal
	}{
		{
			strategy.Partition{Criterion: strategy.MinorityIsolation, Role: "leader", Stages: 3, During: 1, Steps: 100},
			cover.RoleGoal{Kind: cover.Isolates, A: "leader"},
		},
		{
			strategy.Partition{
				Criterion: strategy.MinorityIsolation,
				Role:      "leader",
				Stages:    3,
				Steps:     100,
				Family:    true,
				Balanced:  true,
			},
			cover.RoleGoal{Kind: cover.Isolates, A: "leader"},
		},
		{
			strategy.Partition{
				Criterion: strategy.Separation,
				Role:      "leader",
				Other:     "follower",
				Stages:    1,
				Steps:     100,
			},
			cover.RoleGoal{Kind: cover.Separates, A: "leader", B: "follower"},
		},
	} {
		leaders, cuts := cover.Set(0), 0
		for _, run := range stagesOf(t, 5, 40, c.s) {
			for _, stage := range run {
				if stage.Partition.Len() == 1 {
					continue
				}
				cuts++
				goal, ok := c.goal.PartitionGoal(stage)
				if !ok || !goal.CoveredBy(stage.Partition) {
					t.Errorf("%s: %v with roles %v does not %v", c.s, stage.Partition, stage.Roles, c.goal)
				}
				leaders |= goal.A
			}
		}
		if cuts != 40*c.s.Stages || leaders.Len() < 3 {
			t.Errorf("%s: %d partitions, leaders %v", c.s, cuts, leaders)
		}
	}
}

// actors is a system whose nodes have fixed roles, some of them several. Timers fire indefinitely, and requests have no
// effect.
type actors []string

func (a actors) Describe() (lockstep.Info, error) { return a.cluster().Describe() }
func (a actors) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return a.cluster().Deploy(ctx, p)
}

func (a actors) cluster() sim.Cluster[int] {
	var roles []string
	for _, parts := range a {
		for _, role := range strings.Fields(parts) {
			if !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
		}
	}
	return sim.Cluster[int]{Name: "actors", Nodes: len(a), Roles: roles, Requests: []string{"job", "read"}, Repeat: 50,
		New: func(self lockstep.Node, _ int) sim.Node[int] {
			n := actor(a[self-1])
			return sim.With(n, sim.Capabilities[int]{Role: n.Role})
		}}
}

type actor string

func (a actor) Role() string                                { return string(a) }
func (actor) Start(c *sim.Context[int])                     { c.SetTimeout(1) }
func (actor) Receive(*sim.Context[int], lockstep.Node, int) {}
func (actor) Timeout(c *sim.Context[int])                   { c.SetTimeout(1) }
func (actor) Request(*sim.Context[int], int32, string)      {}

// kafka is one ZooKeeper node and three replicas, the first of which is the leader (Section 2.2 of the paper). chronos
// is five nodes of three services (Section 2.3).
var (
	kafka   = actors{"leader", "zookeeper", "replica", "replica"}
	chronos = actors{
		"chronos-leader chronos",
		"chronos mesos",
		"mesos-leader chronos mesos",
		"chronos mesos",
		"zookeeper-leader chronos",
	}
)

// samples executes runs that draw a partition sequence and counts those that cover it.
func samples(t *testing.T, system lockstep.System, s lockstep.Strategy, sequence cover.PartitionSequence,
	runs int) (hits, tests int) {
	t.Helper()
	d := &diary{}
	enginetest.Explore(t,
		lockstep.Plan{System: system, Strategy: s, Runs: runs, Seed: 5, Observers: []lockstep.Observer{d}})
	for _, run := range d.runs {
		if sequence.In(run) {
			hits++
		}
		tests += sequence.Tests(run)
	}
	return hits, tests
}

// A partition sequence given to the strategy is hit with its exact probability, and every run is one test of it.
func TestPartitionSequences(t *testing.T) {
	const runs = 2000
	operations := []string{"job", "read"}
	for _, c := range []struct {
		system   actors
		sequence string
		during   int
	}{
		{kafka, "2|2 then 1|3", 0},
		{kafka, "leader+zookeeper(2)|*(2) then leader(1)|*", 0},
		{kafka, "leader+zookeeper(2)|*(2): job@1 then leader(1)|*: job@2", 2},
		{kafka, "leader+zookeeper|replica then leader|zookeeper+replica", 1},
		{chronos, "chronos-leader|zookeeper-leader: job then healed: job", 1},
		{chronos, "chronos-leader(minority)|mesos-leader+zookeeper-leader then healed then *|*", 1},
		{chronos, "*|* then *|* then 1|4: read@2; read@2", 3},
	} {
		sequence, err := cover.ParsePartitionSequence(c.sequence)
		if err != nil {
			t.Fatal(err)
		}
		sampling := cover.Sampling{Nodes: len(c.system), Operations: operations, During: c.during}
		for i, parts := range c.system {
			for _, role := range strings.Fields(parts) {
				sampling.Roles = append(sampling.Roles, cover.Role{Name: role, Nodes: 1 << i})
			}
		}
		chance, err := sequence.Probability(sampling)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := chance.P.Float64()
		s := strategy.Partition{Sequence: c.sequence, Stages: 1, During: c.during, Steps: 3}
		hits, tests := samples(t, c.system, s, sequence, runs)
		if tests != runs || !odds.Fits(hits, runs, p) {
			t.Errorf("%q: hit in %d of %d runs with %d tests, the chance is %.4f", c.sequence, hits, runs, tests, p)
		}
		s.Seek = true
		if sought, _ := samples(t, c.system, s, sequence, 200); c.during == 0 && sought < 195 {
			t.Errorf("%q: sought, and hit in %d of 200 runs", c.sequence, sought)
		}
	}
}

// Without the sequence, partitions with healing in between never cover that of Kafka.
func TestPartitionHealsWithoutSequence(t *testing.T) {
	sequence, err := cover.ParsePartitionSequence("2|2 then 1|3")
	if err != nil {
		t.Fatal(err)
	}
	if hits, _ := samples(t, kafka, strategy.DefaultPartition, sequence, 500); hits != 0 {
		t.Errorf("hit in %d runs", hits)
	}
}

// The guarantee of a partition sequence is the probability of its partitions; conflicting options are rejected.
func TestPartitionSequenceTerms(t *testing.T) {
	g := guarantee(strategy.Partition{Sequence: "leader+zookeeper(2)|2: job then leader(1)|*", Stages: 1, Steps: 1},
		kafka)
	if math.Abs(g.PerRun-1.0/12) > 1e-9 {
		t.Errorf("guarantee %v", g)
	}
	info, err := kafka.Describe()
	if err != nil {
		t.Fatal(err)
	}
	for options, want := range map[string]string{
		"sequence=2|2 then 1|3,k=2":              "k does not go with a partition sequence",
		"sequence=observer|*":                    `has no role "observer", its roles are: leader, zookeeper, replica`,
		"sequence=2|3":                           "sum to 4",
		"sequence=leader":                        "sides = 1: want 2 to 8",
		"sequence=n1|n9":                         "nodes of the partition sequence = {9}: want 1 to 4",
		"seek=true":                              "seek requires a partition sequence",
		"sequence=leader(2)|zookeeper(minority)": "want a partition sequence that a test of 4 nodes",
	} {
		s, err := strategy.Parse("partition:" + options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Fit(info); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", options, err, want)
		}
	}
}

// crossing counts the messages that are delivered across a cut.
type crossing struct{ starving }

func (c crossing) New(lockstep.Info) lockstep.Monitor { return c }
func (c crossing) Step(run *lockstep.Run) *lockstep.Finding {
	if s := run.Last(); s.Kind == trace.Deliver {
		if m := run.Message(s.Msg); m.From != 0 && run.Cut(m.From).Has(m.To) {
			return &lockstep.Finding{Property: "crossing", Text: "a message crossed the cut"}
		}
	}
	return nil
}
func (crossing) End(*lockstep.Run) *lockstep.Finding { return nil }

// Messages in flight across a cut are delivered, unless the strategy must lose them.
func TestPartitionInFlight(t *testing.T) {
	for _, wipe := range []bool{false, true} {
		s := strategy.DefaultPartition
		s.Wipe = wipe
		result := enginetest.Explore(t,
			lockstep.Plan{System: register.Cluster{Nodes: 5}, Strategy: s, Spec: crossing{}, Runs: 200})
		if found := result.First() != nil; found == wipe {
			t.Errorf("wipe=%v: messages crossed: %v", wipe, found)
		}
	}
}

func ExamplePartition() {
	// The leader in a minority, with two operations under the partition.
	p := strategy.Partition{Criterion: strategy.MinorityIsolation, Balanced: true, Stages: 1, During: 2, Steps: 60}
	fmt.Println(p)
	g := guarantee(p, register.Cluster{Nodes: 5})
	fmt.Println(g)
	fmt.Printf("9 runs: %.3f; for 0.95 it takes %d runs\n", g.After(9), g.Runs(0.95))
	// Output:
	// partition:criterion=isolate,balanced=true,stages=1,before=0,during=2,after=0,steps=60,vary=false
	// one run hits a given goal of minority isolation with probability at least 0.4 (there are 5)
	// 9 runs: 0.990; for 0.95 it takes 6 runs
}

func ExamplePartition_Tested() {
	criterion, space, err := strategy.DefaultPartition.Tested(5)
	fmt.Println(criterion, "by", space, err)
	// Output: 2-splitting by 2-partitions of 5 nodes <nil>
}
