package etcdraft

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep/spec"
)

// Linearizability: the clients' operations on the replicated map are linearizable, key by
// key. A run that cannot be decided has the verdict unknown.
var Linearizability = spec.Linearizable{Model: Map}

// Map is the sequential system that the clients believe they talk to: a register for
// each key.
var Map = porcupine.Model{
	Partition: byKey,
	Init:      func() any { return int32(0) },
	Step:      step,
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%v: %v", input, output)
	},
}

// byKey splits a history by keys, which do not influence each other.
func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	var by [maxKeys][]porcupine.Operation
	for _, o := range history {
		k := o.Input.(*Op).Key
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

// step is the register: what an operation does to it and whether the answer is right.
func step(state, input, output any) (bool, any) {
	v, o := state.(int32), input.(*Op)
	after, ok := v, true
	switch o.Kind {
	case Put:
		after = o.Value
	case Cas:
		if ok = v == o.Old; ok {
			after = o.Value
		}
	}
	if r, answered := output.(*Result); answered && *r != (Result{Value: after, OK: ok}) {
		return false, state
	}
	return true, after
}
