package etcd

import (
	"flag"
	"math/big"
	"testing"

	"github.com/lockstep-go/lockstep"
	interval "github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

var (
	tests = flag.Int("tests", 300,
		"tests of stale reads that are made with -long; a third of them is the number of runs of each version")
	version = flag.String("version", "", "the version that they are made with, or the usual one")
	seed    = flag.Int("seed", 1, "their seed")
)

// The stale read of Fig. 1 (left) of the paper as a partition sequence, with the request names used here. The test is
// that of its Example 3.3: a balanced partition of five servers, and two operations during it.
const (
	stale = "*(minority)|*: put a=1@2; get a@1"
	test  = "partition:criterion=isolate,balanced=true,stages=1,before=0,during=2,after=0,steps=1,vary=false"
)

var staleOps = []string{"get a", "put a=0", "put a=1"}

func staleSequence(t *testing.T) (cover.PartitionSequence, cover.Sampling) {
	t.Helper()
	sequence, err := cover.ParsePartitionSequence(stale)
	if err != nil {
		t.Fatal(err)
	}
	return sequence, cover.Sampling{Nodes: 5, Balanced: true, Operations: staleOps}
}

// The exact probability is that of the paper.
func TestStalePredicted(t *testing.T) {
	sequence, sampling := staleSequence(t)
	chance, err := sequence.Probability(sampling)
	if err != nil || chance.P.Cmp(big.NewRat(2, 75)) != 0 {
		t.Errorf("%v, %v", chance.P, err)
	}
}

// Stale reads are found as often as predicted: each test that runs the partition sequence finds one, and no other test
// does.
func TestStaleMeasured(t *testing.T) {
	if !*long {
		t.Skip("takes many minutes; -long makes it")
	}
	sequence, sampling := staleSequence(t)
	chance, err := sequence.Probability(sampling)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := coverage.WatchPartitionSequence(sequence, sampling)
	if err != nil {
		t.Fatal(err)
	}
	meter, err := coverage.NewMeter(watch)
	if err != nil {
		t.Fatal(err)
	}
	p := plan(t, Cluster{Version: *version, Nodes: 5, Clients: 3, Serializable: true, Mix: kv.Binary}, *tests)
	if p.Strategy, err = strategy.Parse(test); err != nil {
		t.Fatal(err)
	}
	p.Settle, p.KeepGoing, p.Keep, p.Seed = 0, true, *tests, uint64(*seed)
	p.Observers = []lockstep.Observer{
		&coverage.Observer{Meter: meter, Operation: func(text string) string { return text[len("c1 "):] }},
	}
	result, err := lockstep.Explore(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	failed, repeated := 0, 0
	for _, f := range result.Failures {
		failed, repeated = failed+f.Failed, repeated+f.Repeated
	}
	hits, found := meter.Read()[0].Hits, len(result.Failures)
	at, wide := interval.Share(found, result.Runs, 0.95), interval.Share(found, result.Runs, 0.9999)
	predicted, _ := chance.P.Float64()
	t.Logf(
		"%s: predicted %s = %.4f; hit in %d and found in %d of %d runs: %.4f (%.4f to %.4f); "+
			"failed in %d of %d repetitions; %d inconclusive",
		target.Fill(p.System.(Cluster)).Version,
		chance.P.RatString(),
		predicted,
		hits,
		found,
		result.Runs,
		float64(found)/float64(result.Runs),
		at.Low,
		at.High,
		failed,
		repeated,
		result.Inconclusive,
	)
	if predicted < wide.Low || predicted > wide.High {
		t.Error("that is not what was predicted")
	}
}
