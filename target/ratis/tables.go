package ratis

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/strategy"
)

// TableOptions are the settings of the campaigns that measure the paper's tables 3 to 5 again.
type TableOptions struct {
	Version string
	Seed    uint64
	// Within is the bound of the properties. The paper gives servers 2 seconds.
	Within, StartTimeout time.Duration
	// Each gives every request a client of its own.
	Each bool
	// Swallow makes a lost message disappear alone in the rows light and baseline over Netty, as the paper's
	// instrumentation did.
	Swallow bool
	// Cold starts a process for each start of a server, instead of JVMs that keep running, as the paper's tests did.
	Cold    bool
	Scratch string
}

// printed are the results of the paper's tables 3 (light), 4 (held on the left, killed on the right) and 5. The
// second and third rows of Netty in table 3 are printed as P1 and P2; they are read as P2 and P3.
var printed = []struct {
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

// drops are the probabilities of message loss in table 5.
var drops = []float64{0.125, 0.25, 0.5}

// tables are the numbers of the tables, by how servers are isolated.
var tables = map[string]string{"light": "3", "held": "4", "killed": "4", "baseline": "5"}

// Tables returns the rows of the paper's tables 3 to 5, which are columns there: light, held or killed, a transport,
// and 1 to 7 isolations; baseline, a transport, and a probability of message loss. Held are the servers whose
// messages the tester blocks, on the left of table 4 by its caption; its text has them the other way around.
func Tables(o TableOptions) (rows []published.Row) {
	for _, p := range printed {
		for i := range p.p1 {
			name := fmt.Sprint(p.how, ":", p.transport, ":", i+1)
			plan := o.plan(p.how, p.transport, i+1)
			if p.how == "baseline" {
				name = fmt.Sprint(p.how, ":", p.transport, ":", drops[i])
				plan.Strategy = strategy.Baseline{Drop: drops[i], Steps: baselineSteps}
			}
			t := &tally{}
			plan.Observers = []lockstep.Observer{t}
			rows = append(rows, published.Row{
				Table: tables[p.how],
				Name:  name,
				Runs:  1000,
				Cells: []published.Cell{
					{Name: "P1", Published: float64(p.p1[i])},
					{Name: "P2", Published: float64(p.p2[i])},
					{Name: "P3", Published: float64(p.p3[i])},
					{Name: "applied apart", Ours: true},
					{Name: "library broke", Ours: true},
				},
				Plan:  plan,
				Count: func(*lockstep.Result) []float64 { return t.counts[:] },
			})
		}
	}
	return rows
}

// baselineSteps is the length of a run of the baseline.
const baselineSteps = 150

// plan returns the campaign of a row.
func (t TableOptions) plan(how, transport string, isolations int) lockstep.Plan {
	c := Cluster{
		Version:      t.Version,
		Transport:    transport,
		Warm:         !t.Cold,
		StartTimeout: t.StartTimeout,
		Within:       t.Within,
		Each:         t.Each,
	}
	uniform := strategy.Uniform{Period: 2, Rounds: 8, Isolations: isolations, Sampler: strategy.Paper}
	switch how {
	case "light":
		c.Swallow = t.Swallow && transport == netty
	case "held":
		c.Control, c.Stall, c.Requests = byTime, true, 3
	case "killed":
		c.Control, c.Requests, uniform.By = byTime, 3, strategy.ByCrash
	case "baseline":
		c.Control, c.Swallow = byMessage, t.Swallow && transport == netty
	}
	return lockstep.Plan{System: c, Strategy: uniform, Settle: Settle, Workers: 1, Seed: t.Seed, Scratch: t.Scratch}
}

// tally counts the runs that violate each property: a run may violate several.
type tally struct {
	// counts are those of P1, P2 and P3, of runs in which servers applied different entries, and of runs in which the
	// client's library broke.
	counts [5]float64
}

// New makes a watcher.
func (*tally) New(lockstep.Info) lockstep.Watcher { return &tallying{} }

// Collect counts a run.
func (t *tally) Collect(_ int, noted any) {
	violated, _ := noted.([5]bool)
	for i, v := range violated {
		if v {
			t.counts[i]++
		}
	}
}

type tallying struct{ history }

// Reset begins a new run.
func (t *tallying) Reset() { t.history = history{answers: map[int]*Answer{}} }

// Observe records the reported events.
func (t *tallying) Observe(run *lockstep.Run) {
	events := run.Events()
	for i := range events {
		t.note(&events[i])
	}
}

// Noted returns the violated properties, or nothing if the run did not reach its end.
func (t *tallying) Noted() any {
	if t.end == nil {
		return nil
	}
	var violated [5]bool
	for i, find := range []func(*history) string{leaderless, disagreeing, unanswered, conflicting, breaking} {
		violated[i] = find(&t.history) != ""
	}
	return violated
}
