package kafka

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// planned returns the plan of one of the target's scenarios.
func planned(t *testing.T, name string) lockstep.Plan {
	t.Helper()
	outside.JVM(t)
	sc, err := Targets[0].Scenario(name)
	if err != nil {
		t.Fatal(err)
	}
	system, err := Targets[0].Build(append(sc.Set, "start-timeout=5m"))
	if err != nil {
		t.Fatal(err)
	}
	return lockstep.Plan{
		System:   system,
		Spec:     Properties,
		Scenario: sc.Build(),
		Strategy: strategy.DefaultWalk,
		Settle:   Settle,
		Workers:  1,
		Scratch:  t.TempDir(),
	}
}

// With unclean settings, two consecutive partitions lose records that only the leader had acknowledged. With safe ones
// the leader acknowledges nothing then, and no record is lost.
func TestTwoPartitions(t *testing.T) {
	for _, name := range []string{"unclean", "safe"} {
		t.Run(name, func(t *testing.T) {
			plan := planned(t, name)
			var tr *trace.Trace
			for attempt := range 3 { // on a loaded machine a write may take too long
				var err error
				if tr, err = lockstep.Record(t.Context(), plan, attempt); err != nil {
					t.Fatal(err)
				}
				if (tr.Outcome.Finding != nil) == (name == "unclean") {
					break
				}
			}
			f := tr.Outcome.Finding
			switch {
			case name == "safe" && tr.Outcome.Verdict != trace.Pass:
				t.Errorf("%+v: %v", tr.Outcome, f)
			case name == "unclean" &&
				(f == nil || f.Property != "acknowledged-kept" || !strings.Contains(f.Text, "2.1 at ")):
				t.Errorf("%+v: %v", tr.Outcome, f)
			default:
				t.Log(f)
			}
		})
	}
}

// endings are the possible outcomes of a test of two partitions, as sequences. During the first partition, the broker
// with the controller, node 4, leads alone. If it is broker 1, which led before, all brokers report it as leader.
// Otherwise it is a newly elected broker, which only itself reports as leader.
var endings = []struct {
	name      string
	sequences []string
	named     int64 // of three brokers, those that report a leader
}{
	{"the leader is cut off", []string{"n1+n4(2)|2 then n1(1)|*"}, 3},
	{"its successor is cut off", []string{"n2+n4(2)|2 then n2(1)|*", "n3+n4(2)|2 then n3(1)|*"}, 1},
	{"the controller is cut off after an election", []string{"n2+n4(2)|2 then n4(1)|*", "n3+n4(2)|2 then n4(1)|*"}, 1},
}

// twoPartitions generates tests of two partitions of any kind, one after the other, with two writes during each.
const (
	twoPartitions = "partition:sequence=2|2 then 1|3,stages=1,before=1,during=2,after=0,steps=1,vary=false"
	writes        = 2
)

// parsed returns sequences parsed from words, with the probability that a test runs one of them.
func parsed(t *testing.T, words []string) (sequences []cover.PartitionSequence, chance *big.Rat) {
	t.Helper()
	chance = new(big.Rat)
	for _, w := range words {
		s, err := cover.ParsePartitionSequence(w)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Probability(cover.Sampling{Nodes: 4})
		if err != nil {
			t.Fatal(err)
		}
		sequences = append(sequences, s)
		chance.Add(chance, c.P) // no test runs two of them
	}
	return sequences, chance
}

// named returns the probability that one of the writes during the first partition reaches a broker that reports a
// leader.
func named(brokers int64) *big.Rat {
	missed := big.NewRat(1, 1)
	for range writes {
		missed.Mul(missed, big.NewRat(3-brokers, 3))
	}
	return missed.Sub(big.NewRat(1, 1), missed)
}

// The paper's probability of its sequence, and the probabilities of the others.
func TestPredicted(t *testing.T) {
	for i, want := range []struct{ chance, both *big.Rat }{
		{big.NewRat(1, 12), big.NewRat(1, 12)},
		{big.NewRat(1, 6), big.NewRat(5, 54)},
		{big.NewRat(1, 6), big.NewRat(5, 54)},
	} {
		e := endings[i]
		_, chance := parsed(t, e.sequences)
		if both := new(big.Rat).Mul(chance, named(e.named)); chance.Cmp(want.chance) != 0 || both.Cmp(want.both) != 0 {
			t.Errorf("%s: %s, with a write %s", e.name, chance, both)
		}
	}
}

// noted is the outcome of a run.
type noted struct {
	stages []cover.Stage
	lost   string
	acks   int
}

