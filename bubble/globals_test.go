//go:build lockstep_overlay

package bubble_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// talkers are nodes with an HTTP server each. They send requests to one another by http.DefaultTransport, whose idle
// connections are in a package-level variable.
func talkers(get func(url string) (*http.Response, error)) bubble.Cluster {
	return bubble.Cluster{
		Name:    "talkers",
		Nodes:   3,
		Network: bubble.Sockets{},
		Freeze:  &bubble.Freeze{},
		Start: func(n *bubble.Node) error {
			l, err := net.Listen("tcp", ":80")
			if err != nil {
				return err
			}
			n.Go(func() {
				_ = http.Serve(l,
					http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "me") }))
			})
			for n.Alive() {
				time.Sleep(50 * time.Millisecond)
				r, err := get(fmt.Sprintf("http://node%d/", n.Self()%3+1))
				if err != nil {
					continue
				}
				if b, err := io.ReadAll(r.Body); err == nil && string(b) == "me" {
					n.Emit("answered", nil)
				}
				_ = r.Body.Close()
			}
			return nil
		},
	}
}

// answers counts the answers in a run.
func answers(t *trace.Trace) (n int) {
	for _, r := range t.Records {
		n += len(r.Events)
	}
	return n
}

// The state of http.DefaultTransport, and of any other Transport in a variable, leaks neither from run to run nor from
// node to node. A run is the same after any other runs, and nothing is reported.
func TestTransports(t *testing.T) {
	ofPackage := &http.Client{Transport: &http.Transport{}}
	for name, get := range map[string]func(string) (*http.Response, error){
		"DefaultTransport": http.Get,
		"of a package":     ofPackage.Get,
	} {
		t.Run(name, func(t *testing.T) {
			plan := lockstep.Plan{System: talkers(get),
				Strategy: strategy.Walk{Deliver: 40, Wait: 10, Crash: 1, Restart: 1, Steps: 300}, Seed: 3}
			bench, err := lockstep.NewRunner(plan)
			if err != nil {
				t.Fatal(err)
			}
			defer bench.Close()
			var first *trace.Trace
			for i, run := range []int{1, 0, 2, 1} {
				tr, err := bench.Record(t.Context(), run, nil)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					first = tr
				} else if d := trace.Difference(first, tr); run == 1 && d != "" {
					t.Errorf("after other runs the run is different: %s", d)
				}
			}
			if n := answers(first); n < 50 {
				t.Errorf("%d requests were answered", n)
			}
			plan.Runs = 60
			result := campaign(t, plan)
			if f := result.First(); f != nil || len(result.Divergences) > 0 || len(result.Nondeterminism) > 0 {
				t.Errorf("%+v, %v, %q", f, result.Divergences, result.Nondeterminism)
			}
		})
	}
}

// Locks of the process: a variable of a package, and locks on the heap to which one leads.
var (
	ofProcess  sync.Mutex
	onHeap     = &struct{ lock sync.Mutex }{}
	forReaders = &struct{ lock sync.RWMutex }{}
)

