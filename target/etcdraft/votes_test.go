package etcdraft_test

import (
	"testing"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// bareAsync is a RawNode with asynchronous writes and nothing around it: messages to
// others and pieces of work wait until a test takes them.
type bareAsync struct {
	*raft.RawNode
	config raft.Config
	disk   *raft.MemoryStorage
	out    []*pb.Message
	writes []*pb.Message
}

func newBareAsync(t *testing.T, id uint64) *bareAsync {
	disk := raft.NewMemoryStorage()
	if err := disk.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)),
		ConfState: &pb.ConfState{Voters: []uint64{1, 2, 3}}}}); err != nil {
		t.Fatal(err)
	}
	n := &bareAsync{disk: disk, config: raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: disk, MaxSizePerMsg: 1 << 20,
		MaxInflightMsgs: 10, AsyncStorageWrites: true, Logger: raftlib.Logger{}}}
	n.restart(t)
	return n
}

// restart begins anew from the disk; what was not written is lost.
func (n *bareAsync) restart(t *testing.T) {
	var err error
	if n.RawNode, err = raft.NewRawNode(&n.config); err != nil {
		t.Fatal(err)
	}
	n.out, n.writes = nil, nil
}

// pump takes the messages of all Readys: they may go out at once, says the library.
func (n *bareAsync) pump() {
	for n.HasReady() {
		for _, m := range n.Ready().Messages {
			switch m.GetTo() {
			case raft.LocalAppendThread:
				n.writes = append(n.writes, m)
			case raft.LocalApplyThread:
			default:
				n.out = append(n.out, m)
			}
		}
	}
}

// write does the work of the append thread.
func (n *bareAsync) write(t *testing.T) {
	n.pump()
	for len(n.writes) > 0 {
		m := n.writes[0]
		n.writes = n.writes[1:]
		if err := n.disk.Append(m.Entries); err != nil {
			t.Fatal(err)
		}
		if m.GetTerm() != 0 {
			if err := n.disk.SetHardState(&pb.HardState{Term: m.Term, Vote: m.Vote, Commit: m.Commit}); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range m.Responses {
			if r.GetTo() == n.config.ID {
				_ = n.Step(r)
			} else {
				n.out = append(n.out, r)
			}
		}
		n.pump()
	}
}

// take removes and returns the first message of a type for a node.
func (n *bareAsync) take(t *testing.T, kind pb.MessageType, to uint64) *pb.Message {
	t.Helper()
	for i, m := range n.out {
		if m.GetType() == kind && m.GetTo() == to {
			n.out = append(n.out[:i], n.out[i+1:]...)
			return m
		}
	}
	t.Fatalf("node %d has no %s for %d", n.config.ID, kind, to)
	return nil
}

// TestVotesBeforeWrites shows without the engine what runs with crashes and asynchronous
// writes find in v3.7.0: a request for votes goes out before the term and the log that it
// speaks of are on disk. The candidate crashes, campaigns for the same term with a shorter
// log, counts the vote that its first request got, and leads without a committed entry.
func TestVotesBeforeWrites(t *testing.T) {
	one, two, three := newBareAsync(t, 1), newBareAsync(t, 2), newBareAsync(t, 3)
	step := func(n *bareAsync, m *pb.Message) {
		t.Helper()
		if err := n.Step(m); err != nil {
			t.Fatal(err)
		}
		n.pump()
	}

	if err := one.Campaign(); err != nil {
		t.Fatal(err)
	}
	one.write(t)
	step(two, one.take(t, pb.MsgVote, 2))
	two.write(t)
	step(three, one.take(t, pb.MsgVote, 3))
	three.write(t)
	step(one, two.take(t, pb.MsgVoteResp, 1)) // 1 leads and appends its first entry, at 2
	one.write(t)
	step(three, one.take(t, pb.MsgApp, 3)) // not written
	step(two, one.take(t, pb.MsgApp, 2))
	two.write(t)
	step(one, two.take(t, pb.MsgAppResp, 1))
	status := one.Status()
	if status.GetCommit() != 2 {
		t.Fatalf("the entry at 2 is not committed: %+v", status.BasicStatus)
	}

	if err := three.Campaign(); err != nil {
		t.Fatal(err)
	}
	three.pump()
	request := three.take(t, pb.MsgVote, 1) // before anything is written
	three.restart(t)
	if err := three.Campaign(); err != nil {
		t.Fatal(err)
	}
	three.write(t)
	if again := three.take(t, pb.MsgVote, 1); again.GetTerm() != request.GetTerm() || again.GetIndex() >= request.GetIndex() {
		t.Fatalf("the second request is %v, the first was %v", again, request)
	}
	step(one, request)
	one.write(t)
	step(three, one.take(t, pb.MsgVoteResp, 3))
	three.write(t)
	if three.Status().RaftState != raft.StateLeader {
		t.Fatal("node 3 does not win: this version is better than v3.7.0, and the documentation is out of date")
	}
	was, err := one.disk.Term(2)
	if err != nil {
		t.Fatal(err)
	}
	is, err := three.disk.Term(2)
	if err != nil || is == was {
		t.Errorf("node 3 leads term %d with the committed entry: term %d, %v", three.Status().GetTerm(), is, err)
	}
	t.Logf("the entry at index 2, committed in term %d, is of term %d at the leader of term %d", was, is, three.Status().GetTerm())
}
