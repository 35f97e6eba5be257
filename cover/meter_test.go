package cover_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/lockstep-go/lockstep/cover"
)

// campaign feeds a meter with runs of a few stages, drawn from a space.
func campaign(rng *rand.Rand, space cover.Space, runs int, watches ...cover.Watch) ([][]cover.Stage, *cover.Meter) {
	meter := must(cover.NewMeter(watches...))
	sampler := must(cover.NewSampler(space))
	var all [][]cover.Stage
	for range runs {
		run := []cover.Stage{{Partition: must(cover.Whole(space.Nodes)), Ops: []cover.Op{{Name: "read", Node: 1}}}}
		for range 1 + rng.IntN(3) {
			stage := draw(rng, sampler, rng.IntN(4))
			stage.Roles = []cover.Role{{Name: "leader", Nodes: must(cover.SetOf(1 + rng.IntN(space.Nodes)))}}
			run = append(run, stage)
		}
		meter.Add(run)
		all = append(all, run)
	}
	return all, meter
}

// TestMeterCounts recounts from scratch what the meter counted run by run.
func TestMeterCounts(t *testing.T) {
	space := cover.Uniform(6, 2)
	reads := cover.Op{Name: "read"}
	watches := []cover.Watch{
		must(cover.WatchGoals(cover.Split{K: 2}, space)),
		must(cover.WatchGoals(cover.Separate{K: 1, L: 3}, space)),
		must(cover.WatchGoals(cover.Isolate{}, space)),
		must(cover.WatchSequences(2, reads, cover.Op{Name: "write 0"}, cover.Op{Name: "write 1", Node: 3})),
		{Name: "roles", Aims: []cover.Aim{cover.RoleGoal{Kind: cover.Isolates, A: "leader"}, cover.RoleGoal{Kind: cover.Isolates, A: "nobody"}}},
		{Name: "stories", Aims: []cover.Aim{
			cover.Story{{Goal: cover.Goal{Kind: cover.Isolates, A: 1}}, {Goal: cover.Goal{Kind: cover.Isolates, A: 2}}},
			cover.Story{{Goal: cover.Goal{Kind: cover.Separates, A: 1, B: 2}, Ops: []cover.Want{{Name: "read", Side: cover.Inside}}}},
		}},
	}
	runs, meter := campaign(seeded(4), space, 25, watches...)
	for i, reading := range meter.Read() {
		covered, tests := map[int]bool{}, 0
		curve := reading.Curve
		for r, run := range runs {
			tests += watches[i].Aims[0].Tests(run)
			for a, aim := range watches[i].Aims {
				if aim.In(run) {
					covered[a] = true
				}
			}
			for len(curve) > 0 && curve[0].Run < r+1 {
				curve = curve[1:]
			}
			if len(curve) > 0 && curve[0].Run == r+1 && (curve[0].Covered != len(covered) || curve[0].Tests != tests) {
				t.Errorf("%s: after run %d the curve has %+v, want %d covered by %d tests", reading.Name, r+1, curve[0], len(covered), tests)
			}
		}
		last := reading.Curve[len(reading.Curve)-1]
		if reading.Covered != len(covered) || reading.Tests != tests || reading.Runs != 25 || reading.Goals != len(watches[i].Aims) || last.Run != 25 {
			t.Errorf("%s: read %+v, want %d covered by %d tests", reading.Name, reading, len(covered), tests)
		}
		if reading.Covered == 0 || reading.Fraction != float64(reading.Covered)/float64(reading.Goals) {
			t.Errorf("%s: fraction %v", reading.Name, reading.Fraction)
		}
		missing := meter.Missing(reading.Name)
		for _, aim := range missing {
			for _, run := range runs {
				if aim.In(run) {
					t.Errorf("%s: %v is said to be missing", reading.Name, aim)
				}
			}
		}
		if len(missing) != reading.Goals-reading.Covered {
			t.Errorf("%s: %d missing of %d, covered %d", reading.Name, len(missing), reading.Goals, reading.Covered)
		}
		if (reading.Theory != nil) != (watches[i].Chance.P != nil) {
			t.Errorf("%s: theory %v", reading.Name, reading.Theory)
		}
	}
	if meter.Missing("no such watch") != nil {
		t.Error("an unknown watch has missing aims")
	}
}

