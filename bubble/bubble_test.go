package bubble_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/locksteptest"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// locker asks all others whether it may have the lock, and counts a missing answer as a yes. Nodes do so one after the
// other: without the overlay, the events of two nodes that act at the same instant come in any order.
func locker(n *bubble.Node) error {
	inbox := make(chan string, 10)
	n.Receive(func(from lockstep.Node, body any) {
		switch {
		case body == "may I?" && n.Self() > from:
			n.Send(from, "Answer", trace.Tag{}, "yes")
		case body == "yes":
			inbox <- "yes"
		}
	})
	for _, to := range n.Others() {
		n.Send(to, "Ask", trace.Tag{}, "may I?")
	}
	timeout := time.NewTimer(100*time.Millisecond + time.Duration(n.Self())*time.Millisecond)
	defer timeout.Stop()
	for yes := 0; yes < n.Nodes()-1; {
		select {
		case <-inbox:
			yes++
		case <-timeout.C: // no node refused
			yes = n.Nodes()
		case <-n.Context().Done():
			return nil
		}
	}
	n.Emit("locked", n.Self())
	return nil
}

var lockers = bubble.Cluster{Name: "lockers", Nodes: 3, Start: locker}

// oneOwner is violated if two nodes take the lock.
var oneOwner = spec.OnEvent(
	"one-owner",
	"locked",
	func(owner *lockstep.Node, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if *owner != 0 && *owner != e.Node {
			return &lockstep.Finding{
				Nodes: trace.NodesOf(*owner, e.Node),
				Text:  fmt.Sprintf("nodes %d and %d have the lock", *owner, e.Node),
			}
		}
		*owner = e.Node
		return nil
	},
)

func explore(t *testing.T, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	before := goleak.IgnoreCurrent()
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict() == trace.Pass { // a run that was given up leaves goroutines behind
		goleak.VerifyNone(t, before)
	}
	return result
}

// Every strategy finds that two nodes take the lock.
func TestFinds(t *testing.T) {
	for _, s := range []lockstep.Strategy{
		strategy.DefaultWalk, strategy.DefaultUniform, strategy.DefaultPartition, strategy.DefaultDelay,
		strategy.DefaultPOS,
	} {
		t.Run(s.String(), func(t *testing.T) {
			result := explore(t, lockstep.Plan{System: lockers, Strategy: s, Spec: oneOwner, Runs: 200, Workers: 2})
			f := result.First()
			if f == nil || f.Failed == 0 || f.Finding.Property != "one-owner" {
				t.Fatalf("%v %v, found %+v", result.Verdicts, result.Reasons, f)
			}
		})
	}
}

func TestRepetition(t *testing.T) {
	r, err := bubble.Repetition(t.Context(),
		lockstep.Plan{System: lockers, Strategy: strategy.DefaultWalk, Spec: oneOwner}, 50)
	if err != nil {
		t.Fatal(err)
	}
	// The Go runtime decides the order of goroutines, which has no effect here.
	if r.Of != 50 || r.Same < 45 || bubble.Overlay && r.Same < 50 {
		t.Errorf("%d of %d runs repeated, the first that did not is %d", r.Same, r.Of, r.First)
	}
	die := 0
	dice := lockers
	dice.Begin = func(w *bubble.World) { die++; w.Event(lockstep.Event{Node: 1, Type: "die", Value: die}) }
	if r, err = bubble.Repetition(t.Context(), lockstep.Plan{System: dice, Strategy: strategy.DefaultWalk},
		3); err != nil || r.Same != 0 || r.First != 0 {
		t.Errorf("dice: %+v, %v", r, err)
	}
}

// A minute with idle nodes is one wait that ends after the minute.
func TestWaitJumps(t *testing.T) {
	var times []trace.Time
	sleeper := bubble.Cluster{Name: "sleeper", Nodes: 1, Pace: time.Hour, Start: func(n *bubble.Node) error {
		for range 3 {
			time.Sleep(time.Minute)
			n.Emit("awake", nil)
		}
		return nil
	}}
	watch := spec.OnEvent("awake", "awake", func(_ *struct{}, run *lockstep.Run, _ *lockstep.Event) *lockstep.Finding {
		times = append(times, run.Now())
		return nil
	})
	result := explore(t,
		lockstep.Plan{System: sleeper, Strategy: strategy.Walk{Wait: 1, Steps: 4}, Spec: watch, Runs: 1})
	minute := trace.Time(time.Minute)
	if want := []trace.Time{minute, 2 * minute, 3 * minute}; fmt.Sprint(times) != fmt.Sprint(want) ||
		result.Steps != 4 {
		t.Errorf("awake at %v after %d steps, want %v", times, result.Steps, want)
	}
	if want := 63 * minute; result.Virtual != want { // the last wait is an hour in which nothing happens
		t.Errorf("%v of virtual time, want %v", time.Duration(result.Virtual), time.Duration(want))
	}
}

