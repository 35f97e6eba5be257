package shrink

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/trace"
)

// script is a run that is not in rounds, as a list of actions.
type script trace.Script

func (a script) scheduler(s *shrinker) lockstep.Scheduler {
	s.player = lockstep.NewPlayer(trace.Script(a), nil)
	return s.player
}

// head returns 1 if a script begins with the draws of the system at its start, which are no step, and 0 otherwise.
func (a script) head() int { return mix.Bit(len(a) > 0 && a[0].Step.Kind == trace.Start) }

// script shrinks a run that is not in rounds: fewer actions, then a normal order.
func (s *shrinker) script(t *trace.Trace) (was string, err error) {
	now := actions(t)
	was = now.size()
	if !s.fails(now) {
		return was, s.notRepeated("steps")
	}
	now = s.tidy(now)
	s.keep(now)
	now = s.unpreempted(s.prefix(now, lastEvent(t)))
	if s.inTime(now) {
		now = s.shorter(now, len(now)/8)
		if next, ok := s.calmer(now); ok {
			next = s.prefix(next, 0)
			if now = next; len(now) >= many && now.acts() <= few && now.extent().within(s.was) {
				return was, nil
			}
		}
	}
	others, first := now.others(s.info.Nodes), now
	now = s.greedy(s.byGroups(now))
	reserve := s.left / 4 // reserved to lower the draws of the remaining steps
	s.left -= reserve
	if s.info.Determinism == lockstep.Deterministic && len(now)-now.head() > 2 {
		for _, next := range s.related(len(first)) {
			if next.less(now) {
				now = next
				s.keep(now)
			}
		}
		if next, ok := s.again(now); ok {
			now = next
			s.keep(now)
		}
		now = s.greedy(s.search(s.greedy(now), first, others))
	}
	s.left = max(s.left, 0) + reserve
	s.normal(s.simpler(now))
	return was, nil
}

// lastEvent returns the number of actions of a run up to the last one that caused an event; 0: none.
func lastEvent(t *trace.Trace) int {
	for i, r := range slices.Backward(t.Records) {
		if len(r.Events) > 0 && !r.Settle {
			return i + mix.Bit(len(t.Records[0].Draws) > 0)
		}
	}
	return 0
}

// prefix removes the steps after the finding is certain, before any other attempt. A spec that checks the whole history
// at the end lets a run continue long after its failure. The first guess ends after the last event; 0 means no guess.
func (s *shrinker) prefix(now script, guess int) script {
	passes := now.head() - 1 // number of actions known to be too few
	try := func(n int) bool {
		if n <= passes || n >= len(now) || s.exhausted() {
			return false
		}
		next := slices.Clone(now[:n])
		if !s.fails(next) {
			return false
		}
		now = s.tidy(next)
		s.keep(now)
		return true
	}
	if guess > 0 {
		try(guess)
	}
	if !try(len(now) - 1) {
		return now
	}
	for passes+1 < len(now) && !s.exhausted() {
		if half := passes + (len(now)-passes)/2; !try(half) {
			passes = half
		}
	}
	return now
}

// few is the number of requests and faults that a reader can follow. A calm run with at most that many is not shrunk
// step by step, even if it is long; it would lose its calm form.
const few = 30

// acts returns the number of actions other than deliveries and waits.
func (a script) acts() (n int) {
	for _, x := range a[a.head():] {
		n += mix.Bit(x.Step.Kind != trace.Deliver && x.Step.Kind != trace.Wait)
	}
	return n
}

// greedy removes actions and lowers draws until no further step helps.
func (s *shrinker) greedy(now script) script {
	for before := -1; before != len(now); {
		before = len(now)
		now = s.normal(s.simpler(s.fewer(now)))
	}
	return now
}

// size returns the length of a script as text.
func (a script) size() string {
	var acts []moment
	timed := false
	for _, x := range a {
		timed = timed || x.Step.Kind == trace.Wait
		acts = append(acts, moment{Action: x})
	}
	if !timed {
		acts = nil
	}
	return sizeOf(len(a)-a.head(), a.lost(), acts)
}

// sizeOf returns a number of steps as text. In runs with waits, which have many steps, it adds the number of requests
// and of faults.
func sizeOf(steps, lost int, acts []moment) string {
	size := words.Count(steps, "step") + ", " + words.Count(lost, "message lost")
	if acts == nil {
		return size
	}
	requests, faults := 0, 0
	for _, m := range acts {
		switch m.Step.Kind {
		case trace.Request:
			requests++
		case trace.Crash, trace.Cut, trace.Pause, trace.Jump:
			faults++
		}
	}
	return size + ", " + words.Count(requests, "request") + ", " + words.Count(faults, "fault")
}

// tidy removes the actions that were skipped and those after the failure. In a system with best-effort determinism, an
// action that the last repetition skipped may matter in others, and stays.
func (s *shrinker) tidy(a script) script {
	if s.info.Determinism == lockstep.BestEffort {
		return a
	}
	return s.taken(a)
}

// taken returns the part of a script that the latest run took.
func (s *shrinker) taken(a script) script {
	took := s.player.Took()
	kept := make(script, 0, len(took))
	for _, i := range took {
		kept = append(kept, a[i])
	}
	return kept
}

// fewer removes intervals of actions, long ones first, while the run still fails.
func (s *shrinker) fewer(now script) script { return s.shorter(now, 1) }

// shorter removes intervals of at least this number of actions.
func (s *shrinker) shorter(now script, least int) script {
	for size := len(now) / 2; size >= max(least, 1); size /= 2 {
		for at := now.head(); at+size <= len(now) && !s.exhausted(); {
			if next, ok := s.without(now, at, size); ok {
				now = next
				s.keep(now)
			} else {
				at += size
			}
		}
	}
	return now
}

