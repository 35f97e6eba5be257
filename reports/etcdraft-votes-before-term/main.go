// Command etcdraft-votes-before-term drives three RawNodes of etcd's raft with asynchronous storage writes through a
// run in which the leader of a later term lacks a committed entry. The program does what the documentation of the
// library asks: it sends messages to other nodes at once, and gives responses out only when the write is done.
//
//	go run .             a candidate sends its requests for votes at once, as the library allows
//	go run . -control    a candidate sends them when its write is done
//
// The exit status is 1 if a committed entry is lost.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

var control = flag.Bool("control", false, "send requests for votes when the term is on disk")

// node is a RawNode with a disk that survives a crash.
type node struct {
	*raft.RawNode
	config raft.Config
	disk   *raft.MemoryStorage
	out    []*pb.Message // to other nodes
	writes []*pb.Message // to the append thread, not carried out yet
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// newNode returns a member of the cluster 1, 2, 3, whose log begins with a snapshot at index 1 of term 1.
func newNode(id uint64) *node {
	n := &node{disk: raft.NewMemoryStorage()}
	must(n.disk.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{
		Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &pb.ConfState{Voters: []uint64{1, 2, 3}}}}))
	n.config = raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: n.disk, MaxSizePerMsg: 1 << 20,
		MaxInflightMsgs: 10, AsyncStorageWrites: true,
		Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}}
	n.restart()
	return n
}

// restart makes a new RawNode from the disk. Whatever was not written is lost.
func (n *node) restart() {
	var err error
	n.RawNode, err = raft.NewRawNode(&n.config)
	must(err)
	n.out, n.writes = nil, nil
}

// ready handles every Ready, but carries no write out.
func (n *node) ready() {
	for n.HasReady() {
		n.dispatch(n.Ready().Messages)
	}
}

// dispatch sorts messages by their receiver.
func (n *node) dispatch(messages []*pb.Message) {
	if *control { // requests for votes become responses of the write that they depend on
		write := slices.IndexFunc(messages, func(m *pb.Message) bool { return m.GetTo() == raft.LocalAppendThread })
		messages = slices.DeleteFunc(messages, func(m *pb.Message) bool {
			held := write >= 0 && m.GetType() == pb.MsgVote
			if held {
				messages[write].Responses = append(messages[write].Responses, m)
			}
			return held
		})
	}
	for _, m := range messages {
		switch m.GetTo() {
		case raft.LocalAppendThread:
			n.writes = append(n.writes, m)
		case raft.LocalApplyThread: // nothing to apply here
		case n.config.ID:
			must(n.Step(m))
		default:
			n.out = append(n.out, m)
		}
	}
}

// write carries out what the append thread has to do, and then gives out the responses.
func (n *node) write() {
	for n.ready(); len(n.writes) > 0; n.ready() {
		m := n.writes[0]
		n.writes = n.writes[1:]
		must(n.disk.Append(m.Entries))
		hard := &pb.HardState{Term: m.Term, Vote: m.Vote, Commit: m.Commit}
		if !raft.IsEmptyHardState(hard) {
			must(n.disk.SetHardState(hard))
		}
		n.dispatch(m.Responses)
	}
}

// find returns the message of a type for a node that is to be sent, or nil. All others of the type are lost.
func (n *node) find(kind pb.MessageType, to uint64) (m *pb.Message) {
	n.ready()
	n.out = slices.DeleteFunc(n.out, func(o *pb.Message) bool {
		is := o.GetType() == kind && o.GetTo() == to
		if is {
			m = o
		}
		return is
	})
	return m
}

// deliver takes a message to a node, which writes what it has to.
func deliver(from, to *node, kind pb.MessageType) {
	m := from.find(kind, to.config.ID)
	if m == nil {
		log.Fatalf("node %d sends no %s to %d", from.config.ID, kind, to.config.ID)
	}
	must(to.Step(m))
	to.write()
}

// last describes the end of the log on disk.
func (n *node) last() string {
	index, err := n.disk.LastIndex()
	must(err)
	term, err := n.disk.Term(index)
	must(err)
	return fmt.Sprintf("index %d, term %d", index, term)
}

func main() {
	flag.Parse()
	one, two, three := newNode(1), newNode(2), newNode(3)

	must(one.Campaign())
	one.write()
	deliver(one, two, pb.MsgVote)
	deliver(one, three, pb.MsgVote)
	deliver(two, one, pb.MsgVoteResp)
	append3 := one.find(pb.MsgApp, 3)
	deliver(one, two, pb.MsgApp)
	deliver(two, one, pb.MsgAppResp)
	status := one.Status()
	fmt.Printf("node 1 leads term %d and commits index %d with node 2\n", status.GetTerm(), status.GetCommit())

	must(three.Step(append3)) // in memory; the write is pending
	must(three.Campaign())
	request := three.find(pb.MsgVote, 1)
	if request == nil {
		fmt.Println("node 3 campaigns; nothing is on its disk yet, so it sends nothing")
		fmt.Println("OK: there is no request that a later campaign of the same term could contradict")
		return
	}
	fmt.Printf("node 3 sends %s of term %d with a log up to index %d; on its disk are %s, and no such term\n",
		request.GetType(), request.GetTerm(), request.GetIndex(), three.last())
	three.restart()
	fmt.Println("node 3 crashes and restarts")
	must(three.Campaign())
	three.write()
	again := three.find(pb.MsgVote, 1)
	fmt.Printf("node 3 campaigns again: %s of term %d with a log up to index %d, which is lost\n",
		again.GetType(), again.GetTerm(), again.GetIndex())

	must(one.Step(request))
	one.write()
	fmt.Println("node 1 votes for the first request")
	deliver(one, three, pb.MsgVoteResp)
	status = three.Status()
	fmt.Printf("node 3 counts the vote for its second one: %s of term %d\n", status.RaftState, status.GetTerm())

	committed, err := one.disk.Term(2)
	must(err)
	there, err := three.disk.Term(2)
	must(err)
	if status.RaftState == raft.StateLeader && there != committed {
		fmt.Printf("BUG: index 2 was committed with an entry of term %d; the leader has one of term %d there\n",
			committed, there)
		os.Exit(1)
	}
	fmt.Println("OK: node 3 does not lead without the committed entry")
}
