package shrink

import (
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/closure"
	"github.com/lockstep-go/lockstep/trace"
)

// patience is the number of tries after which leaving a local minimum is given up, and
// restarts how often the search goes back to the smallest script meanwhile.
const (
	patience = 8_000
	restarts = 4
)

// search leaves local minima, in which no step of a script can be left out. Again and again it
// begins with more steps than it needs, those of the first script or the smallest one with
// detours, changes some, and leaves out what it can, in another order each time. Its random
// source is its own, so that it does the same every time. It ends when that did not help for a
// while.
func (s *shrinker) search(best, first script, others []trace.Action) script {
	random := rand.New(rand.NewPCG(1, 2))
	best = s.recast(best, random)
	s.keep(best)
	now := best
	for idle, back := 0, 0; idle < patience && s.left > 0 && s.err == nil && len(best)-best.head() > 1; {
		before := s.left
		if next := s.richer(now, first, others, random); next != nil {
			if next = s.minimal(next, random); !now.less(next) {
				now = next
			}
		}
		idle, back = idle+before-s.left, back+before-s.left
		switch {
		case now.less(best):
			now = s.recast(now, random)
			best, idle, back = now, 0, 0
			s.keep(best)
		case back > patience/restarts:
			now, back = best, 0
		}
	}
	return best
}

// richer is a script that fails and has steps to spare, or nil.
func (s *shrinker) richer(now, first script, others []trace.Action, random *rand.Rand) script {
	if random.IntN(8) == 0 {
		now = first
	} else if now = s.detour(now, others, random); now == nil {
		return nil
	}
	for range random.IntN(6) {
		if next := now.changed(random, s.info.Nodes); s.fails(next) {
			now = s.tidy(next)
		}
	}
	return now
}

// recast lets one node play the part of another for a while: each the part of each, for every
// stretch of the script. What two nodes did twice is then done once.
func (s *shrinker) recast(now script, random *rand.Rand) script {
	for end := s.left - patience; ; {
		next, ok := s.recastOnce(now, end)
		if !ok {
			return now
		}
		now = s.minimal(next, random)
	}
}

// recastOnce is the first recast script that is smaller, and whether there is one before the
// tries left are as few as end.
func (s *shrinker) recastOnce(now script, end int) (script, bool) {
	for was := lockstep.Node(1); int(was) <= s.info.Nodes; was++ {
		for is := lockstep.Node(1); int(is) <= s.info.Nodes; is++ {
			cast := make(script, len(now)) // the whole script with other nodes
			for i := range now {
				cast[i] = played(now[i], was, is)
			}
			for from := range now {
				for to := len(now); to > from; to-- {
					if cast[from].Equal(now[from]) || cast[to-1].Equal(now[to-1]) {
						continue
					}
					if s.left <= max(end, 0) || s.err != nil {
						return now, false
					}
					next := slices.Concat(now[:from], cast[from:to], now[to:])
					if s.fails(next) {
						if next = s.tidy(next); next.less(now) {
							return next, true
						}
					}
				}
			}
		}
	}
	return now, false
}

// minimal leaves out stretches of steps in a random order, long ones first, until no single
// one can be left out.
func (s *shrinker) minimal(now script, random *rand.Rand) script {
	for size := len(now) / 4; size > 1; size /= 2 {
		for range len(now) / size {
			if len(now)-now.head() < size {
				break
			}
			at := now.head() + random.IntN(len(now)-now.head()-size+1)
			if next := slices.Delete(slices.Clone(now), at, at+size); s.fails(next) {
				now = s.tidy(next)
			}
		}
	}
	for order := random.Perm(len(now)); len(order) > 0; {
		at := order[0]
		if order = order[1:]; at < now.head() {
			continue
		}
		if next := slices.Delete(slices.Clone(now), at, at+1); s.fails(next) {
			now = s.tidy(next)
			order = random.Perm(len(now))
		}
	}
	return now
}

// less orders scripts: fewer actions, then fewer lost messages, then smaller draws.
func (a script) less(b script) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	if x, y := a.lost(), b.lost(); x != y {
		return x < y
	}
	return a.weight() < b.weight()
}

// lost is the number of messages that a script loses.
func (a script) lost() (lost int) {
	for _, x := range a {
		lost += btoi(x.Step.Kind == trace.Drop)
	}
	return lost
}

// weight tells how large the draws of a script are.
func (a script) weight() (w int) {
	for _, x := range a {
		w += weight(x.Draws)
	}
	return w
}

// others are the actions of a script that are not about messages, each once and at every node.
func (a script) others(nodes int) []trace.Action {
	var list []trace.Action
	for _, x := range a {
		switch x.Step.Kind {
		case trace.Deliver, trace.Drop, trace.Duplicate, trace.Replace, trace.Start:
			continue
		}
		for turn := range nodes {
			y := renamed(x, turn, nodes)
			y.Step.At = 0
			if !slices.ContainsFunc(list, y.Equal) {
				list = append(list, y)
			}
		}
	}
	return list
}