// unpreempted removes preemptions of goroutines, many at once first. A reader of the run must understand each of them,
// and one is more likely to keep its effect when steps are removed if there are few. A preemption that only undoes the
// effect of another one leaves with it: of a few, each is tried alone.
func (s *shrinker) unpreempted(now script) script {
	try := func(gone []preemption) bool {
		if s.exhausted() || len(gone) == 0 {
			return false
		}
		next := slices.Clone(now)
		for _, p := range gone {
			next[p.action].Draws = with(next[p.action].Draws, p.draw, 0)
		}
		if !s.fails(next) {
			return false
		}
		now = s.tidy(next)
		s.keep(now)
		return true
	}
	for size := len(preemptions(now)); size > 0; size /= 2 {
		for at, list := 0, preemptions(now); at < len(list) && !s.exhausted(); list = preemptions(now) {
			if !try(list[at:min(at+size, len(list))]) {
				at += size
			}
		}
	}
	list := preemptions(now)
	for i := range min(len(list), fewPreemptions) {
		if try(slices.Delete(slices.Clone(list), i, i+1)) {
			break
		}
	}
	return now
}

// fewPreemptions is the number of preemptions of which each is tried alone.
const fewPreemptions = 32

// preemption is the place of a draw that may preempt a goroutine.
type preemption struct{ action, draw int }

func preemptions(a script) (list []preemption) {
	for i := range a {
		for j, d := range a[i].Draws {
			if d.Goroutine != 0 && d.N > 0 {
				list = append(list, preemption{i, j})
			}
		}
	}
	return list
}

// simpler lowers the draws of the system in each step.
func (s *shrinker) simpler(now script) script {
	for i := 0; i < len(now); i++ {
		for j := 0; i < len(now) && j < len(now[i].Draws); j++ {
			for ok := !s.exhausted(); ok && i < len(now) && j < len(now[i].Draws); {
				now, ok = s.lowered(now, i, j)
			}
		}
	}
	return now
}

// lowered lowers one draw, if the run still fails. A small draw may be a choice that hides the draws after it, as "all"
// hides "this, and that". Such a choice is also tried with the later draws as large as possible, so that they can be
// lowered one by one.
func (s *shrinker) lowered(now script, at, draw int) (script, bool) {
	draws := now[at].Draws
	try := func(draws []trace.Draw) (script, bool) {
		next := slices.Clone(now)
		next[at].Draws = draws
		if !s.fails(next) {
			return now, false
		}
		next = s.tidy(next)
		s.keep(next)
		return next, true
	}
	for v := range lower(draws[draw].N) {
		if s.exhausted() {
			return now, false
		}
		if next, ok := try(with(draws, draw, v)); ok {
			return next, true
		}
	}
	if n := draws[draw].N; n > 0 && n <= mostWays && draw+1 < len(draws) {
		return try(raised(with(draws, draw, n-1), draw+1))
	}
	return now, false
}

// without removes an interval of actions if the run still fails. After the removal of a long interval, nodes may take
// each other's roles. Therefore without also rotates the nodes of the later actions.
func (s *shrinker) without(now script, at, size int) (script, bool) {
	turns := 1
	if size >= 4 && s.info.Determinism == lockstep.Deterministic && !s.inTime(now) {
		turns = s.info.Nodes
	}
	for turn := range turns {
		next := slices.Delete(slices.Clone(now), at, at+size)
		for i := at; i < len(next) && turn > 0; i++ {
			next[i] = renamed(next[i], turn, s.info.Nodes)
		}
		if s.fails(next) {
			return s.tidy(next), true
		}
	}
	return now, false
}

// renamed returns an action with every node rotated by turn.
func renamed(a trace.Action, turn, nodes int) trace.Action {
	one := func(n lockstep.Node) lockstep.Node {
		if n == 0 {
			return 0
		}
		return lockstep.Node((int(n)-1+turn)%nodes + 1)
	}
	set := func(s lockstep.Nodes) (t lockstep.Nodes) {
		for n := range s.All() {
			t = t.With(one(n))
		}
		return t
	}
	a.Msg.From, a.Msg.To, a.Step.Node = one(a.Msg.From), one(a.Msg.To), one(a.Step.Node)
	a.Step.From, a.Step.To = set(a.Step.From), set(a.Step.To)
	a.Draws = byOthers(a.Draws, one)
	return a
}

// normal sorts independent steps on different nodes: a step on a smaller node comes first. The order is kept only if
// the run still fails.
func (s *shrinker) normal(now script) script {
	next := slices.Clone(now)
	for i := 1; i < len(next); i++ {
		for j := i; j > 0 && before(next[j], next[j-1]); j-- {
			next[j], next[j-1] = next[j-1], next[j]
		}
	}
	if slices.EqualFunc(next, now, trace.Action.Equal) || !s.fails(next) || len(s.player.Took()) < len(now) {
		return now
	}
	s.keep(next)
	return next
}

// before reports whether an action that directly follows b may and should precede it. Both must be deliveries or timers
// at different nodes, and b must not be the possible sender of the delivered message.
func before(a, b trace.Action) bool {
	x, y := actor(a), actor(b)
	return x != 0 && y != 0 && x < y && !(a.Step.Kind == trace.Deliver && a.Msg.From == y)
}

// actor returns the node of a delivery or a timer.
func actor(a trace.Action) lockstep.Node {
	switch a.Step.Kind {
	case trace.Deliver:
		return a.Msg.To
	case trace.Timer:
		return a.Step.Node
	default:
		return 0
	}
}
