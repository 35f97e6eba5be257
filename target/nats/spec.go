package nats

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of event: a server tells what its copy of the stream holds; a client asks it for
// something; a message was acknowledged.
const (
	EventCopy         = "copy"         // the value is a [*Copy]
	EventAsked        = "asked"        // the value is the client, an int
	EventAcknowledged = "acknowledged" // the value is an [*Acknowledged]
	EventRead         = "read"         // a consumer was given messages; the value is [Messages]
)

// What an operator asked for and happened; the value is the name of the stream, or of the server that it happened to.
const (
	EventStepDown     = "step-down"      // of the leader of the stream, or of one that follows it
	EventMetaStepDown = "meta-step-down" // of the leader of all servers
	EventMove         = "move"           // a copy of the stream was taken from the server
	EventRefused      = "refused"        // it was not, as the answer says: no other server can have it
	EventRemoved      = "removed"        // the server is no member any more
)

// Message is a message of the stream.
type Message struct {
	Seq     uint64 // its number
	Subject string
	Data    string
}

// Messages are messages of the stream.
type Messages []Message

// String is the messages in words.
func (list Messages) String() string {
	var b strings.Builder
	for i, m := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d: %s", m.Seq, m.Data)
	}
	return b.String()
}

// Copy is what a server's copy of the stream holds.
type Copy struct {
	Exists      bool   // it has one
	First, Last uint64 // the numbers of messages
	messages    Messages
	wanted      int // copies that there should be
}

// String is the copy in words.
func (c *Copy) String() string {
	if !c.Exists {
		return "no stream"
	}
	h := fnv.New32a()
	for _, m := range c.messages {
		_, _ = fmt.Fprintln(h, m.Seq, m.Subject, m.Data)
	}
	return fmt.Sprintf("messages %d to %d, %d in all, hash %08x", c.First, c.Last, len(c.messages), h.Sum32())
}

// at is the message with a number, or none.
func (c *Copy) at(seq uint64) (Message, bool) {
	i, ok := slices.BinarySearchFunc(c.messages, seq, func(m Message, seq uint64) int { return int(m.Seq) - int(seq) })
	if !ok {
		return Message{}, false
	}
	return c.messages[i], true
}

// Acknowledged is a message that was acknowledged.
type Acknowledged struct {
	Client int
	Seq    uint64 // its number in the stream

	Subject, Data string
}

// String is the acknowledgement in words.
func (a *Acknowledged) String() string { return fmt.Sprintf("%s is message %d", a.Data, a.Seq) }

// Unique: a number is that of one message, to all who were told that theirs has it or who read it.
var Unique = spec.New("unique-numbers", func(lockstep.Info) *unique { return &unique{} })

// Ordered: a message that was asked for after another had been acknowledged comes after it.
var Ordered = spec.New("messages-in-order", func(lockstep.Info) *ordered { return &ordered{} })

// Durable: what was acknowledged is still there when faults have stopped, at every server that has
// a copy.
var Durable = spec.New("acknowledged-messages-stay", func(i lockstep.Info) *durable { return &durable{nodes: i.Nodes} })

// Equal: when faults have stopped, all copies are the same.
var Equal = spec.New("equal-copies", func(lockstep.Info) *equal { return &equal{} })

// Restored: when faults have stopped, and copies were moved or servers removed, the stream has as many copies as it should.
var Restored = spec.New("enough-copies", func(i lockstep.Info) *restored {
	return &restored{nodes: i.Nodes, count: count{off: i.Options["moves"] == "" && i.Options["removals"] == ""}}
})

// Everything is all that the server promises, as far as it is judged here.
var Everything = spec.All(Unique, Ordered, kv.Linearizable, Durable, Equal, Restored, InTurn, TakenOnce, Delivering, Together, Gone, Mirrored, Sourced)

// Settle is the length of a settling stage in which copies are judged, for three servers.
const Settle = 6000

// Targets is the server in the version of this build.
var Targets = []target.Target{target.Of("nats", "clusters of the real NATS server with JetStream, unmodified, in virtual time", Cluster{}, Everything).Settled(Settle).
	Explored("walk:deliver=1500,wait=300,request=100,cut=1,heal=4,crash=1,restart=6,pause=1,steps=6000")}

// unique knows the messages that were acknowledged, or read.
type unique struct {
	by     map[uint64]entered
	judged int
}

