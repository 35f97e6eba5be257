package isolation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/lockstep-go/lockstep/isolation"
)

// parse reads transactions, one a word group: "a x1" appends 1 to x, "l x12" reads the list [1 2] (elements are
// digits), "w x1" writes, "r x1" and "r x" read a register. A first word "abort" or "unknown" says the outcome.
func parse(t *testing.T, lines ...string) (history []Txn) {
	for i, line := range lines {
		txn := Txn{Client: i, Start: int64(10 * i), End: int64(10*i + 5)}
		for word := range strings.SplitSeq(line, ", ") {
			switch word {
			case "abort":
				txn.Outcome = Aborted
				continue
			case "unknown":
				txn.Outcome, txn.End = Unknown, Never
				continue
			}
			kind, rest, _ := strings.Cut(word, " ")
			op := Op{Key: rest[:1]}
			for _, d := range rest[1:] {
				op.List = append(op.List, int(d-'0'))
			}
			switch kind {
			case "a":
				op.Func, op.Value, op.List = Append, op.List[0], nil
			case "l":
				op.Func = List
			case "w":
				op.Func, op.Value, op.List = Write, op.List[0], nil
			case "r":
				op.Func, op.None = Read, len(op.List) == 0
				if !op.None {
					op.Value = op.List[0]
				}
				op.List = nil
			default:
				t.Fatal(word)
			}
			txn.Ops = append(txn.Ops, op)
		}
		history = append(history, txn)
	}
	return history
}

// TestPublished has the phenomena of Adya's thesis and of "Elle", each with the weakest level that rules it out.
func TestPublished(t *testing.T) {
	for _, c := range []struct {
		name  string
		from  Level
		lines []string
	}{
		{"G0", ReadUncommitted, []string{"a x1, a y1", "a x2, a y2", "l x12, l y21"}},
		{"G1a", ReadCommitted, []string{"abort, a x1", "l x1"}},
		{"G1b", ReadCommitted, []string{"a x1, a x2", "l x1"}},
		{"G1c", ReadCommitted, []string{"a x1, l y1", "a y1, l x1"}},
		{"incompatible-order", ReadCommitted, []string{"a x1", "a x2", "l x12", "l x21"}},
		{"G-single", SnapshotIsolation, []string{"l x, l y1", "a x1, a y1", "l x1"}}, // read skew
		{"lost-update", SnapshotIsolation, []string{"l x, a x1", "l x, a x2"}},
		{"lost-update", SnapshotIsolation, []string{"r x, w x1", "r x, w x2"}},
		{"G-nonadjacent", SnapshotIsolation, []string{ // long fork
			"a x1", "a y1", "l x1, l y", "l x, l y1"}},
		{"G2-item", Serializable, []string{"l x, l y, a y1", "l x, l y, a x1"}}, // write skew
		{"G2-item", Serializable, []string{"r x, r y, w y1", "r x, r y, w x1"}},
		{"G-single-realtime", StrictSerializable, []string{"a x1", "l x"}}, // a stale read
		{"G-single-realtime", StrictSerializable, []string{"w x1", "r x"}},
		{"internal", SnapshotIsolation, []string{"l x, a x1, l x"}},
		{"internal", SnapshotIsolation, []string{"w x1, r x2", "w x2"}},
		{"unwritten", ReadUncommitted, []string{"l x1"}},
		{"duplicate", ReadUncommitted, []string{"a x1", "l x11"}},
	} {
		history := parse(t, c.lines...)
		for level := ReadUncommitted; level <= StrictSerializable; level++ {
			result, err := Check(history, level)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range result.Anomalies {
				names = append(names, a.Name)
				if a.Text == "" || len(a.Txns) == 0 {
					t.Errorf("%v at %v: %+v", c.lines, level, a)
				}
			}
			if want := level >= c.from; slices.Contains(names, c.name) != want && !(level > c.from && len(names) > 0) {
				t.Errorf("%q at %v: %v, want %s: %v", c.lines, level, names, c.name, want)
			}
		}
	}
}

