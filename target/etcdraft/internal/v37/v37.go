// Package v37 binds go.etcd.io/raft/v3 v3.7: it holds everything that differs from other versions.
package v37

import (
	"reflect"
	"unsafe"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// Library is this version.
type Library struct{}

var layout, layoutErr = raftlib.LayoutOf(reflect.TypeFor[raft.RawNode]())

// Name is the target's name.
func (Library) Name() string { return "etcdraft" }

// Check reports why the engine cannot control the version.
func (Library) Check() error { return layoutErr }

// Async reports whether the version has asynchronous storage writes.
func (Library) Async() bool { return true }

// Mutant names the active mutant, in a program that carries mutants of the library.
func (Library) Mutant() string { return target.Mutant() }

// NewNetwork makes the network that the nodes of one deployment share.
func (Library) NewNetwork(c raftlib.Config) raftlib.Network { return &network{config: c} }

type network struct {
	config raftlib.Config
	bodies raftlib.Bodies[*pb.Message]
	conf   raftspec.Conf // the last requested configuration, and its conversion to the library's type
	state  *pb.ConfState
}

// Reset begins a new run.
func (w *network) Reset() { w.bodies.Reset() }

// Body is the library's message.
func (w *network) Body(body trace.ID) any { return w.bodies.Get(body) }

// Content is the content of a message.
func (w *network) Content(body trace.ID) raftlib.Content {
	m := w.bodies.Get(body)
	c := raftlib.Content{
		From:     lockstep.Node(m.GetFrom()),
		Type:     raftlib.Type(m.GetType()),
		Term:     m.GetTerm(),
		LogTerm:  m.GetLogTerm(),
		Index:    m.GetIndex(),
		Commit:   m.GetCommit(),
		Reject:   m.GetReject(),
		Hint:     m.GetRejectHint(),
		Snapshot: neutral(m.Snapshot),
	}
	for _, e := range m.Entries {
		c.Entries = append(c.Entries, entry(e))
	}
	return c
}

// Vote is the term of a message, and whether it rejects something.
func (w *network) Vote(body trace.ID) (term uint64, rejects bool) {
	m := w.bodies.Get(body)
	return m.GetTerm(), m.GetReject()
}

// confState converts a configuration to the library's type. The library does not change it: nodes that start from the
// same configuration share one.
func (w *network) confState(c raftspec.Conf) *pb.ConfState {
	if w.state == nil || w.conf != c {
		w.conf, w.state = c, confState(c)
	}
	return w.state
}

// NewNode makes a node, which serves many runs.
func (w *network) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	n := &node{network: w}
	n.Store.Source = source
	n.Store.Lib = raftlib.Functions[*pb.Entry, *pb.HardState, *pb.ConfState, *pb.Snapshot]{
		Entry: entry,
		Index: (*pb.Entry).GetIndex,
		Term:  (*pb.Entry).GetTerm,
		Size:  func(e *pb.Entry) uint64 { return uint64(proto.Size(e)) },
		Hard: func(h raftlib.Hard) *pb.HardState {
			return &pb.HardState{Term: &h.Term, Vote: &h.Vote, Commit: &h.Commit}
		},
		Conf:      w.confState,
		Snapshot:  snapshot,
		Compacted: raft.ErrCompacted, Unavailable: raft.ErrUnavailable,
	}
	n.threads.Lib = raftlib.ThreadFunctions[*pb.Message]{Append: raft.LocalAppendThread, Apply: raft.LocalApplyThread,
		To: (*pb.Message).GetTo, Responses: (*pb.Message).GetResponses,
		Vote: func(m *pb.Message) bool { return m.GetType() == pb.MsgVote },
		Hold: func(to **pb.Message, list []*pb.Message) { (*to).Responses = append((*to).Responses, list...) }}
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
	raftlib.Base[*pb.Entry, *pb.HardState, *pb.ConfState, *pb.Snapshot]
	*network
	config  raft.Config
	raw     *raft.RawNode
	out     []*pb.Message // of the Ready
	threads raftlib.Threads[*pb.Message]
}

