package cover_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"pgregory.net/rapid"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/cover"
)

// anyPartition draws a partition of up to 64 nodes, with or without a bridge.
func anyPartition(t *rapid.T) cover.Partition {
	nodes := rapid.IntRange(1, cover.MaxNodes).Draw(t, "nodes")
	space := cover.Uniform(nodes, rapid.IntRange(1, nodes).Draw(t, "blocks"))
	if space.Blocks > 1 && space.Blocks < nodes && rapid.Bool().Draw(t, "bridge") {
		space.Bridge = cover.AnyBridge
	}
	p := must(cover.NewSampler(space)).Draw(seeded(rapid.Uint64().Draw(t, "seed")))
	if err := space.Contains(p); err != nil {
		t.Fatalf("drawn from outside: %v", err)
	}
	return p
}

// TestPartitionValues checks that a partition is determined by its blocks, in any
// order, and survives being written and read.
func TestPartitionValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPartition(t)
		blocks := rapid.Permutation(p.Blocks()).Draw(t, "order")
		if again := must(cover.NewPartition(p.Nodes(), blocks...)); again != p {
			t.Fatalf("%v from its blocks is %v", p, again)
		}
		if again := must(cover.ParsePartition(p.String())); again != p {
			t.Fatalf("%v read again is %v", p, again)
		}
		var lists [][]int
		if err := json.Unmarshal(must(json.Marshal(p)), &lists); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for i, side := range p.Sides() {
			sum += side.Len()
			if !slices.Equal(lists[i], p.Blocks()[i].Nodes()) {
				t.Fatalf("%v as JSON has the blocks %v", p, lists)
			}
		}
		if sum+p.Bridge().Len() != p.Nodes() || len(p.Sides()) != p.Len() || len(lists) != p.Len() {
			t.Fatalf("%v has sides %v and bridge %v", p, p.Sides(), p.Bridge())
		}
	})
}

// TestConnected checks that two nodes can talk exactly if some block has both.
func TestConnected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPartition(t)
		a, b := rapid.IntRange(0, cover.MaxNodes+1).Draw(t, "a"), rapid.IntRange(0, cover.MaxNodes+1).Draw(t, "b")
		want := slices.ContainsFunc(p.Blocks(), func(s cover.Set) bool { return s.Has(a) && s.Has(b) })
		if p.Connected(a, b) != want {
			t.Fatalf("%v: Connected(%d,%d) is %v", p, a, b, !want)
		}
	})
}

// TestBadTextNeverPanics reads arbitrary text.
func TestBadTextNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("0123456789,|- x"))).Draw(t, "text")
		if p, err := cover.ParsePartition(text); err == nil && must(cover.ParsePartition(p.String())) != p {
			t.Fatalf("%q was read as %v", text, p)
		}
	})
}

// TestPlanNeverPanics asks arbitrary questions; what is not answered is refused with
// a range, what is answered is true to the question.
func TestPlanNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := cover.Params{
			Criterion: rapid.SampledFrom([]string{"split", "separate", "isolate", "sequence"}).Draw(t, "criterion"),
			Nodes:     rapid.IntRange(2, 9).Draw(t, "nodes"),
			Balanced:  rapid.Bool().Draw(t, "balanced"),
		}
		if rapid.Bool().Draw(t, "forward") {
			p.Confidence = rapid.Float64Range(0.01, 0.99).Draw(t, "confidence")
		} else {
			p.Tests = rapid.IntRange(1, 1000).Draw(t, "tests")
		}
		// One or two other fields get a value that may be wrong for the criterion.
		for range rapid.IntRange(0, 2).Draw(t, "fields") {
			field := rapid.SampledFrom([]*int{&p.K, &p.L, &p.Bridge, &p.Operations, &p.Targets, &p.Nodes, &p.Tests}).Draw(t,
				"field")
			*field = rapid.OneOf(rapid.IntRange(-2, 5), rapid.IntRange(60, 70)).Draw(t, "value")
		}
		answer, err := cover.Plan(p)
		if err != nil {
			if out := (*cover.RangeError)(nil); !errors.As(err, &out) {
				t.Fatalf("%+v: %v is not a RangeError", p, err)
			}
			return
		}
		if answer.Probability < p.Confidence-1e-12 || p.Tests != 0 && answer.Tests != p.Tests ||
			answer.PExact < answer.PBound {
			t.Fatalf("%+v: %+v", p, answer)
		}
	})
}

// TestSetString writes sets of every size.
func TestSetString(t *testing.T) {
	for _, c := range []struct {
		nodes []int
		want  string
	}{{nil, "{}"}, {[]int{64}, "{64}"}, {[]int{4, 1, 4}, "{1,4}"}} {
		if have := fmt.Sprint(must(cover.SetOf(c.nodes...))); have != c.want {
			t.Errorf("%v is written %s, want %s", c.nodes, have, c.want)
		}
	}
}

// TestKnowsNoEngine keeps the mathematics apart: beside the standard library the package
// imports only more mathematics.
func TestKnowsNoEngine(t *testing.T) {
	for _, path := range must(filepath.Glob("*.go")) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := must(parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly))
		for _, i := range file.Imports {
			if strings.Contains(i.Path.Value, ".") && !strings.HasSuffix(i.Path.Value, `/internal/exact"`) {
				t.Errorf("%s imports %s", path, i.Path.Value)
			}
		}
	}
}
