package timeouts_test

import (
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"strings"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep/target/etcdraft/timeouts"
)

const election = 10

func newNode(t testing.TB) *raft.RawNode {
	s := raft.NewMemoryStorage()
	if err := s.ApplySnapshot(&raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: new(uint64(1)),
		Term:      new(uint64(1)),
		ConfState: &raftpb.ConfState{Voters: []uint64{1, 2, 3}}}}); err != nil {
		t.Fatal(err)
	}
	node, err := raft.NewRawNode(
		&raft.Config{ID: 1, ElectionTick: election, HeartbeatTick: 1, Storage: s, MaxInflightMsgs: 8,
			Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// campaigns lists the ticks at which a node without incoming messages starts an election.
func campaigns(t testing.TB, node *raft.RawNode, tick func(), ticks int) []int {
	var at []int
	term := node.BasicStatus().GetTerm()
	for i := range ticks {
		tick()
		for node.HasReady() {
			node.Advance(node.Ready())
		}
		if now := node.BasicStatus().GetTerm(); now != term {
			term = now
			at = append(at, i+1)
		}
	}
	return at
}

func controlled(t testing.TB, seed uint64) []int {
	node := newNode(t)
	timer, err := timeouts.Control(node, election, rand.New(rand.NewPCG(seed, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return campaigns(t, node, func() { timer.Tick(node.Tick) }, 3000)
}

// TestControl finds the same elections for the same seed and others for another seed. Every timeout is within the
// library's range, and all values are equally frequent.
func TestControl(t *testing.T) {
	one, again, other := controlled(t, 1), controlled(t, 1), controlled(t, 2)
	if fmt.Sprint(one) != fmt.Sprint(again) {
		t.Errorf("the same seed gave elections at ticks %v and %v", one, again)
	}
	if fmt.Sprint(one) == fmt.Sprint(other) {
		t.Error("two seeds gave the same elections")
	}
	counts := make([]int, 2*election)
	last := 0
	for _, at := range one {
		counts[at-last]++
		last = at
	}
	for timeout, n := range counts {
		// About 200 elections over 10 values: 20 each, with a deviation of 4.3.
		if inside := timeout >= election; inside && (n < 5 || n > 40) || !inside && n != 0 {
			t.Errorf("time-out %d was drawn %d times of %d: %v", timeout, n, len(one), counts)
		}
	}
}

// TestUncontrolled shows that timeouts vary without control.
func TestUncontrolled(t *testing.T) {
	a, b := newNode(t), newNode(t)
	if x, y := campaigns(t, a, a.Tick, 3000), campaigns(t, b, b.Tick, 3000); fmt.Sprint(x) == fmt.Sprint(y) {
		t.Errorf("two nodes of the library drew the same 200 time-outs: %v", x)
	}
}

func TestForeignNode(t *testing.T) {
	for want, err := range map[string]error{
		"no field raft":            control(&struct{}{}),
		"no field electionElapsed": control(&struct{ raft *struct{} }{}),
		"no field randomizedElectionTimeout": control(&struct {
			raft *struct{ electionElapsed, heartbeatElapsed int }
		}{}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func control[T any](node *T) error {
	_, err := timeouts.Control(node, election, nil)
	return err
}

func ExampleControl() {
	node := newNode(&testing.T{})
	timer, err := timeouts.Control(node, election, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		fmt.Println(err)
		return
	}
	ticks := 0
	for node.BasicStatus().RaftState == raft.StateFollower {
		timer.Tick(node.Tick)
		ticks++
	}
	fmt.Println("campaigns at tick", ticks)
	// Output: campaigns at tick 15
}
