package fleet

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/internal/stretch"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
	"pgregory.net/rapid"
)

// plan is a campaign with findings now and then.
func plan(bug, keepGoing bool, runs int) lockstep.Plan {
	return lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: bug}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Runs: runs, Seed: 3, Keep: 2, KeepGoing: keepGoing, Workers: 1, Steps: 150}
}

// jobFor is the job of a plan, without a program.
func jobFor(p lockstep.Plan) Job {
	return Job{ID: "000001", Args: []string{"run"}, Hello: stretch.Hello{Version: lockstep.Version, Program: "0123456789abcdef", Target: "smr", Strategy: "walk",
		Seed: p.Seed, Runs: p.Runs, Keep: p.Keep, KeepGoing: p.KeepGoing}}
}

// partOf makes the part that a worker would send.
func partOf(t *rapid.T, crew *lockstep.Crew, job Job, ask stretch.Ask) *Part {
	r, err := crew.Make(t.Context(), ask.First, ask.End, ask.Found)
	if err != nil {
		t.Fatal(err)
	}
	traces, err := stretch.Pack(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &Part{Made: stretch.Made{Ask: ask, Result: r}, Campaign: job.ID, Version: job.Hello.Version, Program: job.Hello.Program, ElapsedMS: int64(ask.End % 3)}
	for _, x := range traces {
		p.Shapes = append(p.Shapes, x.Shape)
	}
	return p
}

// again is a ledger as a server finds it that is started again.
func again(t *rapid.T, l *Ledger) *Ledger {
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

// Whatever workers and servers do (die with a stretch, send it twice, late, in any order, start again from the
// last writing), the result is that of Explore.
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
		t.Fatal("the plans are not what this test is for", want[1].Runs, len(want[2].Found))
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(plans)-1).Draw(t, "plan")
		crew, err := lockstep.NewCrew(plans[i])
		if err != nil {
			t.Fatal(err)
		}
		defer crew.Close()
		l := newLedger(jobFor(plans[i]))
		written := again(t, l)
		var sent []*Part // in the stream, not acknowledged
		for moves := 0; l.Job.Ended == "" && moves < 2000; moves++ {
			switch rapid.IntRange(0, 5).Draw(t, "move") {
			case 0:
				l.give(rapid.IntRange(0, 5).Draw(t, "workers"))
				written = again(t, l)
			case 1: // a worker makes one of those that wait, or one that was made
				if len(l.Out) > 0 {
					sent = append(sent, partOf(t, crew, l.Job, rapid.SampledFrom(l.Out).Draw(t, "stretch")))
				}
			case 2:
				if len(sent) > 0 {
					_ = l.take(rapid.SampledFrom(sent).Draw(t, "part"))
				}
			case 3:
				if l.add(); rapid.Bool().Draw(t, "written") {
					written = again(t, l)
				}
			case 4:
				l = again(t, written) // killed
			default:
				l.passes(time.Second)
			}
		}
		if l.Job.Ended == "" {
			t.Skip("it did not come to an end")
		}
		w, r := want[i], l.Result
		if r.Digest != w.Digest || r.Runs != w.Runs || r.Steps != w.Steps || len(r.Found) != len(w.Found) || r.Verdict() != w.Verdict() || l.Job.Ended != Done {
			t.Errorf("%s, digest %x after %d runs with %d findings; want %x after %d with %d", l.Job.Ended, r.Digest, r.Runs, len(r.Found), w.Digest, w.Runs, len(w.Found))
		}
		for k, f := range l.Findings {
			if f.Run != w.Found[k].Run || f.Text != w.Found[k].Finding.Text || f.Shape == "" {
				t.Errorf("finding %d: %+v, want run %d", k, f, w.Found[k].Run)
			}
		}
	})
}

