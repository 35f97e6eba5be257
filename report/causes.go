package report

import (
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// causes are the activities of a run on which its finding depends, by messages and by the order of activities at a
// node. An activity is what one node did in one record: in a Wait step several nodes may act independently.
type causes struct{ in map[activity]bool }

type activity struct {
	record int
	node   trace.Node
}

// has reports whether the finding depends on what a node did in a record. What belongs to no node counts if the
// finding depends on anything of the record or after it.
func (c *causes) has(record int, n trace.Node) bool {
	if n != 0 {
		return c.in[activity{record, n}]
	}
	return c.in[activity{record, 0}]
}

// causesOf returns the causes of the records that a finding is about.
func causesOf(t *trace.Trace, about []int) *causes {
	c := &causes{in: map[activity]bool{}}
	f := t.Outcome.Finding
	if f == nil || len(about) == 0 {
		return c
	}
	g := graphOf(t)
	var todo []activity
	last := about[len(about)-1]
	of := f.Nodes
	if of == 0 {
		of = trace.AllNodes(t.Header.Nodes)
	}
	for n := range of.All() {
		if a, ok := g.latest(last, n); ok {
			todo = append(todo, a)
		}
	}
	for _, i := range about {
		for _, n := range g.acted[i] {
			if f.Nodes == 0 || f.Nodes.Has(n) {
				todo = append(todo, activity{i, n})
			}
		}
	}
	latest := -1
	for len(todo) > 0 {
		a := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if c.in[a] {
			continue
		}
		c.in[a] = true
		latest = max(latest, a.record)
		todo = append(todo, g.before(a)...)
	}
	for i := 0; i <= latest; i++ {
		c.in[activity{i, 0}] = true // faults of links, and clients that the trace does not place
	}
	return c
}

// graph has the activities of a run.
type graph struct {
	trace  *trace.Trace
	acted  [][]trace.Node // by record
	by     [][]int        // by node: the records in which it acted, in order
	sender map[trace.ID]activity
}

func graphOf(t *trace.Trace) *graph {
	g := &graph{trace: t, acted: make([][]trace.Node, len(t.Records)), by: make([][]int, t.Header.Nodes+1),
		sender: map[trace.ID]activity{}}
	receiver := map[trace.ID]trace.Node{}
	for i := range t.Records {
		rec := &t.Records[i]
		add := func(n trace.Node) {
			if n > 0 && int(n) < len(g.by) && !slices.Contains(g.acted[i], n) {
				g.acted[i] = append(g.acted[i], n)
				g.by[n] = append(g.by[n], i)
			}
		}
		if add(rec.Step.Node); rec.Step.Kind == trace.Deliver {
			add(receiver[rec.Step.Msg])
		}
		for _, m := range rec.Sent {
			add(m.From)
			g.sender[m.ID], receiver[m.ID] = activity{i, m.From}, m.To
		}
		for _, e := range rec.Events {
			add(e.Node)
		}
		for _, l := range rec.Logs {
			add(l.Node)
		}
	}
	return g
}

// latest returns the last activity of a node up to a record.
func (g *graph) latest(record int, n trace.Node) (activity, bool) {
	if int(n) >= len(g.by) {
		return activity{}, false
	}
	k, found := slices.BinarySearch(g.by[n], record)
	if found {
		k++
	}
	if k == 0 {
		return activity{}, false
	}
	return activity{g.by[n][k-1], n}, true
}

// before returns the activities that directly precede one.
func (g *graph) before(a activity) (list []activity) {
	if p, ok := g.latest(a.record-1, a.node); ok {
		list = append(list, p)
	}
	step := &g.trace.Records[a.record].Step
	if from, ok := g.sender[step.Msg]; ok && step.Kind == trace.Deliver && from.record < a.record {
		list = append(list, from)
	}
	return list
}

// terms are the values that a finding names.
func terms(t *trace.Trace) []string {
	if t.Outcome.Finding == nil {
		return nil
	}
	return t.Outcome.Finding.Terms()
}

// mentions reports whether a text has one of the values.
func mentions(text string, terms []string) bool {
	return slices.ContainsFunc(terms, func(v string) bool { return hasWord(text, v) })
}
