package etcdraft_test

import (
	"go.etcd.io/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/v37"
	"github.com/lockstep-go/lockstep/trace"
)

// The deliberate faults wrap the nodes of the adapter: the library is unmodified, but its user does something wrong.
// Each wraps a node and changes one thing.

// with is a cluster with a fault in every node.
func with(c etcdraft.Cluster, wrap func(*faulty) raftlib.Node) etcdraft.Cluster {
	return c.With(faultyLibrary{v37.Library{}, wrap})
}

type faultyLibrary struct {
	raftlib.Library
	wrap func(*faulty) raftlib.Node
}

func (l faultyLibrary) NewNetwork(c raftlib.Config) raftlib.Network {
	return faultyNetwork{l.Library.NewNetwork(c), l.wrap}
}

type faultyNetwork struct {
	raftlib.Network
	wrap func(*faulty) raftlib.Node
}

func (w faultyNetwork) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	return w.wrap(&faulty{Node: w.Network.NewNode(id, source), id: id, network: w.Network})
}

// faulty is a node that still behaves correctly.
type faulty struct {
	raftlib.Node
	id      lockstep.Node
	network raftlib.Network
	ready   *raftlib.Ready // the last one
}

func (f *faulty) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := f.Node.Ready(a)
	if ok {
		f.ready = rd
	}
	return rd, ok
}

// forgetVote is a storage that does not write the vote.
type forgetVote struct{ *faulty }

func (f forgetVote) WriteHard() {
	was := f.ready.Hard
	f.ready.Hard.Vote = 0
	f.Node.WriteHard()
	f.ready.Hard = was
}

// forgetTerm is a storage that keeps the commit index only.
type forgetTerm struct{ *faulty }

func (f forgetTerm) WriteHard() {
	was := f.ready.Hard
	f.ready.Hard.Term, f.ready.Hard.Vote = 1, 0
	f.Node.WriteHard()
	f.ready.Hard = was
}

// loseTail is a disk that reports its last entry as synced although it is not.
type loseTail struct{ *faulty }

func (f loseTail) Disk() raftlib.Disk { return tailless{f.Node.Disk()} }

type tailless struct{ raftlib.Disk }

func (d tailless) Crash(draw func(int) int) (kept, of int) {
	kept, of = d.Disk.Crash(draw)
	d.Truncate(d.Last() - 1)
	return kept, of
}

// applyTwice is an application that applies its entries twice.
type applyTwice struct{ *faulty }

func (f applyTwice) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := f.faulty.Ready(a)
	if ok && len(rd.Committed) > 1 {
		rd.Committed = append(rd.Committed, rd.Committed[len(rd.Committed)-1])
	}
	return rd, ok
}

// restless has another Ready without end once it leads.
type restless struct {
	*faulty
	leads, made bool
}

func (f *restless) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := f.faulty.Ready(a)
	f.leads = ok && rd.Role == raftlib.Leader || !ok && f.leads
	if f.made = !ok && f.leads; f.made {
		return &raftlib.Ready{Role: raftlib.Leader}, true
	}
	return rd, ok
}

func (f *restless) Advance() {
	if !f.made {
		f.faulty.Advance()
	}
}

// staleRead answers reads without asking the library.
type staleRead struct {
	*faulty
	reads []raftlib.Read
}

func (f *staleRead) ReadIndex(context uint64) {
	f.reads = append(f.reads, raftlib.Read{Index: 1, Context: context})
}

func (f *staleRead) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := f.faulty.Ready(a)
	if len(f.reads) == 0 {
		return rd, ok
	}
	if !ok {
		if f.ready == nil {
			f.reads = f.reads[:0]
			return nil, false
		}
		rd = &raftlib.Ready{Role: f.ready.Role, Lead: f.ready.Lead}
	}
	rd.Reads = append(rd.Reads, f.reads...)
	f.reads = f.reads[:0]
	return rd, true
}

func (f *staleRead) Start(r raftlib.Source) error {
	f.ready, f.reads = nil, f.reads[:0]
	return f.Node.Start(r)
}

// wrongNode is a transport that delivers votes to the wrong candidate.
type wrongNode struct{ *faulty }

