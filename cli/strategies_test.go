package cli

import (
	"slices"
	"testing"
)

func TestSplitStrategies(t *testing.T) {
	for in, want := range map[string][]string{
		"uniform":                    {"uniform"},
		"uniform,walk":               {"uniform", "walk"},
		"uniform:period=4,rounds=16": {"uniform:period=4,rounds=16"},
		"uniform:period=4,walk:drop=2,steps=9,baseline": {"uniform:period=4", "walk:drop=2,steps=9", "baseline"},
		"walk uniform": {"walk", "uniform"},
		"walk,magic":   {"walk", "magic"},
		"":             nil,
	} {
		if got := SplitStrategies(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
