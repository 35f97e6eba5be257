package mutants_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/mutants"
)

// actor makes this test binary act as the program that carries the mutants.
const actor = "LOCKSTEP_MUTANTS_ACTOR"

func TestMain(m *testing.M) {
	if os.Getenv(actor) == "1" {
		act(os.Getenv(mutants.Variable), strings.Join(os.Args[1:], " "))
	}
	os.Exit(m.Run())
}

// act ends the process in the way that the name of the mutant selects.
func act(mutant, args string) {
	switch {
	case mutant == "" && strings.Contains(args, "walk --runs 3 ") && strings.Contains(args, "--set weak=true"):
		fmt.Println(`{"runs": 2, "first_finding_run": 1, "finding": {"property": "liveness", "text": "slow"}}`)
		os.Exit(1)
	case mutant == "" && strings.Contains(args, "pos --runs 3 ") && strings.Contains(args, "--set weak=true"):
		fmt.Fprintln(os.Stderr, "panic: out of order\n\ngoroutine 1 [running]:")
		os.Exit(2)
	case mutant == "":
		runs := os.Args[1+slices.Index(os.Args, "--runs")]
		fmt.Printf(`{"runs": %s, "first_finding_run": null, "finding": null}`, runs)
		os.Exit(0)
	case mutant == "late" && !strings.Contains(args, "pos --runs 70"):
		fmt.Println(`{"runs": 7, "first_finding_run": null, "finding": null}`)
		os.Exit(0)
	case mutant == "easy" && strings.Contains(args, "--keep-going"):
		fmt.Println(
			`{"runs": 7, "findings": 4, "first_finding_run": 2, "finding": {"property": "safety", "text": "bad"}}`,
		)
		os.Exit(1)
	case mutant == "easy", mutant == "late":
		fmt.Println(`{"runs": 3, "first_finding_run": 2, "finding": {"property": "safety", "text": "bad"}}`)
		os.Exit(1)
	case mutant == "crash":
		fmt.Fprintln(os.Stderr, "panic: out of order\n\ngoroutine 1 [running]:")
	case mutant == "usage":
		fmt.Fprintln(os.Stderr, "lockstep: unknown strategy")
	case mutant == "hang":
		time.Sleep(time.Hour)
	}
	os.Exit(2)
}

func trial(t testing.TB) mutants.Trial {
	t.Setenv(actor, "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mutants.Trial{
		Target:     "etcdraft",
		Program:    program,
		Strategies: []string{"walk", "pos"},
		Runs:       7,
		More:       70,
		Steps:      10,
		Out:        t.TempDir(),
	}
}

func TestTrial(t *testing.T) {
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) { testTrial(t, workers) })
	}
}

