package lockstepform_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// shortest is the number of rounds of the shortest failing run of smr-bug in rounds;
// TestShortest checks it.
const shortest = 12

// findings executes runs of smr-bug until there are this many findings.
func findings(t *testing.T, s lockstep.Strategy, number int) (lockstep.Plan, []lockstep.Failure) {
	t.Helper()
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: s, Spec: smr.Prefix,
		Seed: 1, Runs: 1_000_000, KeepGoing: true, Keep: number, Workers: 1}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plan.Progress = func(r *lockstep.Result) {
		if len(r.Failures) == number {
			cancel()
		}
	}
	r, err := lockstep.Explore(ctx, plan)
	if err != nil || len(r.Failures) < number {
		t.Fatalf("%d findings, error %v", len(r.Failures), err)
	}
	plan.Progress = nil
	return plan, r.Failures
}

func TestFindingsHaveLockstepForms(t *testing.T) {
	tier.NotShort(t)
	const number, enough, attempts = 100, 95, 20_000
	shrunk := 7
	if n, err := strconv.Atoi(os.Getenv("LOCKSTEP_FORMS")); err == nil {
		shrunk = n
	}
	for _, s := range []lockstep.Strategy{
		strategy.DefaultWalk,
		strategy.DefaultBaseline,
		strategy.DefaultPCTCP,
		strategy.DefaultDelay,
	} {
		t.Run(s.String(), func(t *testing.T) {
			plan, found := findings(t, s, number)
			formed := 0
			var long, rounds []int
			for _, f := range found {
				res, err := lockstepform.Form(t.Context(), plan, f.Trace)
				if err != nil {
					t.Fatal(err)
				}
				if res.Trace == nil {
					t.Logf("run %d has none: %s; %v", f.Run, res.Reason, res.Break)
					continue
				}
				formed++
				long = append(long, len(res.Trace.Rounds))
				checkForm(t, plan, f.Trace, res.Trace)
				if len(rounds) < shrunk {
					small, err := shrink.Run(t.Context(), plan, res.Trace, shrink.Options{Attempts: attempts})
					if err != nil {
						t.Fatalf("run %d: %v", f.Run, err)
					}
					rounds = append(rounds, len(small.Trace.Rounds))
				}
			}
			slices.Sort(long)
			slices.Sort(rounds)
			if formed < enough {
				t.Errorf("%d of %d findings have a lock-step form", formed, number)
			}
			if median := rounds[len(rounds)/2]; median > shortest+2 {
				t.Errorf("the median shrunk form has %d rounds: %v", median, rounds)
			}
			t.Logf("%d of %d findings have a lock-step form, of %d rounds in the median; rounds of shrunk ones: %v",
				formed, number, long[len(long)/2], rounds)
		})
	}
}

// checkForm checks a form without the package's own comparison. The form replays to the finding, and its steps are in
// rounds. Every node has the same outputs in the same order as in the run, as far as both runs extend. The nodes of the
// finding have at least one output.
func checkForm(t *testing.T, plan lockstep.Plan, run, form *trace.Trace) {
	t.Helper()
	again, err := replay.Run(t.Context(), plan, form)
	if err != nil || again.Trace.Outcome.Verdict != trace.Fail {
		t.Fatalf("the form does not replay: %+v, %v", again.Trace.Outcome, err)
	}
	if again.Trace.Outcome.Finding.Property != run.Outcome.Finding.Property {
		t.Fatalf("finding %s became %s", run.Outcome.Finding, again.Trace.Outcome.Finding)
	}
	sent := map[trace.ID]trace.Message{}
	last := 0
	for _, r := range form.Records {
		for _, m := range r.Sent {
			sent[m.ID] = m.Message
		}
		if r.Number > 0 && r.Round < last {
			t.Fatalf("step %d is of round %d after round %d", r.Number, r.Round, last)
		}
		last = max(last, r.Round)
		if r.Step.Kind == trace.Deliver {
			if m := sent[r.Step.Msg]; int(m.Tag.Round) != (r.Round-1)%4 {
				t.Fatalf("step %d delivers %s in round %d", r.Number, m, r.Round)
			}
		}
	}
	for n := 1; n <= run.Header.Nodes; n++ {
		want, got := outputs(run, n), outputs(form, n)
		k := min(len(want), len(got))
		if !slices.Equal(want[:k], got[:k]) {
			t.Fatalf("node %d outputs %v, in rounds %v", n, want, got)
		}
		if run.Outcome.Finding.Nodes.Has(trace.Node(n)) && (len(want) == 0 || len(got) == 0) {
			t.Fatalf("node %d, which is part of the finding, outputs %v, in rounds %v", n, want, got)
		}
	}
}

func outputs(t *trace.Trace, node int) (list []string) {
	for _, r := range t.Records {
		for _, e := range r.Events {
			if int(e.Node) == node {
				list = append(list, e.Text)
			}
		}
	}
	return list
}

// TestShortest enumerates all executions with up to four isolations.
func TestShortest(t *testing.T) {
	for rounds, fails := range map[int]bool{shortest - 1: false, shortest: true} {
		s := strategy.Uniform{Period: 4, Isolations: 4, Rounds: rounds, Sampler: strategy.Every}
		r, err := lockstep.Explore(t.Context(), lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: s,
			Spec: smr.Prefix, Runs: int(s.Executions(3).Int64()), KeepGoing: true, Keep: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(r.Failures) > 0; got != fails {
			t.Errorf("%d rounds: found %v, want %v", rounds, got, fails)
		}
	}
}

// TestSMRIsClosed checks the design of the protocol: late messages have no effect, and every run has a lock-step form.
func TestSMRIsClosed(t *testing.T) {
	tier.NotShort(t)
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Seed: 5}
	m, err := lockstepform.Measure(t.Context(), plan, 300)
	if err != nil {
		t.Fatal(err)
	}
	if m.Runs != 300 || m.Closed != 300 || len(m.Types) != 4 {
		t.Errorf("%+v", m)
	}
	for _, c := range m.Types {
		if c.Late == 0 || c.Changed != 0 {
			t.Errorf("%+v", c)
		}
	}
	share, err := lockstepform.Survey(t.Context(), plan, 30)
	if err != nil || share.Runs != 30 || share.Formed != 30 {
		t.Errorf("%+v, %v", share, err)
	}
}
