package etcdraft_test

import (
	"slices"
	"testing"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// The tests of this file drive the library alone, without the adapter and the engine, through two runs that campaigns
// found. The user of the library follows its documentation, and yet a leader lacks a committed entry. The tests fail
// when the library changes. In that case the documentation and the options that avoid these runs must change, too.

// lone is a bare RawNode: messages wait in out until a test takes them.
type lone struct {
	*raft.RawNode
	t      *testing.T
	config raft.Config
	disk   *raft.MemoryStorage
	out    []*pb.Message
	writes []*pb.Message // of the append thread, with asynchronous writes
}

// newLone makes a node of a cluster of nodes 1, 2 and 3.
func newLone(t *testing.T, id uint64, async bool) *lone {
	n := &lone{t: t, disk: raft.NewMemoryStorage()}
	n.must(n.disk.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)),
		ConfState: &pb.ConfState{Voters: []uint64{1, 2, 3}}}}))
	n.config = raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: n.disk, MaxSizePerMsg: 1 << 20,
		MaxInflightMsgs: 10, AsyncStorageWrites: async, Logger: raftlib.Logger{}}
	n.restart()
	return n
}

func (l *lone) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// restart restarts the node from its disk; unwritten state is lost.
func (l *lone) restart() {
	var err error
	l.RawNode, err = raft.NewRawNode(&l.config)
	l.must(err)
	l.out, l.writes = nil, nil
}

// pump handles all Readys as the library requires.
func (l *lone) pump() {
	for l.HasReady() {
		rd := l.Ready()
		if l.config.AsyncStorageWrites {
			l.sort(rd.Messages)
			continue
		}
		l.write(rd.Entries, rd.HardState)
		l.out = append(l.out, rd.Messages...)
		l.apply(rd.CommittedEntries)
		l.Advance(rd)
	}
}

// sort separates messages from storage work; the library allows sending messages at once.
func (l *lone) sort(messages []*pb.Message) {
	for _, m := range messages {
		switch m.GetTo() {
		case raft.LocalAppendThread:
			l.writes = append(l.writes, m)
		case raft.LocalApplyThread:
		case l.config.ID:
			_ = l.Step(m)
		default:
			l.out = append(l.out, m)
		}
	}
}

func (l *lone) write(entries []*pb.Entry, hard *pb.HardState) {
	l.must(l.disk.Append(entries))
	if !raft.IsEmptyHardState(hard) {
		l.must(l.disk.SetHardState(hard))
	}
}

// flush does the work of the append thread.
func (l *lone) flush() {
	l.pump()
	for len(l.writes) > 0 {
		m := l.writes[0]
		l.writes = l.writes[1:]
		l.write(m.Entries, &pb.HardState{Term: m.Term, Vote: m.Vote, Commit: m.Commit})
		l.sort(m.Responses)
		l.pump()
	}
}

func (l *lone) apply(entries []*pb.Entry) {
	for _, e := range entries {
		if e.GetType() == pb.EntryConfChange {
			var c pb.ConfChange
			l.must(proto.Unmarshal(e.Data, &c))
			l.ApplyConfChange(&c)
		}
	}
}

// take removes and returns the last message of a type for a node; earlier ones are lost.
func (l *lone) take(kind pb.MessageType, to uint64) *pb.Message {
	l.t.Helper()
	l.pump()
	var last *pb.Message
	l.out = slices.DeleteFunc(l.out, func(m *pb.Message) bool {
		found := m.GetType() == kind && m.GetTo() == to
		if found {
			last = m
		}
		return found
	})
	if last == nil {
		l.t.Fatalf("node %d has no %s for %d", l.config.ID, kind, to)
	}
	return last
}

// hear gives a message to a node, which then writes its state.
func (l *lone) hear(m *pb.Message) {
	l.t.Helper()
	l.must(l.Step(m))
	l.flush()
}

// talk passes messages among nodes until there are none; messages for other nodes are lost.
func talk(nodes ...*lone) {
	for busy := true; busy; {
		busy = false
		for _, n := range nodes {
			n.pump()
			out := n.out
			n.out = nil
			for _, m := range out {
				for _, to := range nodes {
					if m.GetTo() == to.config.ID {
						busy = true
						_ = to.Step(m)
					}
				}
			}
		}
	}
}