func testTrial(t *testing.T, workers int) {
	load := mutants.Load{Name: "plain"}
	var reported []string
	tr := trial(t)
	tr.Workers = workers
	tr.Progress = func(m string, c mutants.Cell) { reported = append(reported, m+" "+string(c.Outcome)) }
	table, err := tr.Run(t.Context(),
		[]mutants.Mutant{{Name: "easy", Load: load}, {Name: "late", Load: load}, {Name: "crash", Load: load}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := table.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	want := `mutant  workload  walk   pos    found as, or what it would take
(none)  plain     >7     >7     
easy    plain     3      3      safety
late    plain     >7     3      safety
crash   plain     crash  crash  crash

strategy  mutants killed in 7 runs  median run of a kill  killed by no other
walk      2                         3                     -
pos       3                         3                     late

3 of 3 mutants killed, nothing found without a mutant
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if len(reported) != 2+2+4+2 {
		t.Errorf("progress: %q", reported)
	}
	if again := table.Mutants[0].Cells[1].Command; again != "LOCKSTEP_MUTANT=easy lockstep-mutants run etcdraft "+
		"--strategy pos --runs 7 --steps 10 --seed 0" {
		t.Errorf("again: %s", again)
	}
}

// TestTrialFails distinguishes wrong usage of the tool from a mutant that crashed.
func TestTrialFails(t *testing.T) {
	tr := trial(t)
	if _, err := tr.Run(t.Context(), []mutants.Mutant{{Name: "usage"}}); err == nil ||
		!strings.Contains(err.Error(), "unknown strategy") {
		t.Errorf("wrong usage: %v", err)
	}
	tr.Program = "/does/not/exist"
	if _, err := tr.Run(t.Context(), []mutants.Mutant{{Name: "easy"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
}

// TestControl runs as many runs without a mutant as with one, and as many as a later kill took. For a process that
// crashed, the run is unknown.
func TestControl(t *testing.T) {
	tr := trial(t)
	tr.More, tr.Strategies = 0, []string{"walk"}
	for _, c := range []struct {
		mutant     string
		runs, want int
	}{{"easy", 500, 500}, {"crash", 500, 500}, {"late", 500, 500}, {"easy", 2, 3}} {
		tr.Runs = c.runs
		table, err := tr.Run(t.Context(), []mutants.Mutant{{Name: c.mutant}})
		if err != nil || table.Control[0].Cells[0].Runs != c.want {
			t.Errorf("%s, %d runs: %v, %+v, want %d runs without a mutant", c.mutant, c.runs, err, table, c.want)
		}
	}
}

// TestCount completes all runs and shows the number of those with a finding beside the number without a mutant. The
// table distinguishes strategies that differ in options only.
func TestCount(t *testing.T) {
	tr := trial(t)
	tr.More, tr.Count, tr.Strategies = 0, true, []string{"walk", "walk:drop=2"}
	table, err := tr.Run(t.Context(), []mutants.Mutant{{Name: "easy"}, {Name: "late"}, {Name: "crash"}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	want := `| mutant | workload | walk | walk:drop=2 | found as, or what it would take |
|---|---|---|---|---|
| (none) |  | 0 | 0 |  |
| easy |  | 4 | 4 | safety |
| late |  | 0 | 0 |  |
| crash |  | crash | crash | crash |
`
	if err := table.WriteMarkdown(&out); err != nil || !strings.HasPrefix(out.String(), want) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestFalseFinding does not count a kill if the library fails without the mutant, or crashes in some run.
func TestFalseFinding(t *testing.T) {
	tr := trial(t)
	tr.Runs, tr.More = 3, 0
	tr.Strategies = []string{"walk", "pos", "delay"}
	weak := mutants.Load{Name: "weak", Set: []string{"weak=true"}}
	table, err := tr.Run(t.Context(), []mutants.Mutant{{Name: "easy", Load: weak}, {Name: "crash", Load: weak}})
	if err != nil {
		t.Fatal(err)
	}
	var got []mutants.Outcome
	for _, row := range table.Mutants {
		for _, c := range row.Cells {
			got = append(got, c.Outcome)
		}
	}
	want := []mutants.Outcome{
		mutants.Unclear,
		mutants.Unclear,
		mutants.Killed,
		mutants.Unclear,
		mutants.Unclear,
		mutants.Crashed,
	}
	if table.Clean() || !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: %+v", got, want, table)
	}
}

func TestTrialEnds(t *testing.T) {
	tier.NotShort(t)
	tr := trial(t)
	tr.More, tr.Limit, tr.Strategies = 0, time.Second, []string{"walk"}
	table, err := tr.Run(t.Context(), []mutants.Mutant{{Name: "hang"}})
	if err != nil || table.Mutants[0].Cells[0].Outcome != mutants.TimedOut || table.Killed() != 0 {
		t.Errorf("a campaign without end: %v, %+v", err, table)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.Run(ctx, []mutants.Mutant{{Name: "easy"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func ExampleTable_WriteText() {
	table := mutants.Table{Strategies: []string{"walk:drop=2", "pos"}, Runs: 100,
		Mutants: []mutants.Row{{Mutant: "vote-twice", Load: "plain", Cells: []mutants.Cell{
			{Strategy: "walk:drop=2", Outcome: mutants.Survived, Runs: 100},
			{Strategy: "pos", Outcome: mutants.Killed, Runs: 12, Property: "election-safety"},
		}}}}
	if err := table.WriteText(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// mutant      workload  walk  pos  found as, or what it would take
	// vote-twice  plain     >100  12   election-safety
	//
	// strategy     mutants killed in 100 runs  median run of a kill  killed by no other
	// walk:drop=2  0                           -                     -
	// pos          1                           12                    vote-twice
	//
	// 1 of 1 mutants killed, nothing found without a mutant
}

func ExampleTable_WriteMarkdown() {
	table := mutants.Table{
		Strategies: []string{"pos"},
		Mutants: []mutants.Row{{Mutant: "read-early", Load: "reads", Needs: "luck",
			Cells: []mutants.Cell{{Strategy: "pos", Outcome: mutants.TimedOut}}}},
	}
	if err := table.WriteMarkdown(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// | mutant | workload | pos | found as, or what it would take |
	// |---|---|---|---|
	// | read-early | reads | time-out | luck |
	//
	// | strategy | mutants killed in 0 runs | median run of a kill | killed by no other |
	// |---|---|---|---|
	// | pos | 0 | - | - |
}

// A crashed process has killed the mutant in an unknown run, so the kill does not enter the median.
func TestCrashesAreInNoMedian(t *testing.T) {
	cell := func(o mutants.Outcome, runs int) []mutants.Cell {
		return []mutants.Cell{{Strategy: "pos", Outcome: o, Runs: runs}}
	}
	table := mutants.Table{
		Strategies: []string{"pos"},
		Runs:       100,
		Mutants: []mutants.Row{{Mutant: "a", Cells: cell(mutants.Crashed, 0)},
			{Mutant: "b", Cells: cell(mutants.Crashed, 0)}, {Mutant: "c", Cells: cell(mutants.Killed, 40)}},
	}
	var out strings.Builder
	if err := table.WriteMarkdown(&out); err != nil || !strings.Contains(out.String(), "| pos | 3 | 40 |") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