func (f wrongNode) Post(i int) raftlib.Envelope {
	e := f.faulty.Post(i)
	if e.Type == raftlib.MsgVoteResp {
		e.To = 6 - f.id - e.To // of three nodes, the third
	}
	return e
}

// earlyApply is a leader that applies entries, and answers their clients, as soon as they are in its own log.
type earlyApply struct {
	*faulty
	applied uint64
}

func (f *earlyApply) Start(r raftlib.Source) error {
	f.applied = f.Disk().Base().Index
	return f.Node.Start(r)
}

func (f *earlyApply) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := f.faulty.Ready(a)
	if !ok {
		return rd, ok
	}
	list := append([]raftspec.Entry(nil), rd.Committed...)
	if rd.Role == raftlib.Leader {
		list = append(list, rd.Entries...)
	}
	rd.Committed = rd.Committed[:0:0]
	for _, e := range list {
		if e.Index == f.applied+1 {
			rd.Committed = append(rd.Committed, e)
			f.applied = e.Index
		}
	}
	return rd, ok
}

// emptySnapshot is an application whose snapshots lack the data.
func emptySnapshot(w raftlib.Network) func(lockstep.Node, func() raftlib.Snapshot) raftlib.Node {
	return func(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
		return w.NewNode(id, func() raftlib.Snapshot {
			s := source()
			s.Data = append([]byte(nil), s.Data...)
			clear(s.Data[8:])
			return s
		})
	}
}

type forgetfulLibrary struct{ raftlib.Library }

func (l forgetfulLibrary) NewNetwork(c raftlib.Config) raftlib.Network {
	return forgetfulNetwork{l.Library.NewNetwork(c)}
}

type forgetfulNetwork struct{ raftlib.Network }

func (w forgetfulNetwork) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	return emptySnapshot(w.Network)(id, source)
}

// deaf is a node that receives no votes.
type deaf struct{ *faulty }

func (f deaf) Receive(body trace.ID) error {
	if f.network.Content(body).Type == raftlib.MsgVoteResp {
		return nil
	}
	return f.Node.Receive(body)
}

// ignoreAppend is a node 3 that discards everything that would change its log.
type ignoreAppend struct{ *faulty }

func (f ignoreAppend) Receive(body trace.ID) error {
	if t := f.network.Content(body).Type; f.id == 3 && (t == raftlib.MsgApp || t == raftlib.MsgSnap) {
		return nil
	}
	return f.Node.Receive(body)
}

// hardFirst is a storage that writes the hard state before the entries that it refers to.
type hardFirst struct{ *faulty }

func (f hardFirst) WriteEntries(k int) {
	if f.ready.HardSet && f.ready.Snapshot.Index == 0 {
		f.Node.WriteHard()
	}
	f.Node.WriteEntries(k)
}

// ignoreChange is a node that does not apply membership changes.
type ignoreChange struct{ *faulty }

func (f ignoreChange) ApplyChange(e raftspec.Entry) raftspec.Conf {
	if f.id == 1 {
		return f.Disk().Base().Conf
	}
	return f.Node.ApplyChange(e)
}

// corruptEntry is a transport that changes entries in flight to node 2.
type corruptEntry struct{ *faulty }

func (f corruptEntry) Receive(body trace.ID) error {
	if m := f.network.Body(body).(*raftpb.Message); f.id == 2 && m.GetType() == raftpb.MsgApp && len(m.Entries) > 0 {
		e := m.Entries[0]
		m.Entries = append([]*raftpb.Entry{{Index: e.Index, Term: e.Term, Type: e.Type, Data: nil}}, m.Entries[1:]...)
	}
	return f.Node.Receive(body)
}

// overwrite is a leader that writes its last entry again.
type overwrite struct{ *faulty }

func (f overwrite) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := f.faulty.Ready(a)
	if ok && rd.Role == raftlib.Leader && len(rd.Entries) > 0 && f.Disk().Last() > f.Disk().First()+2 {
		last := f.Disk().Last()
		rd.Entries = append([]raftspec.Entry{f.Disk().Entry(last)}, rd.Entries...)
	}
	return rd, ok
}

func (f overwrite) WriteEntries(k int) { f.Node.WriteEntries(min(k, max(k-1, 1))) }
