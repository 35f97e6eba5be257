// Package v35 binds go.etcd.io/etcd/raft/v3 v3.5.2, the version that the Netrix paper
// tested: what differs from other versions is here. Its [Cluster] is [etcdraft.Cluster]
// on that version; events, specs and everything else are the same.
package v35

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"unsafe"

	"go.etcd.io/etcd/raft/v3"
	pb "go.etcd.io/etcd/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/lenient"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

func init() { lenient.Done() }

// Cluster is a deployment of etcd's raft v3.5.2: a [lockstep.System]. It has no
// asynchronous storage writes.
type Cluster etcdraft.Cluster

// Describe implements [lockstep.System].
func (c Cluster) Describe() (lockstep.Info, error) {
	return etcdraft.Cluster(c).With(library{}).Describe()
}

// Deploy implements [lockstep.System].
func (c Cluster) Deploy() (lockstep.Deployment, error) {
	return etcdraft.Cluster(c).With(library{}).Deploy()
}

// library is this version.
type library struct{}

var layout, layoutErr = raftlib.LayoutOf(reflect.TypeFor[raft.RawNode]())

// Name implements [raftlib.Library].
func (library) Name() string { return "etcdraft35" }

// Check implements [raftlib.Library].
func (library) Check() error { return layoutErr }

// Async implements [raftlib.Library].
func (library) Async() bool { return false }

// NewNetwork implements [raftlib.Library].
func (library) NewNetwork(c raftlib.Config) raftlib.Network { return &network{config: c} }

type network struct {
	config raftlib.Config
	bodies raftlib.Bodies[pb.Message]
}

// Reset implements [raftlib.Network].
func (w *network) Reset() { w.bodies.Reset() }

// Body implements [raftlib.Network].
func (w *network) Body(body lockstep.ID) any { return w.bodies.Get(body) }

// Content implements [raftlib.Network].
func (w *network) Content(body lockstep.ID) raftlib.Content {
	m := w.bodies.Get(body)
	c := raftlib.Content{From: lockstep.Node(m.From), Type: raftlib.Type(m.Type), Term: m.Term, LogTerm: m.LogTerm,
		Index: m.Index, Commit: m.Commit, Reject: m.Reject, Hint: m.RejectHint, Entries: make([]raftlib.Entry, len(m.Entries))}
	fill(c.Entries, m.Entries)
	if !raft.IsEmptySnap(m.Snapshot) {
		c.Snapshot = neutral(m.Snapshot)
	}
	return c
}

// NewNode implements [raftlib.Network].
func (w *network) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	n := &node{network: w}
	n.disk.Source = source
	n.disk.Lib = raftlib.Functions[pb.Entry, pb.HardState, pb.ConfState, pb.Snapshot]{
		Entry:     entry,
		Size:      func(e pb.Entry) uint64 { return uint64(e.Size()) },
		Hard:      func(h raftlib.Hard) pb.HardState { return pb.HardState(h) },
		Conf:      confState,
		Snapshot:  snapshot,
		Compacted: raft.ErrCompacted, Unavailable: raft.ErrUnavailable,
	}
	n.config = raft.Config{ID: uint64(id), ElectionTick: w.config.Election, HeartbeatTick: w.config.Heartbeat,
		Storage: &n.disk, MaxSizePerMsg: w.config.MaxSize, MaxInflightMsgs: w.config.MaxInflight,
		CheckQuorum: w.config.CheckQuorum, PreVote: w.config.PreVote, Logger: raftlib.Logger{},
		DisableProposalForwarding: w.config.NoForward}
	if w.config.Lease {
		n.config.ReadOnlyOption = raft.ReadOnlyLeaseBased
	}
	return n
}

// node is a node of the library.
type node struct {
	*network
	config raft.Config
	disk   raftlib.Store[pb.Entry, pb.HardState, pb.ConfState, pb.Snapshot]
	raw    *raft.RawNode
	timer  raftlib.Timer
	native raft.Ready
	ready  raftlib.Ready
}

// Boot implements [raftlib.Node].
func (n *node) Boot(s raftlib.Snapshot) { n.disk.Boot(s) }

