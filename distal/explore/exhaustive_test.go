package explore_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// figures are the published or independently computed facts about the example programs.
var figures = []struct {
	name    string
	opt     distal.Options
	verdict string
	phase   int // of the shortest violation
	round   int // the same, counted from the start
	active  int // rounds in which some node acts; 0: not stated
	states  int64
}{
	{name: "paxos_buggy", opt: distal.Options{Phases: 4}, verdict: explore.Fail, phase: 3, round: 12, active: 9},
	{name: "paxos_fixed", opt: distal.Options{Test: "six"}, verdict: explore.Pass, states: 1_264_172},
	{name: "raft_buggy", opt: distal.Options{Phases: 4}, verdict: explore.Fail, phase: 3, round: 12},
	{name: "raft_fixed", opt: distal.Options{Phases: 3}, verdict: explore.Pass},
	{name: "benor_buggy", opt: distal.Options{Phases: 5}, verdict: explore.Fail, phase: 3, round: 6},
	{name: "benor_buggy", opt: distal.Options{Phases: 5, Network: "any"}, verdict: explore.Fail, phase: 2, round: 4},
	{name: "benor_buggy", opt: distal.Options{Test: "five"}, verdict: explore.Fail, phase: 3, round: 6},
	{name: "benor_fixed", opt: distal.Options{Phases: 5}, verdict: explore.Pass, states: 424},
	{name: "benor_fixed", opt: distal.Options{Phases: 5, Network: "any"}, verdict: explore.Fail, phase: 2, round: 4,
		states: 606},
	{name: "benor_fixed", opt: distal.Options{Test: "five"}, verdict: explore.Pass},
	{name: "uniformvoting_buggy", opt: distal.Options{Phases: 4}, verdict: explore.Fail, phase: 1, round: 2},
	{name: "uniformvoting_fixed", opt: distal.Options{Phases: 4}, verdict: explore.Pass},
	{name: "uniformvoting_fixed", opt: distal.Options{Test: "four"}, verdict: explore.Pass},
	{name: "viewchange_buggy", opt: distal.Options{Phases: 3}, verdict: explore.Fail, phase: 1, round: 2},
	{name: "viewchange_buggy", opt: distal.Options{Test: "guessing"}, verdict: explore.Pass},
	{name: "viewchange_buggy", opt: distal.Options{Test: "smallQuorum"}, verdict: explore.Pass},
	{name: "viewchange_fixed", opt: distal.Options{Phases: 3}, verdict: explore.Pass},
	{name: "twophase_buggy", opt: distal.Options{Phases: 3}, verdict: explore.Fail, phase: 1, round: 2},
	{name: "twophase_buggy", opt: distal.Options{Test: "lossless"}, verdict: explore.Pass},
	{name: "twophase_fixed", opt: distal.Options{Phases: 3}, verdict: explore.Pass},
	{name: "threephase_buggy", opt: distal.Options{Phases: 1}, verdict: explore.Fail, phase: 1, round: 5},
	{name: "threephase_fixed", opt: distal.Options{Phases: 1}, verdict: explore.Pass},
	{name: "threephase_fixed", opt: distal.Options{Test: "partition"}, verdict: explore.Fail, phase: 1, round: 7},
	{name: "lastvoting_buggy", opt: distal.Options{Phases: 4}, verdict: explore.Fail, phase: 2, round: 8},
	{name: "lastvoting_fixed", opt: distal.Options{Phases: 4}, verdict: explore.Pass},
	{name: "chandratoueg_buggy", opt: distal.Options{Phases: 4}, verdict: explore.Fail, phase: 2, round: 8},
	{name: "chandratoueg_fixed", opt: distal.Options{Phases: 4}, verdict: explore.Pass},
	{name: "onethird_buggy", opt: distal.Options{Phases: 4}, verdict: explore.Fail, phase: 2, round: 2},
	{name: "onethird_buggy", opt: distal.Options{Test: "five"}, verdict: explore.Fail, phase: 2, round: 2},
	{name: "onethird_fixed", opt: distal.Options{Phases: 4}, verdict: explore.Pass},
	{name: "onethird_fixed", opt: distal.Options{Test: "three"}, verdict: explore.Pass},
	{name: "fastpaxos_buggy", opt: distal.Options{Phases: 3}, verdict: explore.Fail, phase: 2, round: 8},
	{name: "fastpaxos_buggy", opt: distal.Options{Test: "quorum"}, verdict: explore.Pass},
	{name: "fastpaxos_fixed", opt: distal.Options{Phases: 2}, verdict: explore.Pass},
	{name: "fastpaxos_fixed", opt: distal.Options{Test: "three"}, verdict: explore.Pass},
	{name: "benortwoquorums_buggy", opt: distal.Options{Phases: 5}, verdict: explore.Fail, phase: 3, round: 6},
	{name: "benortwoquorums_buggy", opt: distal.Options{Test: "five"}, verdict: explore.Fail, phase: 3, round: 6},
	{name: "benortwoquorums_fixed", opt: distal.Options{Phases: 5}, verdict: explore.Pass},
	{name: "benortwoquorums_fixed", opt: distal.Options{Test: "five"}, verdict: explore.Pass},
}

