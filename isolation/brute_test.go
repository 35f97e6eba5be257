package isolation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	. "github.com/lockstep-go/lockstep/isolation"
)

// The oracles execute: they know nothing of dependencies and cycles. A store has lists only; registers are checked as
// lists whose reads show the newest element.

type store map[string][]int

func (s store) clone() store {
	c := store{}
	for k, v := range s {
		c[k] = slices.Clone(v)
	}
	return c
}

// apply executes a transaction on a store and reports whether its reads are those of the history.
func apply(s store, t *Txn) bool {
	for _, op := range t.Ops {
		l := s[op.Key]
		switch op.Func {
		case Append, Write:
			s[op.Key] = append(l, op.Value)
		case List:
			if t.Outcome == Committed && !slices.Equal(l, op.List) {
				return false
			}
		case Read:
			if t.Outcome == Committed && (op.None != (len(l) == 0) || len(l) > 0 && l[len(l)-1] != op.Value) {
				return false
			}
		}
	}
	return true
}

// serializable reports whether some order of all committed and some unknown transactions explains all reads. With
// strict, the order extends that of real time.
func serializable(history []Txn, strict bool) bool {
	n := len(history)
	var try func(s store, done int) bool
	try = func(s store, done int) bool {
		finished := true
		for i := range history {
			finished = finished && (done&(1<<i) != 0 || history[i].Outcome != Committed)
		}
		if finished {
			return true
		}
		for i := range n {
			if done&(1<<i) != 0 || history[i].Outcome == Aborted {
				continue
			}
			if strict && slices.ContainsFunc(indexes(n), func(j int) bool {
				return done&(1<<j) == 0 && history[j].Outcome == Committed && history[j].End < history[i].Start
			}) {
				continue
			}
			if next := s.clone(); apply(next, &history[i]) && try(next, done|1<<i) {
				return true
			}
		}
		return false
	}
	return try(store{}, 0)
}

