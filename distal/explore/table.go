package explore

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/internal/grow"
	"github.com/lockstep-go/lockstep/distal/internal/levels"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/distal/symmetry"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// table stands between the searches and the model: it gives every local state and every message a small number, and
// answers in numbers. It is the only code here that runs the program. Several goroutines may use it at once; numbers
// then depend on which worker comes first, and nothing else does. A worker that has a number finds what it means
// without a lock.
type table struct {
	model    *sequential.Model
	n        int
	ids      [64]ids // by a hash of the state
	messages ids     // 0 means no message
	locals   grow.Array[*local]
	payloads grow.Array[machine.Message]
	acted    sync.Map // *core.Action: what was ever called
	busy     sync.Map // int64: phases in which something was sent
	reached  sync.Map // machine.Transition: what nodes did, if states have kinds
	kind     func(*machine.State) string
	byRule   bool               // ways to end a round are distinct also if only their rules are
	symmetry *symmetry.Symmetry // nil: not looked for

	mu       sync.Mutex            // for what is below, and for adding to lists
	states   int                   // how many local states there are
	classes  map[string]uint32     // projections of local states to what properties read
	problems []*sequential.Problem // index 0 is "none"
	verdicts *words                // vectors of classes already checked
	checked  []int                 // for each: the problem
}

// table answers the exhaustive search.
var _ levels.Oracle = (*table)(nil)

// ids are numbers of what is described by a text.
type ids struct {
	mu sync.RWMutex
	of map[string]uint32
	_  [32]byte // on a cache line of its own
}

// number finds the number of a text, or lets it be made.
func (i *ids) number(raw []byte, next func(key string) uint32) uint32 {
	i.mu.RLock()
	id, ok := i.of[string(raw)]
	i.mu.RUnlock()
	if ok {
		return id
	}
	key := string(raw)
	i.mu.Lock()
	defer i.mu.Unlock()
	if id, ok := i.of[key]; ok {
		return id
	}
	if i.of == nil {
		i.of = map[string]uint32{}
	}
	id = next(key)
	i.of[key] = id
	return id
}

// local is an interned local state of one node.
type local struct {
	state *machine.State
	self  int
	class uint32
	hash  uint64
	key   string
	kind  string                   // only if the table has kinds
	named atomic.Pointer[[]uint32] // by naming: the state under other names; nil: not yet known
}

// alternative is one way in which a node can begin a round.
type alternative struct {
	levels.Beginning
	fired *core.Action   // a timeout; nil: none
	out   []machine.Send // what it sends
}

// outcome is one distinct way in which a node can end a round.
type outcome struct {
	levels.Ending
	mask uint64       // the senders of a smallest mailbox that leads here
	rule *core.Action // what was called; nil: nothing
}

// same says whether two ways to begin cannot be distinguished.
func (a *alternative) same(b *alternative) bool {
	return a.After == b.After && a.Problem == b.Problem && slices.Equal(a.Sent, b.Sent)
}

func newTable(m *sequential.Model) *table {
	n := m.Program.N
	return &table{model: m, n: n, classes: map[string]uint32{}, problems: []*sequential.Problem{nil},
		verdicts: newWords(n, 64)}
}

// tag of the round with the given number, counted from 0 at the start of the run.
func (t *table) tag(round int) machine.Tag { return t.model.Tag(round) }

// note remembers what happened, for the verdict: an action that was called, a phase in which something was sent.
func (t *table) note(a *core.Action, tag machine.Tag, sent bool) {
	if a != nil {
		remember(&t.acted, a)
	}
	if sent {
		remember(&t.busy, tag.Phase)
	}
}

// transition remembers what a rule did to a local state.
func (t *table) transition(a *core.Action, from, to uint32) {
	if t.kind != nil && a != nil && a.Rule != nil {
		remember(&t.reached, machine.Transition{Rule: a.Rule.Index, Before: t.local(from).kind, After: t.local(to).kind})
	}
}

// remember puts a key into a set: mostly it is there.
func remember(set *sync.Map, key any) {
	if _, ok := set.Load(key); !ok {
		set.Store(key, true)
	}
}

// Nodes is the number of nodes.
func (t *table) Nodes() int { return t.n }

// Modes is the number of joint choices of the network.
func (t *table) Modes() int { return len(t.model.Network.Modes) }

