//go:build lockstep_overlay

package bubble_test

import (
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// Nothing goes on of a run that is given up because a node does not fall quiet that is being buried, or that was
// stopped at the end of the run, which the one that warms the process up comes to.
func TestNothingGoesOn(t *testing.T) {
	var turns atomic.Int64
	cluster := bubble.Cluster{
		Name:     "restless",
		Nodes:    1,
		Freeze:   &bubble.Freeze{Grace: time.Second},
		Patience: 200 * time.Millisecond,
		Start: func(n *bubble.Node) error {
			for n.Alive() {
				time.Sleep(time.Millisecond)
			}
			for {
				turns.Add(1)
				runtime.Gosched()
			}
		},
	}
	r := explore(
		t,
		lockstep.Plan{
			System:   cluster,
			Strategy: strategy.Walk{Wait: 1, Crash: 1, Steps: 20},
			Runs:     1,
			Seed:     1,
			Workers:  1,
		},
	)
	if r.Inconclusive != 1 || turns.Load() == 0 {
		t.Fatalf("%v %v, %d turns", r.Verdicts, r.Reasons, turns.Load())
	}
	const enough = 1 << 18 // turns of this goroutine, in which the others end theirs, or take more
	for range enough {
		runtime.Gosched()
	}
	before := turns.Load()
	for range enough {
		runtime.Gosched()
	}
	if after := turns.Load(); after != before {
		t.Errorf("it goes on: %d turns, and then %d", before, after)
	}
}

// hung is the number of the run that does not fall quiet, after the one that warms the process up; the next is one that
// does so again.
const hung = 2

// hanging is a cluster in one of whose runs a goroutine of node 1 is in a system call for ever, unless release, which a
// node of a later run calls, lets it come back. In all others nodes begin with start, which is told the number of the
// run.
func hanging(
	t *testing.T,
	c bubble.Cluster,
	back func(),
	start func(n *bubble.Node, run int, release func()) error,
) bubble.Cluster {
	t.Helper()
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Close(pipe[0]), syscall.Close(pipe[1]) })
	release := func() {
		_, _ = syscall.Write(pipe[1], []byte{0})
		for range 1 << 16 { // turns, in which others have theirs
			runtime.Gosched()
		}
	}
	run := 0
	c.Name, c.Freeze, c.Patience = "hanging", &bubble.Freeze{}, 200*time.Millisecond
	c.Begin = func(*bubble.World) { run++ }
	c.Start = func(n *bubble.Node) error {
		if run != hung {
			return start(n, run, release)
		}
		if n.Self() == 1 {
			_, _ = syscall.Read(pipe[0], make([]byte, 1))
			back()
		}
		return nil
	}
	return c
}

// made makes three runs of a cluster, the first of which is given up.
func made(t *testing.T, c bubble.Cluster) {
	t.Helper()
	r := explore(t, lockstep.Plan{System: c, Strategy: strategy.Walk{Wait: 1, Steps: 40}, Runs: 3, Seed: 1, Workers: 1})
	if r.Inconclusive != 1 || r.Runs != 3 || r.First() != nil {
		t.Fatalf("%v %v %+v", r.Verdicts, r.Reasons, r.First())
	}
}

// Nor does one go on that was in a system call when its run was given up, and comes back when the next run is under
// way: it would reach that run's nodes. Nothing is left of it.
func TestNothingComesBack(t *testing.T) {
	var back atomic.Bool
	made(t, hanging(t, bubble.Cluster{Nodes: 1, Network: bubble.Sockets{}}, func() {
		back.Store(true)
		_, _ = net.Dial("tcp", "10.0.0.1:7")
	}, func(n *bubble.Node, run int, release func()) error {
		l, err := listen(n, ":7")
		if err != nil {
			return err
		}
		go func() { _, _ = l.Accept() }()
		if time.Sleep(time.Second); run == hung+1 {
			release()
		}
		return nil
	}))
	if back.Load() {
		t.Error("a goroutine of a run that was given up went on")
	}
	all := make([]byte, 1<<20)
	if left := string(all[:runtime.Stack(all, true)]); strings.Contains(left, "synctest bubble") {
		t.Error(left)
	}
}

// When a run ends that was given up, those who stand still in the run under way go on nevertheless when they are to.
func TestThePausedGoOn(t *testing.T) {
	beats, looked := 0, false
	made(t, hanging(t, bubble.Cluster{Nodes: 2}, func() {}, func(n *bubble.Node, run int, release func()) error {
		switch {
		case run != hung+1:
		case n.Self() == 1:
			for ; n.Alive(); beats++ {
				time.Sleep(time.Second)
			}
		default:
			if err := n.World().Pause(1, 5*time.Second); err != nil {
				return err
			}
			time.Sleep(2 * time.Second) // now node 1 is about to run
			release()
			time.Sleep(10 * time.Second)
			if looked = n.Alive(); beats == 0 {
				t.Error("a node does not go on after a pause")
			}
		}
		return nil
	}))
	if !looked {
		t.Error("the run was too short")
	}
}
