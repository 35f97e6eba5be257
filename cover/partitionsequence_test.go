package cover_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestPartitionSequences goes through what makes a partition sequence match and what does not.
func TestPartitionSequences(t *testing.T) {
	cut := must(cover.ParsePartition("1,2|3,4,5"))
	other := must(cover.ParsePartition("1,2,3|4,5"))
	whole := must(cover.Whole(5))
	halves := must(cover.ParsePartition("1,2|3,4"))
	three := must(cover.ParsePartition("1|2,3|4,5"))
	bridged := must(cover.ParsePartition("1,2,3|3,4,5"))
	ops := func(pairs ...any) (list []cover.Op) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, cover.Op{Name: pairs[i].(string), Node: pairs[i+1].(int)})
		}
		return list
	}
	roles := func(pairs ...any) (list []cover.Role) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, cover.Role{Name: pairs[i].(string), Nodes: cover.Set(pairs[i+1].(int))})
		}
		return list
	}
	const stale = "n1(minority)|*: w@2; r@1"
	for _, c := range []struct {
		name     string
		sequence string
		run      []cover.Stage
		want     bool
	}{
		{"isolated, written outside, read inside", stale, []cover.Stage{{Partition: cut, Ops: ops("w", 4, "r", 2)}}, true},
		{"in the wrong order", stale, []cover.Stage{{Partition: cut, Ops: ops("r", 2, "w", 4)}}, false},
		{"on the wrong side", stale, []cover.Stage{{Partition: cut, Ops: ops("w", 1, "r", 2)}}, false},
		{"not contiguous", stale, []cover.Stage{{Partition: cut, Ops: ops("w", 4, "x", 1, "r", 2)}}, false},
		{"later in the stage", stale, []cover.Stage{{Partition: cut, Ops: ops("w", 1, "w", 4, "r", 2)}}, true},
		{"in two stages", stale, []cover.Stage{{Partition: cut, Ops: ops("w", 4)}, {Partition: cut, Ops: ops("r", 2)}},
			false},
		{"not isolated", "n3(minority)|*", []cover.Stage{{Partition: cut}}, false},
		{"at a node that is not there", stale, []cover.Stage{{Partition: cut, Ops: ops("w", 0, "r", 2)}}, false},
		{"on the bridge", "n1|n4: w@2; r@1", []cover.Stage{{Partition: bridged, Ops: ops("w", 3, "r", 2)}}, false},
		{"minority and majority", "*|*: w@majority; r@minority", []cover.Stage{{Partition: cut, Ops: ops("w", 4, "r", 2)}},
			true},
		{"no majority on the smaller side", "*|*: w@majority", []cover.Stage{{Partition: cut, Ops: ops("w", 1)}}, false},
		{"no majority in one half", "*|*: w@majority", []cover.Stage{{Partition: halves, Ops: ops("w", 1)}}, false},
		{"two partitions in a row", "n1(minority)|* then n4(minority)|*",
			[]cover.Stage{{Partition: whole}, {Partition: cut}, {Partition: other}}, true},
		{"healed in between", "n1(minority)|* then n4(minority)|*",
			[]cover.Stage{{Partition: cut}, {Partition: whole}, {Partition: other}}, false},
		{"healed in between as stated", "n1(minority)|* then healed then n4(minority)|*",
			[]cover.Stage{{Partition: cut}, {Partition: whole}, {Partition: other}}, true},
		{"not healed as stated", "healed", []cover.Stage{{Partition: cut}}, false},
		{"operations between", "n1|n3 then healed: w; r then n1|n5",
			[]cover.Stage{{Partition: cut}, {Partition: whole, Ops: ops("w", 1, "r", 5)}, {Partition: other}}, true},
		{"other operations between", "n1|n3 then healed: w; r then n1|n5",
			[]cover.Stage{{Partition: cut}, {Partition: whole, Ops: ops("r", 5)}, {Partition: other}}, false},
		{"sizes", "3|2 then 2|3", []cover.Stage{{Partition: cut}, {Partition: other}}, true},
		{"other sizes", "1|4", []cover.Stage{{Partition: cut}}, false},
		{"either side of that size", "2|2: w@1; r@2", []cover.Stage{{Partition: halves, Ops: ops("w", 3, "r", 1)}}, true},
		{"one side for one operation", "2|2: w@1; r@2", []cover.Stage{{Partition: halves, Ops: ops("w", 3, "r", 4)}}, false},
		{"more sides than the stage has", "n1|n5", []cover.Stage{{Partition: three}}, true},
		{"fewer sides", "n1|*|*", []cover.Stage{{Partition: cut}}, false},
		{"the leader", "leader(minority)|*", []cover.Stage{{Partition: cut, Roles: roles("leader", 2)}}, true},
		{"another leader", "leader(minority)|*", []cover.Stage{{Partition: cut, Roles: roles("leader", 8)}}, false},
		{"no leader", "leader(minority)|*", []cover.Stage{{Partition: cut}}, false},
		{"leader from followers", "leader|follower", []cover.Stage{{Partition: cut,
			Roles: roles("leader", 3, "follower", 4, "follower", 24)}}, true},
		{"a node with two roles", "chronos+mesos|zookeeper", []cover.Stage{{Partition: cut,
			Roles: roles("chronos", 1, "mesos", 1, "zookeeper", 16)}}, true},
		{"on no two sides", "chronos|mesos", []cover.Stage{{Partition: cut,
			Roles: roles("chronos", 1, "mesos", 1, "zookeeper", 16)}}, false},
		{"not a partition", "*|*", []cover.Stage{{Links: cover.Links{1, 3}}}, false},
	} {
		if have := must(cover.ParsePartitionSequence(c.sequence)).In(c.run); have != c.want {
			t.Errorf("%s: %v in the run is %v", c.name, c.sequence, have)
		}
	}
}

