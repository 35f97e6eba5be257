package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// EventLog is the type of the events that carry lines of the servers' logs.
const EventLog = "log"

// Kinds are the kinds of steps that a Cluster always performs: crashes, restarts and cuts.
var Kinds = trace.KindsOf(trace.Crash, trace.Restart, trace.Cut, trace.Heal)

// Cluster holds the servers and links of a deployment, one server for each node.
type Cluster struct {
	*Supervisor
	Network *Network
	// StartTimeout is the timeout for servers to start and to agree.
	StartTimeout time.Duration
	// Seed is the seed of the run.
	Seed uint64
	// Spent records where the time of the run goes.
	Spent Spent

	command func(lockstep.Node) (*exec.Cmd, error)
	log     func(line string) bool // selects lines for the trace; nil selects none
	line    func(n lockstep.Node, line string, out *lockstep.Outbox)
	servers []*Server
	hands   hands
	calls   calls
	reports reports
	marks   []int          // by node-1: the number of log lines already processed
	due     lockstep.Nodes // up for the engine, but not started yet
	did     trace.Kinds    // since servers were last steady

	begun    bool // the first run has begun
	settling bool // the settling stage has begun
	began    time.Time
}

// NewCluster creates servers for the given number of nodes in the directory of a deployment. None of them is started.
func NewCluster(env *lockstep.Env, nodes int, breakage Breakage) (*Cluster, error) {
	dir, err := env.Dir()
	if err != nil {
		return nil, err
	}
	keeper, err := NewSupervisor(dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Supervisor: keeper, calls: calls{}, marks: make([]int, nodes), began: time.Now()}
	for i := range nodes {
		v, err := keeper.Server(fmt.Sprintf("node%d", i+1))
		if err != nil {
			return nil, errors.Join(err, keeper.Close())
		}
		c.servers = append(c.servers, v)
	}
	c.Network = NewNetwork(nodes, breakage, c.nodeOf)
	c.hands.network = c.Network
	c.hands.begin()
	return c, nil
}

// nodeOf returns the node that a process belongs to, or 0. A server may consist of several processes, which are in the
// process group of the first.
func (c *Cluster) nodeOf(pid int) lockstep.Node {
	group := groupOf(pid)
	for i, v := range c.servers {
		if group != 0 && v.Pid() == group {
			return lockstep.Node(i + 1)
		}
	}
	return 0
}

// Server returns the server of a node.
func (c *Cluster) Server(n lockstep.Node) *Server { return c.servers[n-1] }

// Begin begins a run: it ends all servers, empties their directories and removes all cuts. All servers start when time
// first passes.
func (c *Cluster) Begin() error {
	c.endAll()
	for _, v := range c.servers {
		if err := empty(v.Dir); err != nil {
			return fmt.Errorf("process: the directory of %s: %w", v.Name, err)
		}
	}
	c.due, c.begun = trace.AllNodes(len(c.servers)), true
	c.fresh()
	return nil
}

// hold holds or releases the traffic that a node sends, including the end of its connections.
func (c *Cluster) hold(n lockstep.Node, held bool) {
	for m := range trace.AllNodes(len(c.servers)).Without(n).All() {
		c.Network.Hold(n, m, held)
	}
}

// fresh begins a run: it removes all cuts and holds, lets packets through, and ignores what servers printed before.
func (c *Cluster) fresh() {
	for i, v := range c.servers {
		c.hold(lockstep.Node(i+1), false)
		_, c.marks[i] = v.Log.Since(c.marks[i])
	}
	c.Network.Cut(NoCuts)
	c.hands.begin()
	c.did, c.settling = 0, false
	c.began, c.Spent = time.Now(), Spent{}
}

// Resume begins a run with the running servers and their data. It removes all cuts; servers that are down are due to
// start. It is for servers that can separate one run's data from another's, and saves their startup time. The first run
// begins as with Begin.
func (c *Cluster) Resume() error {
	if !c.begun {
		return c.Begin()
	}
	for i, v := range c.servers {
		if !v.Running() {
			c.due = c.due.With(lockstep.Node(i + 1))
		}
	}
	c.fresh()
	return nil
}

// empty removes the content of a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) endAll() {
	var all sync.WaitGroup
	for i := range c.servers {
		all.Go(func() { c.end(lockstep.Node(i + 1)) })
	}
	all.Wait()
}

// end ends the server of a node. The other nodes see that at once, even if its process stays.
func (c *Cluster) end(n lockstep.Node) {
	c.Network.Gone(n, true)
	c.Server(n).Kill()
}

// Do performs a step of one of the PacketKinds. A restarted node starts when time first passes. If it crashes before
// that, it does not start.
func (c *Cluster) Do(s *lockstep.Step, out *lockstep.Outbox) {
	c.did |= trace.KindsOf(s.Kind)
	switch s.Kind {
	case trace.Crash:
		c.due = c.due.Without(s.Node)
		c.end(s.Node)
	case trace.Restart:
		c.due = c.due.With(s.Node)
	case trace.Cut, trace.Heal:
		c.Network.Cut(out.Cut)
	case trace.Deliver, trace.Drop:
		c.hands.do(s, out)
	}
}