// Parts that are not what was asked for change nothing.
func TestLedgerRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Part){
		"version":   func(p *Part) { p.Version = "0.0.1" },
		"program":   func(p *Part) { p.Program = "fedcba9876543210" },
		"no runs":   func(p *Part) { p.Result = nil },
		"too many":  func(p *Part) { p.Result.Runs++ },
		"too few":   func(p *Part) { p.Result.Runs--; p.Result.Verdicts["pass"]-- },
		"verdicts":  func(p *Part) { p.Result.Verdicts["pass"]++ },
		"negative":  func(p *Part) { p.Result.Verdicts["pass"] += 2; p.Result.Verdicts["unknown"] = -2 },
		"elsewhere": func(p *Part) { p.First, p.End = p.First+1000, p.End+1000 },
		"longer":    func(p *Part) { p.End++ },
		"of others": func(p *Part) { p.Result.From = 7 },
		"seed":      func(p *Part) { p.Result.Seed++ },
		"findings":  func(p *Part) { p.Result.Found = make([]lockstep.Found, 2) },
		"sketch":    func(p *Part) { p.States = []byte{1, 2, 3} },
		"coverage":  func(p *Part) { p.Coverage = &coverage.Sum{Runs: p.Result.Runs + 1} },
		"aims": func(p *Part) {
			p.Coverage = &coverage.Sum{Runs: p.Result.Runs, Watches: []coverage.Counted{{News: []coverage.News{{Run: 1, Aims: []int{-1}}}}}}
		},
	} {
		l := newLedger(jobFor(plan(false, false, 90)))
		ask, _ := l.give(1)
		crew, err := lockstep.NewCrew(plan(false, false, 90))
		if err != nil {
			t.Fatal(err)
		}
		r, err := crew.Make(t.Context(), ask.First, ask.End, 0)
		if err != nil {
			t.Fatal(err)
		}
		p := &Part{Made: stretch.Made{Ask: ask, Result: r}, Version: lockstep.Version, Program: l.Job.Hello.Program}
		good := *p
		copied := *r
		copied.Verdicts = map[lockstep.Verdict]int{"pass": r.Verdicts["pass"]}
		good.Result = &copied
		spoil(p)
		if err := l.take(p); err == nil || len(l.arrived) > 0 {
			t.Errorf("%s: it was taken", name)
		}
		if err := l.take(&good); err != nil || len(l.add()) != 1 {
			t.Errorf("%s: after it the right one was refused: %v", name, err)
		}
		_ = crew.Close()
	}
}

// A stretch takes about a second, whatever a run takes, and time is counted.
func TestSizes(t *testing.T) {
	l := newLedger(jobFor(plan(false, true, 1_000_000)))
	if a, _ := l.give(1); a.End-a.First != firstStretch {
		t.Errorf("the first is %+v", a)
	}
	for speed, want := range map[float64]int{0.1: 1, 250: 250, 1e9: mostStretch} {
		l.Speed, l.Next = speed, 0
		if a, _ := l.give(1); a.End != min(want, 1_000_000) {
			t.Errorf("at %g runs a second: %+v", speed, a)
		}
	}
	l.Speed, l.Next = 100, 0
	ends := 0
	for { // towards the end nobody has much more than the others
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
		t.Errorf("%d stretches at the end, up to run %d", ends, l.Next)
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

// The status of a fleet lists what is wrong with a campaign, as its own output does: a divergence is never green.
func TestStatusListsProblems(t *testing.T) {
	l := newLedger(jobFor(plan(false, false, 10)))
	l.Result.Add(&lockstep.Result{Runs: 10, Verdicts: map[lockstep.Verdict]int{trace.Pass: 10}, Rechecked: 2, Diverged: 1,
		Divergences: []lockstep.Divergence{{Run: 4, Difference: "step 3"}}}, 1)
	l.end(Done, "")
	x := lineOf(l)
	if x.Verdict != "flaky" || len(x.Problems) != 1 || x.Problems[0].Kind != lockstep.ProblemDivergence || x.Problems[0].Severity != lockstep.SeverityError {
		t.Errorf("%+v", x)
	}
	l = newLedger(jobFor(plan(false, false, 10)))
	if l.end(Stopped, ""); l.verdict() != trace.Unknown || !l.Result.Stopped {
		t.Errorf("stopped: %s", l.verdict())
	}
}
