package enginetest

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/trace"
)

// Silent is an observer that counts the askers that fall silent. An asker is a client or a task of an operator. It
// falls silent if the node that got its last request has crashed since, and it has no request pending at the end of the
// run. Requests are those of [kv.Clients] and of an operator. Every asker must have more requests than a run has time
// for, because an asker that is done is silent, too.
type Silent struct {
	// Runs is the number of runs, Requests the number of requests given in them, and Crashes the number of crashes.
	Runs, Requests, Crashes int
	// Askers is the number of askers with at least one request, summed over the runs. Fell is the number of those that
	// fell silent.
	Askers, Fell int
}

// New returns a watcher.
func (s *Silent) New(lockstep.Info) lockstep.Watcher {
	return &silence{at: map[int]given{}, pending: map[int]bool{}}
}

// Collect adds the result of a run.
func (s *Silent) Collect(_ int, noted any) {
	n := noted.(Silent)
	s.Runs++
	s.Requests += n.Requests
	s.Crashes += n.Crashes
	s.Askers += n.Askers
	s.Fell += n.Fell
}

// asker returns the client, or the task, of a request. Each has one request at a time.
func asker(id int32) int {
	if id < kv.Numbers {
		return int(id) / (kv.Numbers / 100)
	}
	return int(id) / kv.Numbers * kv.Numbers
}

// given is the location of an asker's last request: a node in one of its incarnations.
type given struct {
	node        lockstep.Node
	incarnation int
}

// silence observes one run.
type silence struct {
	at           map[int]given
	incarnations [65]int
	seen         Silent
	pending      map[int]bool // the askers with a pending request at the end
}

// Reset begins a new run.
func (w *silence) Reset() {
	clear(w.at)
	w.incarnations, w.seen = [65]int{}, Silent{}
}

// Look records the requests, the crashes and the pending askers.
func (w *silence) Observe(r *lockstep.Run) {
	switch s := r.Last(); s.Kind {
	case trace.Request:
		w.seen.Requests++
		w.at[asker(s.Request)] = given{s.Node, w.incarnations[s.Node]}
	case trace.Crash:
		w.seen.Crashes++
		w.incarnations[s.Node]++
	}
	clear(w.pending)
	for _, p := range r.Pending() {
		w.pending[asker(p.ID)] = true
	}
}

// Noted returns the result of the run.
func (w *silence) Noted() any {
	noted := w.seen
	for key, g := range w.at {
		noted.Askers++
		if !w.pending[key] && w.incarnations[g.node] > g.incarnation {
			noted.Fell++
		}
	}
	return noted
}