func TestFigures(t *testing.T) {
	tier.NotShort(t)
	for _, f := range figures {
		t.Run(f.name+f.opt.Test+f.opt.Network, func(t *testing.T) {
			m, phases := example(t, f.name, f.opt)
			r, err := explore.Exhaustive(m, explore.Options{Phases: phases})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != f.verdict {
				t.Fatalf("verdict %s, want %s: %+v", r.Verdict, f.verdict, r.Violation)
			}
			if f.states != 0 && r.States != f.states {
				t.Errorf("%d states, want %d", r.States, f.states)
			}
			if f.verdict == explore.Pass {
				if r.PhasesComplete != phases {
					t.Errorf("complete to phase %d, want %d", r.PhasesComplete, phases)
				}
				return
			}
			v := r.Violation
			if v.Phase != f.phase || v.Round != f.round || f.active != 0 && v.ActiveRounds != f.active {
				t.Errorf("violation in phase %d, round %d, %d active; want %d, %d, %d", v.Phase, v.Round, v.ActiveRounds, f.phase,
					f.round, f.active)
			}
			if r.PhasesComplete != f.phase-1 || len(v.Trace) != v.Round {
				t.Errorf("complete to phase %d with a trace of %d rounds", r.PhasesComplete, len(v.Trace))
			}
		})
	}
}

// TestExpectations runs every test of every example file, but the two long ones.
func TestExpectations(t *testing.T) {
	tier.NotShort(t)
	for _, program := range corpus.Examples(t) {
		p, _ := distal.Load(program.Source)
		for _, test := range p.Tests {
			if test.Name == "six" || test.Name == "eight" {
				continue // TestFigures has the first; the second takes minutes with the race detector
			}
			r, remarks := distal.Explore(program.Source, distal.ExploreOptions{Options: distal.Options{Test: test.Name}})
			want := map[string]string{"pass": explore.Pass, "violation": explore.Fail}[test.Expect]
			if len(remarks.Errors()) > 0 || r.Verdict != want {
				t.Errorf("%s, test %s: verdict %s, want %s (%v)", program.Name, test.Name, r.Verdict, want, remarks)
			}
		}
	}
}

// againstNaive compares the search with one that has no memory, no interning and no merging of outcomes.
func againstNaive(t *testing.T, m *sequential.Model, phases int) {
	t.Helper()
	levels, violation := naive(m, phases)
	r, err := explore.Exhaustive(m, explore.Options{Phases: phases})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	if r.Violation != nil {
		found = r.Violation.Round
		r.Levels = r.Levels[:len(r.Levels)-1] // the level of the violation counts only states without one
	}
	if found != violation || !slices.Equal(r.Levels, levels) {
		t.Errorf("levels %v, violation in round %d; naive search: %v, %d", r.Levels, found, levels, violation)
	}
}

