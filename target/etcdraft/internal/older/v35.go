//go:build !v3.6

package older

import (
	"go.etcd.io/etcd/raft/v3"
	pb "go.etcd.io/etcd/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// The parts of v3.5.2 that the binding uses. The Netrix paper tested this version.

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
	name  = "etcdraft35"
	async = false
)

var threadFunctions raftlib.ThreadFunctions[message] // there are no threads

func writeAsync(*configType, bool) {}

func snapshotOf(m *message) *snapshotType { return &m.Snapshot }

// NextAppend takes the next write.
func (n *node) NextAppend(*raftlib.Arena) (*raftlib.Ready, bool) { return nil, false }

// NextApply takes the next entries to apply.
func (n *node) NextApply(*raftlib.Arena) (*raftlib.Ready, bool) { return nil, false }

// Done returns the responses of the work taken.
func (n *node) Done() {}
