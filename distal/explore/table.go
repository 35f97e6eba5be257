package explore

import (
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// table gives every local state and every message a small number and remembers what the rounds do with them. A
// global state is then a vector of n small numbers, and exploring it means looking up, not running, the program.
type table struct {
	model    *sequential.Model
	n        int
	ids      map[string]uint32
	locals   []local
	classes  map[string]uint32 // projections of local states to what properties read
	messages map[string]uint32 // 0 means no message
	payloads []machine.Message
	problems []*sequential.Problem // index 0 is "none"
	verdicts *words                // vectors of classes already judged
	judged   []int                 // for each: the broken property, or -1
	buf      []byte
}

// local is an interned local state of one node.
type local struct {
	state *machine.State
	self  int
	class uint32
	hash  uint64
}

func newTable(m *sequential.Model) *table {
	n := m.Program.N
	return &table{
		model: m, n: n, ids: map[string]uint32{}, classes: map[string]uint32{}, messages: map[string]uint32{},
		payloads: []machine.Message{{}}, problems: []*sequential.Problem{nil}, verdicts: newWords(n, 64),
	}
}

// intern numbers the local state of a node. Equal states of different nodes get different numbers, because rules
// may ask for self.
func (t *table) intern(self int, s *machine.State) uint32 {
	t.buf = append(t.buf[:0], byte(self))
	t.buf = s.AppendKey(t.buf)
	if id, ok := t.ids[string(t.buf)]; ok {
		return id
	}
	id := uint32(len(t.locals))
	t.ids[string(t.buf)] = id
	t.locals = append(t.locals, local{s, self, t.class(s), mix(uint64(id))})
	return id
}

// class numbers the part of a state that properties can see.
func (t *table) class(s *machine.State) uint32 {
	seen := &machine.State{Vars: make([]machine.Value, len(s.Vars))}
	for _, q := range t.model.Program.Checked.Props {
		if q.OnOutput {
			continue
		}
		for _, v := range q.Vars {
			seen.Vars[v] = s.Vars[v]
		}
		if q.Outputs {
			seen.Output = s.Output
		}
	}
	key := string(seen.AppendVars(nil))
	id, ok := t.classes[key]
	if !ok {
		id = uint32(len(t.classes))
		t.classes[key] = id
	}
	return id
}

func (t *table) message(m machine.Message) uint32 {
	t.buf = m.AppendKey(t.buf[:0])
	if id, ok := t.messages[string(t.buf)]; ok {
		return id
	}
	id := uint32(len(t.payloads))
	t.messages[string(t.buf)] = id
	t.payloads = append(t.payloads, m)
	return id
}

// bytes estimates the memory in use; 400 for a local state or message, its values and its key is generous.
func (t *table) bytes() int64 {
	return t.verdicts.bytes() + int64(len(t.locals)+len(t.payloads))*400
}

// mailbox turns numbers of messages, by sender, into messages of a round, keeping those in the mask.
func (t *table) mailbox(tag machine.Tag, msgs []uint32, mask uint64) []machine.Message {
	var out []machine.Message
	for s, id := range msgs {
		if id != 0 && mask&(1<<s) != 0 {
			m := t.payloads[id]
			out = append(out, machine.Message{Type: m.Type, From: s + 1, Tag: tag, Fields: m.Fields})
		}
	}
	return out
}

func (t *table) problem(p *sequential.Problem) int {
	if p == nil {
		return 0
	}
	for i, q := range t.problems {
		if q != nil && *q == *p {
			return i
		}
	}
	t.problems = append(t.problems, p)
	return len(t.problems) - 1
}

// judge evaluates the invariants on a global state; vec are its local states. It returns the number of a problem.
func (t *table) judge(vec []uint32, scratch []uint32) int {
	for i, id := range vec {
		scratch[i] = t.locals[id].class
	}
	t.verdicts.roomy(func(i int) uint64 { return hashWords(t.verdicts.key(i)) })
	i, fresh := t.verdicts.insert(scratch, hashWords(scratch))
	if fresh {
		t.judged = append(t.judged, t.evaluate(vec))
	}
	return t.judged[i]
}

func (t *table) evaluate(vec []uint32) int {
	nodes := make([]*machine.State, len(vec))
	for i, id := range vec {
		nodes[i] = t.locals[id].state
	}
	return t.problem(t.model.Judge(nodes))
}
