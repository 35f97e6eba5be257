package nats

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of event about deletions of messages; the value is a [*Drop].
const (
	EventDropping = "dropping" // the deletion was requested, and may happen from now on
	EventDropped  = "dropped"  // the deletion was acknowledged
)

// Drop identifies the messages to delete: one, or all before it, of one key or of all.
type Drop struct {
	ID      string // the requester
	Subject string // empty: all
	Seq     uint64
	Below   bool // not the message itself, but all before it
}

// anything is a number above those of all messages.
const anything = ^uint64(0)

// String is the drop as text.
func (d *Drop) String() string {
	text := fmt.Sprintf("message %d", d.Seq)
	switch {
	case d.Below && d.Seq == anything:
		text = "all messages"
	case d.Below:
		text = fmt.Sprintf("all before message %d", d.Seq)
	}
	if d.Subject != "" {
		text += " of " + d.Subject
	}
	return text
}

// has reports whether a message is among them.
func (d *Drop) has(subject string, seq uint64) bool {
	if d.Subject != "" && d.Subject != subject {
		return false
	}
	return seq == d.Seq && !d.Below || seq < d.Seq && d.Below
}

// drops records the deletions of a run: the messages that may be gone, and those that must be.
type drops struct {
	asked map[string]*Drop // without an acknowledgment
	done  []*Drop
}

// drop records a requested or acknowledged deletion.
func (d *drops) drop(e *lockstep.Event) {
	switch e.Type {
	case EventDropping:
		if d.asked == nil {
			d.asked = map[string]*Drop{}
		}
		drop := e.Value.(*Drop)
		d.asked[drop.ID] = drop
	case EventDropped:
		drop := e.Value.(*Drop)
		delete(d.asked, drop.ID)
		d.done = append(d.done, drop)
	}
}

// must is the reason why a message must be gone, or nil.
func (d *drops) must(subject string, seq uint64) *Drop {
	for _, drop := range d.done {
		if drop.has(subject, seq) {
			return drop
		}
	}
	return nil
}

// may reports whether a message may be gone.
func (d *drops) may(subject string, seq uint64) bool {
	for _, drop := range d.asked { //lockstep:unordered whether there is one
		if drop.has(subject, seq) {
			return true
		}
	}
	return d.must(subject, seq) != nil
}

// Gone is the spec that after faults have stopped no replica has a message whose deletion was acknowledged.
var Gone = spec.New("deleted-messages-go", func(i lockstep.Info) *gone {
	return &gone{count: count{off: i.Options["purge"] == "" && i.Options["purges"] == "" &&
		i.Options["erasures"] == ""}}
})

// gone records the deletions.
type gone struct {
	calmReplicas
	drops
	count
}

// Reset begins a new run.
func (g *gone) Reset() { *g = gone{calmReplicas: calmReplicas{began: -1}, count: g.again()} }

// Event records replicas and deletions.
func (g *gone) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	g.event(run, e)
	g.drop(e)
	return nil
}

// End checks the replicas that servers reported some time after the last fault.
func (g *gone) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || len(g.done) == 0 {
		return nil
	}
	for n := range g.conclusive.All() {
		if !g.replicas[n].Exists {
			continue
		}
		g.checked = 1
		for _, m := range g.replicas[n].messages {
			if drop := g.must(m.Subject, m.Seq); drop != nil {
				return &lockstep.Finding{
					Nodes: trace.NodesOf(n),
					Text: fmt.Sprintf(
						"%s server %d, with %s, has message %d of %s; it was acknowledged that %s is deleted",
						g.since(run), n, g.replicas[n], m.Seq, m.Subject, drop),
				}
			}
		}
	}
	return nil
}
