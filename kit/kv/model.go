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
// outputs *Result. Histories are split into keys that no transaction connects.
var Model = porcupine.Model{
	Partition: partition,
	Init:      func() any { return [MaxKeys]Value{} },
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

// step is what an operation does to the map and whether the answer is right.
func step(state, input, output any) (bool, any) {
	values := state.([MaxKeys]Value)
	result := execute(values[:], input.(*Op))
	if r, answered := output.(*Result); answered && *r != result {
		return false, state
	}
	return true, values
}