// Transactions without an answer count as committed only if their writes were seen, and may take effect at any time.
func TestUnknown(t *testing.T) {
	for _, lines := range [][]string{
		{"unknown, a x1", "l x"},
		{"unknown, a x1", "l x1"},
		{"unknown, a x1", "l x", "l x1"},
		{"unknown, l x9, a x1", "l x1"}, // what it read is not known
		{"abort, a x1", "l x"},
	} {
		if r, err := Check(parse(t, lines...), StrictSerializable); err != nil || len(r.Anomalies) > 0 {
			t.Errorf("%v: %v, %v", lines, r, err)
		}
	}
	r, err := Check(parse(t, "unknown, a x1", "l x1", "l x"), StrictSerializable)
	if err != nil || len(r.Anomalies) != 1 || r.Anomalies[0].Name != "G-single-realtime" {
		t.Errorf("it took effect and went again: %v, %v", r, err)
	}
}

// With versions, the order of writes to a register is known although no transaction read before it wrote.
func TestVersions(t *testing.T) {
	history := parse(t, "w x1, w y1", "w x2, w y2", "r x2, r y1")
	if r, _ := Check(history, Serializable); len(r.Anomalies) > 0 {
		t.Errorf("without versions nothing is known: %v", r.Anomalies)
	}
	for i, v := range []int64{1, 2} {
		for j := range history[i].Ops {
			history[i].Ops[j].Version = v
		}
	}
	if r, _ := Check(history, Serializable); len(r.Anomalies) != 1 || r.Anomalies[0].Name != "G-single" {
		t.Errorf("with versions: %v", r.Anomalies)
	}
}

func TestBadHistories(t *testing.T) {
	for want, history := range map[string][]Txn{
		"isolation: transactions 0 and 1 both write 1 to x: values must differ": parse(t, "a x1", "a x1"),
		"isolation: key x is used both as a list and as a register":             parse(t, "a x1", "r x1"),
		"isolation: transaction 0 ends at 1, before its start at 2":             {{Start: 2, End: 1}},
	} {
		if _, err := Check(history, Serializable); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := Check(nil, 9); err == nil || !strings.Contains(err.Error(), "levels are read-uncommitted, ") {
		t.Error(err)
	}
}

// A check that saw no dependency says so.
func TestVacuous(t *testing.T) {
	r, err := Check(parse(t, "a x1", "a y1"), StrictSerializable)
	if err != nil || r.Dependencies != 0 || r.Txns != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func ExampleCheck() {
	history := []Txn{ // two accounts, of which one must keep money: each transaction looks at both and empties one
		{Ops: []Op{{Func: Read, Key: "checking", None: true}, {Func: Write, Key: "savings", Value: 1}}, End: 1},
		{Ops: []Op{{Func: Read, Key: "savings", None: true}, {Func: Write, Key: "checking", Value: 2}}, End: 1},
	}
	for _, level := range []Level{SnapshotIsolation, Serializable} {
		result, err := Check(history, level)
		if err != nil {
			panic(err)
		}
		fmt.Println(level, len(result.Anomalies))
		for _, a := range result.Anomalies {
			fmt.Println(a.Name+":", a.Text)
		}
	}
	// Output:
	// snapshot-isolation 0
	// serializable 1
	// G2-item: T0 read checking before T1 wrote it, T1 read savings before T0 wrote it; T0 {read checking = none; write savings 1}; T1 {read savings = none; write checking 2}
}

// serial makes a serializable history of list transactions of a few clients, over keys that are replaced as they grow.
func serial(n int) []Txn {
	r := rand.New(rand.NewPCG(1, 2))
	history, lists := make([]Txn, 0, n), map[string][]int{}
	for i := range n {
		t := Txn{Client: i % 20, Start: int64(i), End: int64(i + 20)}
		for range 4 {
			k := fmt.Sprint(i/500*10 + r.IntN(10))
			if r.IntN(2) == 0 {
				lists[k] = append(lists[k], i*10+len(t.Ops))
				t.Ops = append(t.Ops, Op{Func: Append, Key: k, Value: i*10 + len(t.Ops)})
			} else {
				t.Ops = append(t.Ops, Op{Func: List, Key: k, List: lists[k][:len(lists[k]):len(lists[k])]})
			}
		}
		history = append(history, t)
	}
	return history
}

func BenchmarkCheck(b *testing.B) {
	for _, level := range []Level{Serializable, StrictSerializable} {
		history := serial(100_000)
		b.Run(level.String(), func(b *testing.B) {
			for b.Loop() {
				if r, err := Check(history, level); err != nil || len(r.Anomalies) > 0 {
					b.Fatal(r, err)
				}
			}
		})
	}
}
