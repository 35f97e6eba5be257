package strategy

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// anyOrder is a network without queues: any message in flight may be delivered next, lost or duplicated, and nodes may
// be isolated.
type anyOrder struct {
	budget
	nodes  int
	hashes []uint64
}

func (a *anyOrder) reset() { a.used = [actionEnd]int{} }

func (a *anyOrder) observe(*lockstep.Turn) {}

// choices lists the choices that are possible now.
func (a *anyOrder) choices(turn *lockstep.Turn, list []choice) []choice {
	for _, id := range turn.FreeMessages() {
		if turn.Deliverable(id) {
			list = append(list, choice{act: actRun, node: turn.Message(id).To, msg: id})
		}
	}
	list = a.common(turn, list)
	if len(list) == 0 { // a fault would no longer make a difference
		return list
	}
	for _, act := range [...]action{actDrop, actDup} {
		if !a.allows(act) {
			continue
		}
		for _, id := range turn.FreeMessages() {
			list = append(list, choice{act: act, msg: id})
		}
	}
	if a.allows(actIsolate) {
		for n := lockstep.Node(1); int(n) <= a.nodes; n++ {
			if turn.Cut(n) == 0 {
				list = append(list, choice{act: actIsolate, node: n})
			}
		}
	}
	if anyCut(turn) {
		list = append(list, choice{act: actHeal})
	}
	return list
}

// perform carries out a choice.
func (a *anyOrder) perform(turn *lockstep.Turn, c choice, next *lockstep.Step) bool {
	a.used[c.act]++
	return c.step(turn, next)
}

// hash combines the messages in flight, independent of their order, and the part of the budget that was used.
func (a *anyOrder) hash(turn *lockstep.Turn) mix.Hash {
	a.hashes = a.hashes[:0]
	for _, id := range turn.FreeMessages() {
		a.hashes = append(a.hashes, messageHash(turn, id))
	}
	slices.Sort(a.hashes)
	h := a.budget.hash()
	for _, m := range a.hashes {
		h.Mix(m)
	}
	return h
}
