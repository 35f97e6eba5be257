package watch

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Guarantees is the spec of all that watches promise.
var Guarantees lockstep.Spec = guarantees{}

// The properties.
const (
	ordered      = iota // a watch never delivers a revision before one that it delivered
	unique              // nor of a change twice
	atomic              // the changes of a revision are delivered at once
	resumable           // a watch delivers all from the revision asked for, and nothing before it
	reliable            // between the revisions delivered none is missing
	bookmarkable        // what a progress notification speaks of was delivered before it
	oneHistory          // all that report a revision report the same
	count
)

var names = []string{"watch-ordered", "watch-unique", "watch-atomic", "watch-resumable", "watch-reliable",
	"watch-bookmarkable", "one-history"}

type guarantees struct{}

// Properties names what is checked.
func (guarantees) Properties() []string { return names }

// New makes a monitor.
func (guarantees) New(lockstep.Info) lockstep.Monitor { return &monitor{} }

// monitor follows the watches of a run.
type monitor struct {
	watches map[int]*following
	history map[int64]*revision
	checked [count]int
	found   *lockstep.Finding // in this event, the first
}

// following is what is known of a watch.
type following struct {
	Opened
	node      lockstep.Node
	first     int64 // the first revision delivered, or 0
	last      int64 // the last one
	progress  int64 // up to which all was delivered, by a notification
	delivered map[Change]bool
}

// revision is what is known of a revision.
type revision struct {
	changes map[string]Change // by key
	by      lockstep.Node     // reported first
	whole   bool              // there are no others
}

// Reset begins a new run.
func (m *monitor) Reset() {
	*m = monitor{watches: map[int]*following{}, history: map[int64]*revision{}}
}

// EventsOnly says that nothing else is looked at.
func (m *monitor) EventsOnly() bool { return true }

// Step checks what was delivered in a step.
func (m *monitor) Step(run *lockstep.Run) *lockstep.Finding {
	m.found = nil
	events := run.Events()
	for i := range events {
		e := &events[i]
		switch v := e.Value.(type) {
		case *Opened:
			m.watches[v.Watch] = &following{Opened: *v, node: e.Node, delivered: map[Change]bool{}}
		case *Delivered:
			if w := m.watches[v.Watch]; w != nil {
				m.delivery(w, v)
			}
		case *Wrote:
			m.whole(nil, e.Node, m.learn(e.Node, v.Changes))
		}
		if m.found != nil {
			return m.found
		}
	}
	return nil
}

// Conclude counts the checks.
func (m *monitor) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Checked: m.checked[:]}
}

// fails makes a finding about a watch, unless there is one.
func (m *monitor) fails(property int, w *following, format string, args ...any) {
	if m.found == nil {
		m.found = &lockstep.Finding{Property: names[property], Nodes: trace.NodesOf(w.node),
			Text: w.String() + ": " + fmt.Sprintf(format, args...)}
	}
}

// delivery checks what a watch delivered.
func (m *monitor) delivery(w *following, t *Delivered) {
	before := w.last
	for _, c := range t.Changes {
		m.change(w, before, c)
		w.first, w.last = first(w.first, c.Revision), max(w.last, c.Revision)
		w.delivered[c] = true
	}
	of := m.learn(w.node, t.Changes)
	if w.Key == "" {
		m.whole(w, w.node, of)
	}
	if t.Progress > 0 {
		m.bookmark(w, t.Progress)
	}
}

// first is the one of two revisions that was first, where 0 is none.
func first(a, b int64) int64 {
	if a == 0 {
		return b
	}
	return a
}

// change checks one change that a watch delivered. Before is the last revision of what it delivered
// before, all at once.
func (m *monitor) change(w *following, before int64, c Change) {
	if w.From > 0 {
		m.checked[resumable]++
	}
	if w.last > 0 {
		m.checked[ordered]++
		m.checked[unique]++
		m.checked[atomic]++
	}
	switch {
	case w.delivered[c]:
		m.fails(unique, w, "it delivers %v twice", c)
	case c.Revision < w.From:
		m.fails(resumable, w, "it delivers %v, which is before", c)
	case c.Revision < w.last:
		m.fails(ordered, w, "it delivers %v after revision %d", c, w.last)
	case c.Revision == before:
		m.fails(atomic, w, "it delivers %v when it had delivered its revision", c)
	case c.Revision <= w.progress:
		m.fails(bookmarkable, w, "it delivers %v when it had announced that all up to revision %d was delivered", c,
			w.progress)
	case w.Key != "":
	case w.last == 0 && w.From > 0 && c.Revision > w.From:
		m.fails(resumable, w, "it begins with revision %d", c.Revision)
	case w.last > 0:
		if m.checked[reliable]++; c.Revision > w.last+1 {
			m.fails(reliable, w, "revision %d is followed by %d", w.last, c.Revision)
		}
	}
}

