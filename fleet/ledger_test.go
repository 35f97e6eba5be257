package fleet

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
	"pgregory.net/rapid"
)

// plan returns a campaign with occasional findings.
func plan(bug, keepGoing bool, runs int) lockstep.Plan {
	return lockstep.Plan{
		System:    smr.Cluster{Nodes: 3, Bug: bug},
		Strategy:  strategy.DefaultWalk,
		Spec:      smr.Prefix,
		Runs:      runs,
		Seed:      3,
		Keep:      2,
		KeepGoing: keepGoing,
		Workers:   1,
		Steps:     150,
	}
}

// jobFor returns the job of a plan, without a program.
func jobFor(p lockstep.Plan) Job {
	return Job{ID: "000001", Args: []string{"run"}, Hello: batch.Hello{Version: lockstep.Version,
		Program: "0123456789abcdef", Target: targetOf(p), Strategy: p.Strategy.String(),
		Seed: p.Seed, Runs: p.Runs, Keep: p.Keep, KeepGoing: p.KeepGoing}}
}

// targetOf returns the name of a plan's system.
func targetOf(p lockstep.Plan) string {
	info, err := p.System.Describe()
	if err != nil {
		panic(err)
	}
	return info.Name
}

// partOf returns the part that a worker would send.
func partOf(t *rapid.T, runner *lockstep.BatchRunner, job Job, ask batch.Ask, store map[int]batch.Trace) *Part {
	r, err := runner.Make(t.Context(), ask.First, ask.End, ask.Found)
	if err != nil {
		t.Fatal(err)
	}
	traces, err := batch.Pack(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &Part{
		Made:      batch.Made{Ask: ask, Result: r},
		Campaign:  job.ID,
		Version:   job.Hello.Version,
		Program:   job.Hello.Program,
		ElapsedMS: int64(ask.End % 3),
	}
	for i, x := range traces {
		p.Shapes = append(p.Shapes, x.Shape)
		store[r.Failures[i].Run] = x
	}
	return p
}

// stored returns a traceSource that reads traces from a map.
func stored(store map[int]batch.Trace) traceSource {
	return func(run int) (batch.Trace, error) {
		if t, ok := store[run]; ok {
			return t, nil
		}
		return batch.Trace{}, errors.New("there is none")
	}
}

// again returns a ledger as a restarted server reads it.
func again(t interface{ Fatal(...any) }, l *Ledger) *Ledger {
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	read := &Ledger{}
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	return read
}

// The result is that of Explore, whatever workers and servers do. Workers crash with a batch, or send it twice, late or
// in any order. Servers restart from the last write.
func TestLedger(t *testing.T) {
	plans := []lockstep.Plan{plan(false, false, 200), plan(true, false, 200), plan(true, true, 200)}
	want := make([]*lockstep.Result, len(plans))
	for i, p := range plans {
		r, err := lockstep.Explore(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = r
	}
	if want[1].Runs == 200 || want[2].Verdicts["fail"] <= 2 || want[2].Runs != 200 {
		t.Fatal("the plans are not what this test is for", want[1].Runs, len(want[2].Failures))
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(plans)-1).Draw(t, "plan")
		runner, err := lockstep.NewBatchRunner(plans[i])
		if err != nil {
			t.Fatal(err)
		}
		defer runner.Close()
		l := newLedger(jobFor(plans[i]))
		written := again(t, l)
		var sent []*Part // in the stream, not acknowledged
		store := map[int]batch.Trace{}
		for moves := 0; l.Job.Ended == "" && moves < 2000; moves++ {
			switch rapid.IntRange(0, 5).Draw(t, "move") {
			case 0:
				l.give(rapid.IntRange(0, 5).Draw(t, "workers"))
				written = again(t, l)
			case 1: // a worker makes a waiting batch, or repeats one that was made
				if len(l.Out) > 0 {
					sent = append(sent, partOf(t, runner, l.Job, rapid.SampledFrom(l.Out).Draw(t, "batch"), store))
				}
			case 2:
				if len(sent) > 0 {
					p := rapid.SampledFrom(sent).Draw(t, "part")
					if err := l.accept(p, stored(store)); err != nil && !errors.Is(err, errOld) && !errors.Is(err,
						errHeld) && l.asked(p.Ask) {
						t.Fatalf("an honest part was rejected: %v", err)
					}
				}
			case 3:
				if l.add(); rapid.Bool().Draw(t, "written") {
					written = again(t, l)
				}
			case 4:
				l = again(t, written) // the server was killed
			default:
				l.passes(time.Second)
			}
		}
		if l.Job.Ended == "" {
			t.Skip("it did not come to an end")
		}
		w, r := want[i], l.Result
		if r.Digest != w.Digest || r.Runs != w.Runs || r.Steps != w.Steps || len(r.Failures) != len(w.Failures) ||
			r.Verdict() != w.Verdict() ||
			l.Job.Ended != Done {
			t.Errorf("%s, digest %x after %d runs with %d findings; want %x after %d with %d", l.Job.Ended, r.Digest,
				r.Runs, len(r.Failures), w.Digest, w.Runs, len(w.Failures))
		}
		for k, f := range l.Findings {
			if f.Run != w.Failures[k].Run || f.Text != w.Failures[k].Finding.Text || f.Shape == "" {
				t.Errorf("finding %d: %+v, want run %d", k, f, w.Failures[k].Run)
			}
		}
	})
}

