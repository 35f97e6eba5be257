//go:build !v3.6

package older

import (
	"go.etcd.io/etcd/raft/v3"
	pb "go.etcd.io/etcd/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// What the binding uses of v3.5.2, the version that the Netrix paper tested.

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

// name is the target's name, and async whether the release has asynchronous storage writes.
const (
	name  = "etcdraft35"
	async = false
)

var threadFunctions raftlib.ThreadFunctions[message] // there are no threads

func writeAsync(*configType, bool) {}

func snapshotOf(m *message) *snapshotType { return &m.Snapshot }

// NextAppend takes up the next write.
func (n *node) NextAppend(*raftlib.Arena) (*raftlib.Ready, bool) { return nil, false }

// NextApply takes up the next entries to apply.
func (n *node) NextApply(*raftlib.Arena) (*raftlib.Ready, bool) { return nil, false }

// Done hands back the responses of the work taken up.
func (n *node) Done() {}