// TestAimStrings writes goals the way that a report names them.
func TestAimStrings(t *testing.T) {
	for _, c := range []struct {
		goal cover.Goal
		want string
	}{
		{cover.PartitionGoal{}, "anything"},
		{cover.PartitionGoal{Kind: cover.Splits, A: 3, Bridge: 4}, "split {1,2} with {3} on the bridge"},
		{cover.RoleGoal{Kind: cover.Splits, A: "leader"}, "split the nodes of leader"},
		{cover.RoleGoal{Kind: cover.Separates, A: "leader", B: "client"}, "separate leader from client"},
		{cover.RoleGoal{}, "anything"},
		{cover.OneWayCut{Node: 2, To: 1}, "cut the link from 1 to 2 one way"},
		{cover.IndirectPath{A: 1, B: 3}, "cut 1 to 3 with a way around"},
		{cover.PartitionSequence{{Sides: []cover.Part{{Nodes: 1, Size: cover.Minority}, {}},
			Ops: []cover.Want{{Name: "read"}}}, {}}, "n1(minority)|*: read then healed"},
	} {
		if have := c.goal.String(); have != c.want {
			t.Errorf("have %q, want %q", have, c.want)
		}
	}
}

// TestTests counts what a run is worth for each sort of goal: partitions, stages with
// the role, blocks of operations, and tellings of partition sequences side by side.
func TestTests(t *testing.T) {
	cut, other := must(cover.ParsePartition("1,2|3,4,5")), must(cover.ParsePartition("1|2,3,4,5"))
	op := []cover.Op{{Name: "r", Node: 1}, {Name: "w", Node: 2}, {Name: "r", Node: 3}}
	leader := []cover.Role{{Name: "leader", Nodes: 1}, {Name: "follower", Nodes: 30}}
	run := []cover.Stage{
		{Partition: must(cover.Whole(5)), Ops: op, Roles: leader},
		{Partition: cut, Ops: op[:2], Roles: leader}, {Partition: other}, {Partition: cut, Ops: op}, {Partition: other},
		{Links: cover.Links{31, 30, 31, 31, 31}}, {Links: cover.Links{0b01011, 0b10111, 0b01110, 0b01101, 0b10010}},
	}
	for _, c := range []struct {
		goal cover.Goal
		want int
	}{
		{cover.PartitionGoal{Kind: cover.Isolates, A: 1}, 4},
		{cover.RoleGoal{Kind: cover.Isolates, A: "leader"}, 1},
		{cover.RoleGoal{Kind: cover.Isolates, A: "follower"}, 0}, // four of five are in no minority
		{cover.RoleGoal{Kind: cover.Separates, A: "leader", B: "follower"}, 1},
		{cover.Sequence{{Name: "r"}}, 8},
		{cover.Sequence{{Name: "r"}, {Name: "w"}, {Name: "r"}}, 2},
		{must(cover.ParsePartitionSequence("*|*")), 4},
		{must(cover.ParsePartitionSequence("2|3")), 2},
		{must(cover.ParsePartitionSequence("2|3 then 1|4")), 2},
		{must(cover.ParsePartitionSequence("*|* then *|*")), 2},
		{must(cover.ParsePartitionSequence("healed then *|*")), 1},
		{cover.OneWayCut{Node: 1, To: 2}, 1},
		{cover.IndirectPath{A: 1, B: 3}, 1},
	} {
		if have := c.goal.Tests(run); have != c.want {
			t.Errorf("%v: worth %d tests, want %d", c.goal, have, c.want)
		}
	}
}

