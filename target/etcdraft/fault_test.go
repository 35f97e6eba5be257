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

func (f faultyLibrary) NewNetwork(c raftlib.Config) raftlib.Network {
	return faultyNetwork{f.Library.NewNetwork(c), f.wrap}
}

type faultyNetwork struct {
	raftlib.Network
	wrap func(*faulty) raftlib.Node
}

func (f faultyNetwork) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	return f.wrap(&faulty{Node: f.Network.NewNode(id, source), id: id, network: f.Network})
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

func (l loseTail) Disk() raftlib.Disk { return tailless{l.Node.Disk()} }

type tailless struct{ raftlib.Disk }

func (t tailless) Crash(draw func(int) int) (kept, of int) {
	kept, of = t.Disk.Crash(draw)
	t.Truncate(t.Last() - 1)
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

func (r *restless) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := r.faulty.Ready(a)
	r.leads = ok && rd.Role == raftlib.Leader || !ok && r.leads
	if r.made = !ok && r.leads; r.made {
		return &raftlib.Ready{Role: raftlib.Leader}, true
	}
	return rd, ok
}

func (r *restless) Advance() {
	if !r.made {
		r.faulty.Advance()
	}
}

// staleRead answers reads without asking the library.
type staleRead struct {
	*faulty
	reads []raftlib.Read
}

func (s *staleRead) ReadIndex(context uint64) {
	s.reads = append(s.reads, raftlib.Read{Index: 1, Context: context})
}

func (s *staleRead) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := s.faulty.Ready(a)
	if len(s.reads) == 0 {
		return rd, ok
	}
	if !ok {
		if s.ready == nil {
			s.reads = s.reads[:0]
			return nil, false
		}
		rd = &raftlib.Ready{Role: s.ready.Role, Lead: s.ready.Lead}
	}
	rd.Reads = append(rd.Reads, s.reads...)
	s.reads = s.reads[:0]
	return rd, true
}

func (s *staleRead) Start(r raftlib.Source) error {
	s.ready, s.reads = nil, s.reads[:0]
	return s.Node.Start(r)
}

// wrongNode is a transport that delivers votes to the wrong candidate.
type wrongNode struct{ *faulty }

func (w wrongNode) Post(i int) raftlib.Envelope {
	e := w.faulty.Post(i)
	if e.Type == raftlib.MsgVoteResp {
		e.To = 6 - w.id - e.To // of three nodes, the third
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

func (f forgetfulLibrary) NewNetwork(c raftlib.Config) raftlib.Network {
	return forgetfulNetwork{f.Library.NewNetwork(c)}
}

type forgetfulNetwork struct{ raftlib.Network }

func (f forgetfulNetwork) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	return emptySnapshot(f.Network)(id, source)
}

// deaf is a node that receives no votes.
type deaf struct{ *faulty }

func (d deaf) Receive(body trace.ID) error {
	if d.network.Content(body).Type == raftlib.MsgVoteResp {
		return nil
	}
	return d.Node.Receive(body)
}

// ignoreAppend is a node 3 that discards everything that would change its log.
type ignoreAppend struct{ *faulty }

func (i ignoreAppend) Receive(body trace.ID) error {
	if t := i.network.Content(body).Type; i.id == 3 && (t == raftlib.MsgApp || t == raftlib.MsgSnap) {
		return nil
	}
	return i.Node.Receive(body)
}

// hardFirst is a storage that writes the hard state before the entries that it refers to.
type hardFirst struct{ *faulty }

func (h hardFirst) WriteEntries(k int) {
	if h.ready.HardSet && h.ready.Snapshot.Index == 0 {
		h.Node.WriteHard()
	}
	h.Node.WriteEntries(k)
}

// ignoreChange is a node that does not apply membership changes.
type ignoreChange struct{ *faulty }

func (i ignoreChange) ApplyChange(e raftspec.Entry) raftspec.Conf {
	if i.id == 1 {
		return i.Disk().Base().Conf
	}
	return i.Node.ApplyChange(e)
}

// corruptEntry is a transport that changes entries in flight to node 2.
type corruptEntry struct{ *faulty }

func (c corruptEntry) Receive(body trace.ID) error {
	if m := c.network.Body(body).(*raftpb.Message); c.id == 2 && m.GetType() == raftpb.MsgApp && len(m.Entries) > 0 {
		e := m.Entries[0]
		m.Entries = append([]*raftpb.Entry{{Index: e.Index, Term: e.Term, Type: e.Type, Data: nil}}, m.Entries[1:]...)
	}
	return c.Node.Receive(body)
}

// overwrite is a leader that writes its last entry again.
type overwrite struct{ *faulty }

func (o overwrite) Ready(a *raftlib.Arena) (*raftlib.Ready, bool) {
	rd, ok := o.faulty.Ready(a)
	if ok && rd.Role == raftlib.Leader && len(rd.Entries) > 0 && o.Disk().Last() > o.Disk().First()+2 {
		last := o.Disk().Last()
		rd.Entries = append([]raftspec.Entry{o.Disk().Entry(last)}, rd.Entries...)
	}
	return rd, ok
}

func (o overwrite) WriteEntries(k int) { o.Node.WriteEntries(min(k, max(k-1, 1))) }
