package bubble

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
)

// Exited is the event of a node that exited, where [Cluster.AllowExit] allows that. Its value says how, and where.
const Exited = "exited"

// exit is an exit of a node's process that the node itself caused.
type exit struct {
	node   *Node
	status int
	fatal  bool   // an error of the Go runtime, which AllowExit cannot allow
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
		if e.fatal || d.AllowExit == nil || !d.AllowExit(e.node.self, e.status) {
			w.fail(failure{e.node.self, "exit", fmt.Sprintf("node %d %s", e.node.self, e.text), e.stack})
			continue
		}
		w.Event(lockstep.Event{Node: e.node.self, Type: Exited, Value: e.text})
		d.fallen(e.node)
		if out != nil {
			out.Down(e.node.self)
		}
	}
	if len(exits) > 0 {
		d.quiesce()
	}
}

// fallen ends the incarnation of a node that exited, as the kernel ends a process.
func (d *deployment) fallen(n *Node) {
	d.incarnations[n.self-1] = nil
	d.offerUntaken(n)
	n.crash(d.choose)
	if d.sockets != nil {
		unplug(n.number(), false)
	}
	if d.model != nil {
		leaveFiles(n.number())
		closeFiles(n.number())
	}
}
