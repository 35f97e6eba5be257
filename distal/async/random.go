package async

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/distal/machine"
)

// Weights of the kinds of step in a random run. A kind that is not possible is left out.
type Weights struct {
	Deliver int  // deliver one message
	Batch   int  // deliver several messages to one node at once
	Drop    int  // lose a message
	Double  int  // duplicate a message
	Timeout int  // let a timeout fire
	Hoard   bool // mailboxes forget nothing: what is proved not to matter is put to the test
	_       struct{}
}

// RandomRun makes a run of at most the given number of steps; it is a function of its arguments alone.
func RandomRun(p *machine.Program, w Weights, steps int, seed uint64) *Instance {
	rng := rand.New(rand.NewPCG(seed, 0x64697374616c))
	in := fresh(p, func(n int) int { return rng.IntN(n) })
	in.uses.hoard = w.Hoard
	for i := range in.nodes {
		in.start(i + 1)
	}
	for range steps {
		if !in.randomStep(rng, w) {
			break
		}
	}
	return in
}

// randomStep makes one step; false when none is possible.
func (in *Instance) randomStep(rng *rand.Rand, w Weights) bool {
	deliver, batch, drop, double := w.Deliver, w.Batch, w.Drop, w.Double
	if len(in.flight) == 0 {
		deliver, batch, drop, double = 0, 0, 0, 0
	}
	total := deliver + batch + drop + double + w.Timeout
	if total <= 0 {
		return false
	}
	r := rng.IntN(total)
	switch {
	case r < deliver:
		in.mustDeliver(in.flight[rng.IntN(len(in.flight))].ID)
	case r < deliver+batch:
		to := in.flight[rng.IntN(len(in.flight))].To
		var ids []int
		for _, f := range in.flight {
			if f.To == to && rng.IntN(3) > 0 {
				ids = append(ids, f.ID)
			}
		}
		in.mustDeliver(ids...)
	case r < deliver+batch+drop:
		if in.Drop(in.flight[rng.IntN(len(in.flight))].ID) != nil {
			panic("async: a message in flight cannot be dropped")
		}
	case r < deliver+batch+drop+double:
		if _, err := in.Duplicate(in.flight[rng.IntN(len(in.flight))].ID); err != nil {
			panic("async: " + err.Error())
		}
	default:
		in.Timeout(1 + rng.IntN(len(in.nodes)))
	}
	return true
}

// mustDeliver delivers messages that are known to be in flight.
func (in *Instance) mustDeliver(ids ...int) {
	if _, err := in.Deliver(ids...); err != nil {
		panic("async: " + err.Error())
	}
}
