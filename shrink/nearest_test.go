package shrink_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/backup"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// A primary that answers too early loses a write by a crash. The passing run is the one without the crash.
func ExampleNearest() {
	plan := lockstep.Plan{
		System:   backup.Cluster{EarlyAnswers: true},
		Strategy: strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Request: 1, Crash: 1, Restart: 1, Steps: 500},
		Spec:     kv.Linearizable,
		Runs:     100,
	}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	small, err := shrink.Run(context.Background(), plan, result.First().Trace, shrink.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	passing, err := shrink.Nearest(context.Background(), plan, small.Trace, shrink.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range passing.Lines(2) {
		fmt.Println(line)
	}
	// Output:
	// the run passes without the crash of node 1 (step 3)
	// node 1: failing run "return c1 is 0" (step 5); passing run "return c1 is 102" (step 3)
}

// The passing run lacks one element of the failing run, has no finding, and each reported difference is in the runs.
func TestNearest(t *testing.T) {
	tier.NotShort(t)
	early, err := raft.Targets[1].Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	cuts, err := strategy.Parse(raft.Targets[1].Strategy)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		plan lockstep.Plan
		want string
	}{
		{"rounds", lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
			Strategy: strategy.DefaultUniform, Runs: 5000}, "the isolation of node "},
		{"steps", lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Spec: smr.Prefix,
			Strategy: strategy.DefaultWalk, Runs: 5000}, "the delay of "},
		{"partition", lockstep.Plan{System: early, Spec: raft.Targets[1].Spec, Strategy: cuts, Runs: 1000, Seed: 7}, "the "},
	} {
		t.Run(c.name, func(t *testing.T) {
			result := enginetest.Explore(t, c.plan)
			if result.First() == nil {
				t.Fatal("no failing run")
			}
			small, err := shrink.Run(t.Context(), c.plan, result.First().Trace, shrink.Options{Attempts: 3000})
			if err != nil {
				t.Fatal(err)
			}
			p, err := shrink.Nearest(t.Context(), c.plan, small.Trace, shrink.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Trace.Outcome.Finding != nil || !strings.HasPrefix(p.Without, c.want) || len(p.Steps) == 0 ||
				len(p.Differences) == 0 {
				t.Errorf("%+v", p)
			}
			for _, d := range p.Differences {
				if d.Failing.Text == d.Passing.Text || !happened(small.Trace, d.Failing) || !happened(p.Trace, d.Passing) {
					t.Errorf("%+v", d)
				}
			}
			t.Log(strings.Join(p.Lines(9), "\n"))
		})
	}
}

// In a system whose time passes, the passing run is the one that also has what the finding is about: without a put, not
// without the crash, after which node 3 reports nothing. Both reports are printed with their times.
func TestNearestInTime(t *testing.T) {
	plan := lockstep.Plan{System: &forgetful{}, Spec: kept(0), Strategy: busy, Seed: 1}
	found := long(t, plan)
	plan.Strategy = nil
	small, err := shrink.Run(t.Context(), plan, found, shrink.Options{Attempts: 300})
	if err != nil {
		t.Fatal(err)
	}
	p, err := shrink.Nearest(t.Context(), plan, small.Trace, shrink.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lines := p.Lines(2)
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "the run passes without the request ") {
		t.Fatalf("%q", lines)
	}
	report := regexp.MustCompile(
		`^in the failing run, node 3 at [0-9.]+ s: holds (0 of 1); in the passing run, node 3 at [0-9.]+ s: holds (0 of 0)$`)
	if !report.MatchString(lines[1]) || len(p.Subjects) != 1 {
		t.Errorf("%q, %+v", lines, p.Subjects)
	}
}

// happened reports whether a step of a run has an observation.
func happened(t *trace.Trace, o shrink.Observation) bool {
	if o.Step == 0 {
		return o.Text == "" || len(t.Records[0].Events)+len(t.Records[0].States) > 0
	}
	r := t.Records[o.Step]
	if r.Step.Kind.String() == o.Text {
		return true
	}
	for _, e := range r.Events {
		if strings.TrimSpace(e.Type+" "+e.Text) == o.Text {
			return true
		}
	}
	for _, s := range r.States {
		if s.Text == o.Text {
			return true
		}
	}
	return false
}

// A trace without a finding and a run that fails whatever is left out have no nearest passing run.
func TestNoNearest(t *testing.T) {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Spec: smr.Prefix, Strategy: strategy.DefaultWalk}
	passing, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shrink.Nearest(t.Context(), plan, passing, shrink.Options{}); err == nil ||
		!strings.Contains(err.Error(), "no finding") {
		t.Error(err)
	}
	plan.Spec = alwaysFails
	failing, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = shrink.Nearest(t.Context(), plan, failing, shrink.Options{Attempts: 50})
	if !errors.Is(err, shrink.ErrEssential) {
		t.Error(err)
	}
}

var alwaysFails = spec.New("always-fails", func(lockstep.Info) *failure { return &failure{} })

// failure fails at the end of every run.
type failure struct{}

func (*failure) Reset()                                                 {}
func (*failure) Event(*lockstep.Run, *lockstep.Event) *lockstep.Finding { return nil }
func (*failure) Checked() int                                           { return 1 }
func (*failure) End(*lockstep.Run) *lockstep.Finding                    { return &lockstep.Finding{Text: "as always"} }