// poisoning makes a campaign of nodes that hold a lock most of the time and crash. It is reset in each run, if
// the cluster says so.
func poisoning(t *testing.T, begin func(*bubble.World), lock, unlock func(*bubble.Node)) *lockstep.Result {
	start := func(n *bubble.Node) error {
		for n.Alive() {
			lock(n)
			time.Sleep(20 * time.Millisecond)
			unlock(n)
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	system := bubble.Cluster{Name: "locking", Nodes: 3, Begin: begin, Start: start, Freeze: &bubble.Freeze{}}
	return campaign(t,
		lockstep.Plan{System: system, Strategy: strategy.Walk{Wait: 20, Crash: 2, Steps: 8}, Runs: 40, KeepGoing: true})
}

// The two reports of a lock whose holder is gone: in the run in which it went, and in later ones.
const (
	leftWaiting = "a goroutine is left that waits for a lock which another incarnation, or an earlier run, holds"
	waitsForRun = "a goroutine waits for a lock that a node of an earlier run holds"
)

// A lock that a frozen node holds is still locked in later runs, whose nodes then hang. The report names the place,
// wherever the lock is and whichever goroutine waits for it.
func TestFrozenLock(t *testing.T) {
	for name, c := range map[string]struct{ lock, unlock func(*bubble.Node) }{
		"package": {
			func(*bubble.Node) { ofProcess.Lock() },
			func(*bubble.Node) { ofProcess.Unlock() },
		},
		"heap": {
			func(*bubble.Node) { onHeap.lock.Lock() },
			func(*bubble.Node) { onHeap.lock.Unlock() },
		},
		"read by one, written by others": {
			func(n *bubble.Node) {
				if n.Self() == 1 {
					forReaders.lock.RLock()
				} else {
					forReaders.lock.Lock()
				}
			},
			func(n *bubble.Node) {
				if n.Self() == 1 {
					forReaders.lock.RUnlock()
				} else {
					forReaders.lock.Unlock()
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := poisoning(t, nil, c.lock, c.unlock)
			f := result.First()
			if f == nil || f.Finding.Property != "left-behind" {
				t.Fatalf("found %+v", f)
			}
			for _, want := range []string{leftWaiting, waitsForRun} {
				if !slices.ContainsFunc(result.Nondeterminism, func(s string) bool {
					return strings.HasPrefix(s, want) && strings.Contains(s, "TestFrozenLock")
				}) {
					t.Errorf("%q is not among the sources of nondeterminism %q", want, result.Nondeterminism)
				}
			}
		})
	}
}

// Nothing is reported where a frozen node holds a lock of its own, nor where the program resets a shared lock for
// each run and no node is left waiting for it.
func TestFrozenLockOfRun(t *testing.T) {
	var own [4]*sync.Mutex
	ofNode := poisoning(t, nil,
		func(n *bubble.Node) {
			own[n.Self()] = &sync.Mutex{}
			own[n.Self()].Lock()
		},
		func(n *bubble.Node) { own[n.Self()].Unlock() })
	reset := poisoning(t, func(*bubble.World) { ofProcess = sync.Mutex{} },
		func(*bubble.Node) {
			for !ofProcess.TryLock() {
				time.Sleep(time.Millisecond)
			}
		},
		func(*bubble.Node) { ofProcess.Unlock() })
	for name, result := range map[string]*lockstep.Result{"of the node": ofNode, "reset": reset} {
		if f := result.First(); f != nil || len(result.Nondeterminism) > 0 {
			t.Errorf("%s: found %+v, sources of nondeterminism %q", name, f, result.Nondeterminism)
		}
	}
	// Nodes that wait for a lock that was reset do not wait for an earlier run.
	waiting := poisoning(t, func(*bubble.World) { ofProcess = sync.Mutex{} },
		func(*bubble.Node) { ofProcess.Lock() }, func(*bubble.Node) { ofProcess.Unlock() })
	if slices.ContainsFunc(waiting.Nondeterminism,
		func(s string) bool { return strings.HasPrefix(s, waitsForRun) }) {
		t.Errorf("sources of nondeterminism %q", waiting.Nondeterminism)
	}
}

// leftMap is a map of the process, which persists from run to run.
var leftMap = map[int]int{}

// A map that an earlier run left is reported if another node writes to it than in that run. It is not reported if the
// same node does: as docs/reference/process-calls.md says.
func TestLeftMap(t *testing.T) {
	for _, several := range []bool{false, true} {
		start := func(n *bubble.Node) error {
			writer := lockstep.Node(1)
			if several {
				writer += lockstep.Node(n.World().Seed() % 2) // one node in each run
			}
			if n.Self() == writer {
				leftMap[len(leftMap)%5]++
			}
			return nil
		}
		result := campaign(
			t,
			lockstep.Plan{
				System:   bubble.Cluster{Name: "left", Nodes: 2, Start: start},
				Strategy: strategy.Walk{Wait: 1, Steps: 3},
				Runs:     20,
			},
		)
		named := slices.ContainsFunc(result.Nondeterminism,
			func(s string) bool { return strings.HasPrefix(s, "nodes write to the same map") })
		if named != several {
			t.Errorf("several nodes %t: sources of nondeterminism %q", several, result.Nondeterminism)
		}
	}
}
