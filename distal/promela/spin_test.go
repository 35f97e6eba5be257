package promela_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/promela"
	"github.com/lockstep-go/lockstep/distal/sequential"
	examples "github.com/lockstep-go/lockstep/examples/distal"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// needSpin is called by tests in which Spin checks the exported model.
func needSpin(t testing.TB) {
	t.Helper()
	outside.Program(t, "spin")
	outside.Program(t, "gcc")
}

// verifier exports a model and lets Spin make a verifier of it; it returns the path of the program.
func verifier(t testing.TB, m *sequential.Model, phases int, optimize string) string {
	t.Helper()
	text, err := promela.Export(m, promela.Options{Phases: phases})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.pml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"spin", "-a", "model.pml"},
		{"gcc", optimize, "-DSAFETY", "-DVECTORSZ=65536", "-w", "-o", "pan", "pan.c"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return filepath.Join(dir, "pan")
}

var (
	errorsLine = regexp.MustCompile(`errors: (\d+)`)
	storedLine = regexp.MustCompile(`(\d+) states, stored`)
)

// check runs a verifier and returns its verdict and the number of states it stored. small says that there are few:
// then the tables, which cost more time than the search, may be small as well.
func check(t testing.TB, pan string, small bool) (failed bool, states int64) {
	t.Helper()
	args := []string{"-E", "-m1000000"}
	if small {
		args = []string{"-E", "-m100000", "-w16"}
	}
	cmd := exec.Command(pan, args...)
	cmd.Dir = filepath.Dir(pan)
	out, err := cmd.CombinedOutput()
	e, s := errorsLine.FindSubmatch(out), storedLine.FindSubmatch(out)
	if e == nil || s == nil {
		t.Fatalf("pan: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "max search depth too small") {
		t.Fatalf("pan did not search everything:\n%s", out)
	}
	states, err = strconv.ParseInt(string(s[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return string(e[1]) != "0", states
}

// compare wants the same verdict from Spin as from our search, and, where everything was searched, the same number of
// states; Spin also stores the one before the start.
func compare(t *testing.T, src string, opt distal.Options) {
	t.Helper()
	m, phases, remarks := distal.NewModel(src, opt)
	if m == nil {
		t.Fatal(remarks)
	}
	ours, err := explore.Exhaustive(m, explore.Options{Phases: phases})
	if err != nil {
		t.Fatal(err)
	}
	optimize := "-O0"
	if ours.States > 100_000 {
		optimize = "-O1" // worth the longer compilation
	}
	failed, states := check(t, verifier(t, m, phases, optimize), ours.States < 50_000)
	if failed != (ours.Verdict == explore.Fail) {
		t.Errorf("Spin's verdict: failed %v; ours: %s", failed, ours.Verdict)
	}
	if !failed && states != ours.States+1 {
		t.Errorf("Spin stores %d states, we count %d", states, ours.States)
	}
}

// TestSpinAgrees lets Spin check every example with bounds that it can exhaust quickly.
func TestSpinAgrees(t *testing.T) {
	tier.NotShort(t)
	needSpin(t)
	for i, c := range []struct {
		name string
		opt  distal.Options
	}{
		{"paxos_buggy", distal.Options{Phases: 3}},
		{"paxos_fixed", distal.Options{Phases: 4}},
		{"paxos_fixed", distal.Options{Phases: 3, Timeouts: "free"}},
		{"raft_buggy", distal.Options{Phases: 3}},
		{"raft_fixed", distal.Options{Phases: 2}},
		{"benor_buggy", distal.Options{Phases: 3}},
		{"benor_fixed", distal.Options{Phases: 3}},
		{"benor_fixed", distal.Options{Phases: 2, Network: "any"}},
		{"uniformvoting_buggy", distal.Options{Phases: 1}},
		{"uniformvoting_fixed", distal.Options{Phases: 3}},
		{"viewchange_buggy", distal.Options{Phases: 1}},
		{"viewchange_fixed", distal.Options{Phases: 2}},
		{"twophase_buggy", distal.Options{Phases: 1}},
		{"twophase_buggy", distal.Options{Phases: 2, Network: "reliable"}},
		{"twophase_fixed", distal.Options{Phases: 2}},
		{"lastvoting_buggy", distal.Options{Phases: 2}},
		{"lastvoting_fixed", distal.Options{Phases: 2}},
		{"chandratoueg_buggy", distal.Options{Phases: 2}},
		{"chandratoueg_fixed", distal.Options{Phases: 2, Timeouts: "free"}},
		{"onethird_buggy", distal.Options{Phases: 2}},
		{"onethird_fixed", distal.Options{Phases: 2}},
		{"fastpaxos_buggy", distal.Options{Phases: 2}},
		{"fastpaxos_fixed", distal.Options{Test: "three", Phases: 2}},
		{"threephase_buggy", distal.Options{Phases: 1}},
		{"threephase_fixed", distal.Options{Phases: 1}},
		{"threephase_fixed", distal.Options{Phases: 1, Network: "any"}},
		{"benortwoquorums_buggy", distal.Options{Phases: 3}},
		{"benortwoquorums_fixed", distal.Options{Phases: 3}},
	} {
		t.Run(fmt.Sprint(c.name, c.opt.Network, c.opt.Timeouts), func(t *testing.T) {
			tier.Some(t, i, 7)
			compare(t, corpus.Example(t, c.name), c.opt)
		})
	}
}

// TestSpinAgreesOnGenerated lets Spin check some generated programs.
func TestSpinAgreesOnGenerated(t *testing.T) {
	tier.NotShort(t)
	needSpin(t)
	for _, p := range corpus.Generated(tier.Pick(2, 6)) {
		t.Run(p.Name, func(t *testing.T) { compare(t, p.Source, distal.Options{Phases: 1}) })
	}
}

var (
	wild     = flag.Int("wild", 10, "how many wild programs Spin is to check, those without a sequential form counted")
	wildFrom = flag.Int("wildfrom", 1000, "the first of them")
)

// TestSpinAgreesOnWild lets Spin check programs with everything the language has, each under its own network, and half
// as many with numbers at the edge. Nearly all of the time is
// gcc's, a third of a second for each, so that thousands take minutes.
func TestSpinAgreesOnWild(t *testing.T) {
	needSpin(t)
	load := func(src string) bool {
		p, _ := distal.Load(src)
		return p != nil && len(p.Refused) == 0
	}
	programs := append(corpus.Wild(*wildFrom, *wild, load), corpus.Edge(*wildFrom, *wild/2, load)...)
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			compare(t, p.Source, distal.Options{Phases: 1})
		})
	}
}

// TestSpinOnSets lets Spin check what the export once refused: sets of sequences, elements past 63, numbers past
// 32767.
func TestSpinOnSets(t *testing.T) {
	tier.NotShort(t)
	needSpin(t)
	const src = `protocol P(n = 2)
message A { k: int, v: seq<int> } tag (k, A)
rounds A
state {
	k: int = 1
	big: int = 40000
	far: set<int>
	logs: set<seq<int>>
}
output int
init { send A(k, [big]) to all }
upon A ms with .k == k times all do {
	logs := {m.v for m in ms} + {[]}
	far := {64, 1000, big} + {-3}
	output big + len(far)
	big := 0
}
property Far: forall p in all: p.far == {} or p.far == {-3, 64, 1000, 40000}
property Logs: forall p in all: len(p.logs) != 1
property Now: on output v: self.big == 40000 and v == 40004
`
	compare(t, src, distal.Options{Phases: 1})
	compare(t, strings.Replace(src, "p.far == {-3,", "p.far == {-2,", 1), distal.Options{Phases: 1})
	compare(t, strings.Replace(src, "v == 40004", "v == 40003", 1), distal.Options{Phases: 1})
	compare(t, strings.Replace(src, "big := 0", "big := big * big * big", 1), distal.Options{Phases: 1})
	compare(t, strings.Replace(src, "big: int =", "big: int(0..40000) =", 1), distal.Options{Phases: 1})
	compare(t, strings.Replace(src, "big: int =", "big: int(1..40000) =", 1), distal.Options{Phases: 1})
}

// TestSpinOnTwoSends lets Spin check an action that sends two messages, each of which is watched: both are bound to
// one name.
func TestSpinOnTwoSends(t *testing.T) {
	needSpin(t)
	compare(t, `protocol P(n = 2)
message A { k: int } tag (k, A)
message B { k: int, v: int } tag (k, B)
rounds A < B
state { k: int = 1 x: int = 0 }
init { send A(k) to all }
upon A m with m.k >= x do { send B(m.k, 1) to all send A(m.k + 1) to all }
upon B m with m.k >= x do { x := m.v }
upon timeout with x > 0 do { send A(x + 5) to all }
`, distal.Options{Phases: 1})
}

func TestExportOptions(t *testing.T) {
	m, _, _ := distal.NewModel(corpus.Example(t, "paxos_fixed"), distal.Options{})
	if _, err := promela.Export(m, promela.Options{}); err == nil || !strings.Contains(err.Error(), "phases") {
		t.Errorf("error %v", err)
	}
}

func ExampleExport() {
	src, _ := examples.Source("twophase_fixed")
	m, phases, _ := distal.NewModel(src, distal.Options{})
	text, err := promela.Export(m, promela.Options{Phases: phases})
	fmt.Println(strings.SplitN(text, "\n", 2)[0], err)
	// Output: /* protocol "TwoPhaseCommit", 4 nodes, 3 phases from 1, network "any", timeouts eager: one atomic step is one round. <nil>
}

// BenchmarkPaxosSixSpin lets Spin exhaust six ballots of Paxos and then does the same with our search, in one run; the
// ratio is Spin's time over ours.
func BenchmarkPaxosSixSpin(b *testing.B) {
	needSpin(b)
	m, phases, _ := distal.NewModel(corpus.Example(b, "paxos_fixed"), distal.Options{Test: "six"})
	pan := verifier(b, m, phases, "-O3")
	var spin, ours float64
	for b.Loop() {
		before := b.Elapsed()
		if failed, states := check(b, pan, false); failed || states != 1_264_173 {
			b.Fatal(failed, states)
		}
		between := b.Elapsed()
		if r, err := explore.Exhaustive(m, explore.Options{Phases: phases}); err != nil || r.States != 1_264_172 {
			b.Fatal(r.States, err)
		}
		spin += (between - before).Seconds()
		ours += (b.Elapsed() - between).Seconds()
	}
	b.ReportMetric(spin/float64(b.N), "spin-s")
	b.ReportMetric(ours/float64(b.N), "ours-s")
	b.ReportMetric(spin/ours, "ratio")
	b.ReportMetric(1_264_172*float64(b.N)/ours, "states/s")
}