// Disk implements [raftlib.Node].
func (n *node) Disk() raftlib.Disk { return &n.disk }

// Timer implements [raftlib.Node].
func (n *node) Timer() *raftlib.Timer { return &n.timer }

// Start implements [raftlib.Node].
func (n *node) Start(source *rand.Rand) (err error) {
	n.raw, err = raft.NewRawNode(&n.config)
	if err != nil {
		return err
	}
	n.timer.Attach(layout, unsafe.Pointer(n.raw), n.config.ElectionTick, n.config.HeartbeatTick, source)
	n.ready = raftlib.Ready{Hard: n.disk.Stored(), Reads: n.ready.Reads, Messages: n.ready.Messages}
	return nil
}

// Tick implements [raftlib.Node].
func (n *node) Tick() { n.raw.Tick() }

// Receive implements [raftlib.Node]. The library writes into the entries of proposals,
// so it gets its own of these.
func (n *node) Receive(body lockstep.ID) error {
	m := n.bodies.Get(body)
	if m.Type == pb.MsgProp {
		m.Entries = append([]pb.Entry(nil), m.Entries...)
	}
	return n.raw.Step(m)
}

// Propose implements [raftlib.Node].
func (n *node) Propose(data []byte) error { return n.raw.Propose(data) }

// ReadIndex implements [raftlib.Node].
func (n *node) ReadIndex(context uint64) {
	n.raw.ReadIndex(binary.LittleEndian.AppendUint64(nil, context))
}

// ProposeChange implements [raftlib.Node].
func (n *node) ProposeChange(c raftlib.ConfChange) error {
	v2 := pb.ConfChangeV2{Transition: pb.ConfChangeTransition(c.Joint)}
	c.Each(func(change raftlib.SingleChange, node lockstep.Node) {
		v2.Changes = append(v2.Changes, pb.ConfChangeSingle{Type: pb.ConfChangeType(change), NodeID: uint64(node)})
	})
	if c.V1 {
		return n.raw.ProposeConfChange(pb.ConfChange{Type: v2.Changes[0].Type, NodeID: v2.Changes[0].NodeID})
	}
	return n.raw.ProposeConfChange(v2)
}

// Parse implements [raftlib.Node].
func (n *node) Parse(e raftlib.Entry) raftlib.ConfChange {
	return raftlib.NewConfChange(change(e).Changes, func(s pb.ConfChangeSingle) (raftlib.SingleChange, lockstep.Node) {
		return raftlib.SingleChange(s.Type), lockstep.Node(s.NodeID)
	})
}

// ApplyChange implements [raftlib.Node].
func (n *node) ApplyChange(e raftlib.Entry) raftlib.Conf {
	return conf(*n.raw.ApplyConfChange(change(e)))
}