// randomSequence draws a small partition sequence over a few roles, nodes, sizes and operations.
func randomSequence(rng *rand.Rand, nodes int) string {
	var goals []string
	healed := false
	for range 1 + rng.IntN(3) {
		if !healed && rng.IntN(4) == 0 {
			healed = true
			goals = append(goals, "healed"+randomOps(rng, 0))
			continue
		}
		healed = false
		sides := make([]string, 2+rng.IntN(2))
		for i := range sides {
			sides[i] = "*"
		}
		if rng.IntN(3) == 0 { // sizes
			left := nodes
			for i := range sides[1:] {
				size := 1 + rng.IntN(left-(len(sides)-1-i))
				sides[i], left = fmt.Sprintf("*(%d)", size), left-size
			}
		}
		for _, role := range []string{"leader", "zoo", "n2"} {
			if at := rng.IntN(2 * len(sides)); at < len(sides) {
				sides[at] = strings.Replace(strings.Replace(sides[at], "*", role, 1), "("+role, "(", 1)
			}
		}
		if rng.IntN(3) == 0 && !strings.Contains(sides[0], "(") {
			sides[0] += "(minority)"
		}
		goals = append(goals, strings.Join(sides, "|")+randomOps(rng, len(sides)))
	}
	return strings.Join(goals, " then ")
}

func randomOps(rng *rand.Rand, sides int) string {
	places := []string{"", "@minority", "@majority"}
	for i := range sides {
		places = append(places, fmt.Sprint("@", i+1))
	}
	var ops []string
	for range rng.IntN(3) {
		ops = append(ops, []string{"r", "w"}[rng.IntN(2)]+places[rng.IntN(len(places))])
	}
	if len(ops) == 0 {
		return ""
	}
	return ": " + strings.Join(ops, "; ")
}

// sample makes a run as a Sampling says, drawing step by step.
func sample(rng *rand.Rand, sequence cover.PartitionSequence, t cover.Sampling,
	samplers []*cover.Sampler) []cover.Stage {
	var run []cover.Stage
	for i := range sequence {
		p := samplers[i].Draw(rng)
		for i > 0 && p == run[i-1].Partition {
			p = samplers[i].Draw(rng)
		}
		stage := cover.Stage{Partition: p, Roles: t.Roles}
		during := t.During
		if during == 0 {
			during = len(sequence[i].Ops)
		}
		for range during {
			stage.Ops = append(stage.Ops, cover.Op{Name: t.Operations[rng.IntN(len(t.Operations))], Node: 1 + rng.IntN(t.Nodes)})
		}
		run = append(run, stage)
	}
	return run
}

