// Command hashicorpraft-no-leader runs three nodes of hashicorp/raft that never elect a leader again, although all of
// them are up and connected. One voter missed that another node was promoted, and refuses its vote to it.
//
//	go run .             node 2 misses a promotion and a demotion
//	go run . -control    node 2 misses the demotion alone
//
// The exit status is 1 if there is no leader.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/hashicorp/raft"
)

var control = flag.Bool("control", false, "node 2 learns of the promotion before it is cut off")

// timeout is the election timeout of all nodes.
const timeout = 100 * time.Millisecond

// node is a node with its transport.
type node struct {
	*raft.Raft
	trans *raft.InmemTransport
}

// idle is a state machine without a state.
type idle struct{}

func (idle) Apply(*raft.Log) any                 { return nil }
func (idle) Snapshot() (raft.FSMSnapshot, error) { return nil, nil }
func (idle) Restore(io.ReadCloser) error         { return nil }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func name(id int) raft.ServerID { return raft.ServerID(fmt.Sprint(id)) }

func address(id int) raft.ServerAddress { return raft.ServerAddress("node " + fmt.Sprint(id)) }

// newNode starts a node. The cluster begins with the voters 1 and 2 and the non-voter 3.
func newNode(id int) *node {
	config := raft.DefaultConfig()
	config.LocalID, config.LogLevel = name(id), "off"
	config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = timeout, timeout, timeout
	config.CommitTimeout = timeout / 10
	store, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	_, trans := raft.NewInmemTransport(address(id))
	must(raft.BootstrapCluster(config, store, store, snapshots, trans, raft.Configuration{Servers: []raft.Server{
		{ID: name(1), Address: address(1)},
		{ID: name(2), Address: address(2)},
		{ID: name(3), Address: address(3), Suffrage: raft.Nonvoter},
	}}))
	r, err := raft.NewRaft(config, idle{}, store, store, snapshots, trans)
	must(err)
	return &node{r, trans}
}

// voters returns the voters in the node's own configuration.
func (n *node) voters() (list []raft.ServerID) {
	f := n.GetConfiguration()
	must(f.Error())
	for _, s := range f.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			list = append(list, s.ID)
		}
	}
	return list
}

// until waits for a condition.
func until(what string, is func() bool) {
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(timeout / 10)
	}
	log.Fatal("not so after a hundred election timeouts: ", what)
}

func connect(a, b *node) {
	a.trans.Connect(b.trans.LocalAddr(), b.trans)
	b.trans.Connect(a.trans.LocalAddr(), a.trans)
}

func main() {
	flag.Parse()
	one, three := newNode(1), newNode(3)
	connect(one, three)
	two := newNode(2)
	cut := func() {
		for _, n := range []*node{one, three} {
			n.trans.Disconnect(two.trans.LocalAddr())
			two.trans.Disconnect(n.trans.LocalAddr())
		}
	}
	heal := func() { connect(two, one); connect(two, three) }
	heal()
	until("a node leads", func() bool { return one.State() == raft.Leader || two.State() == raft.Leader })
	if two.State() == raft.Leader {
		must(two.LeadershipTransferToServer(name(1), address(1)).Error())
	}
	until("node 1 leads", func() bool { return one.State() == raft.Leader })
	fmt.Println("node 1 leads; nodes 1 and 2 are voters, node 3 is not")

	if !*control {
		cut()
		fmt.Println("node 2 is cut off")
	}
	must(one.AddVoter(name(3), address(3), 0, 0).Error())
	fmt.Println("node 3 is promoted: nodes 1 and 3 commit the change")
	if *control {
		until("node 2 has the change", func() bool { return len(two.voters()) == 3 })
		cut()
		fmt.Println("node 2 has the change, too, and is cut off")
	}
	demotion := one.DemoteVoter(name(1), 0, 0)
	until("node 3 has the change", func() bool { return len(three.voters()) == 2 })
	fmt.Println("node 1 is demoted: nodes 1 and 3 have the change, which now needs node 2")
	until("node 1 steps down", func() bool { return one.State() != raft.Leader })
	fmt.Printf("node 1 steps down: %v\n", demotion.Error())

	heal()
	fmt.Println("node 2 is connected again")
	for id, n := range []*node{one, two, three} {
		fmt.Printf("voters in the configuration of node %d: %v\n", id+1, n.voters())
	}
	for range 100 {
		time.Sleep(timeout)
		for id, n := range []*node{one, two, three} {
			if n.State() == raft.Leader {
				fmt.Printf("OK: node %d leads\n", id+1)
				return
			}
		}
	}
	fmt.Println("BUG: all nodes are up and connected, and after a hundred election timeouts there is no leader")
	os.Exit(1)
}
