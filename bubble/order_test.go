package bubble_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// reader is a spec that records the types of events.
type reader struct{ seen *[]string }

// End returns nil: only events are checked.
func (reader) End(*lockstep.Run) *lockstep.Finding { return nil }

func (reader) Reset()       {}
func (reader) Checked() int { return 1 }
func (r reader) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	*r.seen = append(*r.seen, e.Type)
	return nil
}

// eventsOf performs the runs of a plan and returns the types of their events, in the order in which the spec sees them.
func eventsOf(t *testing.T, plan lockstep.Plan) (seen []string) {
	t.Helper()
	plan.Spec = spec.New("seen", func(lockstep.Info) reader { return reader{&seen} })
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil || result.First() != nil {
		t.Fatalf("%v, %+v", err, result.First())
	}
	return seen
}

// The spec sees the events of a step in the order of emission, whichever node they name. So the return of a call comes
// before the next call that it caused.
func TestEventsInOrder(t *testing.T) {
	start := func(n *bubble.Node) error {
		if n.Self() == 1 {
			w := n.World()
			w.Event(lockstep.Event{Node: 2, Type: "first"})
			w.Event(lockstep.Event{Node: 1, Type: "return"})
			w.Event(lockstep.Event{Type: "call"})
			answered := make(chan bool)
			go func() { // the client: answers make it continue
				<-answered
				w.Event(lockstep.Event{Type: "next call"})
			}()
			w.Event(lockstep.Event{Node: 2, Type: "next return"})
			answered <- true
		}
		return nil
	}
	plan := lockstep.Plan{
		System:   bubble.Cluster{Name: "ordered", Nodes: 2, Start: start},
		Strategy: strategy.Walk{Wait: 1, Steps: 3},
		Runs:     1,
	}
	want := []string{"first", "return", "call", "next return", "next call"}
	if seen := eventsOf(t, plan); !slices.Equal(seen, want) {
		t.Errorf("the spec sees %q, emitted were %q", seen, want)
	}
}

// The spec does not see an event that a goroutine of a crashed node emits, before it freezes or ends. It sees events of
// the node's next incarnation.
func TestEventsOfTheCrashed(t *testing.T) {
	if !bubble.Overlay {
		t.Skip("without the overlay the node of a goroutine is unknown")
	}
	for name, c := range map[string]bubble.Cluster{"ends": {}, "frozen": {Freeze: &bubble.Freeze{Grace: time.Second}}} {
		t.Run(name, func(t *testing.T) {
			late := 0
			c.Name, c.Nodes = "late", 3
			c.Start = func(n *bubble.Node) error {
				for n.Alive() {
					time.Sleep(10 * time.Millisecond)
				}
				late++
				n.World().Event(lockstep.Event{Node: 1, Type: "late"})
				n.World().Event(lockstep.Event{Type: "late"})
				return nil
			}
			plan := lockstep.Plan{
				System:   c,
				Strategy: strategy.Walk{Wait: 4, Crash: 1, Restart: 1, Steps: 40},
				Runs:     3,
				Seed:     1,
			}
			if seen := eventsOf(t, plan); len(seen) > 0 || late == 0 {
				t.Errorf("%d events of the crashed were emitted, %d seen", 2*late, len(seen))
			}
		})
	}
}

// A hook that all nodes call learns which node calls it, also in a goroutine of the node, in a restarted node, and for
// no node in a goroutine of the world. Without the overlay it learns nothing.
func TestCallerNode(t *testing.T) {
	var hook func(where string)
	cluster := bubble.Cluster{
		Name:  "hooked",
		Nodes: 3,
		Begin: func(w *bubble.World) {
			hook = func(where string) { w.Event(lockstep.Event{Node: w.CallerNode(), Type: "at", Value: where}) }
			hook("begin 0")
		},
		Start: func(n *bubble.Node) error {
			hook(fmt.Sprintf("start %d", n.Self()))
			go hook(fmt.Sprintf("goroutine %d", n.Self()))
			return nil
		},
	}
	seen, later := 0, 0
	checker := spec.OnEvent("caller", "at", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		var where string
		var want lockstep.Node
		if _, err := fmt.Sscan(e.Value.(string), &where, &want); err != nil {
			t.Error(err)
		}
		if !bubble.Overlay {
			want = 0
		}
		if e.Node != want {
			return &lockstep.Finding{Text: fmt.Sprintf("%v is an event of node %d", e.Value, e.Node)}
		}
		if seen++; seen > 7 {
			later++
		}
		return nil
	})
	walk := strategy.Walk{Wait: 1, Crash: 1, Restart: 2, Steps: 20}
	plan := lockstep.Plan{System: cluster, Strategy: walk, Spec: checker, Runs: 1}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil || result.First() != nil {
		t.Fatalf("%v, %+v", err, result.First())
	}
	if later == 0 {
		t.Errorf("%d events, none of a restarted node", seen)
	}
}
