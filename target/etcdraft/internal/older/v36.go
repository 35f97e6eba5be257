//go:build v3.6

package older

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// The parts of v3.6 that the binding uses.

type (
	entryType     = pb.Entry
	hardState     = pb.HardState
	confStateType = pb.ConfState
	metadata      = pb.SnapshotMetadata
	snapshotType  = pb.Snapshot
	message       = pb.Message
	changeV2      = pb.ConfChangeV2
	transition    = pb.ConfChangeTransition
	singleChange  = pb.ConfChangeSingle
	changeType    = pb.ConfChangeType
	changeV1      = pb.ConfChange
)

const (
	msgProp           = pb.MsgProp
	msgReadIndex      = pb.MsgReadIndex
	msgTransferLeader = pb.MsgTransferLeader
	readOnlyLease     = raft.ReadOnlyLeaseBased
	snapshotFailure   = raft.SnapshotFailure
	snapshotFinish    = raft.SnapshotFinish
)

type (
	configType = raft.Config
	rawNode    = raft.RawNode
	ready      = raft.Ready
)

var (
	newRawNode     = raft.NewRawNode
	errCompacted   = raft.ErrCompacted
	errUnavailable = raft.ErrUnavailable
	isEmpty        = raft.IsEmptySnap
)

// name is the target's name, and async reports whether the release has asynchronous storage writes.
const (
	name  = "etcdraft"
	async = true
)

var threadFunctions = raftlib.ThreadFunctions[message]{Append: raft.LocalAppendThread, Apply: raft.LocalApplyThread,
	To:        func(m message) uint64 { return m.To },
	Responses: func(m message) []message { return m.Responses },
	Vote:      func(m message) bool { return m.Type == pb.MsgVote },
	Hold:      func(to *message, list []message) { to.Responses = append(to.Responses, list...) }}

func writeAsync(c *configType, on bool) { c.AsyncStorageWrites = on }

func snapshotOf(m *message) *snapshotType { return m.Snapshot }

// NextAppend takes the next write.
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

// NextApply takes the next entries to apply.
func (n *node) NextApply(arena *raftlib.Arena) (*raftlib.Ready, bool) {
	m, ok := n.threads.NextApply()
	if !ok {
		return nil, false
	}
	n.Out.Committed = entries(m.Entries, arena)
	return &n.Out, true
}

// Done reports that the work taken is complete, and sends the responses.
func (n *node) Done() {
	n.send(n.threads.Done(n.config.ID, func(m message) { _ = n.raw.Step(m) }))
}
