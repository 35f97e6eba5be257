package kv

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep/spec"
)

// Linearizable: the clients' operations on the map are linearizable. A run that cannot be
// decided has the verdict unknown. Operations that no node can have noticed are left out.
var Linearizable = func() spec.Linearizable {
	m := Model
	m.Partition = func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := partition(history)
		for i := range parts {
			parts[i] = noticed(parts[i])
		}
		return parts
	}
	return spec.Linearizable{Model: m}
}()

// Sequential: some order of the operations, in which each client's stay in theirs, explains
// all answers.
var Sequential = spec.Sequential{Model: Model}

// Model is the sequential system that the clients believe they talk to. Inputs are *Op,
// outputs *Result. Histories are split into keys that no transaction connects. Revisions, where
// they are reported, never decrease, and a write has one of its own.
var Model = porcupine.Model{
	Partition: partition,
	Init:      func() any { return state{} },
	Step:      step,
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%v: %v", input, output)
	},
}

// partition splits a history by keys, which do not influence each other unless a
// transaction has both.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	var group [MaxKeys]uint8 // the least key of those connected
	for k := range group {
		group[k] = uint8(k)
	}
	for _, o := range history {
		if op := o.Input.(*Op); op.Txn {
			a, b := group[op.Key], group[op.Also.Key]
			for k := range group {
				if group[k] == max(a, b) {
					group[k] = min(a, b)
				}
			}
		}
	}
	var by [MaxKeys][]porcupine.Operation
	for _, o := range history {
		k := group[o.Input.(*Op).Key]
		by[k] = append(by[k], o)
	}
	var parts [][]porcupine.Operation
	for _, p := range by {
		if len(p) > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// noticed leaves out of a history the operations without an answer that no node can have noticed: those
// that leave a key with a number which no answer shows and no Cas compares with, or change nothing. Where an order with
// such an operation explains the answers, the order without it does, too: until the key is written again no node looked
// at it, and another operation without an answer that now takes place, though it did not before, can come last. The
// search for an order is exponential in the operations without an answer, most of which are of this kind where many
// clients give up.
func noticed(ops []porcupine.Operation) []porcupine.Operation {
	type content struct {
		key    uint8
		number int32
	}
	seen := map[content]bool{}
	for _, o := range ops {
		op := o.Input.(*Op)
		if r, answered := o.Output.(*Result); answered {
			seen[content{op.Key, r.Value.Number}] = true
			if op.Txn {
				seen[content{op.Also.Key, r.Also.Number}] = true
			}
		}
		for _, a := range op.acts() {
			if a.Kind == Cas {
				seen[content{a.Key, a.Old}] = true
			}
		}
	}
	return slices.DeleteFunc(ops, func(o porcupine.Operation) bool {
		_, answered := o.Output.(*Result)
		return !answered && !slices.ContainsFunc(o.Input.(*Op).acts(), func(a Act) bool {
			return a.Kind != Get && (a.Kind == Append || seen[content{a.Key, a.left()}])
		})
	})
}

// acts are the accesses of an operation.
func (o *Op) acts() []Act {
	if o.Txn {
		return []Act{o.Act, o.Also}
	}
	return []Act{o.Act}
}

// left is the number that an act leaves a key with, where it writes: a Delete none, which is 0.
func (a Act) left() int32 {
	if a.Kind == Delete {
		return 0
	}
	return a.Value
}

// state is the state of the model.
type state struct {
	values   [MaxKeys]Value
	revision int64 // the last that a client learned
}

// step is what an operation does to the map and whether the answer is right.
func step(before, input, output any) (bool, any) {
	after, o := before.(state), input.(*Op)
	result := execute(after.values[:], o)
	r, answered := output.(*Result)
	if !answered {
		return true, after
	}
	if result.Revision = r.Revision; *r != result {
		return false, before
	}
	if r.Revision != 0 {
		if r.Revision < after.revision || r.Revision == after.revision && after.values != before.(state).values {
			return false, before
		}
		after.revision = r.Revision
	}
	return true, after
}