// TestMonteCarloSamplings compares the exact probability of random small partition sequences with tellings
// that are drawn and looked through, some with roles that share a node.
func TestMonteCarloSamplings(t *testing.T) {
	tier.NotShort(t)
	const draws = 8000
	rng := seeded(77)
	compared, impossible, shared := 0, 0, 0
	for compared < tier.Pick(50, 150) {
		nodes := 3 + rng.IntN(3)
		text := randomSequence(rng, nodes)
		sequence, err := cover.ParsePartitionSequence(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		sampling := cover.Sampling{Nodes: nodes, Operations: []string{"r", "w", "x"}, During: rng.IntN(4),
			Roles: []cover.Role{{Name: "leader", Nodes: must(cover.SetOf(1))},
				{Name: "zoo", Nodes: must(cover.SetOf(1+2*rng.IntN(2), 1+2*rng.IntN(2)))}}}
		spaces, err := sequence.Spaces(nodes, false)
		if err != nil {
			impossible++
			continue
		}
		var samplers []*cover.Sampler
		for _, s := range spaces {
			samplers = append(samplers, must(cover.NewSampler(s)))
		}
		hits := 0
		for range draws {
			if sequence.In(sample(rng, sequence, sampling, samplers)) {
				hits++
			}
		}
		probability, err := sequence.Probability(sampling)
		if err != nil {
			impossible++
			if hits > 0 {
				t.Errorf("%q of %d nodes was hit %d times: %v", text, nodes, hits, err)
			}
			continue
		}
		compared++
		if sampling.Roles[1].Nodes.Has(1) {
			shared++
		}
		near(t, fmt.Sprintf("%q of %d nodes", text, nodes), hits, draws, ratFloat(probability.P))
	}
	if impossible < 10 || shared < 10 {
		t.Errorf("%d partition sequences are impossible, %d have a node with two roles: the test says little", impossible,
			shared)
	}
}

// TestSamplingsEnumerated goes through every sampling of a few partition sequences, partitions and
// operations, and wants the very same fraction.
func TestSamplingsEnumerated(t *testing.T) {
	tier.NotShort(t)
	for _, text := range []string{
		"2|2 then 1|3", "leader+zoo(2)|*(2) then leader(1)|*", "*|* then *|*: w@1", "leader|zoo: w@2; r@1 then healed: w",
		"2|2: r@1; w@2",
		"leader(minority)|*: r@1; r@1", "*|*|*: r@1; w@2",
	} {
		sequence := must(cover.ParsePartitionSequence(text))
		sampling := cover.Sampling{Nodes: 4, Operations: []string{"r", "w"}, During: 2,
			Roles: []cover.Role{{Name: "leader", Nodes: 1}, {Name: "zoo", Nodes: 8}}}
		spaces := must(sequence.Spaces(4, false))
		if want, have := share(sequence, sampling, spaces, nil), must(sequence.Probability(sampling)).P; want.Cmp(have) != 0 {
			t.Errorf("%q: probability %v, going through all tellings gives %v", text, have, want)
		}
	}
}

// share is the share of the samplings that begin with these stages which cover the partition sequence.
func share(sequence cover.PartitionSequence, t cover.Sampling, spaces []cover.Space, run []cover.Stage) *big.Rat {
	i := len(run)
	if i == len(spaces) {
		if sequence.In(run) {
			return big.NewRat(1, 1)
		}
		return new(big.Rat)
	}
	sum, ways := new(big.Rat), int64(0)
	for p := range must(spaces[i].All()) {
		if i > 0 && run[i-1].Partition == p {
			continue
		}
		for a := range 8 {
			for b := range 8 {
				ways++
				stage := cover.Stage{Partition: p, Roles: t.Roles, Ops: []cover.Op{
					{Name: t.Operations[a/4], Node: 1 + a%4}, {Name: t.Operations[b/4], Node: 1 + b%4}}}
				sum.Add(sum, share(sequence, t, spaces, append(run[:i:i], stage)))
			}
		}
	}
	return sum.Quo(sum, big.NewRat(ways, 1))
}

// TestKafkaAndChronos has the numbers of the paper's two partition sequences: the first with the sizes of
// Example 4.13, and leaders on different nodes for the second.
func TestKafkaAndChronos(t *testing.T) {
	for _, c := range []struct {
		sequence string
		sampling cover.Sampling
		want     *big.Rat
	}{
		{"leader+zookeeper(2)|*(2) then leader(1)|*", cover.Sampling{Nodes: 4}, kafka().P},
		{"2|2 then 1|3", cover.Sampling{Nodes: 4}, big.NewRat(1, 1)},
		{"chronos|zookeeper then healed", cover.Sampling{Nodes: 5},
			must(cover.ProbabilityOf(cover.Split{K: 2}, cover.Uniform(5, 2))).P},
		// Both leaders on one node are never apart from each other, but both from a third.
		{"chronos+zookeeper|mesos", cover.Sampling{Nodes: 5, Roles: []cover.Role{{Name: "chronos", Nodes: 1},
			{Name: "zookeeper", Nodes: 1}}}, big.NewRat(8, 15)},
		{"leader(minority)|*: write@2; read@1", cover.Sampling{Nodes: 5, Balanced: true,
			Operations: []string{"read", "write", "else"}}, big.NewRat(4, 375)},
	} {
		if have := must(must(cover.ParsePartitionSequence(c.sequence)).Probability(c.sampling)).P; have.Cmp(c.want) != 0 {
			t.Errorf("%s: probability %v, want %v", c.sequence, have, c.want)
		}
	}
}

// TestPartitionSequenceText reads back what it writes, and refuses what cannot be meant.
func TestPartitionSequenceText(t *testing.T) {
	rng := seeded(3)
	for range 500 {
		sequence := must(cover.ParsePartitionSequence(randomSequence(rng, 5)))
		if again := must(cover.ParsePartitionSequence(sequence.String())); !reflect.DeepEqual(again, sequence) {
			t.Fatalf("%q is read back as %q", sequence, again)
		}
	}
	for text, want := range map[string]string{
		"":                            `want healed, or sides`,
		"leader":                      "sides = 1: want 2 to 8",
		"2|2, then 1|3":               "no comma",
		"healed then healed":          "stage = 2: want no healed network after a healed network",
		"n1|n1":                       "nodes on two sides = {1}",
		"n1(x)|*":                     `size of a side = "x": want 1 to 64, minority or majority`,
		"n1(2|*":                      "want a size in brackets",
		"a b|*":                       "want nodes (n1) and roles",
		"*|*: read@3":                 "side of an operation = 3: want -2 to 2 (the sides of the stage)",
		"*|*: read@0":                 `side of an operation = "0"`,
		"*|*: ; read":                 `operation = ""`,
		"n0|*":                        "node = 0: want 1 to 64",
		strings.Repeat("*|", 8) + "*": "sides = 9",
	} {
		if _, err := cover.ParsePartitionSequence(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"3|3":               "sum to 5",
		"n6|*":              "nodes of the partition sequence = {6}",
		"leader(5)|*":       "size of a side = 0",
		"*|*|*|*|*|* ":      "blocks = 6",
		"n1+n2|n3 then 5|0": "",
	} {
		sequence, err := cover.ParsePartitionSequence(text)
		if err == nil {
			_, err = sequence.Probability(cover.Sampling{Nodes: 5})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
	if _, err := must(cover.ParsePartitionSequence("*|* then *|*")).Probability(cover.Sampling{Nodes: 2}); err == nil ||
		!strings.Contains(err.Error(), "only one of its kind") {
		t.Errorf("two partitions of two nodes: %v", err)
	}
}

// TestPossible compares with all partitions whether a role's goal can be met.
func TestPossible(t *testing.T) {
	for nodes := 2; nodes <= 6; nodes++ {
		for _, space := range []cover.Space{cover.Uniform(nodes, 2), cover.Uniform(nodes, 3), cover.Uniform(nodes, 4),
			cover.Uniform(nodes, nodes), {Nodes: nodes, Blocks: 2, Bridge: 1}} {
			all, err := space.All()
			if err != nil {
				continue
			}
			for kind := cover.Splits; kind <= cover.Isolates; kind++ {
				for a := cover.Set(0); a < 1<<nodes; a++ {
					for b := cover.Set(0); b < 1<<nodes; b++ {
						if kind != cover.Separates && b > 0 {
							break
						}
						goal := cover.RoleGoal{Kind: kind, A: "a", B: "b"}
						met, test := false, false
						for p := range all {
							run := []cover.Stage{{Partition: p, Roles: []cover.Role{{Name: "a", Nodes: a}, {Name: "b", Nodes: b}}}}
							met = met || goal.In(run)
							test = goal.Tests(run) > 0
						}
						if met != test {
							t.Fatalf("%v over %v with %v and %v: met %v, a test %v", goal, space, a, b, met, test)
						}
					}
				}
			}
		}
	}
}

// TestLinks compares the shapes of all networks of up to four nodes with the definition: a
// partition is one whose own links they are.
func TestLinks(t *testing.T) {
	for nodes := 1; nodes <= 4; nodes++ {
		known := map[string]cover.Partition{fmt.Sprint(must(cover.AllLinks(nodes))): must(cover.Whole(nodes))}
		for blocks := 2; blocks <= nodes; blocks++ {
			for bridge := 0; nodes-bridge >= blocks; bridge++ {
				for p := range must(cover.Space{Nodes: nodes, Blocks: blocks, Bridge: bridge}.All()) {
					links := must(cover.AllLinks(nodes))
					for a := 1; a <= nodes; a++ {
						for b := 1; b <= nodes; b++ {
							if a != b && !p.Connected(a, b) {
								links.Cut(must(cover.SetOf(a)), must(cover.SetOf(b)))
							}
						}
					}
					known[fmt.Sprint(links)] = p
				}
			}
		}
		found := 0
		for bits := range 1 << (nodes * nodes) {
			links := make(cover.Links, nodes)
			self, oneWay := true, false
			for i := range links {
				links[i] = cover.Set(bits>>(i*nodes)) & (1<<nodes - 1)
				self = self && links[i].Has(i+1)
			}
			if !self {
				continue
			}
			for a := 1; a <= nodes; a++ {
				for b := 1; b <= nodes; b++ {
					oneWay = oneWay || links.Hears(a, b) != links.Hears(b, a)
				}
			}
			want, divided := known[fmt.Sprint(links)]
			have, shape := links.Partition()
			if have != want || (shape == cover.Divided) != divided || (shape == cover.OneWay) != oneWay {
				t.Fatalf("%v: %v, %v; want %v", links, have, shape, want)
			}
			if divided {
				found++
			}
		}
		if found != len(known) {
			t.Errorf("%d nodes: %d partitions, want %d", nodes, found, len(known))
		}
	}
}