// Initial lists the first local states of a node.
func (t *table) Initial(node int) (locals []uint32, problem int) {
	for _, st := range t.model.Initial(node + 1) {
		if st.Problem != nil {
			return nil, t.problem(st.Problem)
		}
		locals = append(locals, t.intern(node+1, st.State))
	}
	return locals, 0
}

// Begin lists how a node can begin a round.
func (t *table) Begin(round int, id uint32) []levels.Beginning {
	alts := t.begin(t.tag(round), id)
	out := make([]levels.Beginning, len(alts))
	for i, a := range alts {
		out[i] = a.Beginning
	}
	return out
}

// End lists how a node can end a round.
func (t *table) End(round, mode int, id uint32, sent []uint32) []levels.Ending {
	outs := t.end(t.tag(round), mode, id, sent)
	out := make([]levels.Ending, len(outs))
	for i, o := range outs {
		out[i] = o.Ending
	}
	return out
}

// Check evaluates the invariants on a global state and returns the number of a problem.
func (t *table) Check(vec []uint32) int {
	var spare [core.MaxNodes]uint32
	classes := spare[:len(vec)]
	for i, id := range vec {
		classes[i] = t.local(id).class
	}
	hash := mix.Words(classes)
	t.mu.Lock()
	i, ok := t.verdicts.find(classes, hash)
	if ok {
		i = t.checked[i]
	}
	t.mu.Unlock()
	if ok {
		return i
	}
	nodes := make([]*machine.State, len(vec))
	for i, id := range vec {
		nodes[i] = t.local(id).state
	}
	problem := t.problem(t.model.Check(nodes))
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, fresh := t.verdicts.insert(classes, hash); fresh {
		t.checked = append(t.checked, problem)
	}
	return problem
}

// Local describes a local state.
func (t *table) Local(id uint32) (hash uint64, class uint32) {
	l := t.local(id)
	return l.hash, l.class
}

// Bytes estimates the memory in use; 400 for a local state or message, its values and its key is generous.
func (t *table) Bytes() int64 {
	t.messages.mu.RLock()
	things := len(t.messages.of)
	t.messages.mu.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	things += t.states
	named := 0
	if t.symmetry != nil {
		named = len(t.symmetry.Namings)
	}
	return t.verdicts.bytes() + int64(len(t.checked))*8 + int64(things)*400 + int64(t.states*named)*4
}

// local is what has a number.
func (t *table) local(id uint32) *local { return *t.locals.Find(int(id)) }

// intern numbers the local state of a node. Equal states of different nodes get different numbers, because rules
// may ask for self.
func (t *table) intern(self int, s *machine.State) uint32 {
	var spare [256]byte // on the stack: most states are there already, and finding them should cost no memory
	raw := s.AppendKey(append(spare[:0], byte(self)))
	return t.ids[(mix.Bytes(raw)>>32)%uint64(len(t.ids))].number(raw, func(key string) uint32 {
		t.mu.Lock()
		defer t.mu.Unlock()
		l := &local{state: s, self: self, class: t.class(s), hash: mix.Scramble(mix.Text(key)), key: key}
		if t.kind != nil {
			l.kind = t.kind(s)
		}
		*t.locals.Make(t.states) = l
		t.states++
		return uint32(t.states - 1)
	})
}

// next numbers the state that follows a local state: mostly it is the same one.
func (t *table) next(id uint32, l *local, s *machine.State) uint32 {
	if s == l.state {
		return id
	}
	return t.intern(l.self, s)
}

// class numbers the part of a state that properties can see.
func (t *table) class(s *machine.State) uint32 {
	seen := &machine.State{Vars: make([]machine.Value, len(s.Vars))}
	for _, q := range t.model.Program.Core.Props {
		if q.Moment == core.OnOutput {
			continue
		}
		for _, v := range q.Vars {
			seen.Vars[v] = s.Vars[v]
		}
	}
	key := string(seen.AppendKey(nil))
	id, ok := t.classes[key]
	if !ok {
		id = uint32(len(t.classes))
		t.classes[key] = id
	}
	return id
}

// message numbers a message, from 1.
func (t *table) message(m machine.Message) uint32 {
	return t.messages.number(m.AppendKey(nil), func(string) uint32 {
		id := uint32(len(t.messages.of)) + 1
		*t.payloads.Make(int(id)) = m
		return id
	})
}

