package cassandra

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// TableOptions are the settings of the campaigns that measure the paper's table 2 again.
type TableOptions struct {
	Seed    uint64
	Sampler strategy.Sampler
	// Unbounded lets attempts begin after the last round, which the paper's do not.
	Unbounded bool
	// Timeout is how long servers wait for a quorum.
	Timeout time.Duration
	// Model makes the runs with a model of the servers, which takes no time.
	Model   bool
	Scratch string
}

// publishedRow is a row of table 2 in "Testing Consensus Implementations using Communication Closure": the period, the
// isolations, the means of rounds, closed rounds, phases, closed phases and messages, and the runs of 1,000 with the
// defect.
type publishedRow struct {
	period, isolations int
	means              [5]float64
	buggy              int
}

var publishedRows = []publishedRow{
	{1, 8, [5]float64{21.67, 18.14, 3.61, 2.87, 49.13}, 0},
	{2, 8, [5]float64{21.60, 18.07, 3.60, 2.87, 48.87}, 0},
	{4, 8, [5]float64{22.80, 17.53, 3.80, 2.64, 46.76}, 0},
	{8, 8, [5]float64{23.71, 6.61, 3.95, 1.03, 20.23}, 0},
	{10, 8, [5]float64{23.81, 6.36, 3.97, 0.94, 19.60}, 0},
	{6, 3, [5]float64{19.08, 18.08, 3.18, 3.00, 48.47}, 0},
	{6, 4, [5]float64{20.11, 18.29, 3.35, 2.99, 48.62}, 0},
	{6, 5, [5]float64{20.91, 18.17, 3.48, 2.93, 47.90}, 1},
	{6, 6, [5]float64{21.69, 17.98, 3.61, 2.86, 47.13}, 1},
	{6, 8, [5]float64{22.86, 17.10, 3.81, 2.63, 44.78}, 2},
	{6, 10, [5]float64{23.61, 15.72, 3.93, 2.31, 41.83}, 1},
}

// meanNames name the means of a row.
var meanNames = [5]string{"rounds", "closed rounds", "phases", "closed phases", "messages"}

// publishedRounds and publishedRuns are the length and the number of the paper's runs.
const (
	publishedRounds = 24
	publishedRuns   = 1000
)

// Tables returns the rows of the paper's table 2: k1:d8 to k10:d8, k6:d3 to k6:d10, and the baseline of section 7.1,
// baseline:0.125 to baseline:0.5.
func Tables(o TableOptions) (rows []published.Row) {
	for _, p := range publishedRows {
		rows = append(rows, o.row(fmt.Sprintf("k%d:d%d", p.period, p.isolations),
			strategy.Uniform{Period: p.period, Isolations: p.isolations, Rounds: publishedRounds, Sampler: o.Sampler},
			p.buggy, &p.means))
	}
	for _, drop := range []float64{0.125, 0.25, 0.5} {
		rows = append(rows, o.row(fmt.Sprint("baseline:", drop), strategy.Baseline{Drop: drop, Steps: 150}, 0, nil))
	}
	return rows
}

// row returns a row; the baseline has no published means.
func (t TableOptions) row(name string, s lockstep.Strategy, buggy int, means *[5]float64) published.Row {
	m := &metrics{}
	cluster := Cluster{Change5985: true, Bounded: !t.Unbounded, Timeout: t.Timeout, StartTimeout: 5 * time.Minute}
	r := published.Row{
		Table: "2",
		Name:  name,
		Runs:  publishedRuns,
		Cells: []published.Cell{{Name: "buggy", Published: float64(buggy)}},
		Plan: lockstep.Plan{
			System:    cluster,
			Spec:      spec.All(Once, Linearizable),
			Strategy:  s,
			Settle:    Settle,
			Workers:   1,
			Seed:      t.Seed,
			Scratch:   t.Scratch,
			Observers: []lockstep.Observer{m},
		},
		Count: func(result *lockstep.Result) []float64 {
			return append(published.Violations("once")(result), m.means()...)
		},
	}
	if t.Model {
		r.Plan.System, r.Plan.Spec, r.Plan.Settle = modelled{cluster}, Once, modelSettle
		r.Plan.Workers = 0
	}
	for i, n := range meanNames {
		c := published.Cell{Name: n, Mean: true, Ours: means == nil}
		if means != nil {
			c.Published = means[i]
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}

// majority is the number of messages that close a round.
const majority = nodes/2 + 1

// metrics are the sums of the paper's metrics over runs, in the order of meanNames. Messages are those that arrive. A
// coordinator's messages to itself, which no network carries, count as the paper's tool counts them. A round is closed
// if a majority of its messages arrive, and a phase is closed if its commit reaches a majority.
type metrics struct {
	runs int
	sums [len(meanNames)]int
}

// New makes a watcher.
func (*metrics) New(lockstep.Info) lockstep.Watcher { return &metering{arrived: map[trace.Tag]int{}} }

// Collect adds a run.
func (m *metrics) Collect(_ int, noted any) {
	m.runs++
	for i, n := range noted.([len(meanNames)]int) {
		m.sums[i] += n
	}
}

// means returns the means over the runs.
func (m *metrics) means() (list []float64) {
	for _, sum := range m.sums {
		list = append(list, float64(sum)/float64(max(m.runs, 1)))
	}
	return list
}

// metering counts the messages of one run that arrive, by phase and round.
type metering struct {
	arrived map[trace.Tag]int
	seen    int // messages of the run that were looked at
}

// Reset begins a new run.
func (w *metering) Reset() {
	clear(w.arrived)
	w.seen = 0
}

// Observe counts an arrival, and for each round in which a coordinator sends, its request to itself and its answer.
func (w *metering) Observe(run *lockstep.Run) {
	if run.Settling() {
		return
	}
	for _, m := range run.Messages()[w.seen:] {
		tag := trace.Tag{Phase: m.Tag.Phase, Round: m.Tag.Round}
		if _, known := w.arrived[tag]; !known && tag.Round%2 == 0 {
			w.arrived[tag]++
			tag.Round++
			w.arrived[tag]++
		}
	}
	w.seen = len(run.Messages())
	if s := run.Last(); s.Kind == trace.Deliver {
		tag := run.Message(s.Msg).Tag
		w.arrived[trace.Tag{Phase: tag.Phase, Round: tag.Round}]++
	}
}

// Noted returns the metrics of the run.
func (w *metering) Noted() any {
	var n [len(meanNames)]int
	phases := map[int32]bool{}
	//lockstep:unordered they are only counted
	for tag, arrived := range w.arrived {
		phases[tag.Phase] = true
		n[4] += arrived
		if arrived >= majority {
			n[1]++
			if tag.Round == committed {
				n[3]++
			}
		}
	}
	n[0], n[2] = len(Rounds)*len(phases), len(phases)
	return n
}
