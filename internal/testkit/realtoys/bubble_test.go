package realtoys_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// locker is a node of the goroutine system. It asks the others for the lock and treats no answer within the timeout as
// consent. It does not depend on Lockstep: it is a goroutine with a channel and a timer.
type locker struct {
	self  int
	nodes int
	inbox chan letter
	send  func(to int, text string)
	took  func()
}

type letter struct {
	from int
	text string
}

func (l *locker) run(ctx context.Context) {
	for to := 1; to <= l.nodes; to++ {
		if to != l.self {
			l.send(to, "may I?")
		}
	}
	timeout := time.NewTimer(100 * time.Millisecond)
	defer timeout.Stop()
	waiting := l.nodes - 1
	asked := false // another node asked, and got an answer
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-l.inbox:
			switch {
			case m.text == "may I?" && l.self > m.from:
				asked = true
				l.send(m.from, "yes")
			case m.text == "yes":
				waiting--
			}
			if waiting > 0 || asked {
				continue
			}
		case <-timeout.C: // no node refused
		}
		l.took()
		return
	}
}

// bubble is the goroutine system under the engine. Time passes in Wait steps.
type bubble struct{ nodes int }

func (b bubble) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "bubble-lock", Nodes: b.nodes, Pace: trace.Time(10 * time.Millisecond),
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Wait)}, nil
}

func (b bubble) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &bubbled{nodes: b.nodes}, nil
}

type bubbled struct {
	nodes   int
	lockers []*locker
	start   time.Time
	stop    context.CancelFunc

	mutex  sync.Mutex
	sent   []sending // since the last step
	bodies []letter  // by number of the body - 1
	events []lockstep.Event
}

type sending struct {
	from, to, nth int
	text          string
}

// Enclose makes the bubble of a run: all its goroutines run and end in it.
func (d *bubbled) Capabilities() lockstep.Capabilities {
	return lockstep.Capabilities{Enclose: func(run func()) (*lockstep.Finding, error) {
		synctest.Test(&testing.T{}, func(*testing.T) {
			run()
			if d.stop != nil {
				d.stop()
			}
			synctest.Wait()
		})
		return nil, nil
	}}
}

func (d *bubbled) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	ctx, stop := context.WithCancel(context.Background())
	d.stop, d.start, d.lockers, d.bodies = stop, time.Now(), nil, nil
	d.sent, d.events = nil, nil
	for n := 1; n <= d.nodes; n++ {
		l := &locker{self: n, nodes: d.nodes, inbox: make(chan letter, 100), took: func() { d.note(n) }}
		l.send = func(to int, text string) {
			d.mutex.Lock()
			defer d.mutex.Unlock()
			d.sent = append(d.sent, sending{n, to, len(d.sent), text})
		}
		d.lockers = append(d.lockers, l)
		go l.run(ctx)
	}
	d.settle(out)
	return nil
}

func (d *bubbled) note(n int) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.events = append(d.events, lockstep.Event{Node: lockstep.Node(n), Type: "locked"})
}

// settle waits until the bubble is quiescent and reports the events, in an order that does not depend on the goroutine
// scheduler.
func (d *bubbled) settle(out *lockstep.Outbox) {
	synctest.Wait()
	slices.SortFunc(d.sent, func(a, b sending) int { return cmp.Or(a.from-b.from, a.nth-b.nth) })
	for _, s := range d.sent {
		body := out.Send(lockstep.Node(s.from), lockstep.Node(s.to), "Letter", trace.Tag{})
		out.Text(body, s.text)
		d.bodies = append(d.bodies, letter{s.from, s.text})
	}
	slices.SortFunc(d.events, func(a, b lockstep.Event) int { return int(a.Node) - int(b.Node) })
	for _, e := range d.events {
		out.Event(e)
	}
	d.sent, d.events = d.sent[:0], d.events[:0]
	out.Advance(trace.Time(time.Since(d.start)))
}

func (d *bubbled) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Deliver:
		m := out.Message(s.Msg)
		d.lockers[m.To-1].inbox <- d.bodies[m.Body-1]
	case trace.Wait:
		time.Sleep(time.Duration(s.For))
	}
	d.settle(out)
	return nil
}

func (d *bubbled) Close() error { return nil }

func TestBubble(t *testing.T) {
	plan := lockstep.Plan{System: bubble{3}, Spec: oneOwner, Workers: 2}
	wholeWay(t, plan, 10) // ten waits of 10 ms are the timeout of a node
	// The same plan and seed produce the same runs, whatever the number of workers.
	var digests []string
	for workers := 1; workers <= 2; workers++ {
		plan.Strategy, plan.Runs, plan.KeepGoing, plan.Workers = strategies()[0], 200, true, workers
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, fmt.Sprintf("%x %v", result.Digest, result.Verdicts))
	}
	if digests[0] != digests[1] {
		t.Errorf("one worker %s, two %s", digests[0], digests[1])
	}
}
