// Command hashicorpraft-blocked-pipeline runs three nodes of hashicorp/raft with the library's TCP transport. The disk
// of node 2 refuses one write. After that the leader may never send it an entry again, while its heartbeats continue.
// When node 3 stops, nodes 1 and 2 are a majority that commits nothing and elects no other leader.
//
//	go run .             the transport's default, two appends in flight
//	go run . -control    no pipelines, one append in flight
//
// The library chooses between two ready channels at random, so that one refused write in some shows the bug. The
// program refuses up to a hundred. The exit status is 1 if node 2 does not get the entries.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

var control = flag.Bool("control", false, "replicate without pipelines")

// idle is a state machine without a state.
type idle struct{}

func (idle) Apply(*raft.Log) any                 { return nil }
func (idle) Snapshot() (raft.FSMSnapshot, error) { return nil, nil }
func (idle) Restore(io.ReadCloser) error         { return nil }

// disk is a log that takes a while for each write, and fails when it is asked to.
type disk struct {
	*raft.InmemStore
	slow atomic.Bool
	fail atomic.Int32 // so many writes
}

func (d *disk) StoreLogs(logs []*raft.Log) error {
	if d.slow.Load() {
		time.Sleep(2 * time.Millisecond)
	}
	if d.fail.Add(-1) >= 0 {
		return errors.New("disk error")
	}
	return d.InmemStore.StoreLogs(logs)
}

func (d *disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func name(id int) raft.ServerID { return raft.ServerID(fmt.Sprint(id)) }

// cluster starts three voters.
func cluster() (nodes [4]*raft.Raft, disks [4]*disk) {
	var transports [4]*raft.NetworkTransport
	var members raft.Configuration
	for id := 1; id <= 3; id++ {
		config := raft.NetworkTransportConfig{MaxPool: 3, Timeout: 10 * time.Second, Logger: hclog.NewNullLogger()}
		if *control {
			config.MaxRPCsInFlight = 1
		}
		var err error
		transports[id], err = raft.NewTCPTransportWithConfig("127.0.0.1:0", nil, &config)
		must(err)
		members.Servers = append(members.Servers, raft.Server{ID: name(id), Address: transports[id].LocalAddr()})
	}
	for id := 1; id <= 3; id++ {
		config := raft.DefaultConfig()
		config.LocalID, config.LogLevel = name(id), "off"
		if id != 1 { // so that node 1 leads
			config.HeartbeatTimeout, config.ElectionTimeout = 3*time.Second, 3*time.Second
		}
		disks[id] = &disk{InmemStore: raft.NewInmemStore()}
		snapshots := raft.NewInmemSnapshotStore()
		must(raft.BootstrapCluster(config, disks[id], disks[id], snapshots, transports[id], members))
		var err error
		nodes[id], err = raft.NewRaft(config, idle{}, disks[id], disks[id], snapshots, transports[id])
		must(err)
	}
	return nodes, disks
}

// within waits for a condition, for some time.
func within(limit time.Duration, is func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return is()
}

// write applies entries while the disk of node 2 refuses one write, and waits until they are committed.
func write(leader *raft.Raft, d *disk) {
	d.slow.Store(true)
	defer d.slow.Store(false)
	var last raft.ApplyFuture
	for i := range 60 {
		if i == 20 {
			d.fail.Store(1)
		}
		last = leader.Apply([]byte("x"), 0)
		time.Sleep(time.Millisecond)
	}
	must(last.Error())
}

func main() {
	flag.Parse()
	nodes, disks := cluster()
	leader, two := nodes[1], nodes[2]
	if !within(20*time.Second, func() bool { return leader.State() == raft.Leader }) {
		log.Fatal("node 1 does not lead")
	}
	fmt.Println("node 1 leads nodes 2 and 3")
	behind := false
	for range 100 {
		write(leader, disks[2])
		if behind = !within(5*time.Second, func() bool { return two.LastIndex() == leader.LastIndex() }); behind {
			break
		}
	}
	fmt.Println("clients write; the disk of node 2 refuses a write and then works again")
	if behind {
		fmt.Println("node 1 commits all entries with node 3; five seconds later node 2 still lacks some")
	} else {
		fmt.Println("node 1 commits all entries; after each of 100 refused writes node 2 gets them, too")
	}

	must(nodes[3].Shutdown().Error())
	fmt.Println("node 3 stops; nodes 1 and 2 are a majority")
	committed := make(chan error, 1)
	go func() { committed <- leader.Apply([]byte("y"), 0).Error() }()
	select {
	case err := <-committed:
		must(err)
		fmt.Println("OK: node 1 commits another entry")
		return
	case <-time.After(20 * time.Second):
	}
	fmt.Printf("20 seconds later node 1 is %v, and node 2 is %v\n", leader.State(), two.State())
	if contact := time.Since(two.LastContact()); contact < 3*time.Second {
		fmt.Println("node 2 has heard from its leader within the election timeout")
	}
	fmt.Println("BUG: no entry is committed, and no other leader is elected")
	os.Exit(1)
}
