package bubble

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/stack"
)

// The events of nodes that go down without a crash step.
const (
	// Exited reports a node that exited, where [Cluster.AllowExit] or a fault of its disk allows that. Its value says
	// how, and where.
	Exited = "exited"
	// Killed reports a node that was killed while it started; see StartKills of [Files].
	Killed = "killed"
)

// DiskExit is a stop of a node after a fault of its disk.
type DiskExit struct {
	Node lockstep.Node
	// Text says how the node stopped: "called os.Exit(1) at wal.go:12", "panic: page 3 is missing" or an error from
	// Start, "start: ...".
	Text string
	// Damaged means that data at rest was damaged, and not only that calls failed or wrote a part.
	Damaged bool
	// Runtime means that the Go runtime raised the panic, as for a nil pointer: the program uses what a call that
	// failed did not return.
	Runtime bool
}

// exit is an exit of a node's process that the node itself caused.
type exit struct {
	node   *Node
	status int
	fatal  bool   // an error of the Go runtime, which AllowExit cannot allow
	killed bool   // from outside
	disk   bool   // because of its disk, which is allowed
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

// allows reports whether an exit is the node's crash, and no finding.
func (d *deployment) allows(e exit) bool {
	return e.killed || e.disk || d.world.mayStop(DiskExit{Node: e.node.self, Text: e.text, Runtime: e.fatal}) ||
		!e.fatal && d.AllowExit != nil && d.AllowExit(e.node.self, e.status)
}

// mayStop reports whether a node may stop because of a fault of its disk. Then it is a fail-stop node, which is what
// protocols promise to survive. Wrong data is never allowed.
func (w *World) mayStop(e DiskExit) bool {
	w.mutex.Lock()
	disk := w.disks[e.Node]
	w.mutex.Unlock()
	e.Damaged = disk == diskDamaged
	return disk != diskWorks && (w.allowDiskExit == nil || w.allowDiskExit(e))
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

// died records that a program panicked, or could not start. That is a finding, unless it may stop because of its disk.
func (w *World) died(n *Node, property string, value any, where string) {
	text, _, _ := strings.Cut(fmt.Sprint(value), "\n")
	text = property + ": " + text
	if !w.mayStop(DiskExit{Node: n.self, Text: text, Runtime: stack.ByRuntime()}) {
		w.fail(failure{n.self, property, value, where})
		return
	}
	w.halt(n, exit{status: 2, text: text, disk: true})
	freeze(n.number())
}

// diskState is what happened to the disk of a node.
type diskState uint8

const (
	diskWorks   diskState = iota
	diskFailed            // calls failed, or wrote a part
	diskDamaged           // data at rest was damaged
)

// failed records that the disk of a node failed, or was damaged.
func (w *World) failed(n lockstep.Node, how diskState) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.disks[n] = max(w.disks[n], how)
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
	if d.chance.strikes(d.model.StartKills) {
		most := 1 << d.choose(mostKillCalls)
		m.kill = most + d.choose(most)
	}
}