func TestAgainstNaive(t *testing.T) {
	tier.NotShort(t)
	for _, name := range []string{"paxos_buggy", "paxos_fixed", "benor_fixed", "uniformvoting_fixed", "viewchange_buggy",
		"viewchange_fixed", "twophase_buggy", "lastvoting_fixed", "chandratoueg_fixed", "onethird_buggy", "fastpaxos_buggy",
		"threephase_buggy", "threephase_fixed", "benortwoquorums_fixed"} {
		for _, timeouts := range []string{"eager", "free"} {
			t.Run(name+" "+timeouts, func(t *testing.T) {
				m, _ := example(t, name, distal.Options{Timeouts: timeouts})
				againstNaive(t, m, 1)
			})
		}
	}
	for _, p := range corpus.Generated(tier.Pick(30, 100)) {
		t.Run(p.Name, func(t *testing.T) {
			m, _ := load(t, p.Source, distal.Options{})
			againstNaive(t, m, 1)
		})
	}
}

var wild = flag.Int("wild", 100, "how many wild programs to try")

// TestWildAgainstNaive does the same for programs with everything the language has, each under its own network.
func TestWildAgainstNaive(t *testing.T) {
	load := func(src string) bool {
		p, _ := distal.Load(src)
		return p != nil && len(p.Refused) == 0
	}
	for _, p := range corpus.Wild(0, *wild, load) {
		t.Run(p.Name, func(t *testing.T) {
			m, _, _ := distal.NewModel(p.Source, distal.Options{})
			switch { // others take too long without a memory
			case m.Program.N < 3:
				againstNaive(t, m, 2)
			case len(m.Network.Modes) == 1:
				againstNaive(t, m, 1)
			}
		})
	}
}

// TestWorkersAndDisk wants every example to end the same way, counterexample and all, whatever the number of workers
// and wherever the states are.
func TestWorkersAndDisk(t *testing.T) {
	tier.NotShort(t)
	for i, f := range figures {
		if f.opt.Test == "six" {
			f.opt = distal.Options{Phases: 4} // enough for several shards
		}
		t.Run(f.name+f.opt.Test+f.opt.Network, func(t *testing.T) {
			tier.Some(t, i, 4)
			m, phases := example(t, f.name, f.opt)
			var first explore.Result
			for i, opt := range []explore.Options{{Workers: 1}, {Workers: 2},
				{Workers: 3, Memory: 32 << 20, Disk: 1 << 30, Dir: t.TempDir()}} {
				opt.Phases = phases
				r, err := explore.Exhaustive(m, opt)
				if err != nil || r.Verdict != f.verdict {
					t.Fatal(r.Verdict, r.Reason, err)
				}
				r.Memory, r.Disk = 0, 0
				text := ""
				if r.Violation != nil {
					text = m.Text(r.Violation.Trace)
					r.Violation.Trace = nil
					r.Violation.Text += text
				}
				if i == 0 {
					first = r
				} else if !reflect.DeepEqual(r, first) {
					t.Errorf("%+v:\n%+v %+v\n%+v %+v", opt, r, r.Violation, first, first.Violation)
				}
			}
		})
	}
}

