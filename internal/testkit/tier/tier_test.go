package tier_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// Without LOCKSTEP_FULL a test picks its small size and runs one case of every few; with it, everything runs.
func TestTiers(t *testing.T) {
	for _, c := range []struct {
		full  string
		size  int
		cases []int
		only  bool
	}{
		{"", 3, []int{0, 2, 4}, false},
		{"1", 30, []int{0, 1, 2, 3, 4}, true},
	} {
		t.Setenv("LOCKSTEP_FULL", c.full)
		if got := tier.Pick(3, 30); got != c.size {
			t.Errorf("LOCKSTEP_FULL=%q: the size is %d, want %d", c.full, got, c.size)
		}
		var ran []int
		for i := range 5 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				tier.Some(t, i, 2)
				ran = append(ran, i)
			})
		}
		if !slices.Equal(ran, c.cases) {
			t.Errorf("LOCKSTEP_FULL=%q: cases %v ran, want %v", c.full, ran, c.cases)
		}
		only := false
		t.Run("only", func(t *testing.T) {
			tier.OnlyFull(t, "a test")
			only = true
		})
		if only != c.only {
			t.Errorf("LOCKSTEP_FULL=%q: a test without a small instance ran: %t", c.full, only)
		}
	}
}