// A batch takes about a second, whatever a run takes, and the campaign's time is counted.
func TestSizes(t *testing.T) {
	l := newLedger(jobFor(plan(false, true, 1_000_000)))
	if a, _ := l.give(1); a.End-a.First != firstBatch {
		t.Errorf("the first is %+v", a)
	}
	for speed, want := range map[float64]int{0.1: 1, 250: 250, 1e9: mostBatch} {
		l.Speed, l.Next = speed, 0
		if a, _ := l.give(1); a.End != min(want, 1_000_000) {
			t.Errorf("at %g runs a second: %+v", speed, a)
		}
	}
	l.Speed, l.Next = 100, 0
	ends := 0
	for { // toward the end no worker has much more work than the others
		left := 1_000_000 - l.Next
		a, ok := l.give(4)
		if !ok {
			break
		}
		size := a.End - a.First
		switch {
		case left >= 800 && size != 100, left < 800 && size > max(left/8, 5), left > 5 && size < 5:
			t.Fatalf("%+v, when %d runs were left", a, left)
		case left < 800:
			ends++
		}
	}
	if ends < 20 || l.Next != 1_000_000 {
		t.Errorf("%d batches at the end, up to run %d", ends, l.Next)
	}
	l.Job.For = 3 * time.Second
	if l.passes(2 * time.Second); l.Job.Ended != "" {
		t.Error("it ended early")
	}
	if l.passes(time.Second); l.Job.Ended != TimeUp || !l.Result.Interrupted {
		t.Error("it did not end in time")
	}
	if _, ok := l.give(1); ok {
		t.Error("work was given out after the end")
	}
}

// The status of a fleet lists the problems of a campaign, as the campaign's own output does: a divergence is never
// green.
func TestStatusListsProblems(t *testing.T) {
	l := newLedger(jobFor(plan(false, false, 10)))
	l.Result.Add(&lockstep.Result{Runs: 10, Verdicts: map[trace.Verdict]int{trace.Pass: 10}, Rechecked: 2,
		Diverged:    1,
		Divergences: []lockstep.Divergence{{Run: 4, Difference: "step 3"}}}, 1)
	l.end(Done, "")
	x := lineOf(l)
	if x.Verdict != "flaky" || len(x.Problems) != 1 || x.Problems[0].Kind != lockstep.ProblemDivergence ||
		x.Problems[0].Severity != lockstep.SeverityError {
		t.Errorf("%+v", x)
	}
	l = newLedger(jobFor(plan(false, false, 10)))
	if l.end(Stopped, ""); l.verdict() != trace.Unknown || !l.Result.Stopped {
		t.Errorf("stopped: %s", l.verdict())
	}
}

// A page is written from a copy of a campaign, which the results of further runs do not change.
func TestCopied(t *testing.T) {
	l := &Ledger{Sum: batch.Sum{Result: &lockstep.Result{Runs: 1}}}
	l.Result.Novelty.Add(0, []uint64{1})
	copied := l.copied()
	l.Result.Novelty.Add(1, []uint64{1, 2})
	if is := &copied.Result.Novelty; is.Runs() != 1 || !is.Has(1) || is.Has(2) {
		t.Errorf("the copy has %d runs and the feature of a later one: %v", is.Runs(), is.Has(2))
	}
}
