package bubble

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
)

// DiskModel says how long writes to a [Disk] take. While a write takes time the engine may crash the node. Then the
// crash draws whether the write, and those that wait behind it, took place. So a crash may come between any two writes.
type DiskModel struct {
	// Slow is the share of writes that take time, from 0 to 1.
	Slow float64
	// Longest is the longest time that one write takes. In the settling stage no write takes time.
	Longest time.Duration
}

func (d DiskModel) check() error {
	if !(d.Slow >= 0 && d.Slow <= 1) || d.Longest < 0 {
		return fmt.Errorf("the disk's Slow is %v and Longest %v, allowed are 0..1 and no negative time", d.Slow,
			d.Longest)
	}
	return nil
}

// DiskWritesLost is the type of the event that reports how many writes to a [Disk] a crash lost. It concerns writes
// that were under way; [Files] has a fault model of its own.
const DiskWritesLost = "lost-writes"

// Disk is the part of a node's state that survives crashes: a value of type D that writes change. Each write is atomic,
// and durable when Write returns. A program that writes files uses package bubble/disk instead. A system of step
// functions uses package kit/storage, in which only a sync makes a write durable.
//
// After a crash, the ended incarnation continues with a private copy of the value, which no other incarnation sees.
// Programs do not expect their disks to fail and may take time to end.
type Disk[D any] struct {
	node  *Node
	store *store[D]
	mutex *sync.Mutex // of value
	value **D         // the store's value, or the copy after the end of the incarnation
}

// store is a disk as the deployment keeps it.
type store[D any] struct {
	mutex        sync.Mutex
	value        *D
	clone        func(*D) *D
	incarnations []**D // the pointers by which the running incarnation finds the value
}

// kept is a store of any type.
type kept interface {
	// split gives the incarnation that has just ended a copy.
	split()
}

// write is a write under way.
type write struct{ commit func() }

// DiskOf is the node's disk of that name. The first call in a run makes it with fresh. The function clone must make a
// deep copy.
func DiskOf[D any](n *Node, name string, fresh func() *D, clone func(*D) *D) *Disk[D] {
	n.world.mutex.Lock()
	defer n.world.mutex.Unlock()
	s, ok := n.disks[name].(*store[D])
	if !ok {
		s = &store[D]{value: fresh(), clone: clone}
		n.disks[name] = s
	}
	value := s.value
	d := &Disk[D]{node: n, store: s, mutex: &s.mutex, value: &value}
	if n.dead.Load() {
		value = clone(value)
	} else {
		s.incarnations = append(s.incarnations, d.value)
	}
	return d
}

// split gives the incarnation that has just ended a copy.
func (s *store[D]) split() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	copied := s.clone(s.value)
	for _, at := range s.incarnations {
		*at = copied
	}
	s.incarnations = nil
}

// Read calls f with the value, which f must neither change nor retain.
func (d *Disk[D]) Read(f func(*D)) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	f(*d.value)
}

// Write changes the value and returns when the change is durable.
func (d *Disk[D]) Write(change func(*D)) {
	n := d.node
	n.mutex.Lock()
	wait := n.delay()
	if wait == 0 && len(n.open) == 0 {
		n.mutex.Unlock()
		d.WriteNow(change)
		return
	}
	w := &write{commit: func() { d.WriteNow(change) }}
	n.open = append(n.open, w)
	n.mutex.Unlock()
	n.finish(w, wait)
}

// WriteNow changes the value durably and returns at once, even if the [DiskModel] makes writes slow: no crash loses it.
// It is for programs that write while they hold a lock. Without the overlay, goroutines that wait for the lock would
// keep the bubble from becoming quiescent.
func (d *Disk[D]) WriteNow(change func(*D)) { d.Read(change) }

// finish waits for a write and all before it.
func (n *Node) finish(w *write, wait time.Duration) {
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-n.ctx.Done():
		}
	}
	for n.ctx.Err() == nil {
		n.mutex.Lock()
		first := n.open[0] == w
		if first {
			n.open = n.open[1:]
		}
		n.mutex.Unlock()
		if first {
			w.commit()
			return
		}
		time.Sleep(time.Millisecond)
	}
	w.commit() // the node is dead, and this is its private copy
}

// delay draws how long a write takes. The caller holds the lock.
func (n *Node) delay() time.Duration {
	m := n.model
	if m.Longest == 0 || n.world.Settling() || n.dead.Load() || !n.chance.strikes(m.Slow) {
		return 0
	}
	return time.Duration(n.chance.IntN(int(m.Longest))) + 1
}

// crash chooses how many of the latest writes under way a crash loses, and detaches the disks from the incarnation.
func (n *Node) crash(choose func(n int) int) {
	n.mutex.Lock()
	open := slices.Clone(n.open)
	n.mutex.Unlock()
	lost := 0
	if len(open) > 0 {
		lost = choose(len(open) + 1)
	}
	for _, w := range open[:len(open)-lost] {
		w.commit()
	}
	if lost > 0 {
		n.world.Event(
			lockstep.Event{Node: n.self, Type: DiskWritesLost, Value: fmt.Sprintf("%d of %d under way", lost, len(open))})
	}
	for _, d := range n.disks { //lockstep:unordered each alone
		d.split()
	}
}
