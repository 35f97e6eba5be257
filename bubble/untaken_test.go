package bubble_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// slowly is a program that takes a while to start, and a while for each request.
func slowly(n *bubble.Node) error {
	select {
	case <-time.After(time.Second):
	case <-n.Context().Done():
		return nil
	}
	n.OnRequest(func(_ int32, text string) {
		n.Emit("taken", text)
		select {
		case <-time.After(time.Second):
		case <-n.Context().Done():
		}
	})
	return nil
}

// A request is offered again if a node received it and crashed before its program took it, because the program was
// starting or busy. In the end programs have taken each request once, however often nodes crashed.
func TestUntaken(t *testing.T) {
	requests := []string{"a", "b", "c", "d", "e"}
	o := &takes{}
	walk := strategy.Walk{Wait: 2, Request: 3, Crash: 1, Restart: 3, Steps: 40}
	const runs = 100
	result := explore(
		t,
		lockstep.Plan{
			System:    bubble.Cluster{Name: "slowly", Nodes: 3, Start: slowly, Requests: requests},
			Strategy:  walk,
			Observers: []lockstep.Observer{o},
			Runs:      runs,
			Workers:   1,
			Settle:    200,
		},
	)
	if result.Verdict() != trace.Pass {
		t.Errorf("%v %v", result.Verdicts, result.Reasons)
	}
	for run, taken := range o.runs {
		if slices.Sort(taken); !slices.Equal(taken, requests) {
			t.Fatalf("in run %d %q were taken, of %q", run, taken, requests)
		}
	}
	if len(o.runs) != runs {
		t.Errorf("%d runs", len(o.runs))
	}
}

// takes are the requests that nodes took in each run.
type takes struct {
	now  []string
	runs [][]string
}

func (t *takes) New(lockstep.Info) lockstep.Watcher { return t }
func (t *takes) Collect(_ int, noted any)           { t.runs = append(t.runs, noted.([]string)) }
func (t *takes) Reset()                             { t.now = nil }
func (t *takes) Noted() any                         { return t.now }
func (t *takes) Observe(r *lockstep.Run) {
	for _, e := range r.Events() {
		if e.Type == "taken" {
			t.now = append(t.now, e.Value.(string))
		}
	}
}

// A request that was withdrawn meanwhile is not offered again.
func TestUntakenWithdrawn(t *testing.T) {
	for _, withdrawn := range []bool{true, false} {
		c := bubble.Cluster{Name: "withdrawn", Nodes: 2, Requests: []string{"a"}, Start: func(n *bubble.Node) error {
			if n.Self() == 2 && withdrawn {
				n.Receive(func(lockstep.Node, any) { n.World().Withdraw(1) })
			}
			if n.Self() == 1 && n.Incarnation() == 1 {
				n.Send(2, "Word", trace.Tag{}, nil)
			}
			return nil
		}}
		w := &atCrash{}
		sc := New("crash").Faults(lockstep.Budget{Crashes: 1})
		sc.If(Did(trace.Start)).Then(Request("a", Only(1)))
		sc.If(IsReceive()).Then(Crash(Only(1)))
		result := explore(
			t,
			lockstep.Plan{
				System:    c,
				Scenario:  sc,
				Strategy:  strategy.Walk{Deliver: 1, Steps: 10},
				Observers: []lockstep.Observer{w},
				Runs:      1,
				Seed:      1,
			},
		)
		if result.Verdict() != trace.Pass || w.crashes != 1 || (w.offered == 0) != withdrawn {
			t.Errorf("withdrawn %v: %v %v, %d crashes, after which %d are offered", withdrawn, result.Verdicts,
				result.Reasons, w.crashes, w.offered)
		}
	}
}

// atCrash counts crashes, and the requests that are offered after each.
type atCrash struct{ crashes, offered int }

func (a *atCrash) New(lockstep.Info) lockstep.Watcher { return a }
func (a *atCrash) Collect(int, any)                   {}
func (a *atCrash) Reset()                             { *a = atCrash{} }
func (a *atCrash) Noted() any                         { return nil }
func (a *atCrash) Observe(r *lockstep.Run) {
	if r.Last().Kind == trace.Crash {
		a.crashes++
		a.offered += len(r.Pending())
	}
}
