//go:build lockstep_overlay && linux && amd64

package bbolttest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// count is the number of transactions that a node has committed, or found at its start.
type count struct {
	found bool
	n     int
}

var bucket = []byte("bucket")

// start commits transactions indefinitely; each has a key that counts them and another of some size.
func start(options bbolt.Options) func(*bubble.Node) error {
	return func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		file := filepath.Join(dir, "db")
		db, err := bbolt.Open(file, 0o600, &options)
		if err != nil {
			// The node never opens a file again whose creation was interrupted. This is safe as long as nothing was
			// committed.
			n.Emit("count", count{true, 0})
			if err := os.Remove(file); err != nil {
				return err
			}
			if db, err = bbolt.Open(file, 0o600, &options); err != nil {
				return fmt.Errorf("open: %w", err)
			}
		}
		n.OnStop(func() { _ = db.Close() })
		committed := 0
		err = db.View(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				return fmt.Errorf("check: %w", err)
			}
			if b := tx.Bucket(bucket); b != nil {
				committed = int(binary.BigEndian.Uint64(b.Get([]byte("count"))))
			}
			return nil
		})
		if err != nil {
			return err
		}
		n.Emit("count", count{true, committed})
		for n.Alive() {
			committed++
			if err := db.Update(func(tx *bbolt.Tx) error { return put(tx, committed) }); err != nil {
				if !n.Alive() {
					return nil
				}
				return err
			}
			n.Emit("count", count{false, committed})
			time.Sleep(time.Millisecond)
		}
		return nil
	}
}

func put(tx *bbolt.Tx, number int) error {
	b, err := tx.CreateBucketIfNotExists(bucket)
	if err != nil {
		return err
	}
	if err := b.Put([]byte("count"), binary.BigEndian.AppendUint64(nil, uint64(number))); err != nil {
		return err
	}
	return b.Put(fmt.Appendf(nil, "key%d", number%7), make([]byte, 100+number*997%9000))
}

// explore makes runs in which nodes lose power.
func explore(t *testing.T, level disk.Level, options bbolt.Options) *lockstep.Result {
	t.Helper()
	checker := spec.OnEvent("kept", "count", func(kept *[64]int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		c := e.Value.(count)
		if c.found && c.n < kept[e.Node] {
			return &lockstep.Finding{Text: fmt.Sprintf("node %d committed %d, found %d", e.Node, kept[e.Node], c.n)}
		}
		if !c.found { // without a sync, bbolt shows what a killed process left in the page cache
			kept[e.Node] = c.n
		}
		return nil
	})
	cluster := bubble.Cluster{Name: "bbolt", Nodes: 3, Start: start(options), Pace: 20 * time.Millisecond,
		Freeze: &bubble.Freeze{Files: &bubble.Files{DiskLevel: level, PowerFailures: 0.9}}}
	plan := lockstep.Plan{
		System:   cluster,
		Strategy: strategy.Walk{Wait: 10, Crash: 1, Restart: 3, Steps: 80},
		Spec:     checker,
		Runs:     60,
		Seed:     1,
		Scratch:  "/dev/shm",
	}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := bubble.Repetition(t.Context(), plan, 5); err != nil || r.Same != r.Of {
		t.Errorf("%d of %d runs repeated, %v", r.Same, r.Of, err)
	}
	return result
}

// After each power failure the store is intact and has every committed transaction. If there was none, the node may
// have to create the store again.
func TestPowerFailure(t *testing.T) {
	if f := explore(t, disk.Ext4, bbolt.Options{}).First(); f != nil {
		t.Errorf("%s\n%s", f.Finding, f.Finding.Stack)
	}
}

// Without syncs, which is an option of bbolt, it does not survive a power failure.
func TestNoSync(t *testing.T) {
	if explore(t, disk.Ext4, bbolt.Options{NoSync: true}).First() == nil {
		t.Error("nothing was lost")
	}
}
