package batch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

var plan = lockstep.Plan{
	System:    smr.Cluster{Nodes: 3, Bug: true},
	Strategy:  strategy.DefaultWalk,
	Spec:      smr.Prefix,
	Runs:      200,
	KeepGoing: true,
	Keep:      2,
	Seed:      5,
}

// first is the plan that ends with its first finding.
var first = func() lockstep.Plan { p := plan; p.KeepGoing = false; return p }()

// atOnce is a plan whose first run fails.
var atOnce = func() lockstep.Plan { p := first; p.Spec = toy.AtEnd; return p }()

// discarded is a system whose runs are all inconclusive.
type discarded struct{ smr.Cluster }

func (s discarded) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	d, err := s.Cluster.Deploy(ctx, p)
	return rotten{d}, err
}

type rotten struct{ lockstep.Deployment }

func (rotten) Reset(context.Context, uint64, *lockstep.Outbox) error {
	return &lockstep.Inconclusive{Reason: "it rots"}
}

// deadly is a system that ends the process in some runs.
type deadly struct{ smr.Cluster }

func (s deadly) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	d, err := s.Cluster.Deploy(ctx, p)
	return poisoned{d}, err
}

type poisoned struct{ lockstep.Deployment }

func (p poisoned) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	if seed%64 == 0 {
		os.Stderr.WriteString("fatal error: out of order\n\ngoroutine 1:\n" + strings.Repeat("\tstack\n", 10_000))
		os.Exit(2)
	}
	return p.Deployment.Reset(ctx, seed, out)
}

// serve serves a plan as a program.
func serve(plan lockstep.Plan) {
	if err := Serve(context.Background(), plan, Measures{}, os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// If the environment variable is set, the test's own program serves batches.
func TestMain(m *testing.M) {
	switch os.Getenv("BATCH_TEST") {
	case "serve":
		serve(plan)
	case "first":
		serve(first)
	case "at once":
		serve(atOnce)
	case "inconclusive":
		rotten := plan
		rotten.System = discarded{smr.Cluster{Nodes: 3}}
		serve(rotten)
	case "deadly":
		kills := plan
		kills.System = deadly{smr.Cluster{Nodes: 3}}
		serve(kills)
	case "dies": // when the first batch is requested
		out, _ := json.Marshal(Hello{Runs: 10, Keep: 1})
		_, _ = os.Stdout.Write(append(out, '\n'))
		for lines := bufio.NewScanner(os.Stdin); lines.Scan() && strings.Contains(lines.Text(), `"warm":true`); {
			os.Stdout.WriteString("{}\n")
		}
		os.Exit(3)
	case "fail":
		os.Stderr.WriteString("lockstep: unknown target \"x\"\n")
		os.Exit(2)
	case "garbage":
		os.Stdout.WriteString("hello\n")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func start(t *testing.T, mode string) (*Program, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Start(t.Context(), self, nil, "BATCH_TEST="+mode)
}

// A campaign that a program makes in batches equals that of Explore, including the traces.
func TestProgram(t *testing.T) {
	want, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	p, err := start(t, "serve")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if h := p.Hello; h.Version != lockstep.Version || h.Target != "smr-bug" && h.Target != "smr" || h.Runs != 200 ||
		h.Program == "" ||
		!h.Exact ||
		h.Sequential {
		t.Errorf("%+v", h)
	}
	var sum *lockstep.Result
	var traces []Trace
	for first := 0; first < 200; first += 80 {
		found := 0
		if sum != nil {
			found = len(sum.Failures)
		}
		made, err := p.Make(Ask{first, min(first+80, 200), found})
		if err != nil || made.Error != "" {
			t.Fatal(err, made)
		}
		if n := made.Schedules.Count(); n < made.Result.Schedules*9/10 || n > made.Result.Schedules*11/10 {
			t.Errorf("%d schedules, sketched %d", made.Result.Schedules, n)
		}
		traces = append(traces, made.Traces...)
		if sum == nil {
			sum = made.Result
		} else {
			sum.Add(made.Result, plan.Keep)
		}
	}
	if err := Unpack(sum, traces[:len(sum.Failures)]); err != nil {
		t.Fatal(err)
	}
	if sum.Digest != want.Digest || sum.Runs != want.Runs || len(sum.Failures) != len(want.Failures) ||
		len(want.Failures) != 2 {
		t.Errorf("%x after %d runs, want %x after %d", sum.Digest, sum.Runs, want.Digest, want.Runs)
	}
	for i, f := range sum.Failures {
		var was, is bytes.Buffer
		if err := errors.Join(trace.Write(&was, want.Failures[i].Trace), trace.Write(&is, f.Trace)); err != nil {
			t.Fatal(err)
		}
		if f.Run != want.Failures[i].Run || was.String() != is.String() {
			t.Errorf("finding %d differs: run %d, want %d", i, f.Run, want.Failures[i].Run)
		}
	}
}

// A program that cannot start reports its own reason. A program that does not serve batches is recognized.
func TestOtherPrograms(t *testing.T) {
	for mode, want := range map[string]string{"fail": `unknown target "x"`, "garbage": "ended"} {
		if _, err := start(t, mode); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