// TestMeterTheory measures 400 campaigns: the mean share covered is what the theory
// expects, and full coverage is at least as frequent as it guarantees.
func TestMeterTheory(t *testing.T) {
	const campaigns, runs = 400, 12
	space := cover.Balanced(5, 2)
	watch := must(cover.WatchGoals(cover.Separate{K: 1, L: 2}, space))
	sampler := must(cover.NewSampler(space))
	rng := seeded(8)
	sum, squares, full := 0.0, 0.0, 0.0
	var theory cover.Theory
	for range campaigns {
		meter := must(cover.NewMeter(watch))
		for range runs {
			meter.Add([]cover.Stage{{Partition: sampler.Draw(rng)}})
		}
		reading := meter.Read()[0]
		theory = *reading.Theory
		sum += reading.Fraction
		squares += reading.Fraction * reading.Fraction
		if reading.Covered == reading.Goals {
			full++
		}
	}
	mean := sum / campaigns
	if margin := 4.5 * math.Sqrt((squares/campaigns-mean*mean)/campaigns); math.Abs(mean-theory.Fraction) > margin {
		t.Errorf("mean share %.4f, expected %.4f, margin %.4f", mean, theory.Fraction, margin)
	}
	margin := 4.5 * math.Sqrt(theory.Probability*(1-theory.Probability)/campaigns)
	if full/campaigns < theory.Probability-margin || theory.Bound > theory.Probability {
		t.Errorf("all covered in %v of %v campaigns, guaranteed %.4f, by the paper %.4f", full, campaigns, theory.Probability, theory.Bound)
	}
}

// TestMeterEmpty reads a meter before the first run, and one that saw no partition.
func TestMeterEmpty(t *testing.T) {
	meter := must(cover.NewMeter(must(cover.WatchGoals(cover.Isolate{}, cover.Uniform(5, 2)))))
	if r := meter.Read()[0]; len(r.Curve) != 0 || r.Covered != 0 || *r.Theory != (cover.Theory{}) {
		t.Errorf("before the first run: %+v", r)
	}
	meter.Add(nil)
	meter.Add([]cover.Stage{{}})
	if r := meter.Read()[0]; r.Runs != 2 || r.Tests != 0 || r.Covered != 0 || len(r.Curve) != 1 {
		t.Errorf("after two empty runs: %+v", r)
	}
}

// TestStories goes through what makes a story match and what does not.
func TestStories(t *testing.T) {
	cut := must(cover.ParsePartition("1,2|3,4,5"))
	other := must(cover.ParsePartition("1,2,3|4,5"))
	whole := must(cover.Whole(5))
	halves := must(cover.ParsePartition("1,2|3,4"))
	bridged := must(cover.ParsePartition("1,2,3|3,4,5"))
	isolate := func(node int) cover.Goal { return cover.Goal{Kind: cover.Isolates, A: must(cover.SetOf(node))} }
	ops := func(pairs ...any) (list []cover.Op) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, cover.Op{Name: pairs[i].(string), Node: pairs[i+1].(int)})
		}
		return list
	}
	stale := []cover.Want{{Name: "w", Side: cover.Outside}, {Name: "r", Side: cover.Inside}}
	either := cover.Goal{Kind: cover.Splits, A: must(cover.SetOf(1, 4))}
	for _, c := range []struct {
		name  string
		story cover.Story
		run   []cover.Stage
		want  bool
	}{
		{"isolated, written outside, read inside", cover.Story{{Goal: isolate(1), Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("w", 4, "r", 2)}}, true},
		{"in the wrong order", cover.Story{{Goal: isolate(1), Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("r", 2, "w", 4)}}, false},
		{"on the wrong side", cover.Story{{Goal: isolate(1), Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("w", 1, "r", 2)}}, false},
		{"not contiguous", cover.Story{{Goal: isolate(1), Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("w", 4, "x", 1, "r", 2)}}, false},
		{"later in the stage", cover.Story{{Goal: isolate(1), Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("w", 1, "w", 4, "r", 2)}}, true},
		{"in two stages", cover.Story{{Goal: isolate(1), Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("w", 4)}, {Partition: cut, Ops: ops("r", 2)}}, false},
		{"not isolated", cover.Story{{Goal: isolate(3), Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("w", 4, "r", 2)}}, false},
		{"at a node that is not there", cover.Story{{Goal: isolate(1), Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("w", 0, "r", 2)}}, false},
		{"on the bridge", cover.Story{{Goal: cover.Goal{Kind: cover.Separates, A: 1, B: 8}, Ops: stale}}, []cover.Stage{{Partition: bridged, Ops: ops("w", 3, "r", 2)}}, false},
		{"inside has no meaning for nodes that are split", cover.Story{{Goal: either, Ops: stale}}, []cover.Stage{{Partition: cut, Ops: ops("w", 4, "r", 2)}}, false},
		{"minority and majority", cover.Story{{Ops: []cover.Want{{Name: "w", Side: cover.InMajority}, {Name: "r", Side: cover.InMinority}}}}, []cover.Stage{{Partition: cut, Ops: ops("w", 4, "r", 2)}}, true},
		{"no majority on the smaller side", cover.Story{{Ops: []cover.Want{{Name: "w", Side: cover.InMajority}}}}, []cover.Stage{{Partition: cut, Ops: ops("w", 1)}}, false},
		{"no majority in one half", cover.Story{{Ops: []cover.Want{{Name: "w", Side: cover.InMajority}}}}, []cover.Stage{{Partition: halves, Ops: ops("w", 1)}}, false},
		{"two partitions in a row", cover.Story{{Goal: isolate(1)}, {Goal: isolate(4)}}, []cover.Stage{{Partition: whole}, {Partition: cut}, {Partition: other}}, true},
		{"healed in between", cover.Story{{Goal: isolate(1)}, {Goal: isolate(4)}}, []cover.Stage{{Partition: cut}, {Partition: whole}, {Partition: other}}, false},
		{"healed in between as told", cover.Story{{Goal: isolate(1)}, {}, {Goal: isolate(4)}}, []cover.Stage{{Partition: cut}, {Partition: whole}, {Partition: other}}, true},
		{"the leader", cover.Story{{Role: cover.RoleGoal{Kind: cover.Isolates, A: "leader"}}}, []cover.Stage{{Partition: cut, Roles: []cover.Role{{Name: "leader", Nodes: 2}}}}, true},
		{"another leader", cover.Story{{Role: cover.RoleGoal{Kind: cover.Isolates, A: "leader"}}}, []cover.Stage{{Partition: cut, Roles: []cover.Role{{Name: "leader", Nodes: 8}}}}, false},
		{"no leader", cover.Story{{Role: cover.RoleGoal{Kind: cover.Isolates, A: "leader"}}}, []cover.Stage{{Partition: cut}}, false},
		{"leader from followers", cover.Story{{Role: cover.RoleGoal{Kind: cover.Separates, A: "leader", B: "follower"}}},
			[]cover.Stage{{Partition: cut, Roles: []cover.Role{{Name: "leader", Nodes: 3}, {Name: "follower", Nodes: 4}, {Name: "follower", Nodes: 24}}}}, true},
	} {
		if have := c.story.In(c.run); have != c.want {
			t.Errorf("%s: %v in the run is %v", c.name, c.story, have)
		}
	}
}

