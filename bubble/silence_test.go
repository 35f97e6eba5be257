//go:build lockstep_overlay && linux && amd64

package bubble_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// outage delivers messages if possible, and lets time pass otherwise. Node 1 crashes at the event "talks" of node 2,
// and restarts at its event "restart".
type outage struct{}

func (outage) String() string                                  { return "outage" }
func (outage) Fit(lockstep.Info) (t lockstep.Terms, err error) { return t, nil }
func (outage) New(lockstep.Info) lockstep.Scheduler            { return outage{} }
func (outage) Reset(*lockstep.Start)                           {}
func (outage) Report(bool) (a lockstep.SchedulerStats)         { return a }
func (outage) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	for _, e := range turn.Events() {
		switch e.Type {
		case "talks":
			*next = lockstep.Step{Kind: trace.Crash, Node: 1}
			return true
		case "restart":
			*next = lockstep.Step{Kind: trace.Restart, Node: 1}
			return true
		case "end":
			return false
		}
	}
	*next = turn.Wait()
	for _, id := range turn.FreeMessages() {
		if turn.Deliverable(id) {
			*next = lockstep.Step{Kind: trace.Deliver, Msg: id}
			break
		}
	}
	return turn.Steps() < 100
}

// talker opens a connection to node 1, checks it, and then performs the test.
func talker(then func(n *bubble.Node, c net.Conn) error) func(*bubble.Node) error {
	return func(n *bubble.Node) error {
		if n.Self() == 1 {
			return echo(n)
		}
		time.Sleep(time.Millisecond)
		c, err := net.Dial("tcp", "node1:7")
		if err != nil {
			return err
		}
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return err
		}
		n.Emit("talks", nil)
		if err := then(n, c); err != nil {
			return err
		}
		n.Emit("end", nil)
		return nil
	}
}

// fails requires that a read fails with an error after a time.
func fails(n *bubble.Node, c net.Conn, with error, after time.Duration) error {
	begin := n.World().Now()
	_, err := c.Read(make([]byte, 1))
	if took := n.World().Now() - begin; !errors.Is(err, with) || took < after || took > after+time.Second {
		return fmt.Errorf("reading fails after %v with %w, want %w after %v", took, err, with, after)
	}
	return nil
}

// The kernel closes the connections of a killed process. The peers of a machine without power receive nothing until
// their timeout. If the machine is up again, it answers what they sent.
func TestPowerIsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		power float64
		then  func(*bubble.Node, net.Conn) error
	}{
		"killed": {0, func(n *bubble.Node, c net.Conn) error { return fails(n, c, io.EOF, 0) }},
		"deadline": {1, func(n *bubble.Node, c net.Conn) error {
			if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
			return fails(n, c, os.ErrDeadlineExceeded, time.Minute)
		}},
		"keep-alive": {1, func(n *bubble.Node, c net.Conn) error {
			return fails(n, c, syscall.ETIMEDOUT, 150*time.Second)
		}},
		"retransmission": {1, func(n *bubble.Node, c net.Conn) error {
			if _, err := c.Write([]byte("y")); err != nil { // no node has noticed the crash yet
				return err
			}
			return fails(n, c, syscall.ETIMEDOUT, 924600*time.Millisecond)
		}},
		"restarted, a probe": {1, func(n *bubble.Node, c net.Conn) error {
			time.Sleep(10 * time.Second)
			n.Emit("restart", nil)
			return fails(n, c, syscall.ECONNRESET, 5*time.Second)
		}},
		"restarted, a write": {1, func(n *bubble.Node, c net.Conn) error {
			time.Sleep(5 * time.Second)
			n.Emit("restart", nil)
			time.Sleep(5 * time.Second)
			if _, err := c.Write([]byte("y")); err != nil {
				return err
			}
			return fails(n, c, syscall.ECONNRESET, 0)
		}},
		"sent while it was off": {1, func(n *bubble.Node, c net.Conn) error {
			if _, err := c.Write([]byte("y")); err != nil {
				return err
			}
			time.Sleep(10 * time.Second)
			n.Emit("restart", nil)
			return fails(n, c, syscall.ECONNRESET, 0)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := bubble.Cluster{Name: "silence", Nodes: 2, Network: bubble.Sockets{}, Pace: time.Hour,
				Freeze: &bubble.Freeze{Files: &bubble.Files{PowerFailures: c.power}}, Start: talker(c.then)}
			plan := lockstep.Plan{System: cluster, Strategy: outage{}, Scratch: memory(), Seed: 1}
			tr, err := lockstep.Record(t.Context(), plan, 0)
			if err != nil {
				t.Fatal(err)
			}
			if f := tr.Outcome.Finding; f != nil {
				t.Fatal(f)
			}
			ended := slices.ContainsFunc(tr.Records, func(r trace.Record) bool {
				return slices.ContainsFunc(r.Events, func(e trace.Event) bool { return e.Type == "end" })
			})
			if !ended {
				t.Errorf("the run has %d steps and no end", len(tr.Records))
			}
		})
	}
}

// The path of a unix socket is a file of its node. A crash leaves it behind, as a socket file without a listener.
func TestUnixPathLeftBehind(t *testing.T) {
	for _, files := range []*bubble.Files{nil, {}} {
		again := false
		cluster := bubble.Cluster{
			Name:    "paths",
			Nodes:   2,
			Network: bubble.Sockets{},
			Freeze:  &bubble.Freeze{Files: files},
			Pace:    time.Second,
		}
		cluster.Start = func(n *bubble.Node) error {
			if n.Self() == 2 {
				n.Emit("talks", nil) // node 1 crashes
				time.Sleep(time.Second)
				n.Emit("restart", nil)
				time.Sleep(time.Second)
				n.Emit("end", nil)
				return nil
			}
			dir, err := n.Dir()
			if err != nil {
				return err
			}
			path := filepath.Join(dir, "socket")
			_, err = net.Listen("unix", path)
			if n.Incarnation() == 1 {
				return err
			}
			if !errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("listened where a socket was left: %v", err)
			}
			if _, err := net.Dial("unix", path); !errors.Is(err, syscall.ECONNREFUSED) {
				return fmt.Errorf("dialed where no socket listens: %v", err)
			}
			if err := os.Remove(path); err != nil {
				return err
			}
			_, err = net.Listen("unix", path)
			again = true
			return err
		}
		tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: cluster, Strategy: outage{}, Seed: 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if f := tr.Outcome.Finding; f != nil {
			t.Fatal(f)
		}
		if !again {
			t.Error("node 1 did not start again")
		}
	}
}
