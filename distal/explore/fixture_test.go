package explore_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// example loads an example program and makes the model that the options choose.
func example(t testing.TB, name string, opt distal.Options) (*sequential.Model, int) {
	t.Helper()
	return load(t, corpus.Example(t, name), opt)
}

func load(t testing.TB, src string, opt distal.Options) (*sequential.Model, int) {
	t.Helper()
	m, phases, remarks := distal.NewModel(src, opt)
	if m == nil {
		t.Fatal(remarks)
	}
	return m, phases
}

// naive explores a model with no cleverness at all: it runs the model for every mailbox of every node in every state,
// and keeps global states as strings. It returns the number of states after each round and the round, from 1, of the
// first violation, or 0.
func naive(m *sequential.Model, phases int) (levels []int64, violation int) {
	n := m.Program.N
	current := map[string][]*machine.State{}
	bad := false
	var start func([]*machine.State)
	start = func(nodes []*machine.State) {
		if len(nodes) == n {
			current[globalKey(nodes)] = append([]*machine.State(nil), nodes...)
			bad = bad || m.Check(nodes) != nil
			return
		}
		for _, st := range m.Initial(len(nodes) + 1) {
			bad = bad || st.Problem != nil
			start(append(nodes, st.State))
		}
	}
	start(nil)
	levels = append(levels, int64(len(current)))
	for k := range phases * m.Rounds() {
		tag := m.Tag(k)
		next := map[string][]*machine.State{}
		for _, nodes := range current {
			bad = naiveRound(m, tag, nodes, next) || bad
		}
		if bad {
			return levels, k + 1
		}
		current = next
		levels = append(levels, int64(len(current)))
	}
	return levels, 0
}

func globalKey(nodes []*machine.State) string {
	var key []byte
	for _, s := range nodes {
		key = append(s.AppendKey(key), 0xff, 0xff)
	}
	return string(key)
}

// naiveRound adds all successors of a global state to next and says whether one of them is a violation.
func naiveRound(m *sequential.Model, tag machine.Tag, nodes []*machine.State, next map[string][]*machine.State) bool {
	n, bad := len(nodes), false
	var begin func([]sequential.Step)
	begin = func(begun []sequential.Step) {
		if len(begun) < n {
			for _, st := range m.Send(len(begun)+1, nodes[len(begun)], tag) {
				begin(append(begun[:len(begun):len(begun)], st))
			}
			return
		}
		middle := make([]*machine.State, n)
		for i, st := range begun {
			middle[i] = st.State
		}
		if m.Check(middle) != nil {
			bad = true
			return
		}
		for mode := range m.Network.Modes {
			var end func([]*machine.State, bool)
			end = func(ended []*machine.State, problem bool) {
				q := len(ended)
				if q == n {
					if problem || m.Check(ended) != nil {
						bad = true
						return
					}
					next[globalKey(ended)] = append([]*machine.State(nil), ended...)
					return
				}
				for _, box := range mailboxes(m, mode, begun, q, tag) {
					for _, st := range m.Update(q+1, begun[q].State, tag, box) {
						end(append(ended[:q:q], st.State), problem || st.Problem != nil || begun[q].Problem != nil)
					}
				}
			}
			end(nil, false)
		}
	}
	begin(nil)
	return bad
}

// mailboxes lists everything that node q may receive.
func mailboxes(m *sequential.Model, mode int, begun []sequential.Step, q int, tag machine.Tag) [][]machine.Message {
	var sent []machine.Message
	var sentMask uint64
	for p, st := range begun {
		for _, s := range st.Out {
			if s.To&(1<<q) != 0 {
				sent = append(sent, machine.Message{Type: s.Type, From: p + 1, Tag: tag, Fields: s.Fields})
				sentMask |= 1 << p
			}
		}
	}
	var out [][]machine.Message
	for pick := range 1 << len(sent) {
		var box []machine.Message
		var got uint64
		for i, msg := range sent {
			if pick&(1<<i) != 0 {
				box = append(box, msg)
				got |= 1 << (msg.From - 1)
			}
		}
		if m.Network.Allowed(mode, q, sentMask, got) {
			out = append(out, box)
		}
	}
	return out
}
