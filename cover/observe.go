package cover

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// An Observer feeds a meter with the runs of a campaign: it is the Observer of a
// [lockstep.Plan], whatever its strategy and however many its workers.
//
// What a run did is read off its steps. A stage begins with the first other step after
// links were cut or healed, if the nodes are divided differently by then. Two nodes are
// connected while messages go both ways between them. Nodes that are connected to all
// others form the bridge; of the others, those are on the same side that reach each other
// over connected nodes without the bridge. Requests are operations. Roles are those of the
// start of the stage, where the deployment tells them.
type Observer struct {
	// Meter is what is fed.
	Meter *Meter
	// Operation names the operation of a request from its text; nil takes the text itself.
	Operation func(text string) string
	// Crashes counts a crashed node as cut off from all others.
	Crashes bool
}

// New makes a watcher.
func (o *Observer) New(info lockstep.Info) lockstep.Watcher {
	return &watcher{observer: o, nodes: info.Nodes, roles: info.Roles}
}

// Take adds a run to the meter.
func (o *Observer) Take(_ int, noted any) { o.Meter.Add(noted.([]Stage)) }

// watcher notes the stages of a run.
type watcher struct {
	observer *Observer
	nodes    int
	roles    []string
	stages   []Stage
	changed  bool // links may have changed since the last stage began
}

// Reset begins a new run.
func (w *watcher) Reset() { w.stages, w.changed = w.stages[:0], true }

// Look takes a step of the exploring stage into account.
func (w *watcher) Look(run *lockstep.Run) {
	if run.Settling() {
		return
	}
	step := run.Last()
	switch step.Kind {
	case trace.Start: // what was done before anything happened counts for the first stage
		return
	case trace.Cut, trace.Heal:
		w.changed = true
		return
	case trace.Crash, trace.Restart:
		w.changed = w.changed || w.observer.Crashes
		return
	}
	if w.changed {
		w.changed = false
		w.begin(run)
	}
	if step.Kind == trace.Request {
		name := run.Given()
		if w.observer.Operation != nil {
			name = w.observer.Operation(name)
		}
		stage := &w.stages[len(w.stages)-1]
		stage.Ops = append(stage.Ops, Op{Name: name, Node: int(step.Node)})
	}
}

// begin begins a stage, unless the nodes are divided as before.
func (w *watcher) begin(run *lockstep.Run) {
	p := w.partition(run)
	if k := len(w.stages); k > 0 && w.stages[k-1].Partition == p {
		return
	}
	stage := Stage{Partition: p}
	for _, role := range w.roles {
		if nodes := run.Playing(role); nodes != 0 {
			stage.Roles = append(stage.Roles, Role{Name: role, Nodes: Set(nodes)})
		}
	}
	w.stages = append(w.stages, stage)
}

// partition is how the nodes are divided now.
func (w *watcher) partition(run *lockstep.Run) Partition {
	all := firstNodes(w.nodes)
	reach := make([]Set, w.nodes+1) // who is connected to a node, itself included
	bridge := all
	for a := 1; a <= w.nodes; a++ {
		for b := 1; b <= w.nodes; b++ {
			if a == b || w.connected(run, lockstep.Node(a), lockstep.Node(b)) {
				reach[a] |= single(b)
			}
		}
		if reach[a] != all {
			bridge &^= single(a)
		}
	}
	labels := make([]byte, w.nodes)
	side := byte(0)
	for left := all &^ bridge; left != 0; side++ {
		members := w.component(reach, left.min(), all&^bridge)
		for _, n := range members.Nodes() {
			labels[n-1] = side
		}
		left &^= members
	}
	if side < 2 { // nobody is cut off for good
		clear(labels)
		return canonical(labels)
	}
	for _, n := range bridge.Nodes() {
		labels[n-1] = onBridge
	}
	return canonical(labels)
}

func (w *watcher) connected(run *lockstep.Run, a, b lockstep.Node) bool {
	if w.observer.Crashes && !(run.Up().Has(a) && run.Up().Has(b)) {
		return false
	}
	return !run.Cut(a).Has(b) && !run.Cut(b).Has(a)
}

// component is the set of the nodes that are reached from one of them.
func (w *watcher) component(reach []Set, from int, within Set) Set {
	members, fresh := single(from), single(from)
	for fresh != 0 {
		next := reach[fresh.min()] & within &^ members
		members |= next
		fresh = fresh&(fresh-1) | next
	}
	return members
}

// Noted lists the stages of the run.
func (w *watcher) Noted() any { return slices.Clone(w.stages) }
