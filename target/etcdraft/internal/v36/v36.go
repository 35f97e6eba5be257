//go:build v3.6

// Package v36 binds go.etcd.io/raft/v3 v3.6: what differs from other versions is here. It is
// part of programs that are built with that version alone.
package v36

import (
	"reflect"
	"unsafe"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// Library is this version.
type Library struct{}

var layout, layoutErr = raftlib.LayoutOf(reflect.TypeFor[raft.RawNode]())

// Name is the target's name.
func (Library) Name() string { return "etcdraft" }

// Check reports when the library is laid out in another way than expected.
func (Library) Check() error { return layoutErr }

// Async says that the library can write asynchronously.
func (Library) Async() bool { return true }

// Mutant is none: there are no mutants of this version.
func (Library) Mutant() string { return "" }

// NewNetwork makes a network of nodes.
func (Library) NewNetwork(c raftlib.Config) raftlib.Network { return &network{config: c} }

type network struct {
	config raftlib.Config
	bodies raftlib.Bodies[pb.Message]
}

// Reset begins a new run.
func (w *network) Reset() { w.bodies.Reset() }

// Body is the library's own message.
func (w *network) Body(body trace.ID) any { return w.bodies.Get(body) }

// Content is a message in neutral words.
func (w *network) Content(body trace.ID) raftlib.Content {
	m := w.bodies.Get(body)
	c := raftlib.Content{From: lockstep.Node(m.From), Type: raftlib.Type(m.Type), Term: m.Term, LogTerm: m.LogTerm,
		Index: m.Index, Commit: m.Commit, Reject: m.Reject, Hint: m.RejectHint,
		Snapshot: neutral(m.Snapshot)}
	for _, e := range m.Entries {
		c.Entries = append(c.Entries, entry(e))
	}
	return c
}

// NewNode makes a node that is not started.
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
	n.threads.Lib = raftlib.ThreadFunctions[pb.Message]{Append: raft.LocalAppendThread, Apply: raft.LocalApplyThread,
		To:        func(m pb.Message) uint64 { return m.To },
		Responses: func(m pb.Message) []pb.Message { return m.Responses },
		Vote:      func(m pb.Message) bool { return m.Type == pb.MsgVote },
		Hold:      func(to *pb.Message, list []pb.Message) { to.Responses = append(to.Responses, list...) }}
	n.config = raft.Config{ID: uint64(id), ElectionTick: w.config.Election, HeartbeatTick: w.config.Heartbeat,
		Storage: &n.Store, MaxSizePerMsg: w.config.MaxSize, MaxInflightMsgs: w.config.MaxInflight,
		CheckQuorum: w.config.CheckQuorum, PreVote: w.config.PreVote, Logger: raftlib.Logger{},
		DisableProposalForwarding: w.config.NoForward, AsyncStorageWrites: w.config.Async}
	if w.config.Lease {
		n.config.ReadOnlyOption = raft.ReadOnlyLeaseBased
	}
	return n
}

// node is a node of the library.
type node struct {
	raftlib.Base[pb.Entry, pb.HardState, pb.ConfState, pb.Snapshot]
	*network
	config  raft.Config
	raw     *raft.RawNode
	out     []pb.Message // of the Ready, in the order of its envelopes
	threads raftlib.Threads[pb.Message]
}

// Start starts the node from what its storage holds.
func (n *node) Start(source raftlib.Source) (err error) {
	if n.raw, err = raft.NewRawNode(&n.config); err != nil {
		return err
	}
	n.Begin(n.raw, unsafe.Pointer(n.raw), layout, n.network.config, source)
	n.threads.Reset()
	return nil
}