// tally is an observer that records the outcomes of runs.
type tally struct {
	coverage.Observer
	t    *testing.T
	runs []noted
}

type tallying struct {
	lockstep.Watcher
	checker
}

func (t *tally) New(info lockstep.Info) lockstep.Watcher {
	return &tallying{Watcher: t.Observer.New(info)}
}
func (t *tally) Collect(run int, n any) {
	r := n.(noted)
	t.runs = append(t.runs, r)
	t.t.Logf("run %d: %d acknowledged, lost: %q", run, r.acks, r.lost)
}

func (t *tallying) Reset() {
	t.Watcher.Reset()
	t.checker.Reset()
}
func (t *tallying) Observe(run *lockstep.Run) {
	t.Watcher.Observe(run)
	events := run.Events()
	for i := range events {
		t.checker.Event(run, &events[i])
	}
}
func (t *tallying) Noted() any {
	n := noted{stages: t.Watcher.Noted().([]cover.Stage), acks: len(t.history.acks)}
	if len(t.history.logs) > 0 {
		_, n.lost = lost(&t.history)
	}
	return n
}

// The measurement agrees with the prediction: how often a test runs each of the sequences, and loses records by it.
func TestMeasured(t *testing.T) {
	if !*long {
		t.Skip("takes an hour; -long makes it")
	}
	s, err := strategy.Parse(twoPartitions)
	if err != nil {
		t.Fatal(err)
	}
	outside.JVM(t)
	for name, c := range map[string]Cluster{
		"unclean": {Controllers: 1, Insync: 1, Unclean: true, Producers: "plain"},
		"safe":    {Controllers: 1, Producers: "plain"},
	} {
		if *only != "" && *only != name {
			continue
		}
		c.StartTimeout = 5 * time.Minute
		o, spent := &tally{t: t}, &process.Times{}
		result, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{
				System:    c,
				Spec:      spent.Spec(),
				Strategy:  s,
				Settle:    Settle,
				Workers:   1,
				Runs:      *tests,
				Seed:      uint64(*seed),
				Scratch:   t.TempDir(),
				Observers: []lockstep.Observer{o},
				Progress:  func(r *lockstep.Result) { fmt.Println(time.Now().Format("15:04:05"), r.Runs, r.Reasons) },
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d runs, %v, %d inconclusive; %s", name, result.Runs, result.Reasons, result.Inconclusive, spent)
		table(t, o.runs, c.Unclean)
	}
}

// table compares the outcomes of runs with the prediction.
func table(t *testing.T, runs []noted, unclean bool) {
	rest, restLost, all, predicted := 0, 0, 0, new(big.Rat)
	hits := make([][2]int, len(endings)) // and lost
	for _, r := range runs {
		gone, is := 0, -1
		if r.lost != "" {
			gone = 1
		}
		for i, e := range endings {
			sequences, _ := parsed(t, e.sequences)
			for _, s := range sequences {
				if s.In(r.stages) {
					is = i
				}
			}
		}
		all += gone
		if is < 0 {
			rest, restLost = rest+1, restLost+gone
			if gone > 0 {
				t.Logf("lost otherwise: %s; %v", r.lost, r.stages)
			}
			continue
		}
		hits[is][0]++
		hits[is][1] += gone
	}
	for i, e := range endings {
		_, chance := parsed(t, e.sequences)
		both := new(big.Rat).Mul(chance, named(e.named))
		if i < 2 {
			predicted.Add(predicted, both)
		}
		at := compare.Share(hits[i][0], len(runs), 0.95)
		p, _ := chance.Float64()
		t.Logf("%s: predicted %s, hit in %d of %d (%.3f to %.3f); with a write %s, lost in %d", e.name,
			chance.RatString(), hits[i][0], len(runs), at.Low, at.High, both.RatString(), hits[i][1])
		if sure := compare.Share(hits[i][0], len(runs), 0.9999); p < sure.Low || p > sure.High {
			t.Errorf("%s was hit in %d of %d runs, predicted %s", e.name, hits[i][0], len(runs), chance.RatString())
		}
		if !unclean && hits[i][1] > 0 {
			t.Errorf("%s loses records with safe settings", e.name)
		}
	}
	at := compare.Share(all, len(runs), 0.95)
	t.Logf("others: %d, lost in %d; in all lost in %d of %d (%.3f to %.3f), predicted at least %s", rest, restLost, all,
		len(runs), at.Low, at.High, predicted.RatString())
	if restLost > 0 {
		t.Error("records are lost where nothing should be")
	}
}
