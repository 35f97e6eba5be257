package system_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/system"
	examples "github.com/lockstep-go/lockstep/examples/distal"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// counterexample searches an example and draws what is found.
func counterexample(name string) (*trace.Trace, *distal.ExploreResult, error) {
	text, err := examples.Source(name)
	if err != nil {
		return nil, nil, err
	}
	result, remarks := distal.Explore(text, distal.ExploreOptions{})
	m, _, _ := distal.NewModel(text, distal.Options{})
	if m == nil || result.Violation == nil {
		return nil, nil, fmt.Errorf("%s: %s %w", name, result.Verdict, remarks)
	}
	_, tr, err := system.Counterexample(system.FromSource(text, ""), m, result.Violation)
	return tr, &result, err
}

// Every violation of the buggy examples becomes a trace that can be written, read and
// drawn, with as many rounds as the violation took.
func TestCounterexamples(t *testing.T) {
	for _, name := range []string{"paxos_buggy", "raft_buggy", "benor_buggy", "uniformvoting_buggy", "viewchange_buggy", "twophase_buggy"} {
		tr, result, err := counterexample(name)
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
		if err := report.Grid(&bytes.Buffer{}, again, report.Options{}); err != nil {
			t.Error(err)
		}
	}
}

func ExampleCounterexample() {
	tr, _, err := counterexample("paxos_buggy")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tr.Rounds), "rounds:", tr.Outcome.Finding)
	// Output: 12 rounds: Successive: Successive does not hold for the output of node 1
}
