package conform

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/machine"
)

// world is a state in which the program may be: a local state of each node, and the messages to it, which it may
// receive at any time from then on. A lost message is one that it never receives.
type world struct {
	local  []int32
	inbox  []int32
	past   *event
	depth  int  // actions of the node since its event
	gone   bool // another world covers it
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
	worlds  []*world
	byKind  map[string][]*world
	agree   [][]int8 // by node and local state: 0 not known, 1 yes, -1 no
	see     Observer
	effort  int    // states looked at for this event
	reached string // the limit that was reached so far, in words
	key     []byte
}

// begin starts all nodes.
func (s *search) begin() {
	m := s.m
	s.agree = make([][]int8, m.program.N)
	s.reached, s.effort = "", 0
	first := &world{local: make([]int32, m.program.N), inbox: make([]int32, m.program.N)}
	worlds := []*world{first}
	for node := range m.program.N {
		var next []*world
		for _, w := range worlds {
			for _, v := range m.starts(node) {
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
	s.clear()
	for _, w := range worlds {
		s.add(w)
	}
	s.close()
}

func (w *world) clone() *world {
	return &world{local: slices.Clone(w.local), inbox: slices.Clone(w.inbox), past: w.past, depth: w.depth}
}

// limit takes note of a limit that was reached.
func (s *search) limit(format string, args ...any) {
	if s.reached == "" {
		s.reached = fmt.Sprintf(format, args...)
	}
}

func (s *search) clear() {
	s.worlds, s.byKind = s.worlds[:0:0], map[string][]*world{}
}

// agrees says whether what is known of a node agrees with a local state. The answers are kept until the node's next
// event.
func (s *search) agrees(node int, l int32) bool {
	list := s.agree[node]
	for int(l) >= len(list) {
		list = append(list, make([]int8, max(64, len(list)))...)
	}
	s.agree[node] = list
	if list[l] == 0 {
		list[l] = -1
		if s.see.Agrees(node+1, s.m.locals.list[l].state) {
			list[l] = 1
		}
	}
	return list[l] > 0
}

// observed takes note that more is known of a node now. It is false when no state of the program remains; the list of
// worlds is then as it was before.
func (s *search) observed(node int) bool {
	before := s.worlds
	clear(s.agree[node])
	s.chain(node)
	if len(s.worlds) == 0 {
		s.worlds = before
		return false
	}
	s.close()
	return true
}

// chain finds the worlds after an event: a node acts, in as many actions as it takes, until it is as observed. What
// other nodes did before that nothing shows is done already.
func (s *search) chain(node int) {
	reached := &search{m: s.m, see: s.see, agree: s.agree}
	reached.clear()
	for _, w := range s.worlds {
		first := w.clone()
		first.depth = 0
		reached.add(first)
	}
	goals := &search{m: s.m, see: s.see, agree: s.agree}
	goals.clear()
	for i := 0; i < len(reached.worlds); i++ {
		w := reached.worlds[i]
		if w.gone {
			continue
		}
		if s.agrees(node, w.local[node]) {
			goals.add(w.clone())
		}
		s.effort++
		s.each(w, node, func(v *world) bool {
			v.depth = w.depth + 1
			switch {
			case !s.see.Leads(node+1, s.state(v, node)):
			case v.depth > s.m.limits.Actions:
				s.limit("an event would take more than %d actions of its node", s.m.limits.Actions)
			case len(reached.worlds) >= s.m.limits.States:
				s.limit("more than %d states of the model may explain an event", s.m.limits.States)
			default:
				reached.add(v)
			}
			return true
		})
	}
	s.worlds, s.byKind = goals.living(), goals.byKind
}

// state is the local state of a node.
func (s *search) state(w *world, node int) *machine.State { return s.m.locals.list[w.local[node]].state }

// close adds what can be reached by actions that nothing shows: those after which every node is still as observed.
func (s *search) close() {
	for i := 0; i < len(s.worlds); i++ {
		w := s.worlds[i]
		for node := 0; node < s.m.program.N && !w.gone; node++ {
			s.effort++
			s.each(w, node, func(v *world) bool {
				if !s.agrees(node, v.local[node]) {
					return true
				}
				if len(s.worlds) >= s.m.limits.States {
					s.limit("more than %d states of the model are possible after an event", s.m.limits.States)
					return false
				}
				s.add(v)
				return !w.gone
			})
		}
	}
	s.worlds = s.living()
}

// living lists the worlds that no other one covers.
func (s *search) living() []*world {
	return slices.DeleteFunc(s.worlds, func(w *world) bool { return w.gone })
}

// each makes the worlds after each action of a node, until visit says no.
func (s *search) each(w *world, node int, visit func(*world) bool) {
	m := s.m
	for _, v := range m.actions(node, w.local[node]) {
		if !visit(s.after(w, node, &v)) {
			return
		}
	}
	for _, group := range m.sets.list[w.inbox[node]].groups {
		for _, v := range m.reactions(node, w.local[node], group) {
			if !visit(s.after(w, node, &v)) {
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
	for _, d := range v.sends {
		out.inbox[d.to] = m.join(out.inbox[d.to], d.message)
	}
	out.past = &event{before: w.past, node: node, rule: v.rule, from: w.local[node], to: v.after}
	for to := range out.inbox {
		out.inbox[to] = m.alive(out.inbox[to], out.local[to])
	}
	return out
}

// add adds a world, unless another one covers it, and takes out those that it covers.
func (s *search) add(w *world) {
	s.key = s.key[:0]
	for _, l := range w.local {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(s.m.locals.list[l].kind))
	}
	list := s.byKind[string(s.key)]
	for _, old := range list {
		if s.covers(old, w) {
			return
		}
	}
	list = slices.DeleteFunc(list, func(old *world) bool {
		old.gone = s.covers(w, old)
		return old.gone
	})
	s.byKind[string(s.key)] = append(list, w)
	s.worlds = append(s.worlds, w)
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