// bookmark checks a progress notification. What a watch of one key should have delivered is known
// in the end.
func (m *monitor) bookmark(w *following, upTo int64) {
	w.progress = max(w.progress, upTo)
	if w.Key != "" || w.last == 0 && w.From == 0 || upTo < w.From {
		return
	}
	if m.checked[bookmarkable]++; max(w.last, w.From-1) < upTo {
		m.fails(bookmarkable, w, "it announces that all up to revision %d was delivered, but nothing after %d was", upTo,
			max(w.last, w.From-1))
	}
}

// learn compares what revisions changed with what is known of them, and returns how many changes
// there were of each.
func (m *monitor) learn(by lockstep.Node, changes []Change) map[int64]int {
	of := map[int64]int{}
	for _, c := range changes {
		of[c.Revision]++
		r := m.history[c.Revision]
		if r == nil {
			r = &revision{changes: map[string]Change{}, by: by}
			m.history[c.Revision] = r
		} else {
			m.checked[oneHistory]++
		}
		known, ok := r.changes[c.Key]
		switch {
		case ok && known != c || !ok && r.whole:
			m.differ(by, r, c)
		case !ok:
			r.changes[c.Key] = c
		}
	}
	return of
}

// whole checks that so many changes of revisions are all of them, as a watch of all keys delivers, or
// the answer to a write.
func (m *monitor) whole(w *following, by lockstep.Node, of map[int64]int) {
	for _, at := range slices.Sorted(maps.Keys(of)) {
		r := m.history[at]
		r.whole = true
		switch few := of[at] < len(r.changes); {
		case few && w != nil:
			m.fails(atomic, w, "of revision %d it delivers %d of %d changes", at, of[at], len(r.changes))
		case few && m.found == nil:
			m.found = &lockstep.Finding{Property: names[oneHistory], Nodes: trace.NodesOf(by, r.by),
				Text: fmt.Sprintf("revision %d changed %d keys according to member %d, and %d according to member %d", at, of[at],
					by, len(r.changes), r.by)}
		}
	}
}

// differ finds that two reported something else of a revision.
func (m *monitor) differ(by lockstep.Node, r *revision, c Change) {
	if m.found != nil {
		return
	}
	var known []Change
	for _, key := range slices.Sorted(maps.Keys(r.changes)) {
		known = append(known, r.changes[key])
	}
	m.found = &lockstep.Finding{Property: names[oneHistory], Nodes: trace.NodesOf(by, r.by),
		Text: fmt.Sprintf("member %d delivered revision %s, and member %d delivered %s", r.by, list(known), by, c)}
}

// End checks by all that is known in the end what watches did not deliver.
func (m *monitor) End(*lockstep.Run) *lockstep.Finding {
	m.found = nil
	for _, number := range slices.Sorted(maps.Keys(m.watches)) {
		w := m.watches[number]
		for _, at := range slices.Sorted(maps.Keys(m.history)) {
			if m.missing(w, at, m.history[at]); m.found != nil {
				return m.found
			}
		}
	}
	return nil
}

// missing checks whether a watch delivered a revision that it should have delivered.
func (m *monitor) missing(w *following, at int64, r *revision) {
	from := w.From
	if from == 0 {
		from = w.first
	}
	if from == 0 || at < from || at > max(w.last, w.progress) {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(r.changes)) {
		c := r.changes[key]
		if w.Key != "" && w.Key != key {
			continue
		}
		m.checked[reliable]++
		if at > w.last {
			m.checked[bookmarkable]++
		}
		switch {
		case w.delivered[c]:
		case at > w.last:
			m.fails(bookmarkable, w, "it announces that all up to revision %d was delivered, but does not deliver %v",
				w.progress, c)
		case at < w.first:
			m.fails(resumable, w, "it begins with revision %d and does not deliver %v", w.first, c)
		default:
			m.fails(reliable, w, "it does not deliver %v", c)
		}
	}
}
