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

// Kinds are the kinds of steps that a [Deployment] always performs: crashes, restarts, cuts and heals.
var Kinds = trace.KindsOf(trace.Crash, trace.Restart, trace.Cut, trace.Heal)

// Deployment holds the running servers of a [System], one for each node, with the links between them and the calls of
// their clients. The functions of a [Driver] use it. They need not call Begin, Resume, Do and Close: the System does.
//
// A node is due when the engine regards it as up and its server has not been started yet: at the beginning of a run,
// and after a Restart step. StartDue and StartAndAwait start the servers of due nodes. A System does that before
// Driver.Begin and at the beginning of each Wait step.
type Deployment struct {
	*Supervisor
	// Network has the links between the servers.
	Network *Network
	// StartTimeout is the timeout for servers to start and to become ready.
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
	did     trace.Kinds    // since servers were last ready

	begun    bool // the first run has begun
	settling bool // the settling stage has begun
	began    time.Time
}

// NewDeployment creates servers for the given number of nodes, in the directory of the environment. It starts none of
// them.
func NewDeployment(env *lockstep.Env, nodes int, breakage Breakage) (*Deployment, error) {
	dir, err := env.Dir()
	if err != nil {
		return nil, err
	}
	keeper, err := NewSupervisor(dir)
	if err != nil {
		return nil, err
	}
	c := &Deployment{Supervisor: keeper, calls: calls{}, marks: make([]int, nodes), began: time.Now()}
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
func (c *Deployment) nodeOf(pid int) lockstep.Node {
	group := groupOf(pid)
	for i, v := range c.servers {
		if group != 0 && v.Pid() == group {
			return lockstep.Node(i + 1)
		}
	}
	return 0
}

// Server returns the server of a node.
func (c *Deployment) Server(n lockstep.Node) *Server { return c.servers[n-1] }

// Begin begins a run with empty servers: it ends all servers, empties their directories and removes all cuts. It starts
// no server. All nodes are due.
func (c *Deployment) Begin() error {
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
func (c *Deployment) hold(n lockstep.Node, held bool) {
	for m := range trace.AllNodes(len(c.servers)).Without(n).All() {
		c.Network.Hold(n, m, held)
	}
}

// fresh begins a run: it removes all cuts and holds, lets packets through, and ignores what servers printed before.
func (c *Deployment) fresh() {
	for i, v := range c.servers {
		c.hold(lockstep.Node(i+1), false)
		_, c.marks[i] = v.Log.Since(c.marks[i])
	}
	c.Network.Cut(NoCuts)
	c.hands.begin()
	c.did, c.settling = 0, false
	c.began, c.Spent = time.Now(), Spent{}
}

// Resume begins a run with the servers of the run before, their processes and their data. It removes all cuts. It
// starts no server. Nodes whose servers do not run are due. Resume is for servers that can separate one run's data from
// another's, and saves their startup time. In the first run it does what Begin does.
func (c *Deployment) Resume() error {
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

func (c *Deployment) endAll() {
	var all sync.WaitGroup
	for i := range c.servers {
		all.Go(func() { c.end(lockstep.Node(i + 1)) })
	}
	all.Wait()
}

// end ends the server of a node. The other nodes see that at once, even if its process stays.
func (c *Deployment) end(n lockstep.Node) {
	c.Network.SetOffline(n, true)
	c.Server(n).Kill()
}

// Do performs a step whose kind is one of the [PacketKinds]. A Restart step only makes its node due, and a Crash step
// ends that again. So the server of a node that restarts and crashes between two Wait steps never starts.
func (c *Deployment) Do(s *lockstep.Step, out *lockstep.Outbox) {
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
func (c *Deployment) Up() lockstep.Nodes {
	up := c.due
	for i, v := range c.servers {
		if v.Running() {
			up = up.With(lockstep.Node(i + 1))
		}
	}
	return up
}

// settle begins the settling stage: no more faults occur, and packets pass.
func (c *Deployment) settle() {
	c.Network.SetControlled(false)
	c.Network.ClearLimit()
}

// Settling reports whether the settling stage of the run has begun, in which the engine injects no faults.
func (c *Deployment) Settling() bool { return c.settling }

// MustBeReady returns the nodes that must become ready before a Wait step lets time pass. It is the default of
// Driver.MustBeReady. If nodes restarted or links changed since StartAndAwait last succeeded, these nodes are the
// Majority: its servers need time to elect a leader again. Otherwise MustBeReady returns none.
func (c *Deployment) MustBeReady(out *lockstep.Outbox) lockstep.Nodes {
	if c.did&trace.KindsOf(trace.Restart, trace.Cut, trace.Heal) == 0 {
		return 0
	}
	return c.Majority(out)
}

// Majority returns a group of nodes, as Group defines it, that has more than half of all nodes. It is empty if there is
// no such group, as when too many nodes are down or the cuts do not separate two sides completely.
func (c *Deployment) Majority(out *lockstep.Outbox) lockstep.Nodes {
	return c.Group(out, func(nodes lockstep.Nodes) bool { return 2*nodes.Len() > len(c.servers) })
}

// Group returns a group of nodes that is large enough according to the function. In a group, all nodes are up, no cut
// is between two of them, and none of them reaches another node that is up. Two groups have no node in common. If
// several are large enough, Group returns the one with the lowest node. If none is, the result is empty.
func (c *Deployment) Group(out *lockstep.Outbox, enough func(lockstep.Nodes) bool) lockstep.Nodes {
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

// apart reports whether all nodes of a group reach each other and none of the others.
func apart(group, others lockstep.Nodes, cut func(lockstep.Node) lockstep.Nodes) bool {
	for n := range group.All() {
		if cut(n)&group != 0 || others&^cut(n) != 0 {
			return false
		}
	}
	return true
}

// StartDue starts the servers of the nodes that are due, and does not wait until they are ready.
func (c *Deployment) StartDue() error {
	for n := range c.due.All() {
		cmd, err := c.command(n)
		if err != nil {
			return err
		}
		c.Network.SetOffline(n, false)
		if err := c.Server(n).Start(cmd); err != nil {
			return err
		}
	}
	c.due = 0
	return nil
}

// checkBypass reports a server that bypasses its link to another server.
func (c *Deployment) checkBypass() error {
	var pids []int
	for _, v := range c.servers {
		if v.Running() {
			pids = append(pids, v.Pid())
		}
	}
	return c.Network.CheckBypass(pids)
}

// Inconclusive turns an error into a [lockstep.Inconclusive]: it says nothing about the servers, and invalidates only
// the current run. Nil stays nil.
func Inconclusive(err error) error {
	if err == nil {
		return nil
	}
	return &lockstep.Inconclusive{Reason: err.Error()}
}

// finish ends a step. It records the time, waiting packets, client results and log lines in the trace, and reports a
// server that ended on its own.
func (c *Deployment) finish(out *lockstep.Outbox) error {
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
func (c *Deployment) Close() error {
	return errors.Join(c.Supervisor.Close(), c.Network.Close())
}

// EventTime is the type of the event that reports where the time of a run went. Its value is a [Spent].
const EventTime = "time"

// Event returns the event that reports the time spent. A driver emits it at the end of a run.
func (s Spent) Event() lockstep.Event {
	return lockstep.Event{Type: EventTime, Text: s.String(), Value: s}
}

// Spent is how long the parts of a run took in real time. Starting is waiting for servers that start, Waiting is
// letting time pass, and Working is everything else that is measured, such as requests and faults.
type Spent struct{ Starting, Waiting, Working time.Duration }

// Timed adds the duration of a function to a part of a [Spent], such as &d.Spent.Starting.
func Timed(part *time.Duration, do func() error) error {
	begin := time.Now()
	err := do()
	*part += time.Since(begin)
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

// Sleep lets real time pass. It returns the context's error if the context ends before that.
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
