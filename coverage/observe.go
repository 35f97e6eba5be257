package coverage

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/trace"
)

// An Observer feeds a meter with the runs of a campaign: it is the Observer of a
// [lockstep.Plan], whatever its strategy and however many its workers.
//
// What a run did is read off its steps and its lock-step rounds. A message reaches its
// receiver unless the link is cut or, in a round, one of its ends is outside the kernel. A
// stage begins with the first other step after that has changed, if nodes hear each other
// differently by then; [cover.Links] tells which networks are partitions. Requests are
// operations. Roles are those of the start of the stage, where the deployment tells them.
type Observer struct {
	// Meter is what is fed.
	Meter *Meter
	// Operation names the operation of a request from its text; nil takes the text itself.
	Operation func(text string) string
	// Crashes counts a crashed node as cut off from all others. Otherwise it is not, even
	// where a round isolates it by the crash.
	Crashes bool
}

// New makes a watcher.
func (o *Observer) New(info lockstep.Info) lockstep.Watcher {
	return &watcher{observer: o, nodes: info.Nodes, roles: info.Roles}
}

// Take adds a run to the meter.
func (o *Observer) Take(_ int, noted any) { o.Meter.Add(noted.([]cover.Stage)) }

// watcher notes the stages of a run.
type watcher struct {
	observer *Observer
	nodes    int
	roles    []string
	stages   []cover.Stage
	rounds   int         // opened so far
	links    cover.Links // of the last stage
	changed  bool        // links may have changed since the last stage began
}

// Reset begins a new run.
func (w *watcher) Reset() {
	w.stages, w.rounds, w.links, w.changed = w.stages[:0], 0, nil, true
}

// Look takes a step of the exploring stage into account.
func (w *watcher) Look(run *lockstep.Run) {
	if run.Settling() {
		return
	}
	if rounds := len(run.Rounds()); rounds > w.rounds {
		w.rounds, w.changed = rounds, true
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
		stage.Ops = append(stage.Ops, cover.Op{Name: name, Node: int(step.Node)})
	}
}

// begin begins a stage, unless nodes hear each other as before.
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

// hear is who hears whom now.
func (w *watcher) hear(run *lockstep.Run) cover.Links {
	links, err := cover.AllLinks(w.nodes)
	if err != nil {
		return nil // the engine has no more nodes than a set
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

// Noted lists the stages of the run.
func (w *watcher) Noted() any { return slices.Clone(w.stages) }
