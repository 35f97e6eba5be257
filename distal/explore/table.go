package explore

import (
	"slices"
	"sync"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/internal/levels"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// table stands between the searches and the model: it gives every local state and every message a small number, and
// answers in numbers. It is the only code here that runs the program. Several goroutines may use it at once; numbers
// then depend on who comes first, and nothing else does.
type table struct {
	model    *sequential.Model
	n        int
	mu       sync.RWMutex
	ids      map[string]uint32
	locals   []local
	classes  map[string]uint32 // projections of local states to what properties read
	messages map[string]uint32 // 0 means no message
	payloads []machine.Message
	problems []*sequential.Problem // index 0 is "none"
	verdicts *words                // vectors of classes already judged
	judged   []int                 // for each: the problem
	acted    map[*core.Action]bool // what was ever called
	busy     map[int64]bool        // phases in which something was sent
	namings  [][]int               // all ways to rename the nodes; nil: they are not known to be alike
}

// table answers the exhaustive search.
var _ levels.Oracle = (*table)(nil)

// local is an interned local state of one node.
type local struct {
	state *machine.State
	self  int
	class uint32
	hash  uint64
	key   string
	named []uint32 // by naming: the state under other names; nil: not yet known
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
	mask uint64 // the senders of a smallest mailbox that leads here
}

// same says whether two ways to begin cannot be told apart.
func (a *alternative) same(b *alternative) bool {
	return a.After == b.After && a.Problem == b.Problem && slices.Equal(a.Sent, b.Sent)
}

func newTable(m *sequential.Model) *table {
	n := m.Program.N
	return &table{
		model: m, n: n, ids: map[string]uint32{}, classes: map[string]uint32{}, messages: map[string]uint32{},
		payloads: []machine.Message{{}}, acted: map[*core.Action]bool{}, busy: map[int64]bool{}, problems: []*sequential.Problem{nil}, verdicts: newWords(n, 64),
	}
}

// tag of the round with the given number, counted from 0 at the start of the run.
func (t *table) tag(round int) machine.Tag { return t.model.Tag(round) }

// note remembers what happened, for the verdict: an action that was called, a phase in which something was sent.
func (t *table) note(a *core.Action, tag machine.Tag, sent bool) {
	t.mu.RLock()
	known := (a == nil || t.acted[a]) && (!sent || t.busy[tag.Phase])
	t.mu.RUnlock()
	if known {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a != nil {
		t.acted[a] = true
	}
	if sent {
		t.busy[tag.Phase] = true
	}
}

// Nodes implements levels.Oracle, as do the exported methods below.
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

// Judge evaluates the invariants on a global state and returns the number of a problem.
func (t *table) Judge(vec []uint32) int {
	var room [core.MaxNodes]uint32
	classes := room[:len(vec)]
	t.mu.RLock()
	for i, id := range vec {
		classes[i] = t.locals[id].class
	}
	hash := hashWords(classes)
	if i, ok := t.verdicts.find(classes, hash); ok {
		defer t.mu.RUnlock()
		return t.judged[i]
	}
	nodes := make([]*machine.State, len(vec))
	for i, id := range vec {
		nodes[i] = t.locals[id].state
	}
	t.mu.RUnlock()
	problem := t.problem(t.model.Judge(nodes))
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, fresh := t.verdicts.insert(classes, hash); fresh {
		t.judged = append(t.judged, problem)
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
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.verdicts.bytes() + int64(len(t.judged))*8 + int64(len(t.locals)+len(t.payloads))*400 + int64(len(t.locals)*len(t.namings))*4
}

func (t *table) local(id uint32) local {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.locals[id]
}

// intern numbers the local state of a node. Equal states of different nodes get different numbers, because rules
// may ask for self.
func (t *table) intern(self int, s *machine.State) uint32 {
	var room [256]byte // on the stack: most states are there already, and finding them should cost no memory
	raw := s.AppendKey(append(room[:0], byte(self)))
	t.mu.RLock()
	id, ok := t.ids[string(raw)]
	t.mu.RUnlock()
	if ok {
		return id
	}
	key := string(raw)
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.ids[key]; ok {
		return id
	}
	id = uint32(len(t.locals))
	t.ids[key] = id
	t.locals = append(t.locals, local{s, self, t.class(s), hashString(key), key, nil})
	return id
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

func (t *table) message(m machine.Message) uint32 {
	key := string(m.AppendKey(nil))
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.messages[key]; ok {
		return id
	}
	id := uint32(len(t.payloads))
	t.messages[key] = id
	t.payloads = append(t.payloads, m)
	return id
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
		a.After, a.Sent = t.intern(l.self, st.State), make([]uint32, t.n)
		for _, s := range st.Out {
			m := t.message(machine.Message{Type: s.Type, Fields: s.Fields})
			for q := range t.n {
				if s.To&(1<<q) != 0 {
					a.Sent[q] = m
				}
			}
		}
		t.note(st.Action, tag, len(st.Out) > 0)
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
		o := outcome{mask: got}
		o.Local, o.Acted, o.Problem = t.intern(l.self, st.State), st.Action != nil, t.problem(st.Problem)
		t.note(st.Action, tag, false)
		o.Changed = t.local(o.Local).class != l.class
		known := false
		for i := range outs {
			if p := &outs[i]; p.Local == o.Local && p.Problem == o.Problem {
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
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []machine.Message
	for s, id := range msgs {
		if id != 0 && mask&(1<<s) != 0 {
			m := t.payloads[id]
			out = append(out, machine.Message{Type: m.Type, From: s + 1, Tag: tag, Fields: m.Fields})
		}
	}
	return out
}

// cell describes one node's part in a round: it began with a, received the messages of the nodes in mask, and ended in
// the local state `after`, perhaps with a problem. sent gives the message that each node sent to it.
func (t *table) cell(tag machine.Tag, a *alternative, mask uint64, after uint32, problem int, sent []uint32) sequential.Cell {
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
