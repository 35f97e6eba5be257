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

// DefaultAttempts is the default of Sequential.Attempts.
const DefaultAttempts = 200_000

// Sequential is the spec that the clients' operations, as reported by the events EventCall and EventReturn, are
// sequentially consistent. This means that some order of all of them explains all answers. In this order, the
// operations of each client keep the order of their calls. Unlike linearizability, it ignores the time between
// clients, so that a client may see an old state, as long as it never goes back. ZooKeeper promises this for its
// reads. The spec is checked at the end of a run.
//
// An operation without an answer may take effect at any time after its client's earlier answered operations, or
// never.
//
// A check takes time that is exponential in the number of clients and of operations without an answer. A run whose
// history takes too many attempts has the verdict unknown; no limit depends on the machine.
type Sequential struct {
	// Model is the sequential system. Its Step gets Unanswered as the output of an operation without an answer, and
	// must accept it. If it has a Partition, each part has a state of its own, but all are checked together. Parts
	// may be sequentially consistent separately, but not together.
	Model porcupine.Model
	// ReadOnly reports that an operation with this input never changes the state, whatever its answer; nil knows of
	// no such input. The search places such an operation as soon as it fits, which makes long histories decidable.
	ReadOnly func(input any) bool
	// InOrder says that an operation without an answer takes effect before the later ones of its client or never. A
	// client's messages travel in order, as in a session of ZooKeeper.
	InOrder bool
	// Attempts is the number of operations that the search considers as the next one before the check ends; 0 means
	// DefaultAttempts.
	Attempts int
}

// Properties names the property.
func (Sequential) Properties() []string { return []string{"sequential-consistency"} }

// New makes a monitor.
func (s Sequential) New(lockstep.Info) lockstep.Monitor {
	if s.Attempts == 0 {
		s.Attempts = DefaultAttempts
	}
	return &sequential{Sequential: s}
}

type sequential struct {
	Sequential
	history   history
	checked   [1]int
	undecided string
}

// Reset begins a new run.
func (s *sequential) Reset() {
	s.history.reset()
	s.checked[0], s.undecided = 0, ""
}

// EventsOnly says that the history consists of events.
func (s *sequential) EventsOnly() bool { return true }

// Step adds the events of a step to the history.
func (s *sequential) Step(run *lockstep.Run) *lockstep.Finding {
	s.history.note(run)
	return nil
}

// End checks the end of a run.
func (s *sequential) End(*lockstep.Run) *lockstep.Finding {
	if s.history.reused != "" {
		s.undecided = "sequential-consistency: " + s.history.reused
		return nil
	}
	ops := s.history.ops
	if !slices.ContainsFunc(ops, answered) {
		return nil // no answers to explain
	}
	o := newOrderer(s.Sequential, ops)
	explained := o.explain()
	if !explained && o.attempts == 0 {
		s.undecided = fmt.Sprintf("sequential-consistency: not decided within %d attempts", s.Attempts)
		return nil
	}
	if s.checked[0]++; explained {
		return nil
	}
	return &lockstep.Finding{Property: "sequential-consistency", About: s.history.about(ops),
		Text: "no order that keeps each client's own explains the answers: " + historyText(ops)}
}

// Conclude counts the histories that were checked.
func (s *sequential) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Checked: s.checked[:], Undecided: s.undecided}
}

// orderer searches for an order of operations, depth first. Among the possible next operations, it first takes those
// that fit and do not change the state, then the others, by the time of their calls. This explains most histories
// almost at once. It does not revisit a state with the same operations placed.
type orderer struct {
	model    porcupine.Model
	reads    func(input any) bool
	inOrder  bool // loose operations, too, keep the order of their client
	ops      []porcupine.Operation
	part     []int   // of each operation
	queues   [][]int // by client: its answered operations, in the order of their calls
	loose    []int   // the operations without an answer
	after    []int   // of each loose one: the number of its client's answered operations before it
	states   []any   // by part
	taken    []int   // by client, of its queue
	used     []bool  // of the loose ones
	left     int     // answered operations not yet in the order
	attempts int     // attempts left until the search ends
	visited  map[string][][]any
	key      []byte
}

func newOrderer(s Sequential, ops []porcupine.Operation) *orderer {
	o := &orderer{
		model:    s.Model,
		reads:    s.ReadOnly,
		inOrder:  s.InOrder,
		ops:      ops,
		part:     make([]int, len(ops)),
		attempts: s.Attempts,
		visited:  map[string][][]any{},
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
		} else if !o.reads(op.Input) { // a read without an answer has no effect
			o.loose = append(o.loose, i)
			o.after = append(o.after, len(o.queues[op.ClientId]))
		}
	}
	o.taken, o.used = make([]int, len(o.queues)), make([]bool, len(o.loose))
	return o
}

// divide determines the part of the model's state of each operation. It identifies operations by the time of their
// call.
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

// explain reports whether the remaining operations can be ordered.
func (o *orderer) explain() bool {
	if o.left == 0 {
		return true
	}
	if o.attempts == 0 || o.met() {
		return false
	}
	for _, n := range o.next() {
		part := o.part[n.op]
		before := o.states[part]
		o.states[part] = n.state
		o.apply(n, 1)
		if o.explain() {
			return true
		}
		o.apply(n, -1)
		o.states[part] = before
		if o.reads(o.ops[n.op].Input) {
			return false // a later position would not help
		}
	}
	return false
}

// candidate is an operation that fits next, with the state after it.
type candidate struct {
	op, client, loose int // loose is -1 for an operation of a client's queue
	state             any
	same              bool // the state is as before
}

// next lists the operations that fit next, in the order in which explain takes them.
func (o *orderer) next() []candidate {
	var list []candidate
	try := func(c candidate) {
		if o.attempts == 0 {
			return
		}
		o.attempts--
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
	if o.attempts == 0 {
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

// timely reports whether the order contains no later call of the operation's client.
func (o *orderer) timely(loose int) bool {
	client := o.ops[o.loose[loose]].ClientId
	for j := loose + 1; j < len(o.loose); j++ {
		if o.used[j] && o.ops[o.loose[j]].ClientId == client {
			return false
		}
	}
	return o.taken[client] == o.after[loose]
}

// apply puts an operation into the order, or takes it out again.
func (o *orderer) apply(c candidate, by int) {
	if c.loose >= 0 {
		o.used[c.loose] = by > 0
		return
	}
	o.taken[c.client] += by
	o.left -= by
}

// met reports whether the search has visited this state before, and marks it as visited.
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
