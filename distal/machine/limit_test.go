package machine_test

import (
	"strings"
	"testing"
)

// TestLimits wants a fault, not a crash or a silent cut, when an action asks for too much.
func TestLimits(t *testing.T) {
	for expr, want := range map[string]string{
		"choose(1..2000)": "more than 1024 ways",
		"len({x for x in 1..4000 if exists y in 1..4000: y == x + 5000})": "more than 50000 steps",
		"len(-2000000000..2000000000)":                                    "more than 4096 elements",
		"2000000000 + 2000000000": "overflow: 4000000000 is outside " +
			"-2147483648..2147483647",
		"-2147483647 - 2":        "overflow",
		"65536 * 32768":          "overflow",
		"-(-2147483647 - 1)":     "overflow",
		"(-2147483647 - 1) / -1": "overflow",
	} {
		if got := eval("int", expr); !strings.Contains(got, want) {
			t.Errorf("%s: %.80s, want %q", expr, got, want)
		}
	}
}
