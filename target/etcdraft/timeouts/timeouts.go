// Package timeouts makes the election timeouts of etcd's raft deterministic, for tests of programs that drive a
// RawNode themselves. Timeouts are the only random part of the library; under control, a run is a function of its
// seed.
//
// The library draws a timeout whenever a node changes its term or role, and keeps it in an unexported field of the
// node. A [Timer] overwrites that field with timeouts drawn from a source of the caller. It uses an unsafe pointer,
// whose offset it finds by reflection. Nothing else in the process is changed. A version of the library with a
// different layout causes an error.
package timeouts

import (
	"math/rand/v2"
	"reflect"
	"unsafe"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// Timer replaces the election timeouts of one node.
type Timer struct{ timer raftlib.Timer }

// Control takes over a newly created node. RawNode is the RawNode of go.etcd.io/raft/v3 or go.etcd.io/etcd/raft/v3;
// election is its Config.ElectionTick.
func Control[RawNode any](node *RawNode, election int, source *rand.Rand) (*Timer, error) {
	layout, err := raftlib.LayoutOf(reflect.TypeFor[RawNode]())
	if err != nil {
		return nil, err
	}
	t := &Timer{}
	t.timer.Attach(layout, unsafe.Pointer(node), election, 1, source)
	return t, nil
}

// Tick ticks the node by calling its Tick, which campaigns when the timeout drawn from the source has passed.
func (t *Timer) Tick(tick func()) {
	t.timer.Check()
	t.timer.Arm()
	tick()
	t.timer.Disarm()
	t.timer.Check()
}
