package conform

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// world is a state in which the program may be: a local state of each node, and the messages to it, which it may
// receive at any time from then on. A lost message is one that it never receives.
type world struct {
	local []int32
	inbox []int32
	kinds uint64 // hash of the kinds of the local states
	past  *event
	depth int    // actions of the node since its event
	dirty uint64 // nodes whose local state, messages or event are new since all hidden actions were looked at
	gone  bool   // another world covers it
}

// event is an action in a history, the last one first.
type event struct {
	before *event
	node   int
	rule   int
	from   int32
	to     int32
}

// search follows the states of the program along a run.
type search struct {
	m       *model
	see     Observer
	worlds  []*world
	agree   [][]int32 // by node and local state: the number of the node's event if it agrees, or -1 times that
	events  []int32   // of each node so far, plus 1
	reached string    // the limit that was reached so far, as text
}

// begin starts all nodes.
func (s *search) begin() {
	m, n := s.m, s.m.program.N
	if s.agree == nil {
		s.agree, s.events = make([][]int32, n), make([]int32, n)
	}
	for i := range s.events {
		s.events[i] = 1
		clear(s.agree[i])
	}
	s.reached = ""
	worlds := []*world{{local: make([]int32, n), inbox: make([]int32, n), dirty: 1<<n - 1}}
	for node := range n {
		var next []*world
		for _, w := range worlds {
			for _, v := range m.starts(node) {
				if !s.agrees(node, v.after) {
					continue
				}
				made := w.clone()
				made.local[node] = v.after
				for _, d := range v.sends {
					made.inbox[d.to] = m.join(made.inbox[d.to], d.message)
				}
				next = append(next, made)
			}
		}
		worlds = next
	}
	var all cover
	for _, w := range worlds {
		s.add(&all, w)
	}
	s.worlds = s.close(all)
}

func (w *world) clone() *world {
	n := len(w.local)
	both := make([]int32, 2*n)
	copy(both, w.local)
	copy(both[n:], w.inbox)
	return &world{local: both[:n:n], inbox: both[n:], past: w.past, depth: w.depth, dirty: w.dirty}
}

// limit takes note of a limit that was reached.
func (s *search) limit(format string, args ...any) {
	if s.reached == "" {
		s.reached = fmt.Sprintf(format, args...)
	}
}

// agrees says whether what is known of a node agrees with a local state. The answers are kept until the node's next
// event.
func (s *search) agrees(node int, l int32) bool {
	list := s.agree[node]
	for int(l) >= len(list) {
		list = append(list, make([]int32, max(64, len(list)))...)
	}
	s.agree[node] = list
	now := s.events[node]
	if list[l] != now && list[l] != -now {
		list[l] = -now
		if s.see.Agrees(node+1, s.m.locals.list[l].state) {
			list[l] = now
		}
	}
	return list[l] == now
}

// observed takes note that more is known of a node now. It is false when no state of the program remains; the list of
// worlds is then as it was before.
func (s *search) observed(node int) bool {
	s.events[node]++
	after := s.chain(node)
	if len(after) == 0 {
		return false
	}
	s.worlds = s.close(after)
	return true
}

// chain finds the worlds after an event: a node acts, in as many actions as it takes, until it is as observed. What
// nodes did before that nothing shows is done already.
func (s *search) chain(node int) cover {
	var reached, goals cover
	for _, w := range s.worlds {
		first := w.clone()
		first.depth, first.dirty = 0, 1<<node
		s.add(&reached, first)
	}
	for i := 0; i < len(reached); i++ {
		w := reached[i]
		if w.gone {
			continue
		}
		if v := s.better(w, node); v != nil {
			s.add(&reached, v)
			continue
		}
		if s.agrees(node, w.local[node]) {
			s.add(&goals, w.clone())
		}
		s.each(w, node, func(v *move) bool {
			switch {
			case !s.agrees(node, v.after) && !s.see.Leads(node+1, s.m.locals.list[v.after].state):
			case w.depth == s.m.limits.Actions:
				s.limit("an event would take more than %d actions of its node", s.m.limits.Actions)
			case len(reached) >= s.m.limits.States:
				s.limit("more than %d states of the model may explain an event", s.m.limits.States)
				return false
			default:
				s.add(&reached, s.after(w, node, v))
			}
			return true
		})
	}
	return goals
}

