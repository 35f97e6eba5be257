// Command hashicorpraft-unanswered-verify runs nodes of hashicorp/raft, each a cluster of its own. A client calls
// VerifyLeader while the node writes to a slow disk, and the node is shut down. The future of the call is never
// answered: a goroutine that waits for it waits indefinitely.
//
//	go run .             a call of VerifyLeader
//	go run . -control    a call of Barrier
//
// The main loop of the library chooses between two ready channels at random. The program makes up to 50 attempts. The
// exit status is 1 if a call is not answered.
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

var control = flag.Bool("control", false, "call Barrier")

// disk is a log that takes a while for each write.
type disk struct{ *raft.InmemStore }

func (d disk) StoreLogs(logs []*raft.Log) error {
	time.Sleep(50 * time.Millisecond)
	return d.InmemStore.StoreLogs(logs)
}

func (d disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

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

// leader starts a node that leads a cluster of its own.
func leader() *raft.Raft {
	config := raft.DefaultConfig()
	config.LocalID, config.LogLevel = "1", "off"
	config.HeartbeatTimeout, config.ElectionTimeout = 50*time.Millisecond, 50*time.Millisecond
	config.LeaderLeaseTimeout = 50 * time.Millisecond
	store, snapshots := disk{raft.NewInmemStore()}, raft.NewInmemSnapshotStore()
	address, trans := raft.NewInmemTransport("")
	must(raft.BootstrapCluster(config, store, store, snapshots, trans,
		raft.Configuration{Servers: []raft.Server{{ID: "1", Address: address}}}))
	node, err := raft.NewRaft(config, idle{}, store, store, snapshots, trans)
	must(err)
	for node.State() != raft.Leader {
		time.Sleep(10 * time.Millisecond)
	}
	return node
}

func main() {
	flag.Parse()
	name := "VerifyLeader"
	if *control {
		name = "Barrier"
	}
	fmt.Println(name, "is called while the main loop of a node waits for the disk; then the node is shut down")
	for range 50 {
		node := leader()
		node.Apply([]byte("x"), 0)
		time.Sleep(5 * time.Millisecond) // the main loop waits for the disk
		answer := make(chan error, 1)
		go func() {
			if *control {
				answer <- node.Barrier(0).Error()
			} else {
				answer <- node.VerifyLeader().Error()
			}
		}()
		time.Sleep(5 * time.Millisecond) // the call waits for the main loop
		must(node.Shutdown().Error())
		select {
		case <-answer:
		case <-time.After(10 * time.Second):
			fmt.Println("BUG: ten seconds after the end of the shutdown the call is not answered")
			os.Exit(1)
		}
	}
	fmt.Println("OK: in 50 attempts the call is always answered")
}