func change(e raftlib.Entry) pb.ConfChangeV2 {
	if e.Kind == raftlib.Change {
		var v1 pb.ConfChange
		must(v1.Unmarshal(e.Data))
		return v1.AsV2()
	}
	var v2 pb.ConfChangeV2
	must(v2.Unmarshal(e.Data))
	return v2
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// TransferLeader implements [raftlib.Node].
func (n *node) TransferLeader(to lockstep.Node) { n.raw.TransferLeader(uint64(to)) }

// Unreachable implements [raftlib.Node].
func (n *node) Unreachable(to lockstep.Node) { n.raw.ReportUnreachable(uint64(to)) }

// SnapshotSent implements [raftlib.Node].
func (n *node) SnapshotSent(to lockstep.Node, ok bool) {
	status := raft.SnapshotFailure
	if ok {
		status = raft.SnapshotFinish
	}
	n.raw.ReportSnapshot(uint64(to), status)
}

// Ready implements [raftlib.Node].
func (n *node) Ready(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	if !n.raw.HasReady() {
		return nil, false
	}
	n.native = n.raw.Ready()
	rd, r := &n.native, &n.ready
	if rd.SoftState != nil {
		r.Role, r.Lead = raftlib.Role(rd.RaftState), lockstep.Node(rd.Lead)
	}
	if r.HardSet = !raft.IsEmptyHardState(rd.HardState); r.HardSet {
		r.Hard = raftlib.Hard{Term: rd.HardState.Term, Vote: rd.HardState.Vote, Commit: rd.HardState.Commit}
	}
	r.Sync = rd.MustSync
	r.Entries, r.Committed = arena.Take(len(rd.Entries)), arena.Take(len(rd.CommittedEntries))
	fill(r.Entries, rd.Entries)
	fill(r.Committed, rd.CommittedEntries)
	r.Snapshot = raftlib.Snapshot{}
	if !raft.IsEmptySnap(rd.Snapshot) {
		r.Snapshot = neutral(rd.Snapshot)
	}
	r.Reads = r.Reads[:0]
	for _, s := range rd.ReadStates {
		r.Reads = append(r.Reads, raftlib.Read{Index: s.Index, Context: binary.LittleEndian.Uint64(s.RequestCtx)})
	}
	r.Messages = r.Messages[:0]
	for i := range rd.Messages {
		m := &rd.Messages[i]
		r.Messages = append(r.Messages, raftlib.Envelope{To: lockstep.Node(m.To), Term: m.Term, Type: raftlib.Type(m.Type)})
	}
	return r, true
}

// WriteEntries implements [raftlib.Node].
func (n *node) WriteEntries(k int) { n.disk.Append(n.native.Entries[:k]) }

// WriteHard implements [raftlib.Node].
func (n *node) WriteHard() {
	if n.ready.Snapshot.Index != 0 {
		n.disk.Install(n.ready.Snapshot)
	}
	if n.ready.HardSet {
		n.disk.SetHard(n.ready.Hard)
	}
}

// Post implements [raftlib.Node]. The receiver must not append to the sender's array, as
// it could not over a real network.
func (n *node) Post(i int) {
	m := n.native.Messages[i]
	m.Entries = m.Entries[:len(m.Entries):len(m.Entries)]
	n.bodies.Put(m)
}

// Advance implements [raftlib.Node].
func (n *node) Advance() { n.raw.Advance(n.native) }

// NextAppend implements [raftlib.Node].
func (n *node) NextAppend(*raftlib.Arena) (*raftlib.Ready, bool) { return nil, false }

// NextApply implements [raftlib.Node].
func (n *node) NextApply(*raftlib.Arena) (*raftlib.Ready, bool) { return nil, false }

// Done implements [raftlib.Node].
func (n *node) Done() {}

// fill takes entries over.
func fill(to []raftlib.Entry, from []pb.Entry) {
	for i := range from {
		to[i] = entry(from[i])
	}
}

func entry(e pb.Entry) raftlib.Entry {
	return raftlib.Entry{Index: e.Index, Term: e.Term, Kind: raftlib.EntryKind(e.Type), Data: e.Data}
}

func conf(c pb.ConfState) raftlib.Conf {
	return raftlib.Conf{Voters: raftlib.Nodes(c.Voters), Outgoing: raftlib.Nodes(c.VotersOutgoing),
		Learners: raftlib.Nodes(c.Learners), LearnersNext: raftlib.Nodes(c.LearnersNext), AutoLeave: c.AutoLeave}
}

func confState(c raftlib.Conf) pb.ConfState {
	return pb.ConfState{Voters: raftlib.IDs(c.Voters), VotersOutgoing: raftlib.IDs(c.Outgoing),
		Learners: raftlib.IDs(c.Learners), LearnersNext: raftlib.IDs(c.LearnersNext), AutoLeave: c.AutoLeave}
}

func neutral(s pb.Snapshot) raftlib.Snapshot {
	m := s.Metadata
	return raftlib.Snapshot{Index: m.Index, Term: m.Term, Conf: conf(m.ConfState), Data: s.Data}
}

func snapshot(s raftlib.Snapshot) pb.Snapshot {
	return pb.Snapshot{Data: s.Data, Metadata: pb.SnapshotMetadata{Index: s.Index, Term: s.Term, ConfState: confState(s.Conf)}}
}
