package code

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

const (
	goMod  = "module example.com/x\n\ngo 1.26\n"
	starts = `package main

import (
	"os"

	"example.com/x/a"
	"example.com/x/b"
)

func main() { a.Sum(len(os.Args)); b.Each(3, func(int) {}) }
`
	sums = `package a

// Sum adds.
func Sum(n int) (sum int) {
	for i := range n {
		if i > 100 {
			sum += 2 * i
		}
		sum += i
	}
	return sum
}

func never() { _ = Sum(1) }
`
	closures = `package b

// Each calls a function.
func Each[T int](n T, do func(T)) {
	f := func() {
		do(n)
	}
	g := func() { do(0) }
	if n > 1 {
		f()
	} else {
		g()
	}
}
`
)

// made builds and runs a small program with counters, and returns the directory with the files that it wrote.
func made(t *testing.T) string {
	t.Helper()
	tier.NotShort(t)
	dir, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": goMod, "main.go": starts, "a/a.go": sums, "b/b.go": closures} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-cover", "-covermode=count", "-coverpkg=./...",
		"-o", "x", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	run := exec.CommandContext(t.Context(), filepath.Join(dir, "x"))
	run.Env = append(os.Environ(), "GOCOVERDIR="+out)
	for _, c := range []*exec.Cmd{build, run} {
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return out
}

// contents returns the content of the only file with this beginning of its name.
func contents(t *testing.T, dir, begins string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, begins+".*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The blocks of a program and the counters of an execution are as the go command's own tool reads them.
func TestBlocksAgreeWithGo(t *testing.T) {
	dir := made(t)
	blocks, err := parseBlocks(contents(t, dir, "covmeta"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks.parseCounters(contents(t, dir, "covcounters"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(blocks.Packages, []string{"example.com/x/a", "example.com/x/b"}) || len(list) < 5 {
		t.Errorf("packages %q, blocks %v", blocks.Packages, list)
	}
	m := Meter{blocks: blocks, sum: Sum{Blocks: len(blocks.List)}}
	var features []uint64
	times := make([]int, len(blocks.List))
	for i, h := range list {
		features = append(features, featureOf(h.block, i%2 == 0))
		times[h.block] = h.times
	}
	m.Collect(0, features)
	var got bytes.Buffer
	if err := m.Profile(&got); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "profile")
	if text, err := exec.CommandContext(t.Context(), "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+file).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, counts := []string{"mode: set\n"}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		switch at := strings.LastIndexByte(line, ' '); {
		case strings.HasPrefix(line, "mode: "):
		case strings.HasPrefix(line, "example.com/x/main.go:"): // the main package starts the system
		case line[at:] == " 0\n":
			want, counts[line] = append(want, line), true
		default:
			want, counts[line] = append(want, line[:at]+" 1\n"), true
		}
	}
	for i, b := range blocks.List {
		line := fmt.Sprintf("%s:%d.%d,%d.%d %d %d\n", b.File, b.StartLine, b.StartColumn, b.EndLine, b.EndColumn,
			b.Statements, times[i])
		if !counts[line] {
			t.Errorf("the go command does not count %s", line)
		}
	}
	is := slices.Sorted(strings.Lines(got.String()))
	if slices.Sort(want); !slices.Equal(is, want) {
		t.Errorf("profile\n%s\nof the go command\n%s", strings.Join(is, ""), strings.Join(want, ""))
	}
	r := m.Report()
	if r.Runs != 1 || len(r.Packages) != 2 || r.Total.Statements != r.Packages[0].Statements+r.Packages[1].Statements ||
		r.Total.UnderFaults == 0 || r.Total.UnderFaults >= r.Total.Executed || r.Total.Executed >= r.Total.Statements {
		t.Errorf("%+v", r)
	}
	if e := m.NextRun(); e.Runs != 1 || e.Only != 1 || e.Reached != len(list) || e.Criterion != "a statement" {
		t.Errorf("%+v", e)
	}
	damaged(t, blocks, contents(t, dir, "covmeta"), contents(t, dir, "covcounters"))
}

// damaged checks that texts of another program or format are refused and do no harm.
func damaged(t *testing.T, blocks *Blocks, meta, counts []byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, text := range [][]byte{meta, counts} {
		for range 2000 {
			bad := bytes.Clone(text)
			for range 1 + rng.IntN(3) {
				bad[rng.IntN(len(bad))] = byte(rng.Uint32())
			}
			bad = bad[:rng.IntN(len(bad)+1)]
			_, _ = parseBlocks(bad)
			_, _ = blocks.parseCounters(bad, nil)
		}
	}
	other := bytes.Clone(counts)
	other[8]++ // the hash of the program
	if _, err := blocks.parseCounters(other, nil); !errors.Is(err, errFormat) {
		t.Errorf("counters of another program: %v", err)
	}
	newer := bytes.Clone(meta)
	newer[4]++ // the version of the format
	if _, err := parseBlocks(newer); !errors.Is(err, errFormat) {
		t.Errorf("another format: %v", err)
	}
}

// This test has no counters, which the error says.
func TestNoCounters(t *testing.T) {
	if testing.CoverMode() != "" {
		t.Skip("the test is built with counters")
	}
	if _, err := NewMeter(); !errors.Is(err, ErrNoCounters) {
		t.Errorf("%v", err)
	}
}

// Measurements of the same program are added up, those of another one are refused.
func TestSum(t *testing.T) {
	var sum Sum
	for run := range 4 {
		next := Sum{Blocks: 9}
		next.Executed.Add(run, []uint64{featureOf(run, false), featureOf(8, run > 1)})
		if err := sum.Add(&next); err != nil {
			t.Fatal(err)
		}
	}
	m := Meter{blocks: &Blocks{List: make([]Block, 9)}}
	if err := m.Put(sum); err != nil {
		t.Fatal(err)
	}
	for block, want := range []State{WithoutFaults, WithoutFaults, WithoutFaults, WithoutFaults, Never, 8: WithoutFaults} {
		if got := m.State(block); got != want {
			t.Errorf("block %d: %s, want %s", block, got, want)
		}
	}
	if err := sum.Add(&Sum{Blocks: 8}); err == nil {
		t.Error("the sum of another program is added")
	}
	taken, rest := m.Take(), m.Take()
	if taken.Executed.Runs() != 4 || rest.Executed.Runs() != 0 || rest.Blocks != 9 {
		t.Errorf("%+v, %+v", taken, rest)
	}
	m.blocks = &Blocks{}
	if err := m.Put(sum); err == nil {
		t.Error("the sum of another program is put into the meter")
	}
}

// A campaign that is guided by code learns a block as something new before and after the first fault, and once for each
// bucket of how often it was executed.
func TestFeatures(t *testing.T) {
	met := map[uint64]int{}
	for times := 1; times <= 200; times++ {
		for _, faulty := range []bool{false, true} {
			w := watcher{ended: true, faulty: true}
			if h := []hit{{5, times}, {6, 1}}; faulty {
				w.list = h
			} else {
				w.before = h
			}
			list, ok := w.Features(lockstep.CodeFeatures)
			if !ok || len(list) != 2 {
				t.Fatal(list, ok)
			}
			for _, f := range list {
				met[f]++
			}
		}
	}
	buckets := map[int]int{}
	for _, n := range met {
		buckets[n]++
	}
	// Block 5 in eight buckets, twice: 1, 2, 3, 4..7, 8..15, 16..31, 32..127, 128..200. Block 6 always once.
	want := map[int]int{1: 6, 4: 2, 8: 2, 16: 2, 96: 2, 73: 2, 200: 2}
	if !maps.Equal(buckets, want) {
		t.Errorf("%v, want %v", buckets, want)
	}
	if _, ok := (&watcher{}).Features(lockstep.ModelFeatures); ok {
		t.Error("the meter offers features of a model")
	}
}
