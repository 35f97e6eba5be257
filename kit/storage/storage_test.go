package storage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/kit/storage"
)

// things are what is on a disk.
type things struct {
	disk storage.Disk
	log  *storage.Log[int]
	cell *storage.Cell[string]
}

func newThings() *things {
	t := &things{}
	t.log, t.cell = storage.NewLog[int](&t.disk), storage.NewCell(&t.disk, "-")
	return t
}

func (t *things) String() string {
	return fmt.Sprint(t.cell.Get(), " ", t.log.Base(), " ", t.log.Entries(t.log.Base()+1, t.log.Last()))
}

// act is a write, a sync, or a turn to writes that are durable at once or from them.
type act struct {
	kind, k int
	list    []int
}

func randomActs(r *rand.Rand) (acts []act) {
	for i := range 1 + r.IntN(12) {
		a := act{kind: r.IntN(8), k: r.IntN(10)}
		for j := range r.IntN(4) {
			a.list = append(a.list, 10*i+j)
		}
		acts = append(acts, a)
	}
	return acts
}

// singly lists the writes that an act is made of.
func (a act) singly(t *things) []func(*things) {
	var list []func(*things)
	switch a.kind {
	case 0, 1:
		for _, e := range a.list {
			list = append(list, func(t *things) { t.log.Append(e) })
		}
	case 2:
		if uint64(a.k) < t.log.Last() {
			list = append(list, func(t *things) { t.log.Truncate(uint64(a.k)) })
		}
	case 3:
		if uint64(a.k) > t.log.Base() {
			list = append(list, func(t *things) { t.log.Compact(uint64(a.k)) })
		}
	case 4:
		list = append(list, func(t *things) { t.cell.Set(fmt.Sprint(a.k)) })
	}
	return list
}

// do performs an act.
func (a act) do(t *things) {
	switch a.kind {
	case 0:
		t.log.Append(a.list...)
	case 1:
		if len(a.list) > 0 {
			t.disk.Together(func() {
				t.log.Append(a.list...)
				t.cell.Set("together")
			})
		}
	case 5:
		t.disk.Sync()
	case 6, 7:
		t.disk.Direct(a.kind == 6)
	default:
		for _, f := range a.singly(t) {
			f(t)
		}
	}
}

// What a crash leaves is what a fresh disk has after the first of the writes: the writes
// are repeated, one by one, on a disk that never crashes.
func TestCrash(t *testing.T) {
	for seed := range uint64(3000) {
		acts := randomActs(rand.New(rand.NewPCG(seed, 1)))
		for keep := 0; ; keep++ {
			crashed, fresh := newThings(), newThings()
			var open []func(*things) // writes since the last sync
			direct := false
			for _, a := range acts {
				single := a.singly(crashed)
				if a.kind == 1 && len(a.list) > 0 {
					single = []func(*things){func(t *things) {
						t.log.Append(a.list...)
						t.cell.Set("together")
					}}
				}
				open = append(open, single...)
				a.do(crashed)
				if a.kind >= 6 {
					direct = a.kind == 6
				}
				if a.kind >= 5 || direct {
					for _, f := range open {
						f(fresh)
					}
					open = nil
				}
			}
			if crashed.disk.Open() != len(open) {
				t.Fatalf("seed %d: %v: %d writes are not durable, want %d", seed, acts, crashed.disk.Open(), len(open))
			}
			if keep > len(open) {
				break
			}
			for _, f := range open[:keep] {
				f(fresh)
			}
			crashed.disk.Crash(func(n int) int { return n - 1 - keep })
			if crashed.String() != fresh.String() || crashed.disk.Open() != 0 {
				t.Fatalf("seed %d: %v: after %d of %d writes there is %s, want %s", seed, acts, keep, len(open), crashed, fresh)
			}
			crashed.disk.Direct(false)
			crashed.log.Append(-1) // what is left can be written to
			crashed.disk.Sync()
		}
	}
}

// What some node has read of a log stays what it was.
func TestReadersKeepWhatTheyRead(t *testing.T) {
	d := newThings()
	d.log.Append(1, 2, 3)
	read := d.log.Entries(1, 3)
	d.log.Truncate(1)
	d.log.Append(7, 8)
	d.log.Compact(2)
	d.disk.Crash(func(int) int { return 0 })
	d.log.Append(9)
	if !slices.Equal(read, []int{1, 2, 3}) || d.String() != "- 2 [8 9]" {
		t.Errorf("read %v, there is %s", read, d)
	}
}

func TestClear(t *testing.T) {
	d := newThings()
	d.log.Append(1)
	d.disk.Sync()
	d.log.Clear(5)
	if d.log.Append(4); d.log.Last() != 6 || d.log.At(6) != 4 || d.cell.Durable() != "-" {
		t.Errorf("%s", d)
	}
}

func ExampleDisk_Crash() {
	var d storage.Disk
	log, term := storage.NewLog[string](&d), storage.NewCell(&d, 1)
	log.Append("a")
	d.Sync()
	log.Append("b", "c")
	term.Set(2)
	kept, of := d.Crash(func(n int) int { return n / 2 }) // as a strategy's source draws it
	fmt.Println(kept, "of", of, log.Entries(1, log.Last()), term.Get())
	// Output: 1 of 3 [a b] 1
}

func ExampleDisk_Sync() {
	var d storage.Disk
	term := storage.NewCell(&d, 1)
	term.Set(2)
	d.Sync()
	term.Set(3)
	fmt.Println(term.Get(), term.Durable(), d.Open())
	// Output: 3 2 1
}

func ExampleDisk_Together() {
	var d storage.Disk
	vote, term := storage.NewCell(&d, 0), storage.NewCell(&d, 1)
	d.Together(func() {
		term.Set(2)
		vote.Set(3)
	})
	d.Keep(0)
	fmt.Println(term.Get(), vote.Get())
	// Output: 1 0
}

func ExampleDisk_Direct() {
	var d storage.Disk
	term, vote := storage.NewCell(&d, 1), storage.NewCell(&d, 0)
	d.Direct(true)
	term.Set(2)
	d.Direct(false)
	vote.Set(3)
	fmt.Println(term.Durable(), vote.Durable(), d.Open())
	// Output: 2 0 1
}