// A panic of a node, in Start, in a handler or in a goroutine of Node.Go, is a finding with its stack.
func TestPanic(t *testing.T) {
	for name, start := range map[string]func(*bubble.Node) error{
		"start":     func(*bubble.Node) error { panic("too bad") },
		"goroutine": func(n *bubble.Node) error { n.Go(tooBad); return nil },
		"handler": func(n *bubble.Node) error {
			n.Receive(func(lockstep.Node, any) { tooBad() })
			n.Send(n.Self(), "Self", trace.Tag{}, nil)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := lockstep.Plan{
				System:   bubble.Cluster{Name: name, Nodes: 1, Start: start},
				Strategy: strategy.DefaultWalk,
				Runs:     1,
			}
			f := explore(t, plan).First()
			if f == nil || f.Finding.Property != "panic" || !strings.Contains(f.Finding.Text, "too bad") ||
				f.Finding.Stack == "" {
				t.Fatalf("found %+v", f)
			}
			if name == "handler" && !strings.Contains(f.Finding.Stack, "bubble_test.tooBad") {
				t.Errorf("stack %s", f.Finding.Stack)
			}
		})
	}
}

func tooBad() { panic("too bad") }

// An error from Start is a finding "start", and no panic.
func TestStartFails(t *testing.T) {
	start := func(n *bubble.Node) error {
		if n.Self() == 2 {
			return errors.New("no disk")
		}
		return nil
	}
	f := explore(
		t,
		lockstep.Plan{
			System:   bubble.Cluster{Name: "broken", Nodes: 3, Start: start},
			Strategy: strategy.DefaultWalk,
			Runs:     1,
		},
	).First()
	if f == nil || f.Finding.Property != "start" || f.Finding.Text != "node 2 could not start: no disk" ||
		f.Finding.Stack != "" {
		t.Errorf("found %+v", f)
	}
}

// forGood waits indefinitely.
func forGood(never <-chan struct{}) { <-never }

// Goroutines that outlive their nodes are a finding that names them.
func TestLeftBehind(t *testing.T) {
	leaky := bubble.Cluster{Name: "leaky", Nodes: 2, Start: func(n *bubble.Node) error {
		if n.Self() == 2 {
			go forGood(make(chan struct{}))
		}
		go time.Sleep(30 * time.Second) // it ends in time
		return nil
	}}
	f := explore(t, lockstep.Plan{System: leaky, Strategy: strategy.Walk{Wait: 1, Steps: 2}, Runs: 1}).First()
	if f == nil || f.Finding.Property != "left-behind" || f.Failed == 0 ||
		!strings.Contains(f.Finding.Text,
			"1 goroutines were left: chan receive in bubble_test.forGood (bubble_test.go:") {
		t.Fatalf("found %+v", f)
	}
}

// Goroutines that the cluster allows to be left are no finding, and hide no other finding. Other left goroutines still
// are one.
func TestAllowLeft(t *testing.T) {
	leaky := bubble.Cluster{Name: "leaky", Nodes: 2, Start: func(n *bubble.Node) error {
		go forGood(make(chan struct{}))
		if n.Self() == 2 {
			go indefinitely(make(chan struct{}))
		}
		return nil
	}}
	walk := strategy.Walk{Wait: 1, Steps: 2}
	for _, c := range []struct {
		name    string
		allowed []string
		spec    lockstep.Spec
		want    string
	}{
		{"none", nil, nil, "left-behind"},
		{"one of two", []string{"forGood"}, nil, "1 goroutines were left: chan receive in bubble_test.indefinitely"},
		{"both", []string{"forGood", "indefinitely"}, nil, ""},
		{"both, with another finding", []string{"forGood", "indefinitely"}, toy.AtEnd, "as asked"},
	} {
		leaky.AllowLeft = func(stack string) bool {
			return slices.ContainsFunc(c.allowed,
				func(name string) bool { return strings.Contains(stack, "bubble_test."+name) })
		}
		got := ""
		result, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: leaky, Strategy: walk, Spec: c.spec, Runs: 1})
		if err != nil {
			t.Fatal(err)
		}
		if f := result.First(); f != nil {
			got = f.Finding.String()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}

func indefinitely(never <-chan struct{}) { <-never }

