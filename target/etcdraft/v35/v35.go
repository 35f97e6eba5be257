// Package v35 binds go.etcd.io/etcd/raft/v3 v3.5.2, the version that the Netrix paper
// tested: what differs from other versions is here. Its [Cluster] is [etcdraft.Cluster]
// on that version; events, specs and everything else are the same.
package v35

import (
	"context"
	"reflect"
	"unsafe"

	"go.etcd.io/etcd/raft/v3"
	pb "go.etcd.io/etcd/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/lenient"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

func init() { lenient.Done() }

// Cluster is a deployment of etcd's raft v3.5.2: a [lockstep.System]. It has no
// asynchronous storage writes.
type Cluster etcdraft.Cluster

// Describe says what the system is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	return etcdraft.Cluster(c).With(library{}).Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	return etcdraft.Cluster(c).With(library{}).Deploy(ctx, p)
}

// Targets is this version of the library.
var Targets = []target.Target{target.Of("etcdraft35", "etcd's raft v3.5.2, as in the Netrix paper, with a replicated map and its clients", Cluster{}, etcdraft.Everything).
	Settled(etcdraft.Settle).Explored(etcdraft.Usual)}

// library is this version.
type library struct{}

var layout, layoutErr = raftlib.LayoutOf(reflect.TypeFor[raft.RawNode]())

// Name is the target's name.
func (library) Name() string { return "etcdraft35" }

// Check reports why the version cannot be controlled.
func (library) Check() error { return layoutErr }

// Mutant is the change to the library's source that is on: there are none of this version.
func (library) Mutant() string { return "" }

// Async says whether the version has asynchronous storage writes.
func (library) Async() bool { return false }

// NewNetwork makes what the nodes of one deployment share.
func (library) NewNetwork(c raftlib.Config) raftlib.Network { return &network{config: c} }

type network struct {
	config raftlib.Config
	bodies raftlib.Bodies[pb.Message]
}

// Reset begins a new run.
func (w *network) Reset() { w.bodies.Reset() }

// Body is the library's message.
func (w *network) Body(body trace.ID) any { return w.bodies.Get(body) }

// Content is what a message says.
func (w *network) Content(body trace.ID) raftlib.Content {
	m := w.bodies.Get(body)
	c := raftlib.Content{From: lockstep.Node(m.From), Type: raftlib.Type(m.Type), Term: m.Term, LogTerm: m.LogTerm,
		Index: m.Index, Commit: m.Commit, Reject: m.Reject, Hint: m.RejectHint, Snapshot: neutral(m.Snapshot)}
	for _, e := range m.Entries {
		c.Entries = append(c.Entries, entry(e))
	}
	return c
}

// NewNode makes a node, which serves many runs.
func (w *network) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	n := &node{network: w}
	n.Store.Source = source
	n.Store.Lib = raftlib.Functions[pb.Entry, pb.HardState, pb.ConfState, pb.Snapshot]{
		Entry:     entry,
		Index:     func(e pb.Entry) uint64 { return e.Index },
		Term:      func(e pb.Entry) uint64 { return e.Term },
		Size:      func(e pb.Entry) uint64 { return uint64(e.Size()) },
		Hard:      func(h raftlib.Hard) pb.HardState { return pb.HardState(h) },
		Conf:      confState,
		Snapshot:  snapshot,
		Compacted: raft.ErrCompacted, Unavailable: raft.ErrUnavailable,
	}
	n.config = raft.Config{ID: uint64(id), ElectionTick: w.config.Election, HeartbeatTick: w.config.Heartbeat,
		Storage: &n.Store, MaxSizePerMsg: w.config.MaxSize, MaxInflightMsgs: w.config.MaxInflight,
		CheckQuorum: w.config.CheckQuorum, PreVote: w.config.PreVote, Logger: raftlib.Logger{},
		DisableProposalForwarding: w.config.NoForward}
	if w.config.Lease {
		n.config.ReadOnlyOption = raft.ReadOnlyLeaseBased
	}
	return n
}

// node is a node of the library.
type node struct {
	raftlib.Base[pb.Entry, pb.HardState, pb.ConfState, pb.Snapshot]
	*network
	config raft.Config
	raw    *raft.RawNode
	native raft.Ready
}

// Start makes a node of the library from what is stored.
func (n *node) Start(source raftlib.Source) (err error) {
	if n.raw, err = raft.NewRawNode(&n.config); err != nil {
		return err
	}
	n.Begin(n.raw, unsafe.Pointer(n.raw), layout, n.network.config, source)
	return nil
}

// Receive gives a message to the library. The library writes into the entries of proposals,
// so it gets its own of these.
func (n *node) Receive(body trace.ID) error {
	m := n.bodies.Get(body)
	if m.Type == pb.MsgProp {
		m.Entries = append([]pb.Entry(nil), m.Entries...)
	}
	return n.raw.Step(m)
}

