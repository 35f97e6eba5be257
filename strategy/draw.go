package strategy

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// pick draws an element of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// pickNode draws an element of a nonempty set.
func pickNode(r *rand.Rand, set lockstep.Nodes) lockstep.Node {
	if set.Len() == 1 {
		return set.First()
	}
	return set.Nth(r.IntN(set.Len()))
}

// deliver delivers the drawn message or its substitute. If links are FIFO, that is the oldest message of its link. If
// the receiver is down, the message is lost.
func deliver(turn *lockstep.Turn, id trace.ID, next *lockstep.Step) {
	next.Kind, next.Msg = trace.Deliver, id
	if !turn.Deliverable(id) {
		instead(turn, id, next)
	}
}

func instead(turn *lockstep.Turn, id trace.ID, next *lockstep.Step) {
	if turn.Up().Has(turn.Message(id).To) {
		next.Msg = turn.Head(id)
	} else {
		next.Kind = trace.Drop
	}
}

// givable counts the waiting requests that at least one running node may receive.
func givable(turn *lockstep.Turn) int { return givableTo(turn, turn.All()) }

// canGive reports whether there is such a request.
func canGive(turn *lockstep.Turn) bool {
	pending, up := turn.Pending(), turn.Up()
	for i := range pending {
		if pending[i].To&up != 0 {
			return true
		}
	}
	return false
}

// givableTo counts the waiting requests that at least one running node of the set may receive.
func givableTo(turn *lockstep.Turn, nodes lockstep.Nodes) int {
	pending, k := turn.Pending(), 0
	nodes &= turn.Up()
	for i := range pending {
		if pending[i].To&nodes != 0 {
			k++
		}
	}
	return k
}

// giveAny draws a waiting request among the givable ones, and a node that may receive it.
func giveAny(r *rand.Rand, turn *lockstep.Turn, next *lockstep.Step) {
	giveTo(r, turn, turn.All(), next)
}

// giveTo is giveAny for some of the nodes. At least one of them must be able to receive a request.
func giveTo(r *rand.Rand, turn *lockstep.Turn, nodes lockstep.Nodes, next *lockstep.Step) {
	at := r.IntN(givableTo(turn, nodes))
	pending := turn.Pending()
	for i := range pending {
		p := &pending[i]
		to := p.To & turn.Up() & nodes
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

// drawCut cuts the nodes into two parts; all cuts are equally likely.
func drawCut(r *rand.Rand, turn *lockstep.Turn, next *lockstep.Step) {
	next.Kind, next.From = trace.Cut, lockstep.Nodes(1+r.Uint64N(uint64(turn.All())-1)) // neither empty nor all
	next.To = turn.All() &^ next.From
}

func anyCut(turn *lockstep.Turn) bool {
	for n := range turn.All().All() {
		if turn.Cut(n) != 0 {
			return true
		}
	}
	return false
}