// A function that OnStop adds while the incarnation ends is called, too.
func TestStopLate(t *testing.T) {
	late := bubble.Cluster{Name: "late", Nodes: 3, Start: func(n *bubble.Node) error {
		time.Sleep(time.Second) // the node may crash meanwhile
		stop := make(chan struct{})
		go forGood(stop)
		n.OnStop(func() { close(stop) })
		return nil
	}}
	walk := strategy.Walk{Wait: 2, Crash: 1, Restart: 1, Steps: 20}
	if f := explore(t, lockstep.Plan{System: late, Strategy: walk, Runs: 50}).First(); f != nil {
		t.Error(f.Finding)
	}
}

// A node that cannot be stopped does not end the campaign.
func TestStopBlocks(t *testing.T) {
	stubborn := bubble.Cluster{Name: "stubborn", Nodes: 1, Start: func(n *bubble.Node) error {
		n.OnStop(func() { forGood(make(chan struct{})) })
		return nil
	}}
	result := explore(
		t,
		lockstep.Plan{
			System:      stubborn,
			Strategy:    strategy.Walk{Wait: 1, Steps: 2},
			Runs:        3,
			KeepGoing:   true,
			Repetitions: 1,
		},
	)
	if result.Runs != 3 || len(result.Failures) != 3 || result.Failures[0].Finding.Property != "left-behind" {
		t.Errorf("%v %v", result.Verdicts, result.Reasons)
	}
}

// The watchdog notices in real time a node that spins, or waits for a lock whose holder sleeps. The run is
// inconclusive, its reason names the place, and the campaign continues.
func TestHung(t *testing.T) {
	tier.NotShort(t)
	for name, test := range map[string]struct {
		hang func(stop context.Context)
		want []string
	}{
		"spins": {func(stop context.Context) {
			for stop.Err() == nil {
			}
		}, []string{"TestHung", "without waiting", "must sleep"}},
		"lock": {func(context.Context) {
			var lock sync.Mutex
			lock.Lock()
			go func() {
				time.Sleep(time.Second)
				lock.Unlock()
			}()
			lock.Lock()
		}, []string{"sync.Mutex.Lock in bubble_test.TestHung", "lockstep go"}},
	} {
		t.Run(name, func(t *testing.T) {
			stop, end := context.WithCancel(context.Background())
			defer end()
			cluster := bubble.Cluster{
				Name:    name,
				Nodes:   1,
				Timeout: 200 * time.Millisecond,
				Start: func(n *bubble.Node) error {
					if n.World().Seed()%2 == 0 {
						test.hang(stop)
					}
					return nil
				},
			}
			result := explore(
				t,
				lockstep.Plan{
					System:    cluster,
					Strategy:  strategy.Walk{Wait: 1, Steps: 2},
					Runs:      4,
					Seed:      3,
					KeepGoing: true,
					Workers:   1,
				},
			)
			if bubble.Overlay && name == "lock" { // with the overlay a goroutine may hold a lock while time passes
				if result.Verdict() != trace.Pass {
					t.Errorf("%v %v", result.Verdicts, result.Reasons)
				}
				return
			}
			if result.Inconclusive == 0 || result.Runs != 4 || result.Verdicts[trace.Pass] == 0 {
				t.Fatalf("%d runs, %v", result.Runs, result.Verdicts)
			}
			for reason := range maps.Keys(result.Reasons) {
				for _, want := range test.want {
					if !strings.Contains(reason, want) {
						t.Errorf("reason %q lacks %q", reason, want)
					}
				}
			}
		})
	}
}

// counter keeps a number on a disk: every request adds one, in two writes.
type counter struct{ first, second int }

func counting(n *bubble.Node) error {
	disk := bubble.DiskOf(n, "counter", func() *counter { return &counter{} },
		func(c *counter) *counter { d := *c; return &d })
	var found counter
	disk.Read(func(c *counter) { found = *c })
	n.Emit("found", found)
	n.SetState(func() string {
		var is counter
		disk.Read(func(c *counter) { is = *c })
		return fmt.Sprint(is)
	})
	n.OnRequest(func(int32, string) {
		disk.Write(func(c *counter) { c.first++ })
		disk.Write(func(c *counter) { c.second++ })
		n.Emit("counted", nil)
	})
	return nil
}

// A crash may come between any two writes, durable writes survive it, and writes of the dead incarnation do not count.
func TestDisk(t *testing.T) {
	cluster := bubble.Cluster{Name: "counter", Nodes: 3, Start: counting, Requests: []string{"1", "2", "3", "4", "5"},
		Disk: bubble.DiskModel{Slow: 0.5, Longest: time.Second}}
	torn := map[int]int{}
	checker := spec.New("durable", func(lockstep.Info) *durable { return &durable{torn: torn} })
	walk := strategy.Walk{Wait: 2, Request: 3, Crash: 1, Restart: 3, Steps: 40}
	result := explore(t, lockstep.Plan{System: cluster, Strategy: walk, Spec: checker, Runs: 300, Workers: 1, Settle: 50})
	if f := result.First(); f != nil {
		t.Fatal(f.Finding)
	}
	if torn[0] == 0 || torn[1] == 0 {
		t.Errorf("found after crashes, by difference of the two numbers: %v", torn)
	}
}