// Up returns the nodes that are up for the engine, started or not.
func (c *Cluster) Up() lockstep.Nodes {
	up := c.due
	for i, v := range c.servers {
		if v.Running() {
			up = up.With(lockstep.Node(i + 1))
		}
	}
	return up
}

// settle begins the settling stage: no more faults occur, and packets pass.
func (c *Cluster) settle() {
	c.Network.Control(false)
	c.Network.Unbound()
}

// Settling reports whether the settling stage has begun.
func (c *Cluster) Settling() bool { return c.settling }

// Agreeing returns the nodes that are expected to agree again. That is a Majority if servers started or links changed
// since servers were last steady, and otherwise none.
func (c *Cluster) Agreeing(out *lockstep.Outbox) lockstep.Nodes {
	if c.did&trace.KindsOf(trace.Restart, trace.Cut, trace.Heal) == 0 {
		return 0
	}
	return c.Majority(out)
}

// Majority returns the nodes that can agree: a majority whose members are up and hear only each other. It is empty if
// the network is not cleanly partitioned.
func (c *Cluster) Majority(out *lockstep.Outbox) lockstep.Nodes {
	return c.Group(out, func(nodes lockstep.Nodes) bool { return 2*nodes.Len() > len(c.servers) })
}

// Group returns nodes that are up, hear only each other, and satisfy enough. It is empty if there are no such nodes.
func (c *Cluster) Group(out *lockstep.Outbox, enough func(lockstep.Nodes) bool) lockstep.Nodes {
	up := c.Up()
	for n := range up.All() {
		group := trace.NodesOf(n)
		for m := range up.Without(n).All() {
			if !out.Cut(n).Has(m) && !out.Cut(m).Has(n) {
				group = group.With(m)
			}
		}
		if enough(group) && apart(group, up&^group, out.Cut) {
			return group
		}
	}
	return 0
}

// apart reports whether all nodes of a group hear each other and none of the others.
func apart(group, others lockstep.Nodes, cut func(lockstep.Node) lockstep.Nodes) bool {
	for n := range group.All() {
		if cut(n)&group != 0 || others&^cut(n) != 0 {
			return false
		}
	}
	return true
}

// Launch starts the nodes that are due, and does not wait for them.
func (c *Cluster) Launch() error {
	for n := range c.due.All() {
		cmd, err := c.command(n)
		if err != nil {
			return err
		}
		c.Network.Gone(n, false)
		if err := c.Server(n).Start(cmd); err != nil {
			return err
		}
	}
	c.due = 0
	return nil
}

// direct reports a server that bypasses its link to another server.
func (c *Cluster) direct() error {
	var pids []int
	for _, v := range c.servers {
		if v.Running() {
			pids = append(pids, v.Pid())
		}
	}
	return c.Network.Direct(pids)
}

// Inconclusive wraps an error that invalidates only the current run.
func Inconclusive(err error) error {
	if err == nil {
		return nil
	}
	return &lockstep.Inconclusive{Reason: err.Error()}
}

// finish ends a step. It records the time, waiting packets, client results and log lines in the trace, and reports a
// server that ended on its own.
func (c *Cluster) finish(out *lockstep.Outbox) error {
	out.Advance(trace.Time(time.Since(c.began)))
	err := c.hands.report(out)
	c.Collect(out)
	for i, v := range c.servers {
		lines, count := v.Log.Since(c.marks[i])
		c.marks[i] = count
		for _, line := range lines {
			if c.line != nil {
				c.line(lockstep.Node(i+1), line, out)
			}
			if c.log != nil && c.log(line) {
				// which differs from run to run
				text := strings.ReplaceAll(strings.TrimSpace(line), v.Dir+string(filepath.Separator), "")
				out.Event(lockstep.Event{Node: lockstep.Node(i + 1), Type: EventLog, Text: text})
			}
		}
	}
	if err != nil {
		return err
	}
	return Inconclusive(c.Check())
}

// Close ends the servers and the links.
func (c *Cluster) Close() error {
	return errors.Join(c.Supervisor.Close(), c.Network.Close())
}

// EventTime is the type of the event that reports where the time of a run went. Its value is the Spent.
const EventTime = "time"

// Event returns the event that reports the time spent, for the end of a run.
func (s Spent) Event() lockstep.Event {
	return lockstep.Event{Type: EventTime, Text: s.String(), Value: s}
}

// Spent is how long the phases of a run took: waiting for servers to start, letting time pass, and everything else that
// is measured.
type Spent struct{ Starting, Waiting, Working time.Duration }

// Timed adds the duration of a function to one part of a Spent.
func Timed(what *time.Duration, do func() error) error {
	begin := time.Now()
	err := do()
	*what += time.Since(begin)
	return err
}

// Add adds the time of another Spent.
func (s *Spent) Add(t Spent) {
	s.Starting, s.Waiting, s.Working = s.Starting+t.Starting, s.Waiting+t.Waiting, s.Working+t.Working
}

// String returns the three shares: "starting 61 %, waiting 20 %, working 19 %".
func (s Spent) String() string {
	sum := max(s.Starting+s.Waiting+s.Working, 1)
	share := func(d time.Duration) int64 { return int64((200*d + sum) / (2 * sum)) }
	return fmt.Sprintf("starting %d %%, waiting %d %%, working %d %%", share(s.Starting), share(s.Waiting),
		share(s.Working))
}

// Sleep lets time pass, unless the context ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