type entered struct{ data, how string }

// Reset begins a new run.
func (u *unique) Reset() { u.by, u.judged = map[uint64]entered{}, 0 }

// End returns nil: only events are checked.
func (*unique) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged counts messages.
func (u *unique) Judged() int { return u.judged }

// Event compares messages with those before them.
func (u *unique) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case EventAcknowledged:
		a := e.Value.(*Acknowledged)
		return u.message(e.Node, a.Seq, a.Data, "acknowledged")
	case EventRead:
		for _, m := range e.Value.(Messages) {
			if f := u.message(e.Node, m.Seq, m.Data, "read"); f != nil {
				return f
			}
		}
	case EventDelivered:
		d := e.Value.(*Delivered)
		return u.message(e.Node, d.Seq, d.Data, "delivered")
	}
	return nil
}

func (u *unique) message(n lockstep.Node, seq uint64, data, how string) *lockstep.Finding {
	u.judged++
	if other, ok := u.by[seq]; ok && (other.data != data || how == "acknowledged" && other.how == how) {
		return &lockstep.Finding{Nodes: trace.NodesOf(n), Text: fmt.Sprintf("%s was %s as message %d, and now %s is %s", other.data, other.how, seq, data, how)}
	}
	u.by[seq] = entered{data, how}
	return nil
}

// ordered knows, for each client's operation, the last message acknowledged before it was asked for.
type ordered struct {
	last   *Acknowledged
	before map[int]*Acknowledged // by client
	judged int
}

// Reset begins a new run.
func (o *ordered) Reset() { o.last, o.before, o.judged = nil, map[int]*Acknowledged{}, 0 }

// End returns nil: only events are checked.
func (*ordered) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged counts messages that had one before them.
func (o *ordered) Judged() int { return o.judged }

// Event compares an acknowledgement with what was there before.
func (o *ordered) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case EventAsked:
		o.before[e.Value.(int)] = o.last
	case EventAcknowledged:
		a := e.Value.(*Acknowledged)
		if before := o.before[a.Client]; before != nil {
			if o.judged++; before.Seq >= a.Seq {
				return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Text: fmt.Sprintf(
					"%s was acknowledged as message %d; before it was asked for, %s had been as message %d", a.Data, a.Seq, before.Data, before.Seq)}
			}
		}
		if o.last == nil || o.last.Seq < a.Seq {
			o.last = a
		}
	}
	return nil
}

// calm is the time without faults after which every server has caught up: one that had led by itself, with 50 entries that
// nobody else has, drops one at each try, every two to four seconds. Still is that without writes after which all of them have what was written.
const (
	calm  = 2 * time.Minute
	still = 10 * time.Second
)

// quiet knows the copies of the stream when faults, and then writes, have stopped for some time.
type quiet struct {
	copies [65]*Copy
	began  trace.Time  // of the time without faults; -1: not yet
	wrote  trace.Time  // when a client last asked or was answered
	told   trace.Nodes // those whose copies count
}

// event takes down what happened.
func (q *quiet) event(run *lockstep.Run, e *lockstep.Event) {
	q.take(run.Now(), run.Settling(), e)
}

// take does that. A pause may outlast the stage of faults, and clients may write to the end: a copy that was told
// before need not have what was acknowledged since.
func (q *quiet) take(now trace.Time, settling bool, e *lockstep.Event) {
	if settling && (q.began < 0 || e.Type == bubble.Thawed) {
		q.began, q.told = now, 0
	}
	switch e.Type {
	case EventAsked, EventAcknowledged:
		q.wrote, q.told = now, 0
	case EventCopy:
		q.copies[e.Node] = e.Value.(*Copy)
		if q.began >= 0 && time.Duration(now-q.began) >= calm && time.Duration(now-q.wrote) >= still {
			q.told = q.told.With(e.Node)
		}
	}
}

// since says for how long there have been no faults.
func (q *quiet) since(run *lockstep.Run) string {
	return fmt.Sprintf("%v after the last fault", time.Duration(run.Now()-q.began).Round(time.Second))
}

// durable knows the messages that were acknowledged.
type durable struct {
	quiet
	drops
	nodes        int
	acknowledged []*Acknowledged
	judged       int
}

// Reset begins a new run.
func (d *durable) Reset() { *d = durable{quiet: quiet{began: -1}, nodes: d.nodes} }