type durable struct {
	torn    map[int]int
	counted [4]int // by node
}

// End returns nil: only events are checked.
func (*durable) End(*lockstep.Run) *lockstep.Finding { return nil }

func (d *durable) Reset()       { d.counted = [4]int{} }
func (d *durable) Checked() int { return 1 }
func (d *durable) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case "found":
		c := e.Value.(counter)
		d.torn[c.first-c.second]++
		if c.second < d.counted[e.Node] {
			return &lockstep.Finding{Text: fmt.Sprintf("%d counted, found %+v", d.counted[e.Node], c)}
		}
	case "counted":
		d.counted[e.Node]++
	}
	return nil
}

// The directory of a node survives crashes and is empty in the next run.
func TestDir(t *testing.T) {
	cluster := bubble.Cluster{Name: "files", Nodes: 2, Start: func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		name := filepath.Join(dir, "incarnations")
		before, _ := os.ReadFile(name)
		if len(before) != n.Incarnation()-1 {
			return fmt.Errorf("incarnation %d finds %q", n.Incarnation(), before)
		}
		return os.WriteFile(name, append(before, '.'), 0o600)
	}}
	walk := strategy.Walk{Wait: 1, Crash: 1, Restart: 1, Steps: 10}
	if f := explore(t,
		lockstep.Plan{System: cluster, Strategy: walk, Runs: 20, Scratch: t.TempDir()}).First(); f != nil {
		t.Error(f.Finding)
	}
}

// A crashed node sends no messages: its present incarnation sends all that the spec sees.
func TestCrash(t *testing.T) {
	cluster := bubble.Cluster{Name: "chatty", Nodes: 2, Start: func(n *bubble.Node) error {
		for range 100 { // the loop ignores the node's context
			n.Send(3-n.Self(), "Incarnation", trace.Tag{}, n.Incarnation())
			time.Sleep(50 * time.Millisecond)
		}
		return nil
	}}
	incarnations := [3]int{0, 1, 1}
	checker := spec.All(ofLastIncarnation{&incarnations})
	result := explore(
		t,
		lockstep.Plan{
			System:   cluster,
			Strategy: strategy.Walk{Wait: 5, Deliver: 5, Crash: 1, Restart: 2, Steps: 60},
			Spec:     checker,
			Runs:     50,
			Workers:  1,
		},
	)
	if f := result.First(); f != nil {
		t.Error(f.Finding)
	}
}

// ofLastIncarnation requires that the present incarnation of a node sends its messages.
type ofLastIncarnation struct{ incarnations *[3]int }

func (ofLastIncarnation) Properties() []string                 { return []string{"of-last-incarnation"} }
func (o ofLastIncarnation) New(lockstep.Info) lockstep.Monitor { return o }
func (o ofLastIncarnation) Reset()                             { *o.incarnations = [3]int{0, 1, 1} }
func (ofLastIncarnation) End(*lockstep.Run) *lockstep.Finding  { return nil }
func (ofLastIncarnation) EventsOnly() bool                     { return false }
func (ofLastIncarnation) Conclude(bool) lockstep.Conclusion    { return lockstep.Conclusion{} }
func (o ofLastIncarnation) Step(r *lockstep.Run) *lockstep.Finding {
	if last := r.Last(); last != nil && last.Kind == trace.Restart {
		o.incarnations[last.Node]++
	}
	for _, m := range r.Sent() {
		if incarnation := r.Body(m.ID).(int); incarnation != o.incarnations[m.From] || !r.Up().Has(m.From) {
			return &lockstep.Finding{
				Text: fmt.Sprintf("node %d sent in incarnation %d, it is in incarnation %d",
					m.From, incarnation, o.incarnations[m.From]),
			}
		}
	}
	return nil
}

func TestDescribe(t *testing.T) {
	for want, c := range map[string]bubble.Cluster{
		"no Start":             {Name: "x", Nodes: 1},
		"allowed are 0..1":     {Name: "x", Nodes: 1, Start: locker, Disk: bubble.DiskModel{Slow: 2}},
		"must not be negative": {Name: "x", Nodes: 1, Start: locker, Pace: -1},
	} {
		if _, err := c.Describe(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestInGoTest(t *testing.T) {
	locksteptest.Run(t,
		lockstep.Plan{System: lockers, Strategy: strategy.Walk{Deliver: 1, Steps: 50}, Spec: oneOwner, Runs: 100})
}
