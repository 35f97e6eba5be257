package zookeeper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/outside"
	"github.com/lockstep-go/lockstep/internal/processes"
	"github.com/lockstep-go/lockstep/strategy"
)

const motherVariable = "LOCKSTEP_ZOOKEEPER_MOTHER"

// TestMain is the mother, too: a program that makes runs and is killed.
func TestMain(m *testing.M) {
	if folder := os.Getenv(motherVariable); folder != "" {
		fmt.Println("up")
		_, err := lockstep.Explore(context.Background(), lockstep.Plan{System: Cluster{}, Spec: Properties, Settle: Settle, Workers: 1, Runs: 1 << 20, Scratch: folder,
			Strategy: strategy.Uniform{Period: 2, Rounds: 6, Isolations: 4, By: strategy.ByRestart}})
		fmt.Println(err)
		return
	}
	os.Exit(m.Run())
}

// Killed at any moment, a campaign leaves no server and no folder.
func TestKilledAtAnyMoment(t *testing.T) {
	outside.Programs(t, "java", "mvn")
	r := rand.New(rand.NewPCG(1, 1))
	moments := 2
	if *long {
		moments = 20
	}
	seen := 0
	for range moments {
		folder := t.TempDir()
		program := processes.Begin(t, motherVariable+"="+folder)
		if line := program.Line(); line != "up" {
			t.Fatalf("the mother says %q", line)
		}
		processes.Until(func() bool { return len(below(folder)) > 0 }) // servers have started
		time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)     // any moment is as good
		seen += len(below(folder))
		program.Kill()
		processes.Until(func() bool {
			left, err := os.ReadDir(folder)
			return err == nil && len(left) == 0 && len(below(folder)) == 0
		})
	}
	t.Logf("%d servers ran when %d campaigns were killed", seen, moments)
}

// below lists the processes that work in a folder or below it.
func below(folder string) (pids []string) {
	places, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range places {
		if at, err := os.Readlink(p); err == nil && strings.HasPrefix(at, folder) {
			pids = append(pids, p)
		}
	}
	return pids
}
