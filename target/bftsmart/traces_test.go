package bftsmart_test

import (
	"cmp"
	"flag"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/target/bftsmart"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	store  = flag.String("store", "^$", "scenarios of which a run is recorded in testdata")
	replay = flag.String("replay", "^ExecutedTwice$", "scenarios whose recorded run is replayed")
	times  = flag.Int("times", 0, "number of replays; 0: until one shows the behavior, at most three")
)

// file returns the path of the recorded run of a case.
func file(c published.Case) string { return filepath.Join("testdata", c.Name+".trace") }

// checked returns a plan for one run that fails if the scenario does not succeed.
func checked(c published.Case) lockstep.Plan {
	return bftsmart.Plan(c.Build(true).MustSucceed(), 1, *seed)
}

// shows reports whether a run shows what its case is about: a success, or a finding if the case is about a defect.
func shows(c published.Case, o trace.Outcome) bool {
	if bftsmart.Violates(c.Name) == "" {
		return o.Verdict == trace.Pass
	}
	return o.Finding != nil && o.Finding.Property == bftsmart.Violates(c.Name)
}

// With -args -store . the test records a run of each scenario.
func TestStore(t *testing.T) {
	for _, c := range slices.Concat(bftsmart.Cases, bftsmart.Defects) {
		if !regexp.MustCompile(*store).MatchString(c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			outside.JVM(t)
			for run := range 5 {
				recorded, err := lockstep.Record(t.Context(), checked(c), run)
				if err != nil {
					t.Fatal(err)
				}
				if t.Log(run, recorded.Outcome); !shows(c, recorded.Outcome) {
					continue
				}
				if err := artifact.WriteFile(file(c),
					func(w io.Writer) error { return trace.Write(w, recorded) }); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Error("no run shows it")
		})
	}
}

// A recorded run shows the same behavior again, at least once in a number of repetitions: time is real. Every scenario
// has a recorded run.
func TestReplay(t *testing.T) {
	for _, c := range slices.Concat(bftsmart.Cases, bftsmart.Defects) {
		recorded, err := trace.ReadFile(file(c))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(*replay).MatchString(c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			outside.JVM(t)
			bench, err := lockstep.NewRunnerFor(checked(c), recorded)
			if err != nil {
				t.Fatal(err)
			}
			defer bench.Close()
			again, of := 0, cmp.Or(*times, 3)
			for k := range of {
				if again > 0 && *times == 0 {
					of = k
					break
				}
				o, err := bench.Run(t.Context(), recorded.Header.Run,
					lockstep.NewPlayer(trace.ScriptOf(recorded), recorded.Rounds).Wait())
				if err != nil {
					t.Fatal(err)
				}
				if t.Log(o); shows(c, o) {
					again++
				}
			}
			t.Logf("%s: it showed again in %d of %d repetitions", c.Name, again, of)
			if again == 0 {
				t.Fail()
			}
		})
	}
}
