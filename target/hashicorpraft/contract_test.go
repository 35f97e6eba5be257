package hashicorpraft_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// slowStore is a log on a slow disk.
type slowStore struct {
	*raft.InmemStore
	delay time.Duration
}

func (s slowStore) StoreLogs(logs []*raft.Log) error {
	time.Sleep(s.delay)
	return s.InmemStore.StoreLogs(logs)
}

func (s slowStore) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

// slow is a state machine without a state, which takes time to apply an entry.
type slow struct{ time.Duration }

func (s slow) Apply(*raft.Log) any {
	time.Sleep(s.Duration)
	return nil
}
func (slow) Snapshot() (raft.FSMSnapshot, error) { return nil, nil }
func (slow) Restore(io.ReadCloser) error         { return nil }

// The test shows a bug of the library alone, without the engine and the adapter. A VerifyLeader waits for the main
// loop, which waits for a disk. If the node is shut down meanwhile, VerifyLeader is never answered, because its
// future does not observe the shutdown. The main loop takes one of the two at random, so one of several attempts
// shows the bug.
func TestVerifyLeaderIsNotAnsweredAfterShutdown(t *testing.T) {
	never := attempt(t, slowness, 0, (*raft.Raft).VerifyLeader)
	if never == 0 {
		t.Error("VerifyLeader is answered after a shutdown: the adapter need not wait for it any more")
	}
}

// A second bug is like it: an Apply whose entry is committed waits for the state machine, which is busy. If the node is
// shut down meanwhile, the goroutine of the state machine takes the entry or the end at random.
func TestApplyIsNotAnsweredAfterShutdown(t *testing.T) {
	never := attempt(t, 0, slowness, func(node *raft.Raft) raft.Future {
		future := node.Apply([]byte("y"), 0)
		time.Sleep(time.Millisecond) // it is committed
		return future
	})
	if never == 0 {
		t.Error("Apply is answered after a shutdown: the adapter need not leave its goroutine behind any more")
	}
}

const slowness = 50 * time.Millisecond

// attempt makes a call while an Apply is under way, and then shuts the node down. It returns the number of attempts in
// which the call is never answered.
func attempt(t *testing.T, disk, machine time.Duration, call func(*raft.Raft) raft.Future) (never int) {
	const attempts = 64
	for range attempts {
		never += unanswered(t, disk, machine, call)
	}
	t.Logf("in %d of %d attempts the call is never answered", never, attempts)
	return never
}

// wait waits for an answer, possibly indefinitely: the leak check of goroutines knows this function by name.
func wait(future raft.Future) { _ = future.Error() }

// unanswered makes one attempt, and returns 1 if the call is not answered: then the bubble ends with the goroutine that
// waits for it.
func unanswered(t *testing.T, disk, machine time.Duration, call func(*raft.Raft) raft.Future) (never int) {
	defer func() {
		if p := recover(); p != nil {
			if !strings.Contains(fmt.Sprint(p), "blocked goroutines remain") {
				panic(p)
			}
			never = 1
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		config := raft.DefaultConfig()
		config.LocalID, config.LogLevel = "n1", "off"
		store := slowStore{raft.NewInmemStore(), disk}
		at, trans := raft.NewInmemTransport("")
		err := raft.BootstrapCluster(config, store, raft.NewInmemStore(), raft.NewInmemSnapshotStore(), trans,
			raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: at}}})
		if err != nil {
			t.Fatal(err)
		}
		stable := raft.NewInmemStore()
		node, err := raft.NewRaft(config, slow{machine}, store, stable, raft.NewInmemSnapshotStore(), trans)
		if err != nil {
			t.Fatal(err)
		}
		for node.State() != raft.Leader {
			time.Sleep(100 * time.Millisecond)
		}
		node.Apply([]byte("x"), 0)
		time.Sleep(time.Millisecond) // the main loop waits for the disk, or the state machine is busy
		future := call(node)
		stopped := node.Shutdown()
		go wait(future)
		if err := stopped.Error(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
	})
	return never
}
