package conform

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// model is a program with its mapping, ready to be searched. What it has computed of local states and messages it keeps
// from run to run. All of it is a function of the program: the order in which it was computed changes nothing.
type model struct {
	program *machine.Program
	mapping *Mapping
	limits  Limits
	tags    bool  // the node's tag matters: some rule looks at it
	forget  bool  // of tags before its own a node needs not know whether it acted on them
	larger  []int // variables of which a larger value allows as much
	epoch   int   // the variable that never decreases; -1: none
	field   []int // by message type: the field that says the sender's epoch; -1: none

	locals   table[local]
	messages table[machine.Message]
	sets     table[set]
	kinds    map[string]int32 // of local states that differ in larger variables only
	alone    map[[2]int32][]move
	together map[[3]int32][]move
	dead     map[[2]int64]int32
	joins    map[[2]int32]int32
	key      []byte
}

// local is a node's part of a state of the program.
type local struct {
	state *machine.State
	tag   machine.Tag   // of the last message sent or acted on; not kept if nothing looks at it
	acted []machine.Tag // on whose messages it has acted, in order
	kind  int32         // local states of one kind differ in larger variables only
}

// set is a set of messages to a node, in the order of their tags.
type set struct {
	list   []int32
	groups []int32 // the sets of messages of one tag
}

// move is an action of a node.
type move struct {
	rule  int   // index of the rule
	after int32 // the local state
	sends []delivery
}

// delivery is a message to a node.
type delivery struct {
	to      int // from 0
	message int32
}

// table numbers values by their keys.
type table[T any] struct {
	numbers map[string]int32
	list    []T
}

func (t *table[T]) find(key []byte) (int32, bool) {
	id, known := t.numbers[string(key)]
	return id, known
}

func (t *table[T]) add(key []byte, v T) int32 {
	id := int32(len(t.list))
	t.numbers[string(key)] = id
	t.list = append(t.list, v)
	return id
}

// maxTable is the number of local states, messages or sets after which everything computed is thrown away before the
// next run.
const maxTable = 1 << 18

func (m *model) reset() {
	if m.locals.numbers != nil && max(len(m.locals.list), len(m.messages.list), len(m.sets.list)) < maxTable {
		return
	}
	m.locals = table[local]{numbers: map[string]int32{}}
	m.messages = table[machine.Message]{numbers: map[string]int32{}}
	m.sets = table[set]{numbers: map[string]int32{}}
	m.kinds, m.alone, m.together = map[string]int32{}, map[[2]int32][]move{}, map[[3]int32][]move{}
	m.dead, m.joins = map[[2]int64]int32{}, map[[2]int32]int32{}
	m.set(nil) // the empty set has number 0
}

// newModel prepares a program.
func newModel(p *machine.Program, mapping *Mapping, limits Limits) (*model, error) {
	m := &model{program: p, mapping: mapping, limits: limits.filled(), epoch: -1, forget: true}
	for _, r := range p.Core.Rules {
		_, waits := r.Trigger.(core.OnRoundTimeout)
		m.tags = m.tags || waits || asksForTimely(r)
		m.forget = m.forget && (r.Message() < 0 || r.Timely || r.Current)
	}
	if err := m.refuse(); err != nil {
		return nil, err
	}
	for i, v := range p.Core.Vars {
		if slices.Contains(mapping.Larger, v.Name) {
			m.larger = append(m.larger, i)
		}
		if v.Name == mapping.Epoch {
			m.epoch = i
		}
	}
	for _, t := range p.Core.Messages {
		field := -1
		for i, f := range t.Type.Fields {
			if f.Name == mapping.Epoch && m.epoch >= 0 {
				field = i
			}
		}
		m.field = append(m.field, field)
	}
	m.reset()
	return m, nil
}

// asksForTimely says whether the guard of a rule depends on the node's tag.
func asksForTimely(r *core.Rule) (asks bool) {
	core.Walk(r.Enabling.Guard, func(e core.Expr) {
		x, ok := e.(*core.Apply)
		asks = asks || ok && x.Op == core.Timely
	})
	return asks
}

// refuse refuses programs whose actions look at messages of other rounds: here a node has the messages of one round at
// a time.
func (m *model) refuse() error {
	p := m.program.Core
	if p.Lockstep {
		return fmt.Errorf("protocol %s is in lock-step; conformance needs a program that has rules", p.Name)
	}
	var failed error
	for _, r := range p.Rules {
		look := func(e core.Expr) {
			x, ok := e.(*core.Mail)
			if ok && x.All && p.Messages[x.Message].Round != r.Round(p) {
				failed = fmt.Errorf("%s: %s reads received(%s), of another round; conformance needs rules that read their own",
					x.Pos, r.Label(p), p.Messages[x.Message].Type.Name)
			}
		}
		core.Walk(r.Enabling.Guard, look)
		p.ReachExprs(r.Body.Body, look)
	}
	return failed
}

