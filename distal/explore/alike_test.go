package explore_test

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/async"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/internal/generate"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// alike searches a model with and without looking at one of the states that are alike, and wants the same levels, the
// same verdict, and a counterexample of the same length that can be made message by message. It says whether there was
// a difference in what was kept.
func alike(t *testing.T, m *sequential.Model, phases int) (fewer, failed bool) {
	t.Helper()
	reduced, err := explore.Exhaustive(m, explore.Options{Phases: phases, Workers: 2})
	whole, err2 := explore.Exhaustive(m, explore.Options{Phases: phases, Whole: true})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if reduced.Verdict != whole.Verdict || !slices.Equal(reduced.Levels, whole.Levels) || whole.Kept != whole.States ||
		reduced.Kept > reduced.States {
		t.Fatalf("reduced: %s %v, kept %d; whole: %s %v, kept %d", reduced.Verdict, reduced.Levels, reduced.Kept,
			whole.Verdict, whole.Levels, whole.Kept)
	}
	if v, w := reduced.Violation, whole.Violation; v != nil {
		if v.Round != w.Round || v.ActiveRounds != w.ActiveRounds {
			t.Errorf("reduced: %s in round %d, %d active; whole: %s in round %d, %d active", v.Property, v.Round, v.ActiveRounds,
				w.Property, w.Round, w.ActiveRounds)
		}
		if _, err := async.Follow(m, v.Start, v.Trace, v.Property); err != nil {
			t.Errorf("%s: %v\n%s", v.Property, err, m.Text(v.Trace))
		}
	}
	return reduced.Kept < whole.Kept, reduced.Violation != nil
}

// TestAlikeExamples compares on every test of the examples in which nodes or values are proved to be alike.
func TestAlikeExamples(t *testing.T) {
	tier.NotShort(t)
	var nodes, values []string
	for _, p := range corpus.Examples(t) {
		checked, _ := distal.Load(p.Source)
		for _, test := range checked.Tests {
			m, phases := load(t, p.Source, distal.Options{Test: test.Name})
			r, _ := explore.Exhaustive(m, explore.Options{Phases: 1})
			note := func(list *[]string, asymmetry string) {
				if asymmetry == "" && !slices.Contains(*list, p.Name) {
					*list = append(*list, p.Name)
				}
			}
			note(&nodes, r.Asymmetry.Nodes)
			note(&values, r.Asymmetry.Values)
			if r.Asymmetry.Nodes != "" && r.Asymmetry.Values != "" {
				continue
			}
			if less, _ := alike(t, m, min(phases, 3)); !less {
				t.Errorf("%s, test %s: as many states as without", p.Name, test.Name)
			}
		}
	}
	if want := []string{"onethird_buggy", "onethird_fixed", "uniformvoting_buggy",
		"uniformvoting_fixed"}; !slices.Equal(nodes, want) {
		t.Errorf("the nodes of %v are alike, want %v", nodes, want)
	}
	if want := []string{"chandratoueg_buggy", "chandratoueg_fixed", "lastvoting_fixed"}; !slices.Equal(values, want) {
		t.Errorf("values of %v are alike, want %v", values, want)
	}
}

// TestAlikeWild compares on random programs, in many of which nodes, or values, or both are alike.
func TestAlikeWild(t *testing.T) {
	tier.NotShort(t)
	for name, source := range map[string]func(uint64) string{"nodes": generate.Alike, "values": generate.Values} {
		t.Run(name, func(t *testing.T) { alikeWild(t, source) })
	}
}

func alikeWild(t *testing.T, source func(uint64) string) {
	programs, fewer, failed := 0, 0, 0
	for seed := range uint64(4 * *wild) {
		src := source(seed)
		if p, _ := distal.Load(src); p == nil || len(p.Refused) > 0 {
			continue
		}
		for _, timeouts := range []string{"free", "eager"} {
			m, _ := load(t, src, distal.Options{Timeouts: timeouts})
			programs++
			less, bad := alike(t, m, 1+int(seed%2))
			if t.Failed() {
				t.Fatalf("seed %d\n%s", seed, src)
			}
			if less {
				fewer++
			}
			if less && bad {
				failed++
			}
		}
	}
	t.Logf("of %d programs %d were reduced, %d of these with a violation", programs, fewer, failed)
	if fewer < programs/20 || failed < fewer/20 {
		t.Errorf("of %d programs %d were reduced, %d of these with a violation: that shows nothing", programs, fewer, failed)
	}
}
