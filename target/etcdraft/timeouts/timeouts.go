// Package timeouts takes the election time-outs of etcd's raft in hand, for tests of
// programs that drive a RawNode themselves. They are all that is random in the library;
// under control, a run is a function of its seed.
//
// The library draws a time-out whenever a node changes its term or role and keeps it in
// an unexported field of the node. A [Timer] overwrites that field, through an unsafe
// pointer whose place it finds by reflection, with time-outs drawn from a source of the
// caller's. Nothing else in the process is touched. A version of the library whose nodes
// look different is refused with an error.
package timeouts

import (
	"math/rand/v2"
	"reflect"
	"unsafe"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// Timer stands in for the election time-outs of one node.
type Timer struct{ timer raftlib.Timer }

// Control takes over a node that has just been made. RawNode is the RawNode of
// go.etcd.io/raft/v3 or go.etcd.io/etcd/raft/v3; election is its Config.ElectionTick.
func Control[RawNode any](node *RawNode, election int, source *rand.Rand) (*Timer, error) {
	layout, err := raftlib.LayoutOf(reflect.TypeFor[RawNode]())
	if err != nil {
		return nil, err
	}
	t := &Timer{}
	t.timer.Attach(layout, unsafe.Pointer(node), election, 1, source)
	return t, nil
}

// Tick ticks the node by calling its Tick, which campaigns when the time-out drawn from
// the source has passed.
func (t *Timer) Tick(tick func()) {
	t.timer.Check()
	t.timer.Arm()
	tick()
	t.timer.Disarm()
	t.timer.Check()
}
