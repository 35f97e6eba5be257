package enginetest

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/trace"
)

// Silent is an observer that counts who falls silent: whose last request was given to a node that has crashed since, and who
// is not heard of again until the run ends. Requests are those of [kv.Clients] and of an operator. Everybody must have more to ask for than a run has time for: who is done is silent, too.
type Silent struct {
	// Runs is how many there were, Requests how many requests were given in them, and Crashes how many crashes there were.
	Runs, Requests, Crashes int
	// Askers is who was given something, summed over the runs, and Fell those of them who fell silent.
	Askers, Fell int
}

// New makes a watcher.
func (s *Silent) New(lockstep.Info) lockstep.Watcher {
	return &silence{at: map[int]given{}, pending: map[int]bool{}}
}

// Take adds what a run leaves.
func (s *Silent) Take(_ int, noted any) {
	n := noted.(Silent)
	s.Runs++
	s.Requests += n.Requests
	s.Crashes += n.Crashes
	s.Askers += n.Askers
	s.Fell += n.Fell
}

// asker is the client, or the duty, that a request is of, each of which has one at a time.
func asker(id int32) int {
	if id < kv.Numbers {
		return int(id) / (kv.Numbers / 100)
	}
	return int(id) / kv.Numbers * kv.Numbers
}

// given is where somebody's last request is: at a node in one of its lives.
type given struct {
	node lockstep.Node
	life int
}

// silence looks at one run.
type silence struct {
	at      map[int]given
	lives   [65]int
	seen    Silent
	pending map[int]bool // who has something to ask for at the end
}

// Reset begins a new run.
func (w *silence) Reset() {
	clear(w.at)
	w.lives, w.seen = [65]int{}, Silent{}
}

// Look takes down who asks whom.
func (w *silence) Look(r *lockstep.Run) {
	switch s := r.Last(); s.Kind {
	case trace.Request:
		w.seen.Requests++
		w.at[asker(s.Request)] = given{s.Node, w.lives[s.Node]}
	case trace.Crash:
		w.seen.Crashes++
		w.lives[s.Node]++
	}
	clear(w.pending)
	for _, p := range r.Pending() {
		w.pending[asker(p.ID)] = true
	}
}

// Noted is what the run leaves.
func (w *silence) Noted() any {
	noted := w.seen
	for who, g := range w.at {
		noted.Askers++
		if !w.pending[who] && w.lives[g.node] > g.life {
			noted.Fell++
		}
	}
	return noted
}