func (t *table) problem(p *sequential.Problem) int {
	if p == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, q := range t.problems {
		if q != nil && *q == *p {
			return i
		}
	}
	t.problems = append(t.problems, p)
	return len(t.problems) - 1
}

// begin runs the model for the beginning of a round.
func (t *table) begin(tag machine.Tag, id uint32) []alternative {
	l := t.local(id)
	var alts []alternative
	for _, st := range t.model.Send(l.self, l.state, tag) {
		a := alternative{fired: st.Action, out: st.Out}
		a.After, a.Sent = t.next(id, l, st.State), make([]uint32, t.n)
		for _, s := range st.Out {
			m := t.message(machine.Message{Type: s.Type, Fields: s.Fields})
			for q := range t.n {
				if s.To&(1<<q) != 0 {
					a.Sent[q] = m
				}
			}
		}
		t.note(st.Action, tag, len(st.Out) > 0)
		t.transition(st.Action, id, a.After)
		a.Changed = t.local(a.After).class != l.class
		a.Problem = t.problem(st.Problem)
		if !slices.ContainsFunc(alts, func(b alternative) bool { return a.same(&b) }) {
			alts = append(alts, a)
		}
	}
	return alts
}

// end runs the model for every mailbox that the network allows and keeps the distinct outcomes. Smaller mailboxes
// come first, so that the mask of an outcome shows a smallest one.
func (t *table) end(tag machine.Tag, mode int, id uint32, msgs []uint32) []outcome {
	var sent uint64
	self := t.local(id).self
	for s, m := range msgs {
		if m != 0 {
			sent |= 1 << s
		}
	}
	var outs []outcome
	for got := uint64(0); ; got = (got - sent) & sent {
		if t.model.Network.Allowed(mode, self-1, sent, got) {
			outs = t.receive(tag, id, msgs, got, outs)
		}
		if got == sent {
			return outs
		}
	}
}

// receive runs the model for one mailbox and adds the outcomes that are not yet there.
func (t *table) receive(tag machine.Tag, id uint32, msgs []uint32, got uint64, outs []outcome) []outcome {
	l := t.local(id)
	for _, st := range t.model.Update(l.self, l.state, tag, t.mailbox(tag, msgs, got)) {
		o := outcome{mask: got, rule: st.Action}
		o.Local, o.Acted, o.Problem = t.next(id, l, st.State), st.Action != nil, t.problem(st.Problem)
		t.note(st.Action, tag, false)
		t.transition(st.Action, id, o.Local)
		o.Changed = t.local(o.Local).class != l.class
		known := false
		for i := range outs {
			if p := &outs[i]; p.Local == o.Local && p.Problem == o.Problem && (!t.byRule || p.rule == o.rule) {
				// An idle way to the same state is preferred: it keeps the round inactive.
				p.Acted = p.Acted && o.Acted
				known = true
			}
		}
		if !known {
			outs = append(outs, o)
		}
	}
	return outs
}

// mailbox turns numbers of messages, by sender, into messages of a round, keeping those in the mask.
func (t *table) mailbox(tag machine.Tag, msgs []uint32, mask uint64) []machine.Message {
	var out []machine.Message
	for s, id := range msgs {
		if id != 0 && mask&(1<<s) != 0 {
			m := t.payloads.Find(int(id))
			out = append(out, machine.Message{Type: m.Type, From: s + 1, Tag: tag, Fields: m.Fields})
		}
	}
	return out
}

// cell describes one node's part in a round: it began with a, received the messages of the nodes in mask, and ended in
// the local state `after`, perhaps with a problem. sent gives the message that each node sent to it.
func (t *table) cell(tag machine.Tag, a *alternative, mask uint64, after uint32, problem int,
	sent []uint32) sequential.Cell {
	begun := t.local(a.After)
	c := sequential.Cell{Began: a.fired, Begun: begun.state, Out: a.out, Received: mask, State: t.local(after).state}
	for _, st := range t.model.Update(begun.self, begun.state, tag, t.mailbox(tag, sent, mask)) {
		if t.intern(begun.self, st.State) == after && t.problem(st.Problem) == problem {
			c.Rule, c.Outputs = st.Action, st.Outputs
			break
		}
	}
	return c
}
