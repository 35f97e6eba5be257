package coverage

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/trace"
)

// An Observer feeds a meter with the runs of a campaign. It is an Observer of a [lockstep.Plan], for any strategy and
// any number of workers.
//
// The observer derives the stages of a run from its steps and its lock-step rounds. A message reaches its receiver
// unless the link is cut or, in a round, one of its ends is outside the kernel. After the links changed, a stage begins
// with the first step that is not itself a fault. It begins only if the connectivity of nodes then differs from that of
// the previous stage. [cover.Links] decides which networks are partitions. Requests are operations. The roles of a
// stage are those at its start, if the deployment reports them.
type Observer struct {
	// Meter is the meter to feed.
	Meter *Meter
	// Operation returns the operation of a request from its text; nil uses the text itself.
	Operation func(text string) string
	// Crashes treats a crashed node as cut off from all others. Otherwise a crashed node counts as connected, even if a
	// round isolates it by the crash.
	Crashes bool
}

// New returns a new watcher.
func (o *Observer) New(info lockstep.Info) lockstep.Watcher {
	return &watcher{observer: o, nodes: info.Nodes, roles: info.Roles}
}

// Collect adds a run to the meter.
func (o *Observer) Collect(_ int, noted any) { o.Meter.Add(noted.([]cover.Stage)) }

// watcher records the stages of a run.
type watcher struct {
	observer *Observer
	nodes    int
	roles    []string
	stages   []cover.Stage
	rounds   int         // number of rounds opened so far
	links    cover.Links // of the last stage
	changed  bool        // links may have changed since the last stage began
}

// Reset begins a new run.
func (w *watcher) Reset() {
	w.stages, w.rounds, w.links, w.changed = w.stages[:0], 0, nil, true
}

// Observe processes a step of the exploring stage.
func (w *watcher) Observe(run *lockstep.Run) {
	if run.Settling() {
		return
	}
	if rounds := len(run.Rounds()); rounds > w.rounds {
		w.rounds, w.changed = rounds, true
	}
	step := run.Last()
	switch step.Kind {
	case trace.Start: // changes before the first step count for the first stage
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
		stage.Ops = append(stage.Ops, cover.Op{Name: name, Node: int(step.Node)})
	}
}

// begin begins a stage, unless the connectivity of nodes is unchanged.
func (w *watcher) begin(run *lockstep.Run) {
	links := w.hear(run)
	if slices.Equal(links, w.links) {
		return
	}
	w.links = links
	var stage cover.Stage
	var shape cover.Shape
	if stage.Partition, shape = links.Partition(); shape != cover.Divided {
		stage.Links = links
	}
	for _, role := range w.roles {
		if nodes := run.Playing(role); nodes != 0 {
			stage.Roles = append(stage.Roles, cover.Role{Name: role, Nodes: cover.Set(nodes)})
		}
	}
	w.stages = append(w.stages, stage)
}

// hear returns which node currently receives messages from which.
func (w *watcher) hear(run *lockstep.Run) cover.Links {
	links, err := cover.AllLinks(w.nodes)
	if err != nil {
		return nil // unreachable: the engine has no more nodes than a set
	}
	all := cover.Set(run.All())
	for n := range run.All().All() {
		links.Cut(cover.Set(trace.NodesOf(n)), cover.Set(run.Cut(n)))
	}
	apart := lockstep.Nodes(0)
	if rounds := run.Rounds(); len(rounds) > 0 {
		apart = run.All() &^ rounds[len(rounds)-1].Kernel & run.Up()
	}
	if w.observer.Crashes {
		apart |= run.All() &^ run.Up()
	}
	for n := range apart.All() {
		self := cover.Set(trace.NodesOf(n))
		links.Cut(self, all)
		links.Cut(all, self)
	}
	return links
}

// Noted returns the stages of the run.
func (w *watcher) Noted() any { return slices.Clone(w.stages) }
