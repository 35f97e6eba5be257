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

// Mother is the TestMain of a package whose test kills campaigns. In the program that the test kills, it runs a
// campaign in a directory instead of the tests.
func Mother(m *testing.M, campaign func(dir string) error) {
	dir := os.Getenv(motherVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	fmt.Println("up")
	fmt.Println(campaign(dir))
}

// Killed kills this number of campaigns of the package's [Mother], each at a random moment. The moment is within the
// given time after the campaign's first server has started. Killed returns when no process and no directory of the
// campaigns is left. It fails if a campaign ends on its own.
func Killed(t *testing.T, moments int, within time.Duration) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	servers := 0
	for range moments {
		dir := t.TempDir()
		program := Begin(t, motherVariable+"="+dir)
		if line := program.Line(); line != "up" {
			t.Fatalf("the mother says %q", line)
		}
		ended := make(chan string, 1)
		go func() { ended <- program.Line() }()
		Until(func() bool { return len(ended) > 0 || len(below(dir)) > 0 })
		time.Sleep(time.Duration(r.Int64N(int64(within)))) // any moment is suitable
		if len(ended) > 0 {
			t.Fatalf("the campaign ended: %s", <-ended)
		}
		servers += len(below(dir))
		program.Kill()
		Until(func() bool {
			left, err := os.ReadDir(dir)
			return err == nil && len(left) == 0 && len(below(dir)) == 0
		})
	}
	t.Logf("%d servers ran when %d campaigns were killed", servers, moments)
}

// below lists the processes that work in a directory or below it.
func below(dir string) (pids []string) {
	places, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range places {
		if at, err := os.Readlink(p); err == nil && strings.HasPrefix(at, dir) {
			pids = append(pids, p)
		}
	}
	return pids
}
