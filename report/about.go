package report

import (
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/trace"
)

// about lists the records of the finding of a trace, in order. These are the records that the finding names itself. If
// it names none, these are the record where it was noticed and, for each of its nodes, the last record up to there with
// one of its values.
func about(t *trace.Trace) []int {
	f := t.Outcome.Finding
	if f == nil || len(t.Records) == 0 {
		return nil
	}
	var list []int
	for _, n := range f.About {
		if n >= 0 && n < len(t.Records) {
			list = append(list, n)
		}
	}
	noticed := min(max(f.Step, 0), len(t.Records)-1)
	if len(list) == 0 {
		list = append(list, noticed)
		left := searched
		for n := range f.Nodes.All() {
			if i := lastReport(t, n, noticed, f.Values, &left); i >= 0 {
				list = append(list, i)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// contains reports whether a sorted list has a number.
func contains(list []int, n int) bool {
	_, ok := slices.BinarySearch(list, n)
	return ok
}

// searched bounds the bytes in which values of a finding are searched, because a trace is untrusted input.
const searched = 16 << 20

// lastReport returns the last record up to another in which a node reported one of the values, or -1. It gives up when
// it has searched too many bytes.
func lastReport(t *trace.Trace, n trace.Node, last int, values []string, left *int) int {
	for i := last; i >= 0 && *left > 0; i-- {
		*left--
		for _, e := range t.Records[i].Events {
			if e.Node != n {
				continue
			}
			*left -= len(e.Text) * len(values)
			if *left > 0 && slices.ContainsFunc(values, func(v string) bool { return hasWord(e.Text, v) }) {
				return i
			}
		}
	}
	return -1
}

// hasWord reports whether a text contains whole words.
func hasWord(text, words string) bool {
	inWord := func(s string) bool {
		return s != "" && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
	}
	for from := 0; words != ""; from++ {
		k := strings.Index(text[from:], words)
		if k < 0 {
			return false
		}
		from += k
		end := from + len(words)
		if !(from > 0 && inWord(text[from-1:from])) && !(end < len(text) && inWord(text[end:end+1])) {
			return true
		}
	}
	return false
}

// pastOf returns the causal past of some records: those they depend on, by messages and by the order of steps on a
// node. It includes the records themselves.
func pastOf(t *trace.Trace, of []int) map[int]bool {
	sender, receiver := map[trace.ID]int{}, map[trace.ID]trace.Node{}
	last := map[trace.Node]int{}
	before := make([][]int, len(t.Records))
	for i := range t.Records {
		rec := &t.Records[i]
		n := rec.Step.Node
		if rec.Step.Kind == trace.Deliver {
			n = receiver[rec.Step.Msg]
		}
		if j, ok := last[n]; ok && n != 0 {
			before[i] = append(before[i], j)
		}
		if j, ok := sender[rec.Step.Msg]; ok && rec.Step.Msg != 0 {
			before[i] = append(before[i], j)
		}
		last[n] = i
		for _, m := range rec.Sent {
			sender[m.ID], receiver[m.ID] = i, m.To
		}
	}
	past := map[int]bool{}
	for todo := slices.Clone(of); len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !past[i] {
			past[i] = true
			todo = append(todo, before[i]...)
		}
	}
	return past
}
