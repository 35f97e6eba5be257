// Command etcdraft-lost-membership-change drives five RawNodes of etcd's raft through a run in which the leader of a
// later term lacks a committed entry. The program does what the documentation of the library asks: it writes the
// entries of a Ready first and the hard state second, and sends messages when both are written. One node crashes
// between the two writes.
//
//	go run .             node 2 crashes between the two writes of a Ready
//	go run . -control    node 2 crashes after both writes
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
	"google.golang.org/protobuf/proto"
)

var control = flag.Bool("control", false, "node 2 crashes after both writes")

// node is a RawNode with a disk that survives a crash.
type node struct {
	*raft.RawNode
	config raft.Config
	disk   *raft.MemoryStorage
	out    []*pb.Message // to other nodes
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// newNode returns a node whose log begins with a snapshot at index 1 of term 1, with the voters 1, 2 and 3. Nodes 4
// and 5, which join later, begin as if they had received it.
func newNode(id uint64) *node {
	n := &node{disk: raft.NewMemoryStorage()}
	must(n.disk.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{
		Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &pb.ConfState{Voters: []uint64{1, 2, 3}}}}))
	n.config = raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: n.disk, MaxSizePerMsg: 1 << 20,
		MaxInflightMsgs: 10, Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}}
	n.restart()
	return n
}

// restart makes a new RawNode from the disk. Whatever was not written is lost.
func (n *node) restart() {
	var err error
	n.RawNode, err = raft.NewRawNode(&n.config)
	must(err)
	n.out = nil
}

func (n *node) writeHardState(hard *pb.HardState) {
	if !raft.IsEmptyHardState(hard) {
		must(n.disk.SetHardState(hard))
	}
}

// ready handles every Ready as the documentation asks.
func (n *node) ready() {
	for n.HasReady() {
		rd := n.Ready()
		must(n.disk.Append(rd.Entries))
		n.writeHardState(rd.HardState)
		n.out = append(n.out, rd.Messages...)
		for _, e := range rd.CommittedEntries {
			if e.GetType() == pb.EntryConfChange {
				var c pb.ConfChange
				must(proto.Unmarshal(e.Data, &c))
				n.ApplyConfChange(&c)
			}
		}
		n.Advance(rd)
	}
}

// take returns the last message of a type for a node. Earlier ones of the type are lost.
func (n *node) take(kind pb.MessageType, to uint64) (m *pb.Message) {
	n.ready()
	n.out = slices.DeleteFunc(n.out, func(o *pb.Message) bool {
		is := o.GetType() == kind && o.GetTo() == to
		if is {
			m = o
		}
		return is
	})
	if m == nil {
		log.Fatalf("node %d sends no %s to %d", n.config.ID, kind, to)
	}
	return m
}

// talk passes messages among nodes until there are none. Messages for other nodes are lost.
func talk(nodes ...*node) {
	for busy := true; busy; {
		busy = false
		for _, n := range nodes {
			n.ready()
			out := n.out
			n.out = nil
			for _, m := range out {
				for _, to := range nodes {
					if m.GetTo() == to.config.ID {
						busy = true
						_ = to.Step(m) // an answer of a node that is not a member yet is refused
					}
				}
			}
		}
	}
}

func main() {
	flag.Parse()
	var nodes [6]*node
	for id := uint64(1); id <= 5; id++ {
		nodes[id] = newNode(id)
	}
	one, two, three, four, five := nodes[1], nodes[2], nodes[3], nodes[4], nodes[5]
	add := func(id uint64) {
		must(one.ProposeConfChange(&pb.ConfChange{Type: pb.ConfChangeAddNode.Enum(), NodeId: &id}))
	}

	must(one.Campaign())
	talk(one, two, three)
	add(4)
	must(two.Step(one.take(pb.MsgApp, 2)))
	two.ready()
	must(one.Step(two.take(pb.MsgAppResp, 1)))
	one.ready()
	one.take(pb.MsgApp, 2) // the message with the commit index is lost
	fmt.Println("node 1 leads; adding node 4, at index 3, is committed by 1 and 2; node 2 does not learn of it yet")
	add(5)
	second := one.take(pb.MsgApp, 2)
	for range 3 {
		one.Tick()
		talk(one, three, four)
	}
	fmt.Printf("adding node 5, at index 4, is committed by 1, 3 and 4: node 1 has committed %d\n",
		one.Status().GetCommit())

	must(two.Step(second))
	rd := two.Ready()
	fmt.Printf("node 2 receives it: it is to write %d entry, at index %d, and then the hard state, with commit %d\n",
		len(rd.Entries), rd.Entries[0].GetIndex(), rd.HardState.GetCommit())
	must(two.disk.Append(rd.Entries))
	if *control {
		two.writeHardState(rd.HardState)
		fmt.Println("node 2 crashes after both writes")
	} else {
		fmt.Println("node 2 crashes between the two writes")
	}
	two.restart()
	two.ready() // applies what it knows to be committed
	fmt.Printf("node 2 restarts: its voters are %v\n", two.Status().Config.Voters)

	must(one.Propose([]byte("x")))
	for range 3 {
		one.Tick()
		talk(one, four, five)
	}
	fmt.Printf("node 1 commits an entry at index %d with nodes 4 and 5\n", one.Status().GetCommit())

	must(two.Campaign())
	talk(two, three)
	leader := two.Status()
	fmt.Printf("node 2 campaigns with the vote of node 3: it is %s of term %d\n", leader.RaftState, leader.GetTerm())
	if leader.RaftState == raft.StateLeader && one.Status().GetCommit() == 5 {
		committed, err := one.disk.Term(5)
		must(err)
		there, err := two.disk.Term(5)
		must(err)
		if committed != there {
			fmt.Printf("BUG: index 5 was committed with an entry of term %d; the leader has one of term %d there\n",
				committed, there)
			os.Exit(1)
		}
	}
	fmt.Println("OK: two votes of four voters elect no leader")
}
