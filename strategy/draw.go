package strategy

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// pick draws one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// pickNode draws one of a set that is not empty.
func pickNode(r *rand.Rand, set lockstep.Nodes) lockstep.Node {
	if set.Len() == 1 {
		return set.First()
	}
	return set.Nth(r.IntN(set.Len()))
}

// deliver delivers the message drawn, or what stands for it: the oldest of its link
// where links are FIFO, its loss where the receiver is down.
func deliver(run *lockstep.Run, id lockstep.ID, next *lockstep.Step) {
	next.Kind, next.Msg = trace.Deliver, id
	if !run.Deliverable(id) {
		instead(run, id, next)
	}
}

func instead(run *lockstep.Run, id lockstep.ID, next *lockstep.Step) {
	if run.Up().Has(run.Message(id).To) {
		next.Msg = run.Head(id)
	} else {
		next.Kind = trace.Drop
	}
}

// givable counts the waiting requests that some node which is up may have.
func givable(run *lockstep.Run) int { return givableTo(run, run.All()) }

// canGive reports whether there is one.
func canGive(run *lockstep.Run) bool {
	pending, up := run.Pending(), run.Up()
	for i := range pending {
		if pending[i].To&up != 0 {
			return true
		}
	}
	return false
}

// givableTo counts those that one of some nodes may have.
func givableTo(run *lockstep.Run, nodes lockstep.Nodes) int {
	pending, k := run.Pending(), 0
	nodes &= run.Up()
	for i := range pending {
		if pending[i].To&nodes != 0 {
			k++
		}
	}
	return k
}

// giveAny gives a waiting request, drawn among those that are givable, to a node that
// may have it, drawn too.
func giveAny(r *rand.Rand, run *lockstep.Run, next *lockstep.Step) { giveTo(r, run, run.All(), next) }

// giveTo is giveAny for some of the nodes. One of them must be able to get a request.
func giveTo(r *rand.Rand, run *lockstep.Run, nodes lockstep.Nodes, next *lockstep.Step) {
	at := r.IntN(givableTo(run, nodes))
	pending := run.Pending()
	for i := range pending {
		p := &pending[i]
		to := p.To & run.Up() & nodes
		if to == 0 {
			continue
		}
		if at == 0 {
			next.Kind, next.Request, next.Node = trace.Request, p.ID, pickNode(r, to)
			return
		}
		at--
	}
	panic("strategy: fewer requests than were counted")
}

// drawCut cuts the nodes into two parts, any two with equal chances.
func drawCut(r *rand.Rand, run *lockstep.Run, next *lockstep.Step) {
	next.Kind, next.From = trace.Cut, lockstep.Nodes(1+r.Uint64N(uint64(run.All())-1)) // neither empty nor all
	next.To = run.All() &^ next.From
}

func anyCut(run *lockstep.Run) bool {
	for n := range run.All().All() {
		if run.Cut(n) != 0 {
			return true
		}
	}
	return false
}