// lacks checks that a node leads and has a different entry at a committed index.
func (l *lone) lacks(leader *lone, index uint64) {
	l.t.Helper()
	if l.Status().GetCommit() < index {
		l.t.Fatalf("the entry at %d is not committed at node %d: %+v", index, l.config.ID, l.Status().BasicStatus)
	}
	if leader.Status().RaftState != raft.StateLeader {
		l.t.Fatalf("node %d does not win: the library is better than v3.7.0", leader.config.ID)
	}
	was, err := l.disk.Term(index)
	l.must(err)
	is, err := leader.disk.Term(index)
	l.must(err)
	if is == was {
		l.t.Errorf("the leader has the committed entry")
	}
	l.t.Logf("the entry at index %d, committed in term %d, is of term %d at node %d, the leader of term %d",
		index, was, is, leader.config.ID, leader.Status().GetTerm())
}

// With asynchronous writes the library sends a request for votes before the term and the log that it refers to are on
// disk. The candidate crashes, campaigns for the same term with a shorter log, and counts the vote for its first
// request.
func TestVotesBeforeWrites(t *testing.T) {
	one, two, three := newLone(t, 1, true), newLone(t, 2, true), newLone(t, 3, true)
	one.must(one.Campaign())
	one.flush()
	two.hear(one.take(pb.MsgVote, 2))
	three.hear(one.take(pb.MsgVote, 3))
	one.hear(two.take(pb.MsgVoteResp, 1)) // 1 leads and appends its first entry, at 2
	three.must(three.Step(one.take(pb.MsgApp, 3)))
	two.hear(one.take(pb.MsgApp, 2))
	one.hear(two.take(pb.MsgAppResp, 1))

	three.must(three.Campaign())
	request := three.take(pb.MsgVote, 1) // before anything is written
	three.restart()
	three.must(three.Campaign())
	three.flush()
	if again := three.take(pb.MsgVote, 1); again.GetTerm() != request.GetTerm() ||
		again.GetIndex() >= request.GetIndex() {
		t.Fatalf("the second request is %v, the first was %v", again, request)
	}
	one.hear(request)
	three.hear(one.take(pb.MsgVoteResp, 3))
	one.lacks(three, 2)
}

// The library asks for two writes of a Ready where they are not atomic: entries first, hard state second. A crash
// between them keeps an entry and loses the commit index that came with it. Suppose that the entry is a membership
// change, and only the lost commit index covered the previous change. Then the node campaigns with the members before
// both changes.
func TestCommitLostWithChange(t *testing.T) {
	nodes := make([]*lone, 6)
	for id := uint64(1); id <= 5; id++ {
		nodes[id] = newLone(t, id, false) // as if 4 and 5 had installed the snapshot
	}
	one, two, three, four, five := nodes[1], nodes[2], nodes[3], nodes[4], nodes[5]
	add := func(id uint64) {
		one.must(one.ProposeConfChange(&pb.ConfChange{Type: pb.ConfChangeAddNode.Enum(), NodeId: &id}))
	}
	one.must(one.Campaign())
	talk(one, two, three)
	add(4) // at 3; committed by 1 and 2; 2 does not learn of the commit
	two.hear(one.take(pb.MsgApp, 2))
	one.hear(two.take(pb.MsgAppResp, 1))
	one.take(pb.MsgApp, 2)
	add(5) // at 4; committed by 1, 3 and 4
	second := one.take(pb.MsgApp, 2)
	for range 3 {
		one.Tick()
		talk(one, three, four)
	}

	two.must(two.Step(second))
	rd := two.Ready()
	if len(rd.Entries) != 1 || rd.HardState.GetCommit() != 3 {
		t.Fatalf("2 is to write %v and %v", rd.Entries, rd.HardState)
	}
	two.write(rd.Entries, nil) // and no hard state
	two.restart()

	one.must(one.Propose([]byte("z"))) // at 5; committed by 1, 4 and 5
	for range 3 {
		one.Tick()
		talk(one, four, five)
	}
	two.must(two.Campaign())
	talk(two, three)
	one.lacks(two, 5)
}
