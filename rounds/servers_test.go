package rounds_test

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// servers is a small system with invisible messages: the engine can only cut and heal links, crash and restart nodes,
// give requests and let time pass. While time passes, each node that hears no node with a lower number considers
// itself the leader. A crashed node loses its stored values.
type servers struct {
	nodes    int
	supports trace.Kinds
}

var (
	waits   = trace.KindsOf(trace.Request, trace.Wait)
	cuts    = waits | trace.KindsOf(trace.Cut, trace.Heal)
	crashes = waits | trace.KindsOf(trace.Crash, trace.Restart)
)

const pace = 5 // of servers

func (s servers) Describe() (lockstep.Info, error) {
	return lockstep.Info{
		Name:     "servers",
		Nodes:    s.nodes,
		Supports: s.supports,
		Pace:     pace,
		Events:   []string{"leader", "back"},
	}, nil
}

func (s servers) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &serving{servers: s}, nil
}

type serving struct {
	servers
	epoch     int
	up        lockstep.Nodes
	has, lost []int // by node: the stored values that it still has, and those that it lost
}

func (s *serving) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	s.epoch, s.up, s.has, s.lost = 0, trace.AllNodes(s.nodes), make([]int, s.nodes+1), make([]int, s.nodes+1)
	for id := range int32(5) {
		out.Offer(trace.Pending{ID: id + 1, To: s.up, Text: fmt.Sprint("store ", id+1)})
	}
	out.States(s.state)
	return nil
}

func (s *serving) Do(_ context.Context, step *lockstep.Step, out *lockstep.Outbox) error {
	switch n := step.Node; step.Kind {
	case trace.Request:
		s.has[n]++
	case trace.Crash:
		s.up, s.lost[n], s.has[n] = s.up.Without(n), s.lost[n]+s.has[n], 0
	case trace.Restart:
		s.up = s.up.With(n)
		out.Event(lockstep.Event{Node: n, Type: "back", Value: s.lost[n]})
	case trace.Wait:
		s.epoch++
		for n := range s.up.All() {
			if s.leads(n, out) {
				out.Event(lockstep.Event{Node: n, Type: "leader", Value: s.epoch})
			}
		}
	}
	out.States(s.state)
	return nil
}

func (s *serving) leads(n lockstep.Node, out *lockstep.Outbox) bool {
	for m := range s.up.All() {
		if m < n && !out.Cut(m).Has(n) {
			return false
		}
	}
	return true
}

func (s *serving) state(n lockstep.Node) string {
	return fmt.Sprintf("epoch=%d has=%d", s.epoch, s.has[n])
}

func (s *serving) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (s *serving) Close() error                        { return nil }

// servers promise oneLeader, which cuts violate, and memory, which crashes violate.
var (
	oneLeader = spec.OnEvent(
		"one leader",
		"leader",
		func(last *lockstep.Event, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			was := *last
			if *last = *e; was.Value == e.Value {
				return &lockstep.Finding{
					Text:  fmt.Sprintf("nodes %d and %d both lead", was.Node, e.Node),
					Nodes: trace.NodesOf(was.Node, e.Node),
				}
			}
			return nil
		},
	)
	memory = spec.OnEvent("memory", "back", func(_ *int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if e.Value != 0 {
			return &lockstep.Finding{Text: fmt.Sprintf("node %d forgot %d values", e.Node, e.Value)}
		}
		return nil
	})
)