// Judged counts the runs that could have failed.
func (d *durable) Judged() int { return d.judged }

// Event takes down what was acknowledged and what is there.
func (d *durable) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	d.event(run, e)
	d.drop(e)
	if e.Type == EventAcknowledged {
		d.acknowledged = append(d.acknowledged, e.Value.(*Acknowledged))
	}
	return nil
}

// End judges the copies of servers that told of them after some time without faults.
func (d *durable) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || len(d.acknowledged) == 0 || d.told == 0 {
		return nil
	}
	d.judged++
	copies := 0
	for n := range d.told.All() {
		c := d.copies[n]
		if !c.Exists {
			continue
		}
		copies++
		var lost []*Acknowledged
		for _, a := range d.acknowledged {
			if m, ok := c.at(a.Seq); ok && m.Data != a.Data || !ok && !d.may(a.Subject, a.Seq) {
				lost = append(lost, a)
			}
		}
		if len(lost) > 0 {
			return &lockstep.Finding{Nodes: trace.NodesOf(n), Text: fmt.Sprintf(
				"%s server %d, with %s, lacks %d of %d messages that were acknowledged, first %s", d.since(run), n, c, len(lost), len(d.acknowledged), lost[0])}
		}
	}
	if copies == 0 && d.told == trace.AllNodes(d.nodes) {
		return &lockstep.Finding{Nodes: d.told, Text: fmt.Sprintf("%s no server has the stream any more; %d messages were acknowledged", d.since(run), len(d.acknowledged))}
	}
	return nil
}

// equal compares copies.
type equal struct {
	quiet
	judged int
}

// Reset begins a new run.
func (q *equal) Reset() { *q = equal{quiet: quiet{began: -1}} }

// Judged counts the runs that could have failed.
func (q *equal) Judged() int { return q.judged }

// Event takes down what is there.
func (q *equal) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	q.event(run, e)
	return nil
}

// End compares the copies that servers told of after some time without faults.
func (q *equal) End(run *lockstep.Run) *lockstep.Finding {
	first := lockstep.Node(0)
	for n := range q.told.All() {
		switch c := q.copies[n]; {
		case !run.Settled() || !c.Exists:
		case first == 0:
			first = n
		default:
			q.judged = 1
			if a, b := q.copies[first].String(), c.String(); a != b {
				return &lockstep.Finding{Nodes: trace.NodesOf(first, n), Text: fmt.Sprintf("%s the copies of servers %d and %d differ: %s; %s", q.since(run), first, n, a, b)}
			}
		}
	}
	return nil
}

// count counts judgements; where options leave nothing to judge nobody does.
type count struct {
	judged int
	off    bool
}

func (c *count) anew() count { return count{off: c.off} }

// End returns nil: only events are checked.
func (*count) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged is the number.
func (c *count) Judged() int {
	if c.off {
		return lockstep.NotCounted
	}
	return c.judged
}

// restored knows whether copies were moved.
type restored struct {
	quiet
	nodes int
	moves int // of copies, asked for, and servers removed

	counted trace.Nodes // those that told of their copies a while after faults; clients may go on, or try in vain
	count
}

// Reset begins a new run.
func (r *restored) Reset() {
	*r = restored{quiet: quiet{began: -1}, nodes: r.nodes, count: r.anew()}
}

// Event takes down what is there.
func (r *restored) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	r.event(run, e)
	switch {
	case e.Type == EventMove || e.Type == EventRefused || e.Type == EventRemoved:
		r.moves++
	case e.Type == EventCopy && r.began >= 0 && time.Duration(run.Now()-r.began) >= calm:
		r.counted = r.counted.With(e.Node)
	}
	return nil
}

// End counts the copies, where all servers told of theirs after some time without faults.
func (r *restored) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || r.moves == 0 || r.counted != trace.AllNodes(r.nodes) {
		return nil
	}
	r.judged++
	have, wanted := trace.Nodes(0), 0
	for n := range r.counted.All() {
		if r.copies[n].Exists {
			have = have.With(n)
		}
		wanted = r.copies[n].wanted
	}
	if have.Len() == wanted {
		return nil
	}
	return &lockstep.Finding{Nodes: have, Text: fmt.Sprintf("%s, and %d moves of copies or removals of servers, %d servers have the stream (%v), and %d should", r.since(run), r.moves, have.Len(), have, wanted)}
}