// TestAimStrings writes aims the way that a report names them.
func TestAimStrings(t *testing.T) {
	for _, c := range []struct {
		aim  cover.Aim
		want string
	}{
		{cover.Goal{}, "anything"},
		{cover.Goal{Kind: cover.Splits, A: 3, Bridge: 4}, "split {1,2} with {3} on the bridge"},
		{cover.RoleGoal{Kind: cover.Splits, A: "leader"}, "split the nodes of leader"},
		{cover.RoleGoal{Kind: cover.Separates, A: "leader", B: "client"}, "separate leader from client"},
		{cover.RoleGoal{}, "anything"},
		{cover.Story{{Goal: cover.Goal{Kind: cover.Isolates, A: 1}, Ops: []cover.Want{{Name: "read"}}}, {}}, "isolate {1} in a minority, read; then anything"},
	} {
		if have := c.aim.String(); have != c.want {
			t.Errorf("have %q, want %q", have, c.want)
		}
	}
}

// TestTests counts what a run is worth for each sort of aim: partitions, stages with
// the role, blocks of operations, and stories side by side.
func TestTests(t *testing.T) {
	cut := must(cover.ParsePartition("1,2|3,4,5"))
	op := []cover.Op{{Name: "r", Node: 1}, {Name: "w", Node: 2}, {Name: "r", Node: 3}}
	leader := []cover.Role{{Name: "leader", Nodes: 1}}
	run := []cover.Stage{
		{Partition: must(cover.Whole(5)), Ops: op, Roles: leader},
		{Partition: cut, Ops: op[:2], Roles: leader}, {Partition: cut}, {Partition: cut, Ops: op}, {Partition: cut},
	}
	for _, c := range []struct {
		aim  cover.Aim
		want int
	}{
		{cover.Goal{Kind: cover.Isolates, A: 1}, 4},
		{cover.RoleGoal{Kind: cover.Isolates, A: "leader"}, 1},
		{cover.Sequence{{Name: "r"}}, 8},
		{cover.Sequence{{Name: "r"}, {Name: "w"}, {Name: "r"}}, 2},
		{cover.Story{{}}, 5},
		{cover.Story{{}, {}}, 2},
	} {
		if have := c.aim.Tests(run); have != c.want {
			t.Errorf("%v: worth %d tests, want %d", c.aim, have, c.want)
		}
	}
}

// TestMeterRefusesChance wants the chance of a watch checked.
func TestMeterRefusesChance(t *testing.T) {
	aims := []cover.Aim{cover.Goal{}}
	for _, w := range [][]cover.Watch{
		{{Name: "a", Aims: aims, Chance: cover.Chance{P: big.NewRat(2, 1), Goals: big.NewInt(1)}}},
		{{Name: "a", Aims: aims, Chance: cover.Chance{P: big.NewRat(1, 2), Goals: big.NewInt(1)}}},
		{{Name: "a", Aims: aims}, {Name: "a", Aims: aims}},
		{{Name: "a", Aims: []cover.Aim{nil}}},
	} {
		if _, err := cover.NewMeter(w...); err == nil {
			t.Errorf("%+v is accepted", w)
		}
	}
}
