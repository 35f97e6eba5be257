package ratis

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/exact"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// Flags that select the rows of the paper's tables 3 to 5 to reproduce. They are named light, held or killed, a
// transport, and 1..7; baseline, a transport, and 0.125, 0.25 or 0.5: `go test -run Tables -long -rows
// light:grpc:4,killed:netty:3 -each 1h -timeout 0 .`
var (
	version = flag.String("version", "1.0.0", "version of the servers")
	seed    = flag.Uint64("seed", 1, "seed of a row")
	bound   = flag.Duration("within", 10*time.Second, "the bound of the properties")
	own     = flag.Bool("own", false, "every request has a client of its own")
)

// row is a column of one of the paper's tables. It has the kind and number of isolations, or the probability of message
// loss, and in how many of 1000 runs each property was violated.
type row struct {
	how, transport string
	isolations     int
	drop           float64
	violated       [3]int
}

func (r row) String() string {
	if r.how == "baseline" {
		return fmt.Sprint(r.how, ":", r.transport, ":", r.drop)
	}
	return fmt.Sprint(r.how, ":", r.transport, ":", r.isolations)
}

// published are the results of the paper's tables 3 (light), 4 (held on the left, killed on the right) and 5. The
// second and third rows of Netty in table 3 are printed as P1 and P2; they are read as P2 and P3.
var published = []struct {
	how, transport string
	p1, p2, p3     []int
}{
	{
		"light",
		"grpc",
		[]int{0, 0, 0, 0, 0, 0, 0},
		[]int{121, 199, 242, 192, 103, 65, 61},
		[]int{0, 0, 2, 5, 22, 64, 111},
	},
	{
		"light",
		"netty",
		[]int{17, 291, 418, 576, 917, 986, 995},
		[]int{362, 592, 710, 778, 958, 989, 995},
		[]int{151, 285, 331, 472, 888, 984, 992},
	},
	{"held", "grpc", []int{0, 0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 1, 0, 0, 0}, []int{0, 1, 16, 88, 182, 366, 523}},
	{"held", "netty", []int{0, 0, 2, 0, 0, 0, 0}, []int{0, 0, 1, 1, 0, 2, 9}, []int{0, 9, 69, 159, 262, 497, 620}},
	{
		"killed",
		"grpc",
		[]int{0, 0, 0, 0, 0, 0, 0},
		[]int{0, 0, 0, 12, 23, 47, 57},
		[]int{0, 18, 110, 197, 205, 276, 319},
	},
	{"killed", "netty", []int{0, 0, 1, 3, 1, 3, 7}, []int{0, 0, 1, 0, 0, 0, 0}, []int{0, 16, 11, 96, 93, 118, 79}},
	{"baseline", "grpc", []int{1, 2, 6}, []int{0, 1, 25}, []int{0, 2, 155}},
	{"baseline", "netty", []int{994, 971, 497}, []int{998, 983, 462}, []int{999, 996, 179}},
}

func table() (all []row) {
	for _, p := range published {
		for i := range p.p1 {
			r := row{how: p.how, transport: p.transport, isolations: i + 1, violated: [3]int{p.p1[i], p.p2[i], p.p3[i]}}
			if p.how == "baseline" {
				r.isolations, r.drop = 0, []float64{0.125, 0.25, 0.5}[i]
			}
			all = append(all, r)
		}
	}
	return all
}

// baselineSteps is the length of a run of the baseline.
const baselineSteps = 150

// plan returns the campaign of a row.
func (r row) plan(scratch string) lockstep.Plan {
	c := Cluster{Version: *version, Transport: r.transport, Warm: true, StartTimeout: *timeout, Within: *bound, Each: *own}
	uniform := strategy.Uniform{Period: 2, Rounds: 8, Isolations: r.isolations, Sampler: strategy.Paper}
	plan := lockstep.Plan{Settle: Settle, Workers: 1, Runs: 1 << 20, Seed: *seed, Scratch: scratch}
	switch r.how {
	case "light":
	case "held":
		c.Control, c.Stall, c.Requests = byTime, true, 3
	case "killed":
		c.Control, c.Requests, uniform.By = byTime, 3, strategy.ByCrash
	default:
		c.Control = byMessage
		plan.System, plan.Strategy = c, strategy.Baseline{Drop: r.drop, Steps: baselineSteps}
		return plan
	}
	plan.System, plan.Strategy = c, uniform
	return plan
}

