package lockstepform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// led is a protocol in which node 1 asks all nodes and all nodes answer it.
type led struct{}

func (led) Start(c *sim.Context[int32]) {
	if c.Self() == 1 {
		c.SetTimeout(1)
	}
}
func (led) Timeout(c *sim.Context[int32])              { c.Broadcast(0); c.SetTimeout(1) }
func (led) Request(*sim.Context[int32], int32, string) {}
func (led) Receive(c *sim.Context[int32], from lockstep.Node, round int32) {
	if round == 0 {
		c.Send(from, 1)
	}
}

func ledBy(tags bool) sim.Cluster[int32] {
	system := sim.Cluster[int32]{Name: "led", Nodes: 3, New: func(lockstep.Node, int) sim.Node[int32] { return led{} }}
	if tags {
		system.Rounds = []string{"Ask", "Answer"}
		system.Tag = func(round int32) trace.Tag { return trace.Tag{Phase: 1, Round: round} }
	}
	return system
}

func TestShapes(t *testing.T) {
	for _, tags := range []bool{true, false} {
		s, err := lockstepform.ShapesOf(t.Context(),
			lockstep.Plan{System: ledBy(tags), Strategy: strategy.Lossy{Rounds: 12, Loss: 0.3}}, 100)
		if err != nil {
			t.Fatal(err)
		}
		if !s.LeaderBased() || !strings.Contains(s.Advice(), "uniform is complete") || s.Runs != 100 {
			t.Errorf("tags %v: %+v: %s", tags, s, s.Advice())
		}
		if tags && (s.Rounds[0].OneToAll != 600 || s.Rounds[0].AllToOne != 0 || s.Rounds[1].AllToOne < 300) {
			t.Errorf("%+v", s)
		}
	}
	_, err := lockstepform.ShapesOf(t.Context(),
		lockstep.Plan{System: ledBy(true), Strategy: strategy.DefaultWalk, Steps: 50}, 1)
	if err == nil || !strings.Contains(err.Error(), "makes no lock-step rounds") {
		t.Error(err)
	}
}

// The running example of the paper has a last round in which all nodes send to all nodes, and is not leader-based.
func ExampleShapesOf() {
	s, err := lockstepform.ShapesOf(context.Background(),
		lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultUniform}, 200)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range s.Rounds {
		fmt.Println(r.Name, r.OneToAll > 0, r.AllToOne > 0, r.Other > 0)
	}
	fmt.Println(s.LeaderBased(), strings.Contains(s.Advice(), "lossy:period=4"))
	// Output:
	// Prepare true false false
	// Ack true true false
	// Propose true false false
	// Promise true false true
	// false true
}