// ProposeChange asks for another configuration.
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

// Parse reads a committed membership change.
func (n *node) Parse(e raftspec.Entry) raftlib.ConfChange {
	return raftlib.NewConfChange(change(e).Changes, func(s pb.ConfChangeSingle) (raftlib.SingleChange, lockstep.Node) {
		return raftlib.SingleChange(s.Type), lockstep.Node(s.NodeID)
	})
}

// ApplyChange applies a committed membership change.
func (n *node) ApplyChange(e raftspec.Entry) raftspec.Conf {
	return conf(*n.raw.ApplyConfChange(change(e)))
}

func change(e raftspec.Entry) pb.ConfChangeV2 {
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

// SnapshotSent tells what became of a snapshot that was sent.
func (n *node) SnapshotSent(to lockstep.Node, ok bool) {
	status := raft.SnapshotFailure
	if ok {
		status = raft.SnapshotFinish
	}
	n.raw.ReportSnapshot(uint64(to), status)
}

// Ready reports what the input caused and whether there is anything.
func (n *node) Ready(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	if !n.raw.HasReady() {
		return nil, false
	}
	n.native = n.raw.Ready()
	rd, r := &n.native, &n.Out
	if rd.SoftState != nil {
		r.Role, r.Lead = raftlib.Role(rd.RaftState), lockstep.Node(rd.Lead)
	}
	n.SetHard(hard(rd.HardState))
	n.SetEntries(rd.Entries, entries(rd.Entries, arena))
	n.SetSnapshot(neutral(rd.Snapshot))
	r.Sync, r.Committed, r.Reads, r.Mail = rd.MustSync, entries(rd.CommittedEntries, arena), r.Reads[:0], len(rd.Messages)
	for _, s := range rd.ReadStates {
		n.AddRead(s.Index, s.RequestCtx)
	}
	return r, true
}

// Post keeps a message of the Ready, as the next body of the run. The receiver must not append
// to the sender's array, as it could not over a real network.
func (n *node) Post(i int) raftlib.Envelope {
	m := n.native.Messages[i]
	m.Entries = m.Entries[:len(m.Entries):len(m.Entries)]
	n.bodies.Put(m)
	return raftlib.Envelope{To: lockstep.Node(m.To), Term: m.Term, Type: raftlib.Type(m.Type)}
}

// Advance says that the Ready is done with.
func (n *node) Advance() { n.raw.Advance(n.native) }

// NextAppend takes up the next piece of work of the append thread.
func (n *node) NextAppend(*raftlib.Arena) (*raftlib.Ready, bool) { return nil, false }

// NextApply takes up the next piece of work of the apply thread.
func (n *node) NextApply(*raftlib.Arena) (*raftlib.Ready, bool) { return nil, false }

// Done hands back the responses of the work taken up.
func (n *node) Done() {}

func entry(e pb.Entry) raftspec.Entry {
	return raftspec.Entry{Index: e.Index, Term: e.Term, Kind: raftspec.Kind(e.Type), Data: e.Data}
}

func entries(list []pb.Entry, arena *raftlib.Arena) []raftspec.Entry {
	if len(list) == 0 {
		return nil
	}
	to := arena.Take(len(list))
	for i := range list {
		to[i] = entry(list[i])
	}
	return to
}

func hard(h pb.HardState) raftlib.Hard {
	return raftlib.Hard{Term: h.Term, Vote: h.Vote, Commit: h.Commit}
}

func conf(c pb.ConfState) raftspec.Conf {
	return raftspec.Conf{Voters: raftlib.Nodes(c.Voters), Outgoing: raftlib.Nodes(c.VotersOutgoing),
		Learners: raftlib.Nodes(c.Learners), LearnersNext: raftlib.Nodes(c.LearnersNext), AutoLeave: c.AutoLeave}
}

func confState(c raftspec.Conf) pb.ConfState {
	return pb.ConfState{Voters: raftlib.IDs(c.Voters), VotersOutgoing: raftlib.IDs(c.Outgoing),
		Learners: raftlib.IDs(c.Learners), LearnersNext: raftlib.IDs(c.LearnersNext), AutoLeave: c.AutoLeave}
}

func neutral(s pb.Snapshot) raftlib.Snapshot {
	if raft.IsEmptySnap(s) {
		return raftlib.Snapshot{}
	}
	m := s.Metadata
	return raftlib.Snapshot{Index: m.Index, Term: m.Term, Conf: conf(m.ConfState), Data: s.Data}
}

func snapshot(s raftlib.Snapshot) pb.Snapshot {
	return pb.Snapshot{Data: s.Data, Metadata: pb.SnapshotMetadata{Index: s.Index, Term: s.Term, ConfState: confState(s.Conf)}}
}
