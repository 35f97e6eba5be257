package shrink

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// Extra is something that a node reported or logged in one of two runs alone. Numbers and identifiers do not matter:
// almost all of them differ in two runs of a real server.
type Extra struct {
	Node    trace.Node
	Failing bool // it is in the failing run, otherwise in the passing one
	At      trace.Time
	Step    int
	Text    string
	rank    int
}

// String is the time and the text.
func (e Extra) String() string {
	return fmt.Sprintf("node %d at %.3f s: %s", e.Node, time.Duration(e.At).Seconds(), e.Text)
}

// number matches what differs in runs that do the same: numbers, times and hashes.
var number = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F.µmnsh]*`)

// maxExtra bounds the characters of a text that is printed.
const maxExtra = 200

// extras returns what only one of two runs has, for a reader that looks for the reason: what names
// a value of the finding comes first, then warnings and events. Before a time the runs are the same.
func extras(failing, passing *trace.Trace, from trace.Time) (list []Extra) {
	// what both did before, such as to start, says nothing when one does it again
	list = append(list, without(reports(failing, from), reports(passing, 0), true)...)
	list = append(list, without(reports(passing, from), reports(failing, 0), false)...)
	terms := failing.Outcome.Finding.Terms()
	for i := range list {
		e := &list[i]
		if slices.ContainsFunc(terms, func(v string) bool { return strings.Contains(e.Text, v) }) {
			e.rank += 2
		}
	}
	slices.SortStableFunc(list, func(x, y Extra) int { return cmp.Or(y.rank-x.rank, cmp.Compare(x.At, y.At)) })
	return list
}

// reported is what a node said in a run, and how often.
type reported struct {
	first Extra
	times int
}

type saying struct {
	node trace.Node
	text string // without numbers
}

// reports lists what each node reported and logged from a time on.
func reports(t *trace.Trace, from trace.Time) map[saying]*reported {
	all := map[saying]*reported{}
	add := func(e Extra) {
		key := saying{e.Node, number.ReplaceAllString(e.Text, "#")}
		if r := all[key]; r != nil {
			r.times++
			return
		}
		all[key] = &reported{e, 1}
	}
	for i := range t.Records {
		r := &t.Records[i]
		if r.Settle || r.Now < from {
			continue
		}
		for _, l := range r.Logs {
			e := Extra{Node: l.Node, At: cmp.Or(l.At, r.Now), Step: r.Number, Text: cut(l.Text)}
			switch {
			case l.Level == "warn" || l.Level == "error" || l.Level == "panic" || l.Level == "fatal":
				e.rank = 1
			case l.Source == trace.LogRole:
				e.Text, e.rank = "is "+l.Text, 1
			case l.Source != trace.LogServer:
				e.rank = 1
			}
			add(e)
		}
		for _, e := range r.Events {
			if e.Node > 0 {
				add(extraOf(r, &e, false))
			}
		}
	}
	return all
}

// cut bounds a text.
func cut(text string) string {
	if r := []rune(text); len(r) > maxExtra {
		return string(r[:maxExtra-1]) + "…"
	}
	return text
}

// without lists what is in the first run and not in the second.
func without(a, b map[saying]*reported, failing bool) (list []Extra) {
	for key, r := range a { //lockstep:unordered sorted below
		if b[key] == nil {
			e := r.first
			e.Failing = failing
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(x, y Extra) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Node, y.Node), strings.Compare(x.Text, y.Text))
	})
	return list
}

// some returns the first extras of each node in each run, at most as many as given, in the order of time.
func some(list []Extra, most int) (few []Extra) {
	type of struct {
		node    trace.Node
		failing bool
	}
	count := map[of]int{}
	for _, e := range list {
		if k := (of{e.Node, e.Failing}); count[k] < most {
			count[k]++
			few = append(few, e)
		}
	}
	slices.SortStableFunc(few, func(x, y Extra) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), mix.Bit(y.Failing)-mix.Bit(x.Failing), cmp.Compare(x.At, y.At))
	})
	return few
}

// Subject is what a finding is about, and the same in the passing run.
type Subject struct{ Failing, Passing Extra }

// subjects pairs the events that the finding is about with those of the passing run: at the same node, of the same type
// and as many of them before. Operations of clients are counted for each client.
func subjects(failing, passing *trace.Trace) (list []Subject) {
	f := failing.Outcome.Finding
	about := f.About
	if len(about) == 0 {
		about = []int{min(f.Step, len(failing.Records)-1)}
	}
	type happening struct {
		node trace.Node
		what string
	}
	of := func(e *trace.Event) happening {
		client, _, _ := strings.Cut(e.Text, " ")
		if e.Type != "call" && e.Type != "return" {
			client = ""
		}
		return happening{e.Node, e.Type + " " + client}
	}
	there := map[happening][]Extra{}
	for i := range passing.Records {
		r := &passing.Records[i]
		for j := range r.Events {
			e := &r.Events[j]
			there[of(e)] = append(there[of(e)], extraOf(r, e, false))
		}
	}
	count := map[happening]int{}
	for i := range failing.Records {
		r := &failing.Records[i]
		for j := range r.Events {
			e := &r.Events[j]
			k := count[of(e)]
			count[of(e)]++
			if !slices.Contains(about, i) || k >= len(there[of(e)]) {
				continue
			}
			if s := (Subject{extraOf(r, e, true), there[of(e)][k]}); s.Failing.Text != s.Passing.Text {
				list = append(list, s)
			}
		}
	}
	return list
}

func extraOf(r *trace.Record, e *trace.Event, failing bool) Extra {
	text := cut(strings.TrimSpace(e.Type + " " + e.Text))
	return Extra{Node: e.Node, Failing: failing, At: r.Now, Step: r.Number, Text: text, rank: 1}
}
