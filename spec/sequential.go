package spec

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
)

// DefaultTries is the default of Sequential.Tries.
const DefaultTries = 200_000

// Sequential is the spec that the clients' operations, as the events EventCall and
// EventReturn tell of them, are sequentially consistent: some order of all of them, in which
// the operations of each client keep the order in which it called them, explains all answers.
// Unlike linearizability it says nothing about the time between clients, so that a client may
// see an old state, as long as it never goes back. ZooKeeper promises as much of its reads. It
// is judged at the end of a run.
//
// An operation that was never answered may take effect at any time after the earlier ones of
// its client that were answered, or never.
//
// Deciding it takes time that is exponential in the number of clients and of operations
// without an answer. A run whose history takes too many tries has the verdict
// unknown; no limit depends on the machine.
type Sequential struct {
	// Model is the sequential system. Its Step gets Unanswered as the output of an operation
	// that was never answered, and must accept it. Where it has a Partition, each part has a
	// state of its own, but all are judged together: parts that are sequentially consistent
	// each for itself need not be so together.
	Model porcupine.Model
	// ReadOnly tells of an input that no operation with it ever changes the state, whatever
	// its answer; nil knows of none. Such an operation is put where it fits first, which
	// makes long histories decidable.
	ReadOnly func(input any) bool
	// InOrder says that an operation that was never answered takes effect before the later ones of
	// its client or never: what a client sends travels in order, as in a session of ZooKeeper.
	InOrder bool
	// Tries is the number of operations that are tried as the next one before the check is
	// given up; 0 means DefaultTries.
	Tries int
}

// Properties names what is judged.
func (Sequential) Properties() []string { return []string{"sequential-consistency"} }

// New makes a monitor.
func (s Sequential) New(lockstep.Info) lockstep.Monitor {
	if s.Tries == 0 {
		s.Tries = DefaultTries
	}
	return &sequential{Sequential: s}
}

type sequential struct {
	Sequential
	history   history
	judged    [1]int
	undecided string
}

// Reset begins a new run.
func (m *sequential) Reset() {
	m.history.reset()
	m.judged[0], m.undecided = 0, ""
}

// EventsOnly says that the history is made of events.
func (m *sequential) EventsOnly() bool { return true }

// Step judges after a step: it writes the history down.
func (m *sequential) Step(run *lockstep.Run) *lockstep.Finding {
	m.history.note(run)
	return nil
}

// End judges the end of a run.
func (m *sequential) End(*lockstep.Run) *lockstep.Finding {
	ops := m.history.ops
	if !slices.ContainsFunc(ops, answered) {
		return nil // nothing to explain
	}
	o := newOrderer(m.Sequential, ops)
	explained := o.explain()
	if !explained && o.tries == 0 {
		m.undecided = fmt.Sprintf("sequential-consistency: not decided within %d tries", m.Tries)
		return nil
	}
	if m.judged[0]++; explained {
		return nil
	}
	return &lockstep.Finding{Property: "sequential-consistency", About: m.history.about(ops),
		Text: "no order that keeps to the clients' own explains the answers: " + historyText(ops)}
}

// Conclude counts the histories that were judged.
func (m *sequential) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Judged: m.judged[:], Undecided: m.undecided}
}

// orderer looks for an order of operations, depth first. Of the operations that may be next it
// first tries those that fit and leave the state as it is, then the others, by the time of
// their calls: that explains most histories nearly at once. It does not come back to a state
// with the same operations done.
type orderer struct {
	model   porcupine.Model
	reads   func(input any) bool
	inOrder bool // loose operations, too, keep the order of their client
	ops     []porcupine.Operation
	part    []int   // of each operation
	queues  [][]int // by client: its answered operations, in the order of their calls
	loose   []int   // the others
	after   []int   // of each loose one: how many of its client's answered operations come before it
	states  []any   // by part
	taken   []int   // by client, of its queue
	used    []bool  // of the loose ones
	left    int     // answered operations that are not in the order yet
	tries   int     // until the search is given up
	visited map[string][][]any
	key     []byte
}

