package levels

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal/internal/spill"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tiny makes every limit be met by small programs: many shards, several passes, pages of a few records.
var (
	tiny  = &tuning{shard: 4, shards: 8, pass: 256, batch: 40, page: 64}
	tinyD = &tuning{shard: 4, shards: 8, pass: 256, batch: 40, page: 64, spill: true}
)

// outcome is what must not depend on workers, limits and numbering.
type outcome struct {
	Levels      []int64
	Transitions int64
	Problem     int
	Active      int
	Path        []string
}

func explore(t *testing.T, r *randomProgram, opt Options) outcome {
	t.Helper()
	opt.Rounds, opt.Period = 5, 2
	got, err := Search(r, opt)
	if err != nil || got.Stopped != nil {
		t.Fatal(err, got.Stopped)
	}
	out := outcome{Levels: got.Levels, Transitions: got.Transitions}
	if f := got.Found; f != nil {
		out.Problem, out.Active = f.Problem, f.Active
		out.Path = replay(t, r, f)
	}
	return out
}

// replay follows the way to a problem by the oracle's answers, and demands that it is one and ends in the problem.
func replay(t *testing.T, r *randomProgram, f *Found) []string {
	t.Helper()
	path := []string{r.global(f.Start)}
	state, active := f.Start, 0
	for round, step := range f.Path {
		var begun []Beginning
		problem := 0
		for p, local := range state {
			begun = append(begun, r.Begin(round, local)[step.Begin[p]])
			if problem == 0 {
				problem = begun[p].Problem
			}
		}
		if problem == 0 {
			problem = r.middle(begun)
		}
		acted := 0
		for q := range begun {
			sent := make([]uint32, r.nodes)
			for p := range begun {
				sent[p] = begun[p].Sent[q]
			}
			e := r.End(round, step.Mode, begun[q].After, sent)[step.End[q]]
			if e.Local != step.State[q] {
				t.Fatalf("round %d, node %d ends in %d, not in %d", round, q, e.Local, step.State[q])
			}
			if e.Acted {
				acted = 1
			}
			if problem == 0 {
				problem = e.Problem
			}
		}
		active += acted
		if problem == 0 {
			problem = r.Check(step.State)
		}
		if last := round == len(f.Path)-1; last && problem != f.Problem || !last && problem != 0 {
			t.Fatalf("round %d of %d has problem %d; %d is announced at the end", round, len(f.Path), problem, f.Problem)
		}
		state = step.State
		path = append(path, r.global(state))
	}
	if len(f.Path) == 0 && r.Check(f.Start) != f.Problem {
		t.Fatalf("the initial state has problem %d, %d is announced", r.Check(f.Start), f.Problem)
	}
	if active != f.Active {
		t.Fatalf("%d rounds act, %d are announced", active, f.Active)
	}
	return path
}

// TestAgainstMaps compares the search of random programs with one over maps, and wants the same outcome, state by
// state of the counterexample, from one, two and three workers, in memory and on disk, and whatever the numbering.
func TestAgainstMaps(t *testing.T) {
	tier.NotShort(t)
	found, largest, dir := 0, int64(0), t.TempDir()
	for seed := range uint64(120) {
		trouble := []uint64{0, 60, 400, 3000}[seed%4]
		want := search1(newRandomProgram(seed, trouble, 0), 5)
		var first outcome
		for i, opt := range []Options{
			{Workers: 1, tune: tiny}, {Workers: 2, tune: tiny}, {Workers: 3, tune: tiny},
			{Workers: 1, tune: tinyD, Disk: 1 << 30}, {Workers: 2, tune: tinyD, Disk: 1 << 30},
			{Workers: 3, tune: tinyD, Disk: 1 << 30},
		} {
			opt.Memory, opt.Dir = 1<<40, dir
			r := newRandomProgram(seed, trouble, uint64(i))
			got := explore(t, r, opt)
			if i == 0 {
				first = got
				check(t, seed, got, want)
			}
			if !reflect.DeepEqual(got, first) {
				t.Fatalf("seed %d, %+v:\n%+v, but at first\n%+v", seed, opt, got, first)
			}
		}
		found += min(1, first.Problem)
		for _, l := range first.Levels {
			largest = max(largest, l)
		}
	}
	if found < 25 || found > 95 || largest < 400 {
		t.Errorf("%d of 120 programs have a problem, the largest level has %d states: the test is too easy", found, largest)
	}
}

