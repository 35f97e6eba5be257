package lockstep

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// script is a run as a list of actions. Unlike a trace it does not name messages by
// their numbers, which shift when an earlier step goes, but by what they are: the i-th
// message of its type and tag on its link or, where that is not in flight, the newest
// message of its type on its link. An action that is not possible when its turn comes is
// skipped.
type script []action

type action struct {
	step Step   // Msg is not used
	body string // of a Replace
	msg  messageKey
	nth  int
}

type messageKey struct {
	from, to Node
	kind     string
	tag      Tag
}

func keyOf(m *Message) messageKey { return messageKey{m.From, m.To, m.Type, m.Tag} }

// scriptOf reads the actions of the exploring stage from a trace.
func scriptOf(t *trace.Trace) script {
	var actions script
	names := map[ID]action{}
	count := map[messageKey]int{}
	for i := range t.Records {
		r := &t.Records[i]
		if r.Step.Kind != trace.Start && !r.Settle {
			a := names[r.Step.Msg]
			a.step, a.body = r.Step, r.Body
			actions = append(actions, a)
		}
		for j := range r.Sent {
			k := keyOf(&r.Sent[j].Message)
			names[r.Sent[j].ID] = action{msg: k, nth: count[k]}
			count[k]++
		}
	}
	return actions
}

func (a script) scheduler(*worker) Scheduler {
	return &scripted{actions: a, ids: map[messageKey][]ID{}}
}

// scripted is the scheduler of a script.
type scripted struct {
	actions script
	at      int
	seen    int // messages whose names are known
	ids     map[messageKey][]ID
	took    []int // the actions that were possible, by index
}

func (s *scripted) Reset(Start) {
	s.at, s.seen, s.took = 0, 0, s.took[:0]
	clear(s.ids)
}

func (s *scripted) Next(r *Run, next *Step) bool {
	for ; s.seen < len(r.messages); s.seen++ {
		k := keyOf(&r.messages[s.seen])
		s.ids[k] = append(s.ids[k], ID(s.seen+1))
	}
	for s.at < len(s.actions) {
		a := s.actions[s.at]
		s.at++
		if step, ok := s.resolve(r, a); ok {
			s.took = append(s.took, s.at-1)
			*next = step
			return true
		}
	}
	return false
}

// resolve finds the message of an action and reports whether the step is possible.
func (s *scripted) resolve(r *Run, a action) (Step, bool) {
	step := a.step
	switch step.Kind {
	case trace.Deliver, trace.Drop, trace.Duplicate, trace.Replace:
		step.Msg = s.find(r, a)
		if step.Kind == trace.Replace && step.Msg != 0 {
			step = r.Forge(step.Msg, a.body)
		}
	}
	return step, r.Possible(step)
}

// find is the message in flight that an action means, or 0.
func (s *scripted) find(r *Run, a action) ID {
	if ids := s.ids[a.msg]; a.nth < len(ids) && r.IsInFlight(ids[a.nth]) {
		return ids[a.nth]
	}
	for _, id := range slices.Backward(r.flying) {
		if m := &r.messages[id-1]; m.From == a.msg.from && m.To == a.msg.to && m.Type == a.msg.kind {
			return id
		}
	}
	return 0
}

// script shrinks a run that is not in rounds: fewer actions, then a normal order.
func (s *shrinker) script(t *trace.Trace) (best candidate, was, is string, err error) {
	now := scriptOf(t)
	was = now.size()
	if !s.fails(now) {
		return nil, was, "", s.notRepeated("steps")
	}
	now = s.tidy(now)
	for before := -1; before != len(now); {
		before = len(now)
		now = s.fewer(now)
		now = s.normal(now)
	}
	return now, was, now.size(), nil
}

// size is the length of a script in words.
func (a script) size() string {
	lost := 0
	for _, x := range a {
		lost += btoi(x.step.Kind == trace.Drop)
	}
	return fmt.Sprintf("%d steps, %d messages lost", len(a), lost)
}

// tidy drops the actions that were skipped and those after the failure.
func (s *shrinker) tidy(a script) script {
	took := s.worker.sched.(*scripted).took
	kept := make(script, 0, len(took))
	for _, i := range took {
		kept = append(kept, a[i])
	}
	return kept
}

// fewer removes stretches of actions, long ones first, as long as the run still fails.
func (s *shrinker) fewer(now script) script {
	for size := len(now) / 2; size >= 1; size /= 2 {
		for at := 0; at+size <= len(now); {
			if next, ok := s.without(now, at, size); ok {
				now = next
			} else {
				at += size
			}
		}
	}
	return now
}

// without removes a stretch of actions if the run still fails. After a long stretch is
// gone the nodes may play each other's parts, so that what follows is tried with the
// nodes renamed in a circle as well.
func (s *shrinker) without(now script, at, size int) (script, bool) {
	turns := 1
	if size >= 4 {
		turns = s.worker.info.Nodes
	}
	for turn := range turns {
		next := slices.Delete(slices.Clone(now), at, at+size)
		for i := at; i < len(next) && turn > 0; i++ {
			next[i] = next[i].renamed(turn, s.worker.info.Nodes)
		}
		if s.fails(next) {
			return s.tidy(next), true
		}
	}
	return now, false
}

// renamed is an action with every node replaced by the one so many further on.
func (a action) renamed(turn, nodes int) action {
	one := func(n Node) Node {
		if n == 0 {
			return 0
		}
		return Node((int(n)-1+turn)%nodes + 1)
	}
	set := func(s Nodes) (t Nodes) {
		for n := range s.All() {
			t = t.With(one(n))
		}
		return t
	}
	a.msg.from, a.msg.to, a.step.Node = one(a.msg.from), one(a.msg.to), one(a.step.Node)
	a.step.From, a.step.To = set(a.step.From), set(a.step.To)
	return a
}

// normal puts steps on different nodes into a normal order where they do not depend on
// each other: a step comes before another if it acts on a smaller node. The order is
// kept only if the run still fails.
func (s *shrinker) normal(now script) script {
	next := slices.Clone(now)
	for i := 1; i < len(next); i++ {
		for j := i; j > 0 && next[j].before(next[j-1]); j-- {
			next[j], next[j-1] = next[j-1], next[j]
		}
	}
	if slices.Equal(next, now) || !s.fails(next) || len(s.worker.sched.(*scripted).took) < len(now) {
		return now
	}
	return next
}

// before reports whether an action, now right after b, may and should come before it:
// both are deliveries or alarms at different nodes, and the message delivered is not one
// that b may have sent.
func (a action) before(b action) bool {
	x, y := a.actor(), b.actor()
	return x != 0 && y != 0 && x < y && !(a.step.Kind == trace.Deliver && a.msg.from == y)
}

// actor is the node that acts in a delivery or an alarm.
func (a action) actor() Node {
	switch a.step.Kind {
	case trace.Deliver:
		return a.msg.to
	case trace.Alarm:
		return a.step.Node
	default:
		return 0
	}
}
