package processes_test

import (
	"os"
	"testing"

	"github.com/lockstep-go/lockstep/internal/processes"
)

func TestSame(t *testing.T) {
	processes.Same(t, func() []string { return []string{"always", "the same"} })
}

// What differs is seen: the test fails in a process of its own.
func TestDiffers(t *testing.T) {
	if os.Getenv("LOCKSTEP_DIFFER") == "" {
		t.Setenv("LOCKSTEP_DIFFER", "1")
		if processes.Passes(t) {
			t.Error("processes that differ pass for the same")
		}
		return
	}
	processes.Same(t, func() []string { return []string{os.Getenv("HOME"), string(rune('a' + os.Getpid()%26))} })
}