func check(t *testing.T, seed uint64, got outcome, want naive) {
	t.Helper()
	if !reflect.DeepEqual(got.Levels, want.levels) || got.Transitions != want.transitions {
		t.Fatalf("seed %d: levels %v, %d transitions; with maps %v, %d", seed, got.Levels, got.Transitions, want.levels,
			want.transitions)
	}
	if want.active < 0 && got.Problem != 0 || want.active >= 0 &&
		(!want.problems[got.Problem] || got.Active != want.active) {
		t.Fatalf("seed %d: problem %d after %d active rounds; with maps %v after %d", seed, got.Problem, got.Active,
			want.problems, want.active)
	}
}

// TestOrder wants the states of the last level in the same order whatever the workers, where they and the filter have
// much to do: every state leads to the same few, and one worker drops most of what occurs again.
func TestOrder(t *testing.T) {
	for seed := range uint64(20) {
		var first []string
		for workers := 1; workers <= 3; workers++ {
			r := newRandomProgram(seed, 0, uint64(workers))
			r.nodes, r.values, r.fan = 3, 7, 3
			s := newSearch(r, Options{Rounds: 6, Period: 1, Workers: workers, Memory: 1 << 30,
				tune: &tuning{shard: 64, shards: 2, pass: 8 << (seed % 5), batch: 1 << 10, page: 32}})
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			var order []string
			for i := range s.cur.Pages() {
				records, _, err := s.cur.Page(i, nil)
				if err != nil {
					t.Fatal(err)
				}
				for ; len(records) > 0; records = records[r.nodes+1:] {
					order = append(order, r.global(records[:r.nodes]))
				}
			}
			if workers == 1 {
				first = order
			} else if !slices.Equal(order, first) {
				t.Fatalf("seed %d: %d workers give another order of %d states", seed, workers, len(order))
			}
		}
	}
}

// wide is a program of few local states and many successors: each node ends the first round in any state, and then
// stays.
type wide struct {
	*randomProgram
}

func (w wide) End(round, _ int, local uint32, _ []uint32) []Ending {
	if round > 0 {
		return []Ending{{Local: local}}
	}
	c := w.content(local)
	var list []Ending
	for v := range w.values {
		list = append(list, Ending{Local: w.intern(content{c.node, v})})
	}
	return list
}

func (w wide) Begin(_ int, local uint32) []Beginning {
	return []Beginning{{After: local, Sent: make([]uint32, w.nodes)}}
}

func newWide(nodes int, values uint64) wide {
	w := wide{newRandomProgram(1, 0, 1)}
	w.nodes, w.values, w.modes, w.starts = nodes, values, 1, 1
	return w
}

// TestDisk forces nearly everything to disk and wants the same levels; nothing may be left behind.
func TestDisk(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		dir := t.TempDir()
		got, err := Search(newWide(4, 16), Options{Rounds: 2, Period: 1, Workers: workers, Memory: 5 << 20, Disk: 1 << 30,
			Dir:  dir,
			tune: &tuning{shard: 256, shards: 16, pass: 4096, batch: 1 << 14, page: 1 << 10}})
		if err != nil || got.Stopped != nil || !reflect.DeepEqual(got.Levels, []int64{1, 1 << 16, 1 << 16}) {
			t.Fatalf("%d workers: %+v %v", workers, got, err)
		}
		if got.Disk < 1<<18 {
			t.Errorf("only %d bytes on disk", got.Disk)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v left behind", left)
		}
	}
}

// TestLimits wants every limit to end the search with its reason, whichever caller meets it.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		opt    Options
		reason error
	}{
		{"memory", Options{Memory: 8 << 20}, spill.ErrMemory},
		{"disk", Options{Memory: 8 << 20, Disk: 8 << 20}, spill.ErrDisk},
		{"no directory", Options{Memory: 8 << 20, Disk: 1 << 30, Dir: "/nonexistent/directory"}, os.ErrNotExist},
		{"tables", Options{Memory: 1}, spill.ErrMemory},
		{"stopped", Options{Memory: 1 << 30, Progress: func(p Progress) bool { return p.Round == 0 }}, ErrStopped},
	} {
		for workers := 1; workers <= 2; workers++ {
			opt := c.opt
			opt.Rounds, opt.Period, opt.Workers = 3, 1, workers
			got, err := Search(newWide(4, 28), opt)
			if err != nil || !errors.Is(got.Stopped, c.reason) || got.Found != nil ||
				strings.Contains(got.Stopped.Error(), "\n") {
				t.Errorf("%s, %d workers: %+v %v", c.name, workers, got, err)
			}
		}
	}
}