// state is the local state of a node.
func (s *search) state(w *world, node int) *machine.State {
	return s.m.locals.list[w.local[node]].state
}

// close adds what can be reached by hidden actions: those after which every node is still as observed. Of a world, only
// nodes that are dirty need a look: what others can do, they could do before the event, and then the event happened in
// the world after that.
func (s *search) close(all cover) []*world {
	for i := 0; i < len(all); i++ {
		w := all[i]
		for node := 0; node < s.m.program.N && !w.gone; node++ {
			if w.dirty>>node&1 == 0 {
				continue
			}
			if v := s.better(w, node); v != nil {
				s.add(&all, v)
				break
			}
			s.each(w, node, func(v *move) bool {
				if !s.agrees(node, v.after) {
					return true
				}
				if len(all) >= s.m.limits.States {
					s.limit("more than %d states of the model are possible after an event", s.m.limits.States)
					return false
				}
				s.add(&all, s.after(w, node, v))
				return true
			})
		}
	}
	return slices.DeleteFunc(all, func(w *world) bool { return w.gone })
}

// better is the world after an action of a node that covers the one before: the node can still do whatever it could,
// and the action has an effect. Whatever else could happen may happen after that. Nil: there is none.
func (s *search) better(w *world, node int) (out *world) {
	s.each(w, node, func(v *move) bool {
		if !s.m.covers(v.after, w.local[node]) {
			return true
		}
		if next := s.after(w, node, v); next.local[node] != w.local[node] || !slices.Equal(next.inbox, w.inbox) {
			out = next
		}
		return out == nil
	})
	return out
}

// each visits the actions of a node, until visit says no.
func (s *search) each(w *world, node int, visit func(*move) bool) {
	m := s.m
	list := m.actions(node, w.local[node])
	for i := range list {
		if !visit(&list[i]) {
			return
		}
	}
	for _, group := range m.sets.list[w.inbox[node]].groups {
		list = m.reactions(node, w.local[node], group)
		for i := range list {
			if !visit(&list[i]) {
				return
			}
		}
	}
}

// after is the world after an action.
func (s *search) after(w *world, node int, v *move) *world {
	m := s.m
	out := w.clone()
	out.local[node] = v.after
	out.depth++
	out.dirty |= 1 << node
	for _, d := range v.sends {
		if now := m.join(out.inbox[d.to], d.message); now != out.inbox[d.to] {
			out.inbox[d.to] = now
			out.dirty |= 1 << d.to
		}
	}
	out.past = &event{before: w.past, node: node, rule: v.rule, from: w.local[node], to: v.after}
	for to := range out.inbox {
		out.inbox[to] = m.alive(out.inbox[to], out.local[to])
	}
	return out
}

// cover is a list of worlds of which none that is not gone covers another one.
type cover []*world

// add adds a world, unless another one covers it; those that it covers are gone.
func (s *search) add(list *cover, w *world) {
	hash := mix.Start
	for _, l := range w.local {
		hash.Mix(uint64(s.m.locals.list[l].kind))
	}
	w.kinds = uint64(hash)
	for _, old := range *list {
		if old.kinds == w.kinds && !old.gone && s.covers(old, w) {
			return
		}
	}
	for _, old := range *list {
		old.gone = old.gone || old.kinds == w.kinds && s.covers(w, old)
	}
	*list = append(*list, w)
}

// covers says whether whatever is possible after b is possible after a.
func (s *search) covers(a, b *world) bool {
	for i := range a.local {
		if !s.m.covers(a.local[i], b.local[i]) || !s.m.includes(a.inbox[i], b.inbox[i]) {
			return false
		}
	}
	return true
}
