package system_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/system"
	examples "github.com/lockstep-go/lockstep/examples/distal"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// counterexample searches an example and draws what is found.
func counterexample(ctx context.Context, name string) (system.Program, *trace.Trace, *distal.ExploreResult, error) {
	text, err := examples.Source(name)
	if err != nil {
		return system.Program{}, nil, nil, err
	}
	result, remarks := distal.Explore(text, distal.ExploreOptions{})
	m, _, _ := distal.NewModel(text, distal.Options{})
	if m == nil || result.Violation == nil {
		return system.Program{}, nil, nil, fmt.Errorf("%s: %s %w", name, result.Verdict, remarks)
	}
	p, tr, err := system.Counterexample(ctx, system.FromSource(text, ""), m, result.Violation)
	return p, tr, &result, err
}

// Every violation of the buggy examples becomes a trace that can be written, read, replayed
// and drawn, with as many rounds as the violation took; what happens in the last round, and
// the state it leads to, are drawn there.
func TestCounterexamples(t *testing.T) {
	tier.NotShort(t)
	for _, name := range examples.Names() {
		if !strings.HasSuffix(name, "_buggy") {
			continue
		}
		p, tr, result, err := counterexample(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.Rounds) != result.Violation.Round || tr.Outcome.Finding.Property != result.Violation.Property {
			t.Errorf("%s: %d rounds, the violation took %d", name, len(tr.Rounds), result.Violation.Round)
		}
		if tr.Outcome.Verdict != trace.Fail {
			t.Errorf("%s: verdict %s", name, tr.Outcome.Verdict)
		}
		var file bytes.Buffer
		if err := trace.Write(&file, tr); err != nil {
			t.Fatal(err)
		}
		again, err := trace.Read(&file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		replayed, err := replay.Run(t.Context(), lockstep.Plan{System: p, Spec: system.Properties}, again)
		if err != nil || replayed.Difference != "" || replayed.Trace.Outcome.Finding.Property != result.Violation.Property {
			t.Errorf("%s: replayed as %+v %v", name, replayed, err)
		}
		if last := tr.Records[len(tr.Records)-1]; last.Round != len(tr.Rounds) || len(last.States) == 0 &&
			len(last.Events) == 0 {
			t.Errorf("%s: the last step is drawn in round %d of %d: %+v", name, last.Round, len(tr.Rounds), last)
		}
		if err := report.Grid(&bytes.Buffer{}, again, report.Options{}); err != nil {
			t.Error(err)
		}
	}
}

func ExampleCounterexample() {
	_, tr, _, err := counterexample(context.Background(), "paxos_buggy")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tr.Rounds), "rounds:", tr.Outcome.Finding)
	// Output: 12 rounds: Successive: Successive does not hold for the output of node 1
}
