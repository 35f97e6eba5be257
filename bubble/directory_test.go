//go:build lockstep_overlay && linux && amd64

package bubble_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// A node's directory has the same path in every process and deployment, though each deployment has files of its own: a
// program that sends or stores its path has the same bytes everywhere. This holds with a model of the files, too.
func TestSamePath(t *testing.T) {
	start := func(n *bubble.Node) error {
		dir, err := n.Dir()
		if want := fmt.Sprintf("/proc/self/fd/1000/node%d", n.Self()); err != nil || dir != want {
			return fmt.Errorf("the directory is %s, want %s: %w", dir, want, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || n.Incarnation() == 1 && len(entries) != 0 || n.Incarnation() > 1 && len(entries) != 1 {
			return fmt.Errorf("incarnation %d finds %v: %w", n.Incarnation(), entries, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(dir), 0o600); err != nil {
			return err
		}
		parent, err := os.Open(filepath.Dir(dir)) // servers make the name of their directory durable
		if err != nil {
			return err
		}
		return errors.Join(parent.Sync(), parent.Close())
	}
	for name, freeze := range map[string]*bubble.Freeze{"real files": nil, "frozen": {},
		"modeled files": {Files: &bubble.Files{}}} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // deployments with directories of their own
				result, err := lockstep.Explore(t.Context(), lockstep.Plan{Scratch: t.TempDir(), Runs: 5, Seed: 1,
					System:   bubble.Cluster{Name: "path", Nodes: 2, Start: start, Freeze: freeze},
					Strategy: strategy.Walk{Wait: 1, Crash: 1, Restart: 1, Steps: 10}})
				if err != nil {
					t.Fatal(err)
				}
				if f := result.First(); f != nil {
					t.Fatal(f.Finding)
				}
				if len(result.Nondeterminism) > 0 { // the path is below /proc, and is not about the machine
					t.Errorf("%v", result.Nondeterminism)
				}
			}
		})
	}
}