func indexes(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// snapshot reports whether some execution with snapshots explains all reads: a transaction reads from the store as it
// was at its start, and commits if no other wrote to its keys since.
func snapshot(history []Txn) bool {
	n := len(history)
	type running struct {
		begun   store
		version map[string]int
	}
	var try func(s store, state []int, begun []running) bool
	try = func(s store, state []int, begun []running) bool {
		finished := true
		for i := range history {
			finished = finished && (state[i] == 2 || history[i].Outcome != Committed)
		}
		if finished {
			return true
		}
		for i := range n {
			switch {
			case history[i].Outcome == Aborted || state[i] == 2:
			case state[i] == 0:
				state[i] = 1
				b := running{s.clone(), map[string]int{}}
				for k, v := range s {
					b.version[k] = len(v)
				}
				begun[i] = b
				if apply(b.begun.clone(), &history[i]) && try(s, state, begun) {
					return true
				}
				state[i] = 0
			default:
				next, free := s.clone(), true
				for _, op := range history[i].Ops {
					if op.Func == Append || op.Func == Write {
						free = free && len(s[op.Key]) == begun[i].version[op.Key]
						next[op.Key] = append(next[op.Key], op.Value)
					}
				}
				if !free {
					continue
				}
				state[i] = 2
				if try(next, state, begun) {
					return true
				}
				state[i] = 1
			}
		}
		return false
	}
	return try(store{}, make([]int, n), make([]running, n))
}

// A database executes the random programs of a few clients, with faults that break levels now and then.
type database struct {
	r      *rand.Rand
	store  store
	faults int
}

// history makes a random history of list transactions. Some commit on old snapshots, some get no answer, some abort and
// leave their writes behind.
func (d *database) history(txns, keys int, registers bool) []Txn {
	d.store = store{}
	old := d.store.clone()
	var history []Txn
	value, clock := 0, int64(0)
	for i := range txns {
		t := Txn{Client: i, Start: clock}
		base := d.store
		if d.faults > 0 && d.r.IntN(3) == 0 {
			base = old // a stale snapshot
		}
		view, writes := base.clone(), store{}
		for range 1 + d.r.IntN(3) {
			k := string(rune('x' + d.r.IntN(keys)))
			l := view[k]
			switch {
			case d.r.IntN(2) == 0:
				value++
				view[k] = append(l, value)
				writes[k] = append(writes[k], value)
				t.Ops = append(t.Ops, Op{Func: pick(registers, Write, Append), Key: k, Value: value})
			case registers && len(l) == 0:
				t.Ops = append(t.Ops, Op{Func: Read, Key: k, None: true})
			case registers:
				t.Ops = append(t.Ops, Op{Func: Read, Key: k, Value: l[len(l)-1]})
			default:
				t.Ops = append(t.Ops, Op{Func: List, Key: k, List: slices.Clone(l)})
			}
		}
		took := true
		switch d.r.IntN(12) {
		case 0:
			t.Outcome, took = Aborted, d.faults > 0 && d.r.IntN(2) == 0
		case 1:
			t.Outcome, took = Unknown, d.r.IntN(2) == 0
		}
		old = d.store.clone()
		if took {
			for k, list := range writes {
				d.store[k] = append(d.store[k], list...)
			}
		}
		clock += int64(d.r.IntN(3))
		t.End = clock
		if t.Outcome == Unknown {
			t.End = Never
		}
		clock += int64(d.r.IntN(2))
		history = append(history, t)
	}
	d.r.Shuffle(len(history), func(i, j int) { history[i], history[j] = history[j], history[i] })
	return history
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// TestBruteForce compares the checker with the oracles on random small histories: both ways for lists.
func TestBruteForce(t *testing.T) {
	tier.NotShort(t)
	histories, met := 6000, map[string]int{}
	for seed := range histories {
		d := &database{r: rand.New(rand.NewPCG(uint64(seed), 1)), faults: seed % 3}
		history := d.history(2+seed%4, 1+seed%2, false)
		for _, c := range []struct {
			level Level
			want  bool
		}{
			{SnapshotIsolation, snapshot(history)},
			{Serializable, serializable(history, false)},
			{StrictSerializable, serializable(history, true)},
		} {
			result, err := Check(history, c.level)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(result.Anomalies) == 0; got != c.want {
				t.Fatalf("seed %d, %v: %v, want %v: %v\n%s", seed, c.level, got, c.want, result.Anomalies, text(history))
			}
			met[fmt.Sprint(c.level, c.want)]++
		}
	}
	for _, level := range []Level{SnapshotIsolation, Serializable, StrictSerializable} {
		for _, want := range []bool{false, true} {
			if n := met[fmt.Sprint(level, want)]; n < histories/40 {
				t.Errorf("%v: only %d histories where the oracle says %v", level, n, want)
			}
		}
	}
}

// TestRegistersAreSound: with registers the order of versions is not always known, so that only one direction holds. No
// history that the oracle explains has an anomaly, and most of the others have one.
func TestRegistersAreSound(t *testing.T) {
	tier.NotShort(t)
	missed, broken := 0, 0
	for seed := range 6000 {
		d := &database{r: rand.New(rand.NewPCG(uint64(seed), 2)), faults: seed % 3}
		history := d.history(2+seed%4, 1+seed%2, true)
		for _, c := range []struct {
			level Level
			want  bool
		}{
			{SnapshotIsolation, snapshot(history)},
			{Serializable, serializable(history, false)},
			{StrictSerializable, serializable(history, true)},
		} {
			result, err := Check(history, c.level)
			if err != nil {
				t.Fatal(err)
			}
			if c.want && len(result.Anomalies) > 0 {
				t.Fatalf("seed %d, %v: a false anomaly: %v\n%s", seed, c.level, result.Anomalies, text(history))
			}
			if !c.want {
				broken++
				if len(result.Anomalies) == 0 {
					missed++
				}
			}
		}
	}
	t.Logf("%d of %d violations were missed", missed, broken)
	if broken < 500 || 2*missed > broken {
		t.Errorf("%d of %d violations were missed", missed, broken)
	}
}

func text(history []Txn) (s string) {
	for i, t := range history {
		s += fmt.Sprintf("T%d [%d,%d] %v\n", i, t.Start, t.End, t)
	}
	return s
}
