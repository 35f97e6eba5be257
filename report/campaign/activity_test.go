package campaign_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
)

// Activity reports how much a campaign tested, with warnings.
func TestActivity(t *testing.T) {
	commit := []lockstep.Count{{Name: "commit", N: 6}}
	for _, c := range []struct {
		what   string
		result lockstep.Result
		want   []string
	}{
		{"nothing done", lockstep.Result{}, nil},
		{"busy", lockstep.Result{Runs: 100, Steps: 123456, Requests: 250,
			Events:  []lockstep.Count{{Name: "call", N: 250}, {Name: "return", N: 199}},
			Checked: []lockstep.Count{{Name: "p", N: 300, Runs: 100}, {Name: "q", N: lockstep.NotCounted}}},
			[]string{
				"average run: 1235 steps, 4.49 events (call 2.5, return 1.99), 2.5 requests given, 1.99 operations answered",
				"property p was checked 300 times, 3 a run",
			}},
		{"idle rounds", lockstep.Result{
			Strategy: "uniform:period=4",
			Runs:     100,
			Steps:    1000,
			IdleRuns: 94,
			Events:   commit,
			Checked:  []lockstep.Count{{Name: "p", N: 6}},
		},
			[]string{"average run: 10 steps, 0.06 events (commit 0.06)", "property p was checked 6 times, 0.06 a run",
				"nothing observable happened in 94 of 100 runs (94 %)",
				"warning: most runs are idle: in the rounds of uniform, nodes with timeouts of their own may get nothing " +
					"done; try the strategy walk, pos or partition, or more rounds"}},
		{"in virtual time", lockstep.Result{
			Strategy: "walk",
			Runs:     4,
			Steps:    40,
			Virtual:  trace.Time(365 * time.Second),
			Events:   []lockstep.Count{{Name: "leader", N: 4}},
		},
			[]string{"average run: 10 steps, 1m31.3s of virtual time, 1 events (leader 1)"}},
		{"seldom checked", lockstep.Result{
			Strategy: "pos",
			Runs:     100,
			Steps:    1000,
			Events:   []lockstep.Count{{Name: "leader", N: 100}},
			Checked:  []lockstep.Count{{Name: "p", N: 130, Runs: 13}},
		},
			[]string{"average run: 10 steps, 1 events (leader 1)", "property p was checked 130 times, 1.3 a run",
				"warning: property p was checked in 13 of 100 runs only: try longer runs, or baseline:drop=0, which has no " +
					"faults; if they are idle, too, look at the system's adapter"}},
		{"checked often enough", lockstep.Result{
			Strategy: "pos",
			Runs:     100,
			Steps:    1000,
			Events:   []lockstep.Count{{Name: "leader", N: 200}},
			Checked:  []lockstep.Count{{Name: "p", N: 50, Runs: 50}},
		},
			[]string{"average run: 10 steps, 2 events (leader 2)", "property p was checked 50 times, 0.5 a run"}},
		{"in fewer than half of the runs", lockstep.Result{
			Strategy: "pos",
			Runs:     100,
			Steps:    1000,
			Events:   []lockstep.Count{{Name: "leader", N: 200}},
			Checked:  []lockstep.Count{{Name: "p", N: 49, Runs: 49}},
		},
			[]string{"average run: 10 steps, 2 events (leader 2)", "property p was checked 49 times, 0.49 a run",
				"warning: property p was checked in 49 of 100 runs only: try longer runs, or baseline:drop=0, which has no " +
					"faults; if they are idle, too, look at the system's adapter"}},
		{"never checked", lockstep.Result{
			Strategy: "walk",
			Runs:     1,
			Steps:    10,
			IdleRuns: 1,
			Checked:  []lockstep.Count{{Name: "p"}},
		},
			[]string{"average run: 10 steps, no events", "warning: property p was never checked",
				"warning: most runs are idle: try longer runs, or delay, which follows the system's own time; if they are " +
					"idle, too, look at the system's adapter"}},
		{"checked by states", lockstep.Result{
			Strategy: "walk",
			Runs:     1,
			Steps:    10,
			IdleRuns: 1,
			Checked:  []lockstep.Count{{Name: "p", N: 10}},
		},
			[]string{"average run: 10 steps, no events", "property p was checked 10 times, 10 a run"}},
	} {
		got := campaign.Activity(&c.result)
		if c.result.Runs > 0 {
			got = append(got, campaign.ProblemLines(c.result.Problems(), "")...)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// The virtual time of all runs together is compared with the elapsed time.
func TestSpeedup(t *testing.T) {
	c := passed()
	var b strings.Builder
	if err := c.Write(&b, false); err != nil || strings.Contains(b.String(), "real time") {
		t.Errorf("%v: a system without a clock of its own reports one:\n%s", err, b.String())
	}
	c.Result.Virtual = trace.Time(49 * time.Second)
	b.Reset()
	if err := c.Write(&b, false); err != nil || !strings.Contains(b.String(), "310204 steps/s, 100 times real time)") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	if d := c.Document(); d.VirtualMS != 49_000 || d.Speedup != 100 {
		t.Errorf("%d ms, %v times", d.VirtualMS, d.Speedup)
	}
}

func ExampleActivity() {
	for _, line := range campaign.Activity(&lockstep.Result{
		Runs:   4,
		Steps:  100,
		Events: []lockstep.Count{{Name: "commit", N: 6}},
	}) {
		fmt.Println(line)
	}
	// Output: average run: 25 steps, 1.5 events (commit 1.5)
}
