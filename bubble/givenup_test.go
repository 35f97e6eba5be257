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

// No goroutine of a run continues after the run is given up. The run hangs in the grace time of a crashed node, or
// while nodes stop at its end. The run that warms the process up hangs at its end.
func TestNothingContinues(t *testing.T) {
	var turns atomic.Int64
	cluster := bubble.Cluster{
		Name:    "restless",
		Nodes:   1,
		Freeze:  &bubble.Freeze{Grace: time.Second},
		Timeout: 200 * time.Millisecond,
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
	const enough = 1 << 18 // turns of this goroutine, during which the others end, or take further turns
	for range enough {
		runtime.Gosched()
	}
	before := turns.Load()
	for range enough {
		runtime.Gosched()
	}
	if after := turns.Load(); after != before {
		t.Errorf("it continues: %d turns, and then %d", before, after)
	}
}

// hung is the number of the run that hangs. Run 1 warms the process up, and run 3 warms it up again.
const hung = 2

// hanging is a cluster in one of whose runs a goroutine of node 1 blocks in a system call indefinitely. A node of a
// later run may call release to end the system call. In all other runs nodes begin with start, which gets the number of
// the run.
func hanging(t *testing.T, c bubble.Cluster, back func(),
	start func(n *bubble.Node, run int, release func()) error) bubble.Cluster {
	t.Helper()
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Close(pipe[0]), syscall.Close(pipe[1]) })
	release := func() {
		_, _ = syscall.Write(pipe[1], []byte{0})
		for range 1 << 16 { // turns, during which others take theirs
			runtime.Gosched()
		}
	}
	run := 0
	c.Name, c.Freeze, c.Timeout = "hanging", &bubble.Freeze{}, 200*time.Millisecond
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

// made performs three runs of a cluster, the first of which is given up.
func made(t *testing.T, c bubble.Cluster) {
	t.Helper()
	r := explore(t, lockstep.Plan{System: c, Strategy: strategy.Walk{Wait: 1, Steps: 40}, Runs: 3, Seed: 1, Workers: 1})
	if r.Inconclusive != 1 || r.Runs != 3 || r.First() != nil {
		t.Fatalf("%v %v %+v", r.Verdicts, r.Reasons, r.First())
	}
}

// A goroutine that was in a system call when its run was given up does not continue when the call returns during the
// next run. There it would reach the nodes of that run. It leaves nothing behind.
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
		t.Error("a goroutine of an abandoned run continued")
	}
	// The abandoned bubble ends on a thread of its own, soon after the call returns.
	left, all := "", make([]byte, 1<<20)
	for range 1000 {
		if left = string(all[:runtime.Stack(all, true)]); !strings.Contains(left, "synctest bubble") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(left)
}

// If a run that was given up ends, paused nodes of the current run continue nevertheless when their pause ends.
func TestPausedNodesContinue(t *testing.T) {
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