// TestStopIsHeardOnce wants Progress not to be asked again once it has said that it is enough.
func TestStopIsHeardOnce(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		asked := 0
		got, err := Search(newWide(4, 16), Options{Rounds: 3, Period: 1, Workers: workers, Memory: 1 << 30,
			Progress: func(p Progress) bool {
				if p.Round == 1 {
					asked++
				}
				return p.Round == 0
			}, tune: &tuning{shard: 256, shards: 16, pass: 4096, batch: 1 << 10, page: 1 << 10}})
		if err != nil || !errors.Is(got.Stopped, ErrStopped) || asked != 1 {
			t.Errorf("%d workers: asked %d times, %v %v", workers, asked, got.Stopped, err)
		}
	}
}

// TestTooManySuccessors ends cleanly at the limit of one state.
func TestTooManySuccessors(t *testing.T) {
	s := newSearch(newWide(1, 3), Options{Workers: 1, Memory: 1 << 30})
	s.open(0, 1)
	w := s.workers[0]
	w.lists[0] = make([]ending, 3)
	w.choice = 1<<32 - 3
	if err := w.product(0, 0); !errors.Is(err, errSuccessors) {
		t.Errorf("error %v", err)
	}
	w.choice = 1<<32 - 4
	if err := w.product(0, 0); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestBadOptions(t *testing.T) {
	good := Options{Rounds: 1, Period: 1, Workers: 1}
	for _, damage := range []func(*Options){
		func(o *Options) { o.Rounds = -1 }, func(o *Options) { o.Period = 0 }, func(o *Options) { o.Workers = 0 },
		func(o *Options) { o.Memory = -1 }, func(o *Options) { o.Disk = -1 },
	} {
		opt := good
		damage(&opt)
		if _, err := Search(newWide(1, 2), opt); err == nil {
			t.Errorf("no error for %+v", opt)
		}
	}
	if _, err := Search(newWide(17, 2), good); err == nil || !strings.Contains(err.Error(), "17 nodes") {
		t.Errorf("error %v", err)
	}
}

// TestHistory codes and finds origins of all sizes.
func TestHistory(t *testing.T) {
	s := spill.Open(spill.Options{Disk: 1 << 20, Dir: t.TempDir(), Page: 16})
	defer s.Close()
	h := history{tape: s.Tape(1)}
	var all []origin
	for run := range uint64(5) {
		var list []origin
		for i := range uint64(40) {
			o := origin{run*1000 + i*i, uint32(i)}
			switch i % 7 {
			case 3:
				o.choice = 1<<32 - 1
			case 4:
				o.parent = maxStates - 1 - i
			case 5:
				o.parent, o.choice = run, 1<<choiceBits-1
			case 6:
				o.parent += 1<<deltaBits - 1
			}
			list = append(list, o)
		}
		if err := h.add(int64(len(all)), encode(list, nil)); err != nil {
			t.Fatal(err)
		}
		if err := h.add(int64(len(all)+len(list)), nil); err != nil { // a shard without states
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	for i, want := range all {
		if got, err := h.origin(uint64(i)); err != nil || got != want {
			t.Fatalf("origin of %d is %+v, want %+v (%v)", i, got, want, err)
		}
	}
}

// TestEstimate foretells geometric growth exactly, and nothing before there is growth.
func TestEstimate(t *testing.T) {
	known, states := []int64{1, 1, 3, 2, 6, 4, 12}, int64(0)
	for k, size := range known {
		if k < 3 {
			if got := estimate(known[:k], states, 9, 2); got != 0 {
				t.Errorf("estimate from %d levels: %d", k, got)
			}
		}
		states += size
	}
	for total, want := range map[int]int64{7: 29, 8: 29 + 8, 9: 29 + 8 + 24, 11: 29 + 8 + 24 + 16 + 48,
		1_000_000: 1 << 62} {
		if got := estimate(known, states, total, 2); got != want {
			t.Errorf("estimate for %d levels: %d, want %d", total, got, want)
		}
	}
	if got := estimate([]int64{2, 5, 2, 5, 2}, 16, 1_000_001, 2); got != 3_500_002 {
		t.Errorf("estimate without growth: %d", got)
	}
}

func Example() {
	got, err := Search(newWide(3, 5), Options{Rounds: 2, Period: 1, Workers: 2, Memory: 1 << 30})
	fmt.Println(got.Levels, got.Transitions, err)
	// Output: [1 125 125] 251 <nil>
}