// tally counts violations of each property: a run may have several.
type tally struct {
	t        *testing.T
	checked  int
	violated [3]int
	unsafe   int // runs in which servers applied different entries
	broken   int // runs in which the client's library broke
}

func (o *tally) New(lockstep.Info) lockstep.Watcher { return &tallying{} }

// Take counts a run, and logs its violations.
func (o *tally) Collect(run int, noted any) {
	texts, ok := noted.([5]string)
	if !ok {
		return
	}
	o.checked++
	for i, count := range []*int{&o.unsafe, &o.broken} {
		if text := texts[3+i]; text != "" {
			*count++
			o.t.Logf("run %d: %s", run, text)
		}
	}
	for i, text := range texts[:3] {
		if text != "" {
			o.violated[i]++
			o.t.Logf("run %d: P%d: %s", run, i+1, text)
		}
	}
}

type tallying struct{ history }

// Reset begins a new run.
func (w *tallying) Reset() { w.history = history{answers: map[int]*Answer{}} }

// Look records the reported events.
func (w *tallying) Observe(run *lockstep.Run) {
	events := run.Events()
	for i := range events {
		w.note(&events[i])
	}
}

// Noted returns the violations.
func (w *tallying) Noted() any {
	if w.end == nil {
		return nil
	}
	return [5]string{
		leaderless(&w.history),
		disagreeing(&w.history),
		unanswered(&w.history),
		conflicting(&w.history),
		breaking(&w.history),
	}
}

// TestTables reproduces rows of tables 3 to 5 of the paper, as far as the time permits, and prints them beside the
// paper's.
func TestTables(t *testing.T) {
	if !*long {
		t.Skip("takes as long as it is given; -long makes it")
	}
	outside.JVM(t)
	fmt.Println(
		"| row | paper: P1, P2, P3 of 1000 | ours: P1, P2, P3, applied apart, library broke, inconclusive, runs | 95 " +
			"% of each | runs an hour |\n|---|---|---|---|---|",
	)
	for _, r := range table() {
		if !servertest.Wanted(r.String()) {
			continue
		}
		o, plan := &tally{t: t}, r.plan(t.TempDir())
		plan.Observers = []lockstep.Observer{o}
		result, perHour, err := servertest.Row(t, plan)
		if err != nil {
			t.Errorf("%s: %v", r, err)
			continue
		}
		var limits []string
		for _, k := range o.violated {
			low, high := exact.Limits(k, max(o.checked, 1), 0.025)
			limits = append(limits, fmt.Sprintf("%.1f to %.1f %%", 100*low, 100*high))
		}
		fmt.Printf(
			"| %s | %d, %d, %d | %d, %d, %d, %d, %d, %d of %d | %s | %.0f |\n",
			r,
			r.violated[0],
			r.violated[1],
			r.violated[2],
			o.violated[0],
			o.violated[1],
			o.violated[2],
			o.unsafe,
			o.broken,
			result.Verdicts[trace.Unknown],
			result.Runs,
			strings.Join(limits, ", "),
			perHour,
		)
	}
}

// The plans of all rows are valid, and there are as many rows as in the paper.
func TestRows(t *testing.T) {
	for _, r := range table() {
		plan := r.plan(t.TempDir())
		info, err := plan.System.Describe()
		if err != nil {
			t.Fatal(r, err)
		}
		if _, err := plan.Strategy.Fit(info); err != nil {
			t.Error(r, err)
		}
	}
	if n := len(table()); n != 6*7+2*3 {
		t.Errorf("%d rows", n)
	}
}