// local numbers a local state.
func (m *model) local(l local) int32 {
	slices.SortFunc(l.acted, machine.Tag.Compare)
	rest := m.key[:0]
	rest = appendTag(rest, l.tag)
	for _, t := range l.acted {
		rest = appendTag(rest, t)
	}
	rest = append(rest, 0xff)
	full := l.state.AppendKey(slices.Clone(rest))
	m.key = rest
	if id, known := m.locals.find(full); known {
		return id
	}
	for i, v := range l.state.Vars {
		if !slices.Contains(m.larger, i) {
			rest = core.AppendValue(rest, v)
		}
	}
	kind, known := m.kinds[string(rest)]
	if !known {
		kind = int32(len(m.kinds))
		m.kinds[string(rest)] = kind
	}
	m.key, l.kind = rest, kind
	return m.locals.add(full, l)
}

func appendTag(buf []byte, t machine.Tag) []byte {
	return binary.AppendVarint(binary.AppendVarint(buf, t.Phase), int64(t.Round))
}

// message numbers a message.
func (m *model) message(v machine.Message) int32 {
	m.key = binary.AppendUvarint(m.key[:0], uint64(v.From))
	m.key = v.AppendKey(appendTag(m.key, v.Tag))
	if id, known := m.messages.find(m.key); known {
		return id
	}
	return m.messages.add(m.key, v)
}

// before orders messages by what they are, not by their numbers, which depend on earlier runs.
func (m *model) before(a, b int32) int {
	if a == b {
		return 0
	}
	x, y := &m.messages.list[a], &m.messages.list[b]
	if c := x.Tag.Compare(y.Tag); c != 0 {
		return c
	}
	if x.From != y.From {
		return x.From - y.From
	}
	if x.Type != y.Type {
		return x.Type - y.Type
	}
	for i := range x.Fields {
		if c := core.Compare(x.Fields[i], y.Fields[i]); c != 0 {
			return c
		}
	}
	return 0
}

// set numbers a set of messages, which is in order.
func (m *model) set(list []int32) int32 {
	key := m.key[:0]
	for _, id := range list {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	m.key = key
	if id, known := m.sets.find(key); known {
		return id
	}
	id := m.sets.add(key, set{list: slices.Clone(list)})
	s := set{list: m.sets.list[id].list}
	for from := 0; from < len(s.list); {
		to := from + 1
		for to < len(s.list) && m.messages.list[s.list[to]].Tag == m.messages.list[s.list[from]].Tag {
			to++
		}
		if to-from == len(s.list) {
			s.groups = []int32{id}
			break
		}
		s.groups = append(s.groups, m.set(s.list[from:to]))
		from = to
	}
	m.sets.list[id] = s
	return id
}

// join adds a message to a set.
func (m *model) join(to, message int32) int32 {
	key := [2]int32{to, message}
	if id, known := m.joins[key]; known {
		return id
	}
	list := m.sets.list[to].list
	id := to
	if at, found := slices.BinarySearchFunc(list, message, m.before); !found {
		id = m.set(slices.Insert(slices.Clone(list), at, message))
	}
	m.joins[key] = id
	return id
}

// alive is a set without the messages of epochs before that of the receiver.
func (m *model) alive(in int32, l int32) int32 {
	if m.epoch < 0 || in == 0 {
		return in
	}
	now := m.locals.list[l].state.Vars[m.epoch].N
	key := [2]int64{int64(in), now}
	if id, known := m.dead[key]; known {
		return id
	}
	list := slices.DeleteFunc(slices.Clone(m.sets.list[in].list), func(id int32) bool {
		v := &m.messages.list[id]
		f := m.field[v.Type]
		return f >= 0 && v.Fields[f].N < now
	})
	id := m.set(list)
	m.dead[key] = id
	return id
}

// covers says whether a node in the local state a can do whatever it can do in b.
func (m *model) covers(a, b int32) bool {
	if a == b {
		return true
	}
	x, y := &m.locals.list[a], &m.locals.list[b]
	if x.kind != y.kind {
		return false
	}
	for _, i := range m.larger {
		if x.state.Vars[i].N < y.state.Vars[i].N {
			return false
		}
	}
	return true
}

// includes says whether all messages of b are in a.
func (m *model) includes(a, b int32) bool {
	if a == b {
		return true
	}
	x, y := m.sets.list[a].list, m.sets.list[b].list
	if len(y) > len(x) {
		return false
	}
	at := 0
	for _, id := range y {
		for at < len(x) && m.before(x[at], id) < 0 {
			at++
		}
		if at == len(x) || x[at] != id {
			return false
		}
	}
	return true
}
