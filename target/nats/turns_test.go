//go:build lockstep_overlay

package nats

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
)

// Runs of one seed may diverge. The test looks for the divergence in the turns of their goroutines, which processes
// write to a directory.
func TestTurns(t *testing.T) {
	const seeds = 10
	dir := os.Getenv("LOCKSTEP_TURNS")
	if dir == "" {
		t.Skip("LOCKSTEP_TURNS, a directory, is not set")
	}
	name := func(run, process int) string { return filepath.Join(dir, fmt.Sprintf("%d-%d", run, process)) }
	processes.Same(t, func(process int) (digests []string) {
		bench, err := lockstep.NewRunner(promised())
		if err != nil {
			t.Fatal(err)
		}
		defer bench.Close()
		for run := range 1 + process%2 { // earlier runs should not matter
			if _, err := bench.Run(t.Context(), 1000+run, nil); err != nil {
				t.Fatal(err)
			}
		}
		for run := range seeds {
			f, err := os.Create(name(run, process))
			if err != nil {
				t.Fatal(err)
			}
			digest, err := bubble.Turns(t.Context(), bench, run, f)
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			digests = append(digests, digest)
		}
		return digests
	})
	for run := range seeds {
		for process := 2; ; process++ {
			text, err := apart(name(run, 1), name(run, process))
			if err != nil {
				break // there are no more
			}
			if text != "" {
				t.Errorf("run %d, process %d: %s", run, process, text)
			}
		}
	}
}

// apart compares two files of turns.
func apart(first, second string) (string, error) {
	a, err := os.Open(first)
	if err != nil {
		return "", err
	}
	defer a.Close()
	b, err := os.Open(second)
	if err != nil {
		return "", err
	}
	defer b.Close()
	return bubble.Difference(a, b)
}
