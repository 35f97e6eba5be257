package kv

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep/spec"
)

// Linearizable: the clients' operations on the map are linearizable. A run that cannot be
// decided has the verdict unknown.
var Linearizable = spec.Linearizable{Model: Model}

// Sequential: some order of the operations, in which each client's stay in theirs, explains
// all answers.
var Sequential = spec.Sequential{Model: Model}

// Model is the sequential system that the clients believe they talk to. Inputs are *Op,
// outputs *Result. Histories are split into keys that no transaction connects. Revisions, where
// they are told, never decrease, and a write has one of its own.
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

// state is the state of the model.
type state struct {
	values   [MaxKeys]Value
	revision int64 // the last that was told
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
