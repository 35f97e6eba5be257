package ratis

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	long    = flag.Bool("long", false, "make many runs of servers, of all versions and transports")
	timeout = flag.Duration("timeout", 5*time.Minute, "how long servers may take to start")
)

// Servers of all versions over both transports answer, can be isolated in each of the ways, and leave nothing behind.
// This test does not check the properties: the tables do that.
func TestRuns(t *testing.T) {
	outside.JVM(t)
	all := []Cluster{{Warm: true}}
	if *long {
		all = nil
		for _, version := range []string{"1.0.0", "3.3.0"} {
			for _, transport := range []string{"grpc", "netty"} {
				for _, control := range []string{byLog, byTime, byMessage} {
					all = append(all,
						Cluster{Version: version, Transport: transport, Control: control, Warm: control != byTime})
				}
			}
		}
	}
	for _, c := range all {
		c = target.Fill(c)
		t.Run(strings.Join([]string{c.Version, c.Transport, c.Control}, " "), func(t *testing.T) { runs(t, c) })
	}
}

func runs(t *testing.T, c Cluster) {
	c.StartTimeout = *timeout
	var s lockstep.Strategy = strategy.Uniform{Period: 2, Rounds: 8, Isolations: 2, Sampler: strategy.Paper}
	switch c.Control {
	case byTime:
		s = strategy.Uniform{Period: 2, Rounds: 8, Isolations: 2, Sampler: strategy.Paper, By: strategy.ByCrash}
	case byMessage:
		s = strategy.Baseline{Drop: 0.1, Steps: 60}
	}
	plan := lockstep.Plan{
		System:   c,
		Spec:     Properties,
		Strategy: s,
		Settle:   Settle,
		Workers:  1,
		Seed:     1,
		Scratch:  t.TempDir(),
	}
	begin := time.Now()
	tr, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %v %v", time.Since(begin), tr.Outcome.Verdict, tr.Outcome.Finding)
	answers, faults := 0, 0
	for _, r := range tr.Records {
		switch r.Step.Kind {
		case trace.Cut, trace.Crash, trace.Drop:
			faults++
		}
		for _, e := range r.Events {
			if e.Type == EventAnswer {
				answers++
			}
			if testing.Verbose() {
				t.Log(r.Number, &r.Step, e.Type, e.Node, e.Text)
			}
		}
	}
	if answers == 0 || faults == 0 || tr.Outcome.Verdict == trace.Unknown {
		t.Errorf("%d answers, %d faults, %+v", answers, faults, tr.Outcome)
	}
	if left, err := os.ReadDir(plan.Scratch); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