// Start makes a node of the library from its storage.
func (n *node) Start(source raftlib.Source) (err error) {
	if n.raw, err = raft.NewRawNode(&n.config); err != nil {
		return err
	}
	n.Begin(n.raw, unsafe.Pointer(n.raw), layout, n.network.config, source)
	n.threads.Reset()
	return nil
}

// Receive gives a message to the library. The library changes forwarded messages and the entries of proposals, so it
// gets its own copies of these.
func (n *node) Receive(body trace.ID) error {
	m := n.bodies.Get(body)
	switch m.GetType() {
	case pb.MsgProp, pb.MsgReadIndex, pb.MsgTransferLeader:
		m = &pb.Message{Type: m.Type, To: m.To, From: m.From, Term: m.Term, Context: m.Context,
			Entries: append([]*pb.Entry(nil), m.Entries...)}
	}
	return n.raw.Step(m)
}

// ProposeChange proposes another configuration.
func (n *node) ProposeChange(c raftlib.ConfChange) error {
	v2 := &pb.ConfChangeV2{Transition: pb.ConfChangeTransition(c.Joint).Enum()}
	c.Each(func(change raftlib.SingleChange, node lockstep.Node) {
		v2.Changes = append(v2.Changes,
			&pb.ConfChangeSingle{Type: pb.ConfChangeType(change).Enum(), NodeId: new(uint64(node))})
	})
	if c.V1 {
		return n.raw.ProposeConfChange(&pb.ConfChange{Type: v2.Changes[0].Type, NodeId: v2.Changes[0].NodeId})
	}
	return n.raw.ProposeConfChange(v2)
}

// Parse decodes a committed membership change.
func (n *node) Parse(e raftspec.Entry) raftlib.ConfChange {
	return raftlib.NewConfChange(change(e).Changes, func(s *pb.ConfChangeSingle) (raftlib.SingleChange, lockstep.Node) {
		return raftlib.SingleChange(s.GetType()), lockstep.Node(s.GetNodeId())
	})
}

// ApplyChange applies a committed membership change.
func (n *node) ApplyChange(e raftspec.Entry) raftspec.Conf {
	return conf(n.raw.ApplyConfChange(change(e)))
}

