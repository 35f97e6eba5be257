package raftlib

import (
	"encoding/binary"
	"unsafe"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// Base is the common part of the nodes of all versions: everything but the types of the library. E, H, C and S are
// those of [Store].
type Base[E, H, C, S any] struct {
	Raw     Raw
	Store   Store[E, H, C, S]
	Out     Ready // the last one
	entries []E   // of Out
	timer   Timer
}

// Raw is the part of a RawNode that is the same in all versions.
type Raw interface {
	Tick()
	HasReady() bool
	Propose(data []byte) error
	ReadIndex(context []byte)
	TransferLeader(to uint64)
	ReportUnreachable(id uint64)
}

// Begin takes over a fresh node of the library, to which the pointer points, too.
func (b *Base[E, H, C, S]) Begin(raw Raw, at unsafe.Pointer, l Layout, c Config, source Source) {
	b.Raw = raw
	b.timer.Attach(l, at, c.Election, c.Heartbeat, source)
	b.entries, b.Out = nil, Ready{Hard: b.Store.Stored(), Reads: b.Out.Reads[:0]}
}

// SetHard sets the hard state that a Ready wants written; an empty one stands for none.
func (b *Base[E, H, C, S]) SetHard(h Hard) {
	if b.Out.HardSet = h != (Hard{}); b.Out.HardSet {
		b.Out.Hard = h
	}
}

// SetEntries sets the entries that a Ready wants written, in the library's type and in the version-independent one.
func (b *Base[E, H, C, S]) SetEntries(native []E, entries []raftspec.Entry) {
	b.entries, b.Out.Entries = native, entries
}

// SetSnapshot sets the snapshot that a Ready wants written; an empty one stands for none.
func (b *Base[E, H, C, S]) SetSnapshot(s Snapshot) { b.Out.Snapshot = s }

// AddRead adds a read state.
func (b *Base[E, H, C, S]) AddRead(index uint64, context []byte) {
	b.Out.Reads = append(b.Out.Reads, Read{Index: index, Context: binary.LittleEndian.Uint64(context)})
}

// Boot fills the storage for the start of a run.
func (b *Base[E, H, C, S]) Boot(s Snapshot) { b.Store.Boot(s) }

// Timer gives access to the clocks of the most recently started node.
func (b *Base[E, H, C, S]) Timer() *Timer { return &b.timer }

// Disk is the storage.
func (b *Base[E, H, C, S]) Disk() Disk { return &b.Store }

// Tick advances the node's clock by one.
func (b *Base[E, H, C, S]) Tick() { b.Raw.Tick() }

// Propose proposes an entry.
func (b *Base[E, H, C, S]) Propose(data []byte) error { return b.Raw.Propose(data) }

// ReadIndex requests the index that a read may see.
func (b *Base[E, H, C, S]) ReadIndex(context uint64) {
	b.Raw.ReadIndex(binary.LittleEndian.AppendUint64(nil, context))
}

// TransferLeader requests another leader.
func (b *Base[E, H, C, S]) TransferLeader(to lockstep.Node) { b.Raw.TransferLeader(uint64(to)) }

// Unreachable reports that a message did not arrive.
func (b *Base[E, H, C, S]) Unreachable(n lockstep.Node) { b.Raw.ReportUnreachable(uint64(n)) }

// WriteEntries writes the first k entries of the Ready.
func (b *Base[E, H, C, S]) WriteEntries(k int) { b.Store.Append(b.entries[:k]) }

// WriteHard writes the Ready's hard state and snapshot.
func (b *Base[E, H, C, S]) WriteHard() {
	h := b.Store.Stored()
	if b.Out.HardSet {
		h = b.Out.Hard
	}
	if b.Out.Snapshot.Index != 0 {
		b.Store.Install(b.Out.Snapshot, h)
	} else if b.Out.HardSet {
		b.Store.SetHard(h)
	}
}