// changed is the script with one to three changes.
func (a script) changed(random *rand.Rand, nodes int) script {
	head, next := a[:a.head()], slices.Clone(a[a.head():])
	for range 1 + random.IntN(3) {
		if len(next) < 2 {
			break
		}
		i, j := random.IntN(len(next)), random.IntN(len(next))
		switch x := next[i]; random.IntN(5) {
		case 0:
			next = slices.Delete(next, i, i+1)
		case 1:
			next = slices.Insert(slices.Delete(next, i, i+1), min(j, len(next)-1), x)
		case 2, 3: // one node plays the part of another for a while
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
	return append(slices.Clone(head), next...)
}

// played is an action with one node in the place of another.
func played(a trace.Action, was, is lockstep.Node) trace.Action {
	name := func(n lockstep.Node) lockstep.Node {
		if n == was {
			return is
		}
		return n
	}
	for _, n := range []*lockstep.Node{&a.Msg.From, &a.Msg.To, &a.Step.Node} {
		*n = name(*n)
	}
	a.Draws = byOthers(a.Draws, name)
	return a
}

// roundTries bounds the tries that go into shrinking the lock-step form of a run.
const roundTries = 3_000

// again shrinks the lock-step form of a run, where it has one, and makes a script of the
// result: in rounds whole phases go, which no change of a few steps does.
func (s *shrinker) again(now script) (script, bool) {
	if s.ordered { // what comes too late for its round is left behind, and what comes after would overtake it
		return now, false
	}
	t, err := s.bench.Record(s.ctx, s.number, now.scheduler(s))
	if err != nil {
		return now, s.broke(err)
	}
	form, err := closure.Form(s.ctx, s.plan, t)
	if err != nil {
		return now, s.broke(err)
	}
	if form.Trace == nil {
		return now, false
	}
	kept, left, was := s.kept, s.left, s.was
	given := min(left, roundTries)
	s.kept, s.left, s.was = nil, given, extentOf(form.Trace)
	_, err = s.schedule(form.Trace)
	inRounds := s.kept
	s.kept, s.left, s.was = kept, left-(given-s.left), was
	if err != nil || len(inRounds) == 0 { // the form does not fail as a schedule, or s.err says what broke
		return now, false
	}
	if t, err = s.bench.Record(s.ctx, s.number, inRounds[len(inRounds)-1].scheduler(s)); err != nil {
		return now, s.broke(err)
	}
	next := slices.DeleteFunc(actions(t), func(a trace.Action) bool { return a.Step.Kind == trace.Drop }) // it may as well stay in flight
	if !s.fails(next) {
		return now, false
	}
	next = s.fewer(s.tidy(next))
	return next, next.less(now)
}

// actions is the script of a run, without its rounds.
func actions(t *trace.Trace) script {
	a := script{}
	if len(t.Records[0].Draws) > 0 {
		a = script{{Draws: t.Records[0].Draws}}
	}
	for _, x := range trace.ScriptOf(t).Exploring() {
		x.Round = 0
		a = append(a, x)
	}
	return a
}

// relatives bounds the runs of the plan's strategy that are made to find others that fail
// alike, and how many of those are enough.
const (
	relativeTries = 4_000
	relatives     = 12
)

// related makes other runs by the plan's strategy, no longer than the one at hand, and shrinks
// those that fail alike: where one run has led into a corner, another may not.
func (s *shrinker) related(length int) (found []script) {
	if s.plan.Strategy == nil {
		return nil
	}
	if terms, err := s.plan.Strategy.Fit(s.info); err != nil || terms.Sequential {
		return nil
	}
	other := &limited{s.plan.Strategy.New(s.info), length}
	for k := 1; k <= relativeTries && len(found) < relatives && s.left > 0 && s.err == nil; k++ {
		s.left--
		s.bench.KeepOrder(false) // the strategy keeps its own
		outcome, err := s.bench.Run(s.ctx, s.number+k, other)
		if err == nil && s.same(outcome) {
			var t *trace.Trace
			t, err = s.bench.Record(s.ctx, s.number+k, other)
			s.bench.KeepOrder(true)
			if err == nil {
				if a := actions(t); s.violates(a) {
					found = append(found, s.fewer(s.tidy(a)))
				}
			}
		}
		s.bench.KeepOrder(true)
		if err != nil {
			s.broke(err)
			break
		}
	}
	return found
}

// limited is a scheduler that ends a run after so many steps.
type limited struct {
	lockstep.Scheduler
	steps int
}

// Next chooses the next step, if there may be one.
func (l *limited) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	return turn.Steps() < l.steps && l.Scheduler.Next(turn, next)
}

// broke notes an error of the environment, after which nothing can be tried any more; that the
// time is over is none.
func (s *shrinker) broke(err error) bool {
	if s.ctx.Err() == nil {
		s.err = err
	}
	return false
}
