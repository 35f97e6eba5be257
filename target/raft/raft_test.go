package raft_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// everything combines all faults of the network with all requests of an operator.
var everything = strategy.Walk{Deliver: 40, Drop: 2, Duplicate: 1, Timer: 10, Request: 1, Crash: 1, Restart: 2, Cut: 1,
	Heal: 2, Steps: 1500}

const manyChanges = "remove 4; remove 3; add 4; add 3; remove 2; add 2; remove 1; add 1; remove 4; remove 3"

// TestCorrect checks that, with the remedy, nodes agree through repeated membership changes.
func TestCorrect(t *testing.T) {
	for _, c := range []raft.Cluster{{}, {Nodes: 4, Requests: 4, Changes: manyChanges},
		{Nodes: 5, Requests: 4, Changes: manyChanges}} {
		result := enginetest.Explore(t,
			lockstep.Plan{System: c, Strategy: everything, Spec: raftspec.Safety, Runs: 300, Seed: 5})
		if f := result.First(); f != nil {
			t.Fatalf("%+v: run %d: %s", c, f.Run, f.Finding)
		}
		if parts := result.VacuousParts(); len(parts) > 0 || result.Verdict() != trace.Pass {
			t.Errorf("%+v: verdict %s, never %q", c, result.Verdict(), parts)
		}
		if never := result.Unchecked(); len(never) > 0 && c.Requests > 0 {
			t.Errorf("%+v: never checked: %q", c, never)
		}
	}
}

// TestProgress checks that without faults all nodes commit all requests of clients to the first leader.
func TestProgress(t *testing.T) {
	c := raft.Cluster{Nodes: 4, Requests: 3}
	sc := scenario.New("ask the leader").Reserve()
	here := scenario.Here()
	sc.If(scenario.IsEvent(raftspec.BecameLeader)).
		Once().
		Then(scenario.Request("a", here), scenario.Request("b", here), scenario.Request("c", here))
	result := enginetest.Explore(
		t,
		lockstep.Plan{
			System:   c,
			Scenario: sc,
			Strategy: strategy.Walk{Deliver: 100, Timer: 1, Steps: 400},
			Settle:   20000,
			Spec:     progress,
			Runs:     20,
			Seed:     1,
		},
	)
	if f := result.First(); f != nil {
		t.Fatalf("run %d: %s", f.Run, f.Finding)
	}
	if parts := result.VacuousParts(); len(parts) > 0 || result.Verdict() != trace.Pass {
		t.Errorf("verdict %s, never %q", result.Verdict(), parts)
	}
}

// progress requires that at the end every node has committed a, b and c.
var progress = spec.New("progress", func(info lockstep.Info) *progressing { return &progressing{nodes: info.Nodes} })

type progressing struct {
	nodes     int
	committed []string
}

func (p *progressing) Reset()       { p.committed = nil }
func (p *progressing) Checked() int { return len(p.committed) }

func (p *progressing) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if a, ok := e.Value.(*raftspec.Applied); ok {
		p.committed = append(p.committed, fmt.Sprint(e.Node, string(a.Entry.Data)))
	}
	return nil
}

func (p *progressing) End(*lockstep.Run) *lockstep.Finding {
	for n := 1; n <= p.nodes; n++ {
		for _, text := range []string{"a", "b", "c"} {
			if !slices.Contains(p.committed, fmt.Sprint(n, text)) {
				return &lockstep.Finding{Text: fmt.Sprintf("node %d never committed %s: %q", n, text, p.committed)}
			}
		}
	}
	return nil
}

func TestDescribe(t *testing.T) {
	for _, c := range []raft.Cluster{{Nodes: 65}, {Requests: 27}, {Election: 1}, {Changes: "remove 9"},
		{Changes: "shuffle 1"}} {
		if _, err := c.Describe(); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// asynchronous loses nothing, and ticks are slow.
var asynchronous = strategy.Walk{Deliver: 20, Timer: 4, Steps: 3000}
