package batch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/trace"
)

// serving returns a function that starts a program that serves batches.
func serving(mode string) func(context.Context) (*Program, error) {
	return func(ctx context.Context) (*Program, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return Start(ctx, self, nil, "BATCH_TEST="+mode)
	}
}

// A campaign made by several programs equals that of Explore, including the traces: with all findings, and up to the
// first.
func TestAbreast(t *testing.T) {
	for mode, plan := range map[string]lockstep.Plan{"serve": plan, "first": first} {
		want, err := lockstep.Explore(t.Context(), plan)
		if err != nil || len(want.Failures) == 0 {
			t.Fatal(err, want)
		}
		reported := 0
		sum, traces, err := Abreast{Programs: 3, Start: serving(mode), Took: func(s *Sum) {
			if s.Result.Runs <= reported {
				t.Errorf("%d runs after %d", s.Result.Runs, reported)
			}
			reported = s.Result.Runs
		}}.Make(t.Context())
		if err != nil || Unpack(sum.Result, traces) != nil {
			t.Fatal(err, len(traces))
		}
		got := sum.Result
		if got.Digest != want.Digest || got.Runs != want.Runs || reported != got.Runs || got.Interrupted ||
			!reflect.DeepEqual(got.Verdicts, want.Verdicts) {
			t.Errorf("%s: %+v, want %+v", mode, got, want)
		}
		if len(got.Failures) != len(want.Failures) {
			t.Fatalf("%s: %d findings, want %d", mode, len(got.Failures), len(want.Failures))
		}
		for i, f := range got.Failures {
			var was, is bytes.Buffer
			if err := errors.Join(trace.Write(&was, want.Failures[i].Trace), trace.Write(&is, f.Trace)); err != nil ||
				was.String() != is.String() {
				t.Errorf("%s: finding %d differs: run %d, want %d, %v", mode, i, f.Run, want.Failures[i].Run, err)
			}
		}
	}
}

// A killed program is replaced, and the campaign is the same.
func TestAbreastKilled(t *testing.T) {
	want, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	var programs []*Program
	begin := func(ctx context.Context) (*Program, error) {
		p, err := serving("serve")(ctx)
		mutex.Lock()
		defer mutex.Unlock()
		if err == nil {
			programs = append(programs, p)
		}
		return p, err
	}
	var killed sync.Once
	sum, traces, err := Abreast{Programs: 1, Start: begin, Took: func(*Sum) {
		mutex.Lock()
		defer mutex.Unlock()
		killed.Do(func() { _ = programs[0].cmd.Process.Kill() }) // the same as kill -9
	}}.Make(t.Context())
	if err != nil || Unpack(sum.Result, traces) != nil {
		t.Fatal(err)
	}
	got := sum.Result
	if got.Digest != want.Digest || got.Runs != want.Runs || len(got.Failures) != len(want.Failures) ||
		!reflect.DeepEqual(got.Verdicts, want.Verdicts) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(programs) != 2 {
		t.Errorf("there were %d programs, one in the place of the one that was killed", len(programs))
	}
}

// A campaign whose first run fails starts one program only, and a longer one all of them.
func TestAbreastStartsWhatItNeeds(t *testing.T) {
	for mode, want := range map[string]int64{"at once": 1, "serve": 3} {
		var started atomic.Int64
		all := make(chan struct{})
		sum, _, err := Abreast{Programs: 3, Start: func(ctx context.Context) (*Program, error) {
			if started.Add(1) == 3 {
				defer close(all)
			}
			return serving(mode)(ctx)
		}, Took: func(s *Sum) {
			if mode == "serve" && s.Result.Runs == 1 { // the campaign must not end before
				<-all
			}
		}}.Make(t.Context())
		if err != nil || sum.Result.Findings() == 0 || started.Load() != want {
			t.Errorf("%s: %d programs were started, want %d; %v, %v", mode, started.Load(), want, sum, err)
		}
	}
}

// The first program warms up before it makes a run, and the campaign's clock is notified.
func TestAbreastWarmsUp(t *testing.T) {
	var said []string
	sum, _, err := Abreast{Programs: 2, Start: serving("serve"), Warming: func() func() {
		said = append(said, "warming")
		return func() { said = append(said, "warm") }
	}, Took: func(*Sum) {
		if said[len(said)-1] != "took" {
			said = append(said, "took")
		}
	}}.Make(t.Context())
	if err != nil || sum.Result.Runs == 0 || !reflect.DeepEqual(said, []string{"warming", "warm", "took"}) {
		t.Errorf("%v: %v, %v", said, sum, err)
	}
}

// Errors of a program are reported. A stopped campaign has the runs up to the stop, without gaps.
func TestAbreastEnds(t *testing.T) {
	for mode, want := range map[string]string{
		"fail":   `unknown target "x"`,
		"dies":   "in run 0: ",
		"deadly": ": fatal error: out of order; before, in runs ",
	} {
		if _, _, err := (Abreast{Programs: 2, Start: serving(mode)}).Make(t.Context()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if _, _, err := (Abreast{Programs: 2, Start: serving("inconclusive")}).Make(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "inconclusive") {
		t.Errorf("a campaign of inconclusive runs ends with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var stopped atomic.Bool
	sum, _, err := Abreast{Programs: 2, Start: serving("serve"), Took: func(s *Sum) {
		if s.Result.Runs > 20 {
			stopped.Store(true)
			cancel()
		}
	}}.Make(ctx)
	if err != nil || !stopped.Load() {
		t.Fatal(err)
	}
	if sum.Result.Runs < plan.Runs {
		part := plan
		part.Runs = sum.Result.Runs
		want, err := lockstep.Explore(t.Context(), part)
		if err != nil || sum.Result.Digest != want.Digest || !sum.Result.Interrupted {
			t.Errorf("%v: after %d runs %x, want %x", err, part.Runs, sum.Result.Digest, want.Digest)
		}
	}
}

// What the runs of batches executed is added up. What another program executed adds nothing.
func TestSumOfCode(t *testing.T) {
	s := NewSum(Hello{Runs: 4})
	for run := range 4 {
		m := &Made{Result: &lockstep.Result{Runs: 1}, Code: &code.Sum{Blocks: 5}}
		m.Code.Executed.Add(run, []uint64{uint64(run), 9})
		m.Result.Novelty.Add(run, []uint64{uint64(run)})
		s.Add(m, 1)
	}
	s.Add(&Made{Result: &lockstep.Result{}, Code: &code.Sum{Blocks: 6}}, 1)
	if e := s.Code.Executed.Estimate(); s.Code.Blocks != 5 || e.Runs != 4 || e.Reached != 5 || e.Only != 4 {
		t.Errorf("%+v: %+v", s.Code, e)
	}
	if e := s.Result.Novelty.Estimate(); e.Runs != 4 || e.Only != 4 {
		t.Errorf("%+v", e)
	}
}
