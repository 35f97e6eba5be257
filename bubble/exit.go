package bubble

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
)

// The events of nodes that go down without a crash step.
const (
	// Exited reports a node that exited, where [Cluster.AllowExit] or a fault of its disk allows that. Its value says
	// how, and where.
	Exited = "exited"
	// Killed reports a node that was killed while it started; see Kills of [Files].
	Killed = "killed"
)

// exit is an exit of a node's process that the node itself caused.
type exit struct {
	node   *Node
	status int
	fatal  bool   // an error of the Go runtime, which AllowExit cannot allow
	killed bool   // from outside
	text   string // "called os.Exit(3) at server.go:12"
	stack  string
}

// exiting is the panic that ends a handler which runs on the engine's goroutine.
type exiting struct{}

// String names the panic for programs that catch all panics.
func (exiting) String() string { return "the node exits" }

// takeExits takes the nodes down that exited since the last step. Their goroutines are already stopped.
func (d *deployment) takeExits(out *lockstep.Outbox) {
	w := d.world
	w.mutex.Lock()
	exits := w.exits
	w.exits = nil
	w.mutex.Unlock()
	for _, e := range exits {
		d.frozen++
		if !d.allows(e) {
			w.fail(failure{e.node.self, "exit", fmt.Sprintf("node %d %s", e.node.self, e.text), e.stack})
			continue
		}
		what := Exited
		if e.killed {
			what = Killed
		}
		w.Event(lockstep.Event{Node: e.node.self, Type: what, Value: e.text})
		if err := d.fallen(e); err != nil {
			w.fail(failure{e.node.self, "exit", err, ""})
		}
		if out != nil {
			out.Down(e.node.self)
		}
	}
	if len(exits) > 0 {
		d.quiesce()
	}
}

// allows reports whether an exit is the node's crash, and no finding. A program may stop because of a fault of its
// disk: then it is a fail-stop node, which is what protocols promise to survive. Wrong data is never allowed.
func (d *deployment) allows(e exit) bool {
	return e.killed || d.world.hasFailed(e.node.self) ||
		!e.fatal && d.AllowExit != nil && d.AllowExit(e.node.self, e.status)
}

// fallen ends the incarnation of a node that exited, as the kernel ends a process. One that was killed may have lost
// power.
func (d *deployment) fallen(e exit) error {
	n := e.node
	d.incarnations[n.self-1] = nil
	d.offerUntaken(n)
	n.crash(d.choose)
	powerFails := e.killed && d.model != nil && d.chance.strikes(d.model.PowerFailures)
	if d.sockets != nil {
		unplug(n.number(), powerFails)
	}
	if d.model == nil {
		return nil
	}
	if !e.killed {
		leaveFiles(n.number())
	} else if err := d.crashFiles(n, powerFails); err != nil {
		return err
	}
	closeFiles(n.number())
	return nil
}

// halt ends the running incarnation of a node from within. All its goroutines stop; the calling one stops when it
// waits. It does nothing to an incarnation that is dead.
func (w *World) halt(n *Node, e exit) {
	w.mutex.Lock()
	w.halted = true
	w.mutex.Unlock()
	if n != nil && !n.dead.Load() {
		e.node = n
		n.dead.Store(true)
		w.crash(n)
		w.mutex.Lock()
		w.exits = append(w.exits, e)
		w.mutex.Unlock()
		w.happened()
	}
}

// died records that a program panicked, or could not start. That is a finding, unless its disk failed before.
func (w *World) died(n *Node, property string, value any, stack string) {
	if !w.hasFailed(n.self) {
		w.fail(failure{n.self, property, value, stack})
		return
	}
	text, _, _ := strings.Cut(fmt.Sprint(value), "\n")
	w.halt(n, exit{status: 2, text: property + ": " + text})
	freeze(n.number())
}

// failed records that the disk of a node failed, or was damaged.
func (w *World) failed(n lockstep.Node) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.broken[n] = true
}

func (w *World) hasFailed(n lockstep.Node) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.broken[n]
}

// mostKillCalls is the number of calls below which the one is at which a process is killed. Each power of two has the
// same probability.
const mostKillCalls = 10

// maybeKill draws whether a process that restarts is killed, and when.
func (d *deployment) maybeKill(self lockstep.Node) {
	if d.model == nil || d.counts[self-1] < 2 || d.world.Settling() {
		return
	}
	m := d.machine[self-1]
	m.kill = 0
	if d.chance.strikes(d.model.Kills) {
		most := 1 << d.choose(mostKillCalls)
		m.kill = most + d.choose(most)
	}
}