// Receive hands a message to the library. It changes messages that it forwards, and
// the entries of proposals, so it gets its own of these.
func (n *node) Receive(body trace.ID) error {
	m := n.bodies.Get(body)
	switch m.Type {
	case pb.MsgProp, pb.MsgReadIndex, pb.MsgTransferLeader:
		m = pb.Message{Type: m.Type, To: m.To, From: m.From, Term: m.Term, Context: m.Context,
			Entries: append([]pb.Entry(nil), m.Entries...)}
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

// Parse reads the change in an entry.
func (n *node) Parse(e raftspec.Entry) raftlib.ConfChange {
	return raftlib.NewConfChange(change(e).Changes, func(s pb.ConfChangeSingle) (raftlib.SingleChange, lockstep.Node) {
		return raftlib.SingleChange(s.Type), lockstep.Node(s.NodeID)
	})
}

// ApplyChange applies the change in an entry.
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

// SnapshotSent says how sending a snapshot ended.
func (n *node) SnapshotSent(to lockstep.Node, ok bool) {
	status := raft.SnapshotFailure
	if ok {
		status = raft.SnapshotFinish
	}
	n.raw.ReportSnapshot(uint64(to), status)
}

// Ready takes what the library has ready.
func (n *node) Ready(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	if !n.raw.HasReady() {
		return nil, false
	}
	rd, r := n.raw.Ready(), &n.Out
	if rd.SoftState != nil {
		r.Role, r.Lead = raftlib.Role(rd.RaftState), lockstep.Node(rd.Lead)
	}
	n.SetHard(hard(rd.HardState))
	n.SetEntries(rd.Entries, entries(rd.Entries, arena))
	n.SetSnapshot(neutral(&rd.Snapshot))
	r.Sync, r.Committed, r.Reads = rd.MustSync, entries(rd.CommittedEntries, arena), r.Reads[:0]
	for _, s := range rd.ReadStates {
		n.AddRead(s.Index, s.RequestCtx)
	}
	if n.config.AsyncStorageWrites {
		n.send(n.threads.Sort(rd.Messages, n.network.config.HoldVotes))
	} else {
		n.send(rd.Messages)
	}
	return r, true
}

// send takes over the messages for other nodes.
func (n *node) send(messages []pb.Message) { n.Out.Mail, n.out = len(messages), messages }

// Post hands a message over. The receiver must not append to the sender's array, as it could not
// over a real network.
func (n *node) Post(i int) raftlib.Envelope {
	m := n.out[i]
	m.Entries = m.Entries[:len(m.Entries):len(m.Entries)]
	n.bodies.Put(m)
	return raftlib.Envelope{To: lockstep.Node(m.To), Term: m.Term, Type: raftlib.Type(m.Type)}
}

// Advance says that the Ready is done with. The library asks for the Ready and does not look
// at it: it has noted what to do, so that there is no need to keep it.
func (n *node) Advance() {
	if !n.config.AsyncStorageWrites {
		n.raw.Advance(raft.Ready{})
	}
}

// NextAppend takes up the next write.
func (n *node) NextAppend(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	m, ok := n.threads.NextAppend()
	if !ok {
		return nil, false
	}
	n.SetHard(raftlib.Hard{Term: m.Term, Vote: m.Vote, Commit: m.Commit})
	n.SetEntries(m.Entries, entries(m.Entries, arena))
	n.SetSnapshot(neutral(m.Snapshot))
	n.Out.Sync, n.Out.Committed = len(m.Responses) > 0, nil
	return &n.Out, true
}

// NextApply takes up the next entries to apply.
func (n *node) NextApply(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	m, ok := n.threads.NextApply()
	if !ok {
		return nil, false
	}
	n.Out.Committed = entries(m.Entries, arena)
	return &n.Out, true
}

// Done says that what was taken up is done, and sends the answers.
func (n *node) Done() {
	n.send(n.threads.Done(n.config.ID, func(m pb.Message) { _ = n.raw.Step(m) }))
}

func entry(e pb.Entry) raftspec.Entry {
	return raftspec.Entry{Index: e.Index, Term: e.Term, Kind: raftspec.Kind(e.Type), Data: e.Data}
}

func entries(list []pb.Entry, arena *raftlib.Arena) []raftspec.Entry {
	if len(list) == 0 {
		return nil
	}
	to := arena.Take(len(list))
	for i, e := range list {
		to[i] = raftspec.Entry{Index: e.Index, Term: e.Term, Kind: raftspec.Kind(e.Type), Data: e.Data}
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

func neutral(s *pb.Snapshot) raftlib.Snapshot {
	if s == nil || raft.IsEmptySnap(*s) {
		return raftlib.Snapshot{}
	}
	m := &s.Metadata
	return raftlib.Snapshot{Index: m.Index, Term: m.Term, Conf: conf(m.ConfState), Data: s.Data}
}

func snapshot(s raftlib.Snapshot) pb.Snapshot {
	return pb.Snapshot{Data: s.Data, Metadata: pb.SnapshotMetadata{Index: s.Index, Term: s.Term, ConfState: confState(s.Conf)}}
}
