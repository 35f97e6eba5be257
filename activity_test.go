package lockstep_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// activity counts the events, requests and idle runs of a campaign from outside.
type activity struct {
	events              map[string]int
	requests, eventless int
}

type activityWatcher struct {
	events   map[string]int
	requests int
}

func (a *activity) New(lockstep.Info) lockstep.Watcher { return &activityWatcher{} }
func (a *activity) Collect(_ int, noted any) {
	n := noted.(activityWatcher)
	for name, k := range n.events {
		a.events[name] += k
	}
	a.requests += n.requests
	if len(n.events) == 0 {
		a.eventless++
	}
}

func (a *activityWatcher) Reset()     { *a = activityWatcher{events: map[string]int{}} }
func (a *activityWatcher) Noted() any { return *a }
func (a *activityWatcher) Observe(r *lockstep.Run) {
	for _, e := range r.Events() {
		a.events[e.Type]++
	}
	if r.Last().Kind == trace.Request {
		a.requests++
	}
}

// A campaign's own counts equal what an observer sees, with any number of workers.
func TestActivityIsCounted(t *testing.T) {
	for _, workers := range []int{1, 3} {
		seen := &activity{events: map[string]int{}}
		plan := lockstep.Plan{
			System:    raft.Cluster{Nodes: 3, Requests: 2},
			Strategy:  strategy.DefaultUniform,
			Runs:      400,
			Workers:   workers,
			KeepGoing: true,
		}
		plain, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			t.Fatal(err)
		}
		plan.Observers = []lockstep.Observer{seen}
		r, err := lockstep.Explore(context.Background(), plan)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, c := range r.Events {
			got[c.Name] = c.N
		}
		if !reflect.DeepEqual(got, seen.events) || int(r.Requests) != seen.requests || r.IdleRuns != seen.eventless {
			t.Errorf("counted %v, %d requests, %d runs without events; seen %v, %d, %d", got, r.Requests, r.IdleRuns,
				seen.events, seen.requests, seen.eventless)
		}
		if r.IdleRuns == 0 || r.IdleRuns == r.Runs || r.Requests == 0 {
			t.Errorf("the sample shows nothing: %d without events of %d, %d requests", r.IdleRuns, r.Runs, r.Requests)
		}
		if !reflect.DeepEqual(plain.Events, r.Events) || plain.IdleRuns != r.IdleRuns {
			t.Errorf("an observer changes the counts: %v, %v", plain.Events, r.Events)
		}
	}
}