func change(e raftspec.Entry) *pb.ConfChangeV2 {
	if e.Kind == raftlib.Change {
		var v1 pb.ConfChange
		must(proto.Unmarshal(e.Data, &v1))
		return v1.AsV2()
	}
	var v2 pb.ConfChangeV2
	must(proto.Unmarshal(e.Data, &v2))
	return &v2
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// SnapshotSent reports whether a snapshot was sent successfully.
func (n *node) SnapshotSent(to lockstep.Node, ok bool) {
	status := raft.SnapshotFailure
	if ok {
		status = raft.SnapshotFinish
	}
	n.raw.ReportSnapshot(uint64(to), status)
}

// Ready returns the result of the input and reports whether there is any.
func (n *node) Ready(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	if !n.raw.HasReady() {
		return nil, false
	}
	rd, r := n.raw.Ready(), &n.Out
	if rd.SoftState != nil {
		r.Role, r.Lead = raftlib.Role(rd.RaftState), lockstep.Node(rd.Lead)
	}
	if r.HardSet = false; rd.HardState != nil {
		n.SetHard(hard(rd.HardState))
	}
	if len(rd.Entries)+len(r.Entries) > 0 {
		n.SetEntries(rd.Entries, entries(rd.Entries, arena))
	}
	if len(rd.CommittedEntries)+len(r.Committed) > 0 {
		r.Committed = entries(rd.CommittedEntries, arena)
	}
	if rd.Snapshot != nil || r.Snapshot.Index != 0 {
		n.SetSnapshot(neutral(rd.Snapshot))
	}
	r.Sync, r.Reads = rd.MustSync, r.Reads[:0]
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
func (n *node) send(messages []*pb.Message) {
	if n.Out.Mail = len(messages); len(messages) > 0 {
		n.out = messages
	}
}

// Post stores a message of the Ready as the next body of the run.
func (n *node) Post(i int) raftlib.Envelope {
	m := n.out[i]
	n.bodies.Put(m)
	return raftlib.Envelope{To: lockstep.Node(m.GetTo()), Term: m.GetTerm(), Type: raftlib.Type(m.GetType())}
}

// Advance reports that the Ready has been processed. The library does not read the Ready that it receives, because it
// has recorded the work itself. There is no need to keep the Ready.
func (n *node) Advance() {
	if !n.config.AsyncStorageWrites {
		n.raw.Advance(raft.Ready{})
	}
}

// NextAppend takes the next task of the append thread.
func (n *node) NextAppend(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	m, ok := n.threads.NextAppend()
	if !ok {
		return nil, false
	}
	n.SetHard(raftlib.Hard{Term: m.GetTerm(), Vote: m.GetVote(), Commit: m.GetCommit()})
	n.SetEntries(m.Entries, entries(m.Entries, arena))
	n.SetSnapshot(neutral(m.Snapshot))
	n.Out.Sync, n.Out.Committed = len(m.Responses) > 0, nil
	return &n.Out, true
}

// NextApply takes the next task of the apply thread.
func (n *node) NextApply(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	m, ok := n.threads.NextApply()
	if !ok {
		return nil, false
	}
	n.Out.Committed = entries(m.Entries, arena)
	return &n.Out, true
}

// Done returns the responses of the work taken.
func (n *node) Done() {
	n.send(n.threads.Done(n.config.ID, func(m *pb.Message) { _ = n.raw.Step(m) }))
}

func entry(e *pb.Entry) raftspec.Entry {
	return raftspec.Entry{Index: e.GetIndex(), Term: e.GetTerm(), Kind: raftspec.Kind(e.GetType()), Data: e.Data}
}

func entries(list []*pb.Entry, arena *raftlib.Arena) []raftspec.Entry {
	if len(list) == 0 {
		return nil
	}
	to := arena.Take(len(list))
	for i, e := range list {
		t := &to[i] // field by field: the CPU stalls when it copies a value that has just been written
		t.Index, t.Term, t.Kind, t.Data = e.GetIndex(), e.GetTerm(), raftspec.Kind(e.GetType()), e.Data
	}
	return to
}

func hard(h *pb.HardState) raftlib.Hard {
	return raftlib.Hard{Term: h.GetTerm(), Vote: h.GetVote(), Commit: h.GetCommit()}
}

func conf(c *pb.ConfState) raftspec.Conf {
	return raftspec.Conf{Voters: raftlib.Nodes(c.GetVoters()), Outgoing: raftlib.Nodes(c.GetVotersOutgoing()),
		Learners: raftlib.Nodes(c.GetLearners()), LearnersNext: raftlib.Nodes(c.GetLearnersNext()),
		AutoLeave: c.GetAutoLeave()}
}

func confState(c raftspec.Conf) *pb.ConfState {
	return &pb.ConfState{Voters: raftlib.IDs(c.Voters), VotersOutgoing: raftlib.IDs(c.Outgoing),
		Learners: raftlib.IDs(c.Learners), LearnersNext: raftlib.IDs(c.LearnersNext), AutoLeave: new(c.AutoLeave)}
}

func neutral(s *pb.Snapshot) raftlib.Snapshot {
	if raft.IsEmptySnap(s) {
		return raftlib.Snapshot{}
	}
	m := s.GetMetadata()
	return raftlib.Snapshot{Index: m.GetIndex(), Term: m.GetTerm(), Conf: conf(m.GetConfState()), Data: s.Data}
}

func snapshot(s raftlib.Snapshot) *pb.Snapshot {
	return &pb.Snapshot{Data: s.Data, Metadata: &pb.SnapshotMetadata{
		Index: new(s.Index), Term: new(s.Term), ConfState: confState(s.Conf)}}
}
