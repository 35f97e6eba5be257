package servertest

import (
	"cmp"
	"flag"
	"io"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	store  = flag.String("store", "^$", "names of the runs that are recorded in testdata")
	replay = flag.String("replay", "", "names of the recorded runs that are replayed; unless given, a choice of the test")
	times  = flag.Int("times", 0, "number of replays; 0: until one shows the behavior, at most three")
)

// Recorded is a run of servers in real time of which a page claims something. Its trace is in testdata: the seed alone
// does not repeat such a run.
type Recorded struct {
	Name string // of the trace's file
	Plan lockstep.Plan
	Run  int
	// Next is added to the number of the run after an attempt to record it that does not show the behavior.
	Next int
	// Shows reports whether a run shows the behavior.
	Shows func(trace.Outcome) bool
}

// Violates returns a Shows: the run violates a property.
func Violates(property string) func(trace.Outcome) bool {
	return func(o trace.Outcome) bool { return o.Finding != nil && o.Finding.Property == property }
}

func (r Recorded) file() string { return filepath.Join("testdata", r.Name+".trace") }

// selected reports whether a flag selects the run.
func (r Recorded) selected(by string) bool { return regexp.MustCompile(by).MatchString(r.Name) }

// Store records the runs that -store selects.
func Store(t *testing.T, all ...Recorded) {
	for _, r := range all {
		if r.selected(*store) {
			t.Run(r.Name, r.store)
		}
	}
}

func (r Recorded) store(t *testing.T) {
	outside.JVM(t)
	for attempt := range 10 {
		tr, err := lockstep.Record(t.Context(), r.Plan, r.Run+attempt*r.Next)
		if err != nil {
			t.Fatal(err)
		}
		if t.Log(tr.Header.Run, tr.Outcome, tr.Outcome.Finding); !r.Shows(tr.Outcome) {
			continue
		}
		if err := artifact.WriteFile(r.file(), func(w io.Writer) error { return trace.Write(w, tr) }); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("no run shows it")
}

// Replay checks that every run is stored, is one of its plan, and shows what is claimed of it. The runs that -replay
// selects, or usual unless it is given, show it again at least once in a number of repetitions: time is real.
func Replay(t *testing.T, usual string, all ...Recorded) {
	for _, r := range all {
		tr, err := trace.ReadFile(r.file())
		if err != nil {
			t.Fatal(err)
		}
		h := tr.Header
		if !r.Shows(tr.Outcome) || h.Seed != r.Plan.Seed || h.Strategy != r.Plan.Strategy.String() ||
			r.Next == 0 && h.Run != r.Run {
			t.Errorf("%s: run %d of seed %d with %s: %v", r.file(), h.Run, h.Seed, h.Strategy, tr.Outcome)
		}
		if r.selected(cmp.Or(*replay, usual)) {
			t.Run(r.Name, func(t *testing.T) { r.replay(t, tr) })
		}
	}
}

func (r Recorded) replay(t *testing.T, tr *trace.Trace) {
	outside.JVM(t)
	runner, err := lockstep.NewRunnerFor(r.Plan, tr)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	again, done := 0, 0
	for ; done < cmp.Or(*times, 3) && (*times > 0 || again == 0); done++ {
		o, err := runner.Run(t.Context(), tr.Header.Run, lockstep.NewPlayer(trace.ScriptOf(tr), tr.Rounds).Wait())
		if err != nil {
			t.Fatal(err)
		}
		if t.Log(o, o.Finding); r.Shows(o) {
			again++
		}
	}
	if t.Logf("it showed again in %d of %d repetitions", again, done); again == 0 {
		t.Fail()
	}
}
