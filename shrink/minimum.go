package shrink

import (
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/closure"
	"github.com/lockstep-go/lockstep/trace"
)

// patience is the number of tries after which leaving a local minimum is given up.
const patience = 8000

// drift leaves local minima, in which no stretch of a script can be left out. It changes the
// script at random, by a source of its own so that it does the same every time, and goes on
// from whatever fails and is not longer: over many changes that gain nothing the run gets to
// where something can be left out. It ends when that did not help for a while.
func (s *shrinker) drift(best script) script {
	random := rand.New(rand.NewPCG(1, 2))
	pool := best.parts(s.info.Nodes)
	now := best
	for idle := 0; idle < patience && s.left > 0 && s.err == nil; {
		before := s.left
		if idle%(patience/4) == patience/4-1 {
			now = best // it may have drifted into a corner
		}
		next := now.changed(random, pool, s.info.Nodes)
		if s.fails(next) {
			if next = s.tidy(next); len(next) <= len(now) || len(next) <= len(best)+1 {
				now = next
			}
		}
		if now.less(best) {
			now = s.fewer(now)
			best, idle = now, 0
			s.keep(best)
			continue
		}
		idle += before - s.left
	}
	return best
}

// less orders scripts: fewer actions, then fewer lost messages.
func (a script) less(b script) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a.lost() < b.lost()
}

// lost is the number of messages that a script loses.
func (a script) lost() (lost int) {
	for _, x := range a {
		lost += btoi(x.Step.Kind == trace.Drop)
	}
	return lost
}

// parts are the actions of a script and those that may do their parts: the same ones with
// the nodes' names turned.
func (a script) parts(nodes int) []trace.Action {
	var pool []trace.Action
	for _, x := range a {
		for turn := range nodes {
			if y := renamed(x, turn, nodes); !slices.ContainsFunc(pool, y.Equal) {
				pool = append(pool, y)
			}
		}
	}
	return pool
}

// changed is the script with one to three changes.
func (a script) changed(random *rand.Rand, pool []trace.Action, nodes int) script {
	next := slices.Clone(a)
	for range 1 + random.IntN(3) {
		if len(next) < 2 {
			return next
		}
		i, j := random.IntN(len(next)), random.IntN(len(next))
		switch x := next[i]; random.IntN(8) {
		case 0, 1:
			next = slices.Delete(next, i, i+1)
		case 2:
			next = slices.Insert(slices.Delete(next, i, i+1), min(j, len(next)-1), x)
		case 3:
			next[i] = pool[random.IntN(len(pool))]
		case 4:
			next = slices.Insert(next, i, pool[random.IntN(len(pool))])
		case 5, 6: // one node plays the part of another for a while
			was, is := lockstep.Node(1+random.IntN(nodes)), lockstep.Node(1+random.IntN(nodes))
			for k := min(i, j); k <= max(i, j); k++ {
				next[k] = played(next[k], was, is)
			}
		default:
			turn := 1 + random.IntN(max(nodes-1, 1))
			for k := i; k < len(next); k++ {
				next[k] = renamed(next[k], turn, nodes)
			}
		}
	}
	return next
}

// played is an action with one node in the place of another.
func played(a trace.Action, was, is lockstep.Node) trace.Action {
	for _, n := range []*lockstep.Node{&a.Msg.From, &a.Msg.To, &a.Step.Node} {
		if *n == was {
			*n = is
		}
	}
	return a
}

// roundTries bounds the tries that go into shrinking the lock-step form of a run.
const roundTries = 20_000

// again shrinks the lock-step form of a run, where it has one, and makes a script of the
// result: in rounds whole phases go, which no change of a few steps does.
func (s *shrinker) again(now script) (script, bool) {
	t, err := s.bench.Record(s.ctx, s.number, now.scheduler(s))
	if err != nil {
		if s.ctx.Err() == nil {
			s.err = err
		}
		return now, false
	}
	form, err := closure.Form(s.ctx, s.plan, t)
	if err != nil || form.Trace == nil {
		return now, false
	}
	kept, left := s.kept, s.left
	given := min(left, roundTries)
	s.kept, s.left = nil, given
	_, err = s.schedule(form.Trace)
	inRounds := s.kept
	s.kept, s.left = kept, left-(given-s.left)
	if err != nil || len(inRounds) == 0 {
		return now, false
	}
	if t, err = s.bench.Record(s.ctx, s.number, inRounds[len(inRounds)-1].scheduler(s)); err != nil {
		return now, false
	}
	next := script(trace.ScriptOf(t).Exploring())
	for i := range next {
		next[i].Round = 0
	}
	if !s.fails(next) {
		return now, false
	}
	next = s.fewer(s.tidy(next))
	return next, next.less(now)
}
