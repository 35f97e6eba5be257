package shrink

import (
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/trace"
)

// maxIdle is the number of attempts after which the search stops trying to leave a local minimum. The constant
// restarts is how often the search returns to the smallest script in the meantime.
const (
	maxIdle  = 8_000
	restarts = 4
)

// search leaves local minima, in which no step of a script can be removed. It repeatedly begins with a script that has
// superfluous steps: the first script, or the smallest one with detours. It changes some steps, and removes what it can
// in a random order. It uses its own random source, so the result is deterministic. It ends after a number of attempts
// without improvement.
func (s *shrinker) search(best, first script, others []trace.Action) script {
	random := rand.New(rand.NewPCG(1, 2))
	best = s.recast(best, random)
	s.keep(best)
	now := best
	for idle, back := 0, 0; idle < maxIdle && s.left > 0 && s.err == nil && len(best)-best.head() > 1; {
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
		case back > maxIdle/restarts:
			now, back = best, 0
		}
	}
	return best
}

// richer returns a failing script with superfluous steps, or nil.
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

// recast lets one node take the role of another for an interval of the script. It goes through all pairs of nodes and
// all intervals. Work that two nodes did twice is then done once.
func (s *shrinker) recast(now script, random *rand.Rand) script {
	for end := s.left - maxIdle; ; {
		next, ok := s.recastOnce(now, end)
		if !ok {
			return now
		}
		now = s.minimal(next, random)
	}
}

// recastOnce returns the first recast script that is smaller, and reports whether there is one before only end attempts
// are left.
func (s *shrinker) recastOnce(now script, end int) (script, bool) {
	for was := lockstep.Node(1); int(was) <= s.info.Nodes; was++ {
		for is := lockstep.Node(1); int(is) <= s.info.Nodes; is++ {
			cast := make(script, len(now)) // the whole script with the node replaced
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

// minimal removes intervals of steps in a random order, long ones first, until no single step can be removed.
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

// lost returns the number of messages that a script loses.
func (a script) lost() (lost int) {
	for _, x := range a {
		lost += mix.Bit(x.Step.Kind == trace.Drop)
	}
	return lost
}

// weight measures the size of the draws of a script.
func (a script) weight() (w int) {
	for _, x := range a {
		w += weight(x.Draws)
	}
	return w
}

// others returns the actions of a script that do not concern messages, each once and for every node.
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

// changed returns the script with one to three changes.
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
		case 2, 3: // one node takes the role of another for an interval
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

// played returns an action with one node replaced by another.
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

// roundAttempts bounds the attempts to shrink the lock-step form of a run.
const roundAttempts = 3_000

// again shrinks the lock-step form of a run, if it exists, and converts the result into a script. Shrinking in rounds
// removes whole phases, which changes of a few steps cannot achieve.
func (s *shrinker) again(now script) (script, bool) {
	if s.ordered { // a message too late for its round is skipped, and later messages would overtake it
		return now, false
	}
	t, err := s.runner.Record(s.ctx, s.number, now.scheduler(s))
	if err != nil {
		return now, s.broke(err)
	}
	form, err := lockstepform.Form(s.ctx, s.plan, t)
	if err != nil {
		return now, s.broke(err)
	}
	if form.Trace == nil {
		return now, false
	}
	kept, left, was := s.kept, s.left, s.was
	given := min(left, roundAttempts)
	s.kept, s.left, s.was = nil, given, extentOf(form.Trace)
	_, err = s.schedule(form.Trace)
	inRounds := s.kept
	s.kept, s.left, s.was = kept, left-(given-s.left), was
	if err != nil || len(inRounds) == 0 { // the form does not fail as a schedule, or s.err holds the error
		return now, false
	}
	if t, err = s.runner.Record(s.ctx, s.number, inRounds[len(inRounds)-1].scheduler(s)); err != nil {
		return now, s.broke(err)
	}
	// the message can stay in flight instead
	next := slices.DeleteFunc(actions(t), func(a trace.Action) bool { return a.Step.Kind == trace.Drop })
	if !s.fails(next) {
		return now, false
	}
	next = s.fewer(s.tidy(next))
	return next, next.less(now)
}

// actions returns the script of a run, without its rounds.
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

// relativeAttempts bounds the runs of the plan's strategy to find others with the same failure; relatives is how many
// of those suffice.
const (
	relativeAttempts = 4_000
	relatives        = 12
)

// related executes other runs of the plan's strategy, no longer than the current one, and shrinks those with the same
// failure. Another run may not end in the same local minimum.
func (s *shrinker) related(length int) (found []script) {
	if s.plan.Strategy == nil {
		return nil
	}
	if terms, err := s.plan.Strategy.Fit(s.info); err != nil || terms.Sequential {
		return nil
	}
	other := &limited{s.plan.Strategy.New(s.info), length}
	for k := 1; k <= relativeAttempts && len(found) < relatives && s.left > 0 && s.err == nil; k++ {
		s.left--
		s.runner.KeepOrder(false) // the strategy maintains its own order
		outcome, err := s.runner.Run(s.ctx, s.number+k, other)
		if err == nil && s.same(outcome) {
			var t *trace.Trace
			t, err = s.runner.Record(s.ctx, s.number+k, other)
			s.runner.KeepOrder(true)
			if err == nil {
				if a := actions(t); s.violates(a) {
					found = append(found, s.fewer(s.tidy(a)))
				}
			}
		}
		s.runner.KeepOrder(true)
		if err != nil {
			s.broke(err)
			break
		}
	}
	return found
}

// limited is a scheduler that ends a run after a number of steps.
type limited struct {
	lockstep.Scheduler
	steps int
}

// Next chooses the next step, unless the limit is reached.
func (l *limited) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	return turn.Steps() < l.steps && l.Scheduler.Next(turn, next)
}

// broke records an error of the environment, after which no attempt is possible. An expired context is no such error.
func (s *shrinker) broke(err error) bool {
	if s.ctx.Err() == nil {
		s.err = err
	}
	return false
}
