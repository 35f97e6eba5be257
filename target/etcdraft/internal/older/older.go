// Package older binds the releases of etcd's raft before v3.7, whose messages are values: v3.5.2 by default, and v3.6
// with the build tag v3.6. This file holds the common part, in names that do not depend on a release. The other files
// bind these names to one release. Each has its own list of aliases, although they differ by import path only: an
// import path cannot depend on a build tag.
package older

import (
	"reflect"
	"unsafe"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// Library is the release.
type Library struct{}

var layout, layoutErr = raftlib.LayoutOf(reflect.TypeFor[rawNode]())

// Name is the target's name.
func (Library) Name() string { return name }

// Check reports an error if the memory layout of the library differs from the expected one.
func (Library) Check() error { return layoutErr }

// Async reports whether the release has asynchronous storage writes.
func (Library) Async() bool { return async }

// Mutant is empty: these releases have no mutants.
func (Library) Mutant() string { return "" }

// NewNetwork makes a network of nodes.
func (Library) NewNetwork(c raftlib.Config) raftlib.Network { return &network{config: c} }

type network struct {
	config raftlib.Config
	bodies raftlib.Bodies[message]
}

// Reset begins a new run.
func (w *network) Reset() { w.bodies.Reset() }

// Body is the library's own message.
func (w *network) Body(body trace.ID) any { return w.bodies.Get(body) }

// Content is the version-independent content of a message.
func (w *network) Content(body trace.ID) raftlib.Content {
	m := w.bodies.Get(body)
	c := raftlib.Content{From: lockstep.Node(m.From), Type: raftlib.Type(m.Type), Term: m.Term, LogTerm: m.LogTerm,
		Index: m.Index, Commit: m.Commit, Reject: m.Reject, Hint: m.RejectHint,
		Snapshot: neutral(snapshotOf(&m))}
	for _, e := range m.Entries {
		c.Entries = append(c.Entries, entry(e))
	}
	return c
}

// Vote is the term of a message, and whether it rejects something.
func (w *network) Vote(body trace.ID) (term uint64, rejects bool) {
	m := w.bodies.Get(body)
	return m.Term, m.Reject
}

// NewNode makes a node that is not started.
func (w *network) NewNode(id lockstep.Node, source func() raftlib.Snapshot) raftlib.Node {
	n := &node{network: w}
	n.Store.Source = source
	n.Store.Lib = raftlib.Functions[entryType, hardState, confStateType, snapshotType]{
		Entry:     entry,
		Index:     func(e entryType) uint64 { return e.Index },
		Term:      func(e entryType) uint64 { return e.Term },
		Size:      func(e entryType) uint64 { return uint64(e.Size()) },
		Hard:      func(h raftlib.Hard) hardState { return hardState(h) },
		Conf:      confState,
		Snapshot:  snapshot,
		Compacted: errCompacted, Unavailable: errUnavailable,
	}
	n.threads.Lib = threadFunctions
	n.config = configType{ID: uint64(id), ElectionTick: w.config.Election, HeartbeatTick: w.config.Heartbeat,
		Storage: &n.Store, MaxSizePerMsg: w.config.MaxSize, MaxInflightMsgs: w.config.MaxInflight,
		CheckQuorum: w.config.CheckQuorum, PreVote: w.config.PreVote, Logger: raftlib.Logger{},
		DisableProposalForwarding: w.config.NoForward}
	writeAsync(&n.config, w.config.Async)
	if w.config.Lease {
		n.config.ReadOnlyOption = readOnlyLease
	}
	return n
}

// node is a node of the library.
type node struct {
	raftlib.Base[entryType, hardState, confStateType, snapshotType]
	*network
	config  configType
	raw     *rawNode
	native  ready
	out     []message // of the Ready, in the order of its envelopes
	threads raftlib.Threads[message]
}

// Start starts the node from what its storage holds.
func (n *node) Start(source raftlib.Source) (err error) {
	if n.raw, err = newRawNode(&n.config); err != nil {
		return err
	}
	n.Begin(n.raw, unsafe.Pointer(n.raw), layout, n.network.config, source)
	n.threads.Reset()
	return nil
}

// Receive hands a message to the library. The library changes forwarded messages and the entries of proposals, so it
// gets its own copies of these.
func (n *node) Receive(body trace.ID) error {
	m := n.bodies.Get(body)
	switch m.Type {
	case msgProp, msgReadIndex, msgTransferLeader:
		m = message{Type: m.Type, To: m.To, From: m.From, Term: m.Term, Context: m.Context,
			Entries: append([]entryType(nil), m.Entries...)}
	}
	return n.raw.Step(m)
}

// ProposeChange proposes another configuration.
func (n *node) ProposeChange(c raftlib.ConfChange) error {
	v2 := changeV2{Transition: transition(c.Joint)}
	c.Each(func(change raftlib.SingleChange, node lockstep.Node) {
		v2.Changes = append(v2.Changes, singleChange{Type: changeType(change), NodeID: uint64(node)})
	})
	if c.V1 {
		return n.raw.ProposeConfChange(changeV1{Type: v2.Changes[0].Type, NodeID: v2.Changes[0].NodeID})
	}
	return n.raw.ProposeConfChange(v2)
}

// Parse decodes the change in an entry.
func (n *node) Parse(e raftspec.Entry) raftlib.ConfChange {
	return raftlib.NewConfChange(change(e).Changes, func(s singleChange) (raftlib.SingleChange, lockstep.Node) {
		return raftlib.SingleChange(s.Type), lockstep.Node(s.NodeID)
	})
}

// ApplyChange applies the change in an entry.
func (n *node) ApplyChange(e raftspec.Entry) raftspec.Conf {
	return conf(*n.raw.ApplyConfChange(change(e)))
}

func change(e raftspec.Entry) changeV2 {
	if e.Kind == raftlib.Change {
		var v1 changeV1
		must(v1.Unmarshal(e.Data))
		return v1.AsV2()
	}
	var v2 changeV2
	must(v2.Unmarshal(e.Data))
	return v2
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// SnapshotSent reports whether a snapshot was sent successfully.
func (n *node) SnapshotSent(to lockstep.Node, ok bool) {
	status := snapshotFailure
	if ok {
		status = snapshotFinish
	}
	n.raw.ReportSnapshot(uint64(to), status)
}

// Ready returns the library's next Ready.
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
	n.SetSnapshot(neutral(&rd.Snapshot))
	r.Sync, r.Committed, r.Reads = rd.MustSync, entries(rd.CommittedEntries, arena), r.Reads[:0]
	for _, s := range rd.ReadStates {
		n.AddRead(s.Index, s.RequestCtx)
	}
	if n.network.config.Async {
		n.send(n.threads.Sort(rd.Messages, n.network.config.HoldVotes))
	} else {
		n.send(rd.Messages)
	}
	return r, true
}

// send takes over the messages for other nodes.
func (n *node) send(messages []message) { n.Out.Mail, n.out = len(messages), messages }

// Post hands a message over. The receiver must not append to the sender's array, as it could not over a real network.
func (n *node) Post(i int) raftlib.Envelope {
	m := n.out[i]
	m.Entries = m.Entries[:len(m.Entries):len(m.Entries)]
	n.bodies.Put(m)
	return raftlib.Envelope{To: lockstep.Node(m.To), Term: m.Term, Type: raftlib.Type(m.Type)}
}

// Advance reports that the Ready has been processed.
func (n *node) Advance() {
	if !n.network.config.Async {
		n.raw.Advance(n.native)
	}
}

func entry(e entryType) raftspec.Entry {
	return raftspec.Entry{Index: e.Index, Term: e.Term, Kind: raftspec.Kind(e.Type), Data: e.Data}
}

func entries(list []entryType, arena *raftlib.Arena) []raftspec.Entry {
	if len(list) == 0 {
		return nil
	}
	to := arena.Take(len(list))
	for i, e := range list {
		to[i] = raftspec.Entry{Index: e.Index, Term: e.Term, Kind: raftspec.Kind(e.Type), Data: e.Data}
	}
	return to
}

func hard(h hardState) raftlib.Hard {
	return raftlib.Hard{Term: h.Term, Vote: h.Vote, Commit: h.Commit}
}

func conf(c confStateType) raftspec.Conf {
	return raftspec.Conf{Voters: raftlib.Nodes(c.Voters), Outgoing: raftlib.Nodes(c.VotersOutgoing),
		Learners: raftlib.Nodes(c.Learners), LearnersNext: raftlib.Nodes(c.LearnersNext), AutoLeave: c.AutoLeave}
}

func confState(c raftspec.Conf) confStateType {
	return confStateType{Voters: raftlib.IDs(c.Voters), VotersOutgoing: raftlib.IDs(c.Outgoing),
		Learners: raftlib.IDs(c.Learners), LearnersNext: raftlib.IDs(c.LearnersNext), AutoLeave: c.AutoLeave}
}

func neutral(s *snapshotType) raftlib.Snapshot {
	if s == nil || isEmpty(*s) {
		return raftlib.Snapshot{}
	}
	m := &s.Metadata
	return raftlib.Snapshot{Index: m.Index, Term: m.Term, Conf: conf(m.ConfState), Data: s.Data}
}

func snapshot(s raftlib.Snapshot) snapshotType {
	return snapshotType{Data: s.Data, Metadata: metadata{Index: s.Index, Term: s.Term, ConfState: confState(s.Conf)}}
}
