package enginetest

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Silent is an observer that counts who falls silent: whose last request was given to a node that has crashed since, and who
// is not heard of again until the run ends. Everybody must have more to ask for than a run has time for: who is done is silent, too.
type Silent struct {
	// Asker is whose request a number is, each of whom has one at a time.
	Asker func(id int32) int

	// Runs is how many there were, Requests how many requests were given in them, and Crashes how many crashes there were.
	Runs, Requests, Crashes int
	// Askers is who was given something, summed over the runs, and Fell those of them who fell silent.
	Askers, Fell int
}

// New makes a watcher.
func (s *Silent) New(lockstep.Info) lockstep.Watcher {
	return &silence{of: s.Asker, at: map[int]given{}, pending: map[int]bool{}}
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

// given is where somebody's last request is: at a node in one of its lives.
type given struct {
	node lockstep.Node
	life int
}

// silence looks at one run.
type silence struct {
	of      func(int32) int
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
		w.at[w.of(s.Request)] = given{s.Node, w.lives[s.Node]}
	case trace.Crash:
		w.seen.Crashes++
		w.lives[s.Node]++
	}
	clear(w.pending)
	for _, p := range r.Pending() {
		w.pending[w.of(p.ID)] = true
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
