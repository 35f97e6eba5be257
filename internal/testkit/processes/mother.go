package processes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const motherVariable = "LOCKSTEP_MOTHER"

// Mother is the TestMain of a package whose test kills campaigns: in the program that is killed it
// makes one, in a folder, in place of the tests.
func Mother(m *testing.M, campaign func(folder string) error) {
	folder := os.Getenv(motherVariable)
	if folder == "" {
		os.Exit(m.Run())
	}
	fmt.Println("up")
	fmt.Println(campaign(folder))
}

// Killed kills campaigns of the package's [Mother] at random moments, so many, each within a time after its first server has
// started. It returns when nothing is left of them, no process and no folder, and fails where a campaign ends by itself.
func Killed(t *testing.T, moments int, within time.Duration) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	servers := 0
	for range moments {
		folder := t.TempDir()
		program := Begin(t, motherVariable+"="+folder)
		if line := program.Line(); line != "up" {
			t.Fatalf("the mother says %q", line)
		}
		ended := make(chan string, 1)
		go func() { ended <- program.Line() }()
		Until(func() bool { return len(ended) > 0 || len(below(folder)) > 0 })
		time.Sleep(time.Duration(r.Int64N(int64(within)))) // any moment is as good
		if len(ended) > 0 {
			t.Fatalf("the campaign ended: %s", <-ended)
		}
		servers += len(below(folder))
		program.Kill()
		Until(func() bool {
			left, err := os.ReadDir(folder)
			return err == nil && len(left) == 0 && len(below(folder)) == 0
		})
	}
	t.Logf("%d servers ran when %d campaigns were killed", servers, moments)
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