func newOrderer(s Sequential, ops []porcupine.Operation) *orderer {
	o := &orderer{
		model:   s.Model,
		reads:   s.ReadOnly,
		inOrder: s.InOrder,
		ops:     ops,
		part:    make([]int, len(ops)),
		tries:   s.Tries,
		visited: map[string][][]any{},
	}
	if o.reads == nil {
		o.reads = func(any) bool { return false }
	}
	if o.model.Equal == nil {
		o.model.Equal = func(a, b any) bool { return a == b }
	}
	o.divide()
	for i, op := range ops {
		for len(o.queues) <= op.ClientId {
			o.queues = append(o.queues, nil)
		}
		if answered(op) {
			o.queues[op.ClientId] = append(o.queues[op.ClientId], i)
			o.left++
		} else if !o.reads(op.Input) { // nobody would notice
			o.loose = append(o.loose, i)
			o.after = append(o.after, len(o.queues[op.ClientId]))
		}
	}
	o.taken, o.used = make([]int, len(o.queues)), make([]bool, len(o.loose))
	return o
}

// divide finds out to which part of the model's state each operation belongs. Operations are
// known by the time of their call.
func (o *orderer) divide() {
	parts := 1
	if o.model.Partition != nil {
		lists := o.model.Partition(o.ops)
		at := map[int64]int{}
		for i, list := range lists {
			for _, op := range list {
				at[op.Call] = i
			}
		}
		for i, op := range o.ops {
			o.part[i] = at[op.Call]
		}
		parts = max(len(lists), 1)
	}
	for range parts {
		o.states = append(o.states, o.model.Init())
	}
}

// explain reports whether the operations that are left can be put into order.
func (o *orderer) explain() bool {
	if o.left == 0 {
		return true
	}
	if o.tries == 0 || o.met() {
		return false
	}
	for _, n := range o.next() {
		part := o.part[n.op]
		before := o.states[part]
		o.states[part] = n.state
		o.take(n, 1)
		if o.explain() {
			return true
		}
		o.take(n, -1)
		o.states[part] = before
		if o.reads(o.ops[n.op].Input) {
			return false // later it could not do better
		}
	}
	return false
}

// candidate is an operation that fits next, with the state after it.
type candidate struct {
	op, client, loose int // loose is -1 for one of a client's queue
	state             any
	same              bool // the state is as before
}

// next lists the operations that fit next in the order in which they are tried.
func (o *orderer) next() []candidate {
	var list []candidate
	try := func(c candidate) {
		if o.tries == 0 {
			return
		}
		o.tries--
		op, before := &o.ops[c.op], o.states[o.part[c.op]]
		var ok bool
		if ok, c.state = o.model.Step(before, op.Input, op.Output); ok {
			c.same = o.model.Equal(before, c.state)
			list = append(list, c)
		}
	}
	for c, queue := range o.queues {
		if k := o.taken[c]; k < len(queue) {
			try(candidate{op: queue[k], client: c, loose: -1})
		}
	}
	for j, i := range o.loose {
		if !o.used[j] && o.taken[o.ops[i].ClientId] >= o.after[j] && (!o.inOrder || o.timely(j)) {
			try(candidate{op: i, loose: j})
		}
	}
	if o.tries == 0 {
		return nil
	}
	rank := func(c candidate) int64 {
		switch {
		case c.loose >= 0 && c.same: // it would change nothing
			return math.MaxInt64
		case o.reads(o.ops[c.op].Input):
			return -2*int64(len(o.ops)) - 1
		case c.same:
			return o.ops[c.op].Call - 2*int64(len(o.ops)) - 1
		}
		return o.ops[c.op].Call
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

// timely reports whether nothing that its client called later is in the order yet.
func (o *orderer) timely(loose int) bool {
	client := o.ops[o.loose[loose]].ClientId
	for j := loose + 1; j < len(o.loose); j++ {
		if o.used[j] && o.ops[o.loose[j]].ClientId == client {
			return false
		}
	}
	return o.taken[client] == o.after[loose]
}

// take puts an operation into the order, or takes it out again.
func (o *orderer) take(c candidate, by int) {
	if c.loose >= 0 {
		o.used[c.loose] = by > 0
		return
	}
	o.taken[c.client] += by
	o.left -= by
}

// met reports whether the search was here before, and notes that it is now.
func (o *orderer) met() bool {
	o.key = o.key[:0]
	for _, k := range o.taken {
		o.key = binary.AppendUvarint(o.key, uint64(k))
	}
	for _, used := range o.used {
		bit := byte(0)
		if used {
			bit = 1
		}
		o.key = append(o.key, bit)
	}
	for _, states := range o.visited[string(o.key)] {
		if slices.EqualFunc(states, o.states, o.model.Equal) {
			return true
		}
	}
	o.visited[string(o.key)] = append(o.visited[string(o.key)], slices.Clone(o.states))
	return false
}
