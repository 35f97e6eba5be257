package processes_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/processes"
)

// Shares counts only outcomes that are the same in all processes.
func TestShares(t *testing.T) {
	shares := processes.Shares(t, func() []processes.Row {
		return []processes.Row{
			{Name: "a b", Outcomes: []string{"1", "2", "3"}},
			{Name: "half", Outcomes: []string{"1", fmt.Sprint(os.Getpid())}},
		}
	})
	if os.Getenv("LOCKSTEP_PROCESS") != "" {
		return
	}
	want := []processes.Share{{Name: "a b", Same: 3, Of: 3}, {Name: "half", Same: 1, Of: 2}}
	if fmt.Sprint(shares) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", shares, want)
	}
}