// TestDisk lets a search continue where its memory ends, and says why it ends where that does not help.
func TestDisk(t *testing.T) {
	tier.NotShort(t)
	m, _ := example(t, "paxos_fixed", distal.Options{})
	dir := t.TempDir()
	for _, c := range []struct {
		disk    int64
		verdict string
		reason  string
	}{
		{0, explore.Unknown, "memory limit"},
		{1 << 20, explore.Unknown, "disk limit"},
		{1 << 30, explore.Pass, ""},
	} {
		r, err := explore.Exhaustive(m, explore.Options{Phases: 6, Memory: 12 << 20, Disk: c.disk, Dir: dir})
		if err != nil || r.Verdict != c.verdict || c.reason != "" && !strings.Contains(r.Reason, c.reason) {
			t.Errorf("disk %d: %s, %q, %v", c.disk, r.Verdict, r.Reason, err)
		}
		if c.verdict == explore.Pass && (r.States != 1_264_172 || r.Disk < 1<<20 || r.Memory > 16<<20) {
			t.Errorf("%d states with %d bytes of memory and %d of disk", r.States, r.Memory, r.Disk)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

// TestMemoryLimit ends with what is complete, not with a crash.
func TestMemoryLimit(t *testing.T) {
	m, _ := example(t, "paxos_fixed", distal.Options{})
	r, err := explore.Exhaustive(m, explore.Options{Phases: 20, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != explore.Unknown || r.PhasesComplete < 3 || r.PhasesComplete > 6 || r.Memory < 1<<20 {
		t.Errorf("verdict %s, %s, memory %d", r.Verdict, r.Complete(), r.Memory)
	}
	if !strings.Contains(r.Reason, "memory limit") {
		t.Errorf("reason %q", r.Reason)
	}
	if want := fmt.Sprintf("complete to phase %d", r.PhasesComplete); r.Complete() != want {
		t.Errorf("%q, want %q", r.Complete(), want)
	}
}

func TestProgress(t *testing.T) {
	m, _ := example(t, "paxos_fixed", distal.Options{})
	var last explore.Progress
	calls := 0
	r, _ := explore.Exhaustive(m, explore.Options{Phases: 5, Progress: func(p explore.Progress) bool {
		if p.States < last.States || p.Phase < last.Phase {
			t.Errorf("progress goes back from %+v to %+v", last, p)
		}
		if p.Done > p.Of || p.Phase == last.Phase && p.Round == last.Round && p.Done < last.Done {
			t.Errorf("progress within the round goes from %+v to %+v", last, p)
		}
		last = p
		calls++
		return p.Phase < 4
	}})
	if r.Verdict != explore.Unknown || r.PhasesComplete != 3 || calls < 12 || last.Memory <= 0 ||
		!strings.Contains(r.Reason, "stopped") {
		t.Errorf("verdict %s (%s), %s after %d calls, last %+v", r.Verdict, r.Reason, r.Complete(), calls, last)
	}
	full, _ := explore.Exhaustive(m, explore.Options{Phases: 5})
	if e := float64(last.Estimate) / float64(full.States); e < 0.5 || e > 2 {
		t.Errorf("after three of five phases %d states are estimated, there are %d", last.Estimate, full.States)
	}
}

func TestBadOptions(t *testing.T) {
	m, _ := example(t, "paxos_fixed", distal.Options{})
	if _, err := explore.Exhaustive(m, explore.Options{}); err == nil || !strings.Contains(err.Error(), "phases") {
		t.Errorf("error %v", err)
	}
	for _, o := range []explore.RandomOptions{{Phases: 1}, {Runs: 1}, {Phases: 1, Runs: 1, Deliver: 2},
		{Phases: 1, Runs: 1, Timeout: -1}} {
		if _, err := explore.Random(m, o); err == nil {
			t.Errorf("no error for %+v", o)
		}
	}
}

// TestTrace replays the counterexample by hand: its last round must break the property, no earlier one may.
func TestTrace(t *testing.T) {
	m, _ := example(t, "paxos_buggy", distal.Options{})
	r, _ := explore.Exhaustive(m, explore.Options{Phases: 3})
	text := m.Text(r.Violation.Trace)
	for _, want := range []string{"phase 1, round Prepare\n  1 sends Prepare(1) to 1 2 3\n", "phase 3, round Promise\n",
		"output=[3]", "output=[1]"} {
		if !strings.Contains(text, want) {
			t.Errorf("the trace lacks %q:\n%s", want, text)
		}
	}
	acting := 0
	for _, row := range r.Violation.Trace {
		for _, c := range row.Nodes {
			if c.Rule != nil {
				acting++
				break
			}
		}
	}
	if acting != r.Violation.ActiveRounds {
		t.Errorf("%d rounds act in the trace, %d are announced", acting, r.Violation.ActiveRounds)
	}
}

// TestTimeoutsMatter shows what free timeouts add: nodes that stay silent.
func TestTimeoutsMatter(t *testing.T) {
	states := map[string]int64{}
	for _, timeouts := range []string{"eager", "free"} {
		m, _ := example(t, "paxos_fixed", distal.Options{Timeouts: timeouts})
		r, _ := explore.Exhaustive(m, explore.Options{Phases: 4})
		if r.Verdict != explore.Pass {
			t.Errorf("%s timeouts: %s", timeouts, r.Verdict)
		}
		states[timeouts] = r.States
	}
	if states["eager"] != 49_464 || states["free"] <= states["eager"] {
		t.Errorf("states: %v", states)
	}
}

// TestManySuccessors wants the limits to hold inside one state too: sixteen nodes that toss ten coins each.
func TestManySuccessors(t *testing.T) {
	tier.NotShort(t)
	const src = `protocol Coins(n = 16)
message M { k: int } tag (k, M)
rounds M
state { k: int = 1 x: int = %s }
init { send M(k) to self }
upon M m with m.k == k do { x := choose(1..1000) }
`
	for _, first := range []string{"0", "choose(1..1000)"} {
		m, _ := load(t, fmt.Sprintf(src, first), distal.Options{Phases: 1, Timeouts: "eager"})
		r, err := explore.Exhaustive(m, explore.Options{Phases: 1, Memory: 20 << 20})
		if err != nil || r.Verdict != explore.Unknown || r.PhasesComplete != 0 {
			t.Errorf("%s: %+v %v", first, r, err)
		}
	}
}

// TestFaultAtStart reports a program that fails before the first round.
func TestFaultAtStart(t *testing.T) {
	const src = `protocol P(n = 2)
message M { k: int } tag (k, M)
rounds M
state { k: int = 1 / (n - 2) }
init { send M(k) to all }
upon M m with m.k == k do { }
`
	m, _ := load(t, src, distal.Options{})
	full, err := explore.Exhaustive(m, explore.Options{Phases: 1})
	if err != nil || full.Verdict != explore.Fail || full.Violation.Property != "fault" || full.Violation.Phase != 0 {
		t.Errorf("%+v %v", full, err)
	}
	random, err := explore.Random(m, explore.RandomOptions{Phases: 1, Runs: 1})
	if err != nil || random.Verdict != explore.Fail || random.Violation.Property != "fault" {
		t.Errorf("%+v %v", random, err)
	}
}

// TestMutants breaks the programs in more ways than their buggy twins, and shows that their properties are not empty:
// some behavior outputs something, and the broken programs are found.
func TestMutants(t *testing.T) {
	tier.NotShort(t)
	for _, c := range []struct {
		name, old, new string
		phases         int
	}{
		{"lastvoting_fixed", "\tts := phase\n", "", 3},
		{"lastvoting_fixed", "upon Estimate ms with .phase == phase and timely times > n / 2",
			"upon Estimate ms with .phase == phase and timely times >= 1", 3},
		{"chandratoueg_fixed", "\tts := phase\n", "", 3},
		{"onethird_fixed", "> 2 * n / 3 {", "> n / 2 - 1 {", 2},
		{"onethird_fixed", "max v in 1..values by (count m in ms: m.x == v, -v)", "first(ms).x", 2},
		{"fastpaxos_fixed", "\tvoted := m.ballot\n", "", 2},
		{"fastpaxos_fixed", "if latest > 1 {", "if latest > 2 {", 3},
		{"fastpaxos_fixed", "latest == 1 and possible", "latest == 0 and possible", 2},
		{"fastpaxos_fixed", "+ n - len(ms) >= fast", ">= fast", 2},
		{"threephase_fixed", "\tprepared := true\n\tsend Ack", "\tsend Ack", 1},
		{"threephase_fixed", "m.vote == commit", "true", 1},
		{"threephase_fixed", "if prepared then commit", "if false then commit", 1},
		{"twophase_fixed", "times >= n - 1 do {\n\tlet", "times >= n - 2 do {\n\tlet", 1},
	} {
		src := corpus.Example(t, c.name)
		mutant := strings.Replace(src, c.old, c.new, 1)
		if mutant == src {
			t.Fatalf("%s: %q is not in the program", c.name, c.old)
		}
		m, _ := load(t, mutant, distal.Options{})
		if r, err := explore.Exhaustive(m, explore.Options{Phases: c.phases}); err != nil || r.Verdict != explore.Fail {
			t.Errorf("%s without %q: %s %v", c.name, c.old, r.Verdict, err)
		}
	}
	for _, p := range corpus.Examples(t) {
		if strings.HasPrefix(p.Name, "raftlog") {
			continue // with eager timeouts it elects no leader
		}
		m, _ := load(t, p.Source+"\nproperty Silent: forall p in all: p.output == none\n",
			distal.Options{Phases: 1, Timeouts: "eager"})
		r, err := explore.Exhaustive(m, explore.Options{Phases: 1})
		if err != nil || r.Verdict != explore.Fail {
			t.Errorf("%s outputs nothing in one phase: %s %v", p.Name, r.Verdict, err)
		}
	}
}

// TestMonitors wants the search to report a condition that could only be watched, and that does not hold.
func TestMonitors(t *testing.T) {
	const src = `protocol P(n = 2)
message A { k: int } tag (k, A)
message B { k: int, v: int } tag (k, B)
rounds A < B
state { k: int = 1 x: int = 0 }
init { send A(k) to all }
upon A m with m.k == k do { x := x + 1 send B(k, x) to all }
upon B m with m.k == k do { k := k + m.v - 1 send A(k) to all }
`
	m, _ := load(t, src, distal.Options{})
	if checked, _ := distal.Load(src); !checked.Watches(core.Grows) {
		t.Fatal("nothing is watched")
	}
	r, err := explore.Exhaustive(m, explore.Options{Phases: 2})
	if err != nil || r.Verdict != explore.Fail || r.Violation.Property != "condition 1" || r.Violation.Round != 2 {
		t.Errorf("%+v %v", r.Violation, err)
	}
}

// TestFreeTimeouts wants the same verdicts when nodes may stay silent.
func TestFreeTimeouts(t *testing.T) {
	tier.NotShort(t)
	for _, name := range []string{"paxos_buggy", "paxos_fixed", "benor_buggy", "benor_fixed", "uniformvoting_buggy",
		"uniformvoting_fixed",
		"viewchange_buggy", "viewchange_fixed", "twophase_buggy", "twophase_fixed", "lastvoting_buggy", "lastvoting_fixed",
		"chandratoueg_buggy", "chandratoueg_fixed", "onethird_buggy", "onethird_fixed", "fastpaxos_buggy", "fastpaxos_fixed",
		"threephase_buggy",
		"threephase_fixed", "benortwoquorums_buggy", "benortwoquorums_fixed"} {
		want := explore.Pass
		if strings.HasSuffix(name, "_buggy") {
			want = explore.Fail
		}
		m, _ := example(t, name, distal.Options{Timeouts: "free"})
		if r, err := explore.Exhaustive(m, explore.Options{Phases: 3}); err != nil || r.Verdict != want {
			t.Errorf("%s: %s, want %s (%v)", name, r.Verdict, want, err)
		}
	}
}
