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

// The types of event: a server reports its replica of the stream; a client sends a request; a message was
// acknowledged.
const (
	EventReplica      = "replica"      // the value is a [*Replica]
	EventAsked        = "asked"        // the value is the client, an int
	EventAcknowledged = "acknowledged" // the value is an [*Acknowledged]
	EventRead         = "read"         // a consumer received messages; the value is [Messages]
)

// The completed requests of operators; the value is the name of the stream, or of the affected server.
const (
	EventStepDown     = "step-down"      // of the leader of the stream, or of one that follows it
	EventMetaStepDown = "meta-step-down" // of the meta leader
	EventMove         = "move"           // the server lost its replica of the stream
	// EventRefused means that the server refused the move: no other server can have the replica.
	EventRefused = "refused"
	EventRemoved = "removed" // the server is no longer a member
)

// Message is a message of the stream.
type Message struct {
	Seq     uint64 // its number
	Subject string
	Data    string
}

// Messages are messages of the stream.
type Messages []Message

// String is the messages as text.
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

// Replica is a server's replica of the stream.
type Replica struct {
	Exists      bool   // the server has a replica
	First, Last uint64 // the numbers of messages
	messages    Messages
	wanted      int // the configured number of replicas
}

// String is the replica as text.
func (r *Replica) String() string {
	if !r.Exists {
		return "no stream"
	}
	h := fnv.New32a()
	for _, m := range r.messages {
		_, _ = fmt.Fprintln(h, m.Seq, m.Subject, m.Data)
	}
	return fmt.Sprintf("messages %d to %d, %d in all, hash %08x", r.First, r.Last, len(r.messages), h.Sum32())
}

// at is the message with a number, or none.
func (r *Replica) at(seq uint64) (Message, bool) {
	i, ok := slices.BinarySearchFunc(r.messages, seq, func(m Message, seq uint64) int { return int(m.Seq) - int(seq) })
	if !ok {
		return Message{}, false
	}
	return r.messages[i], true
}

// Acknowledged is an acknowledged message.
type Acknowledged struct {
	Client int
	Seq    uint64 // its number in the stream

	Subject, Data string
}

// String is the acknowledgment as text.
func (a *Acknowledged) String() string { return fmt.Sprintf("%s is message %d", a.Data, a.Seq) }

// Unique is the spec that a number identifies one message, for all clients that wrote or read it.
var Unique = spec.New("unique-numbers", func(lockstep.Info) *unique { return &unique{} })

// Ordered is the spec that a message requested after the acknowledgment of another one comes after it.
var Ordered = spec.New("messages-in-order", func(lockstep.Info) *ordered { return &ordered{} })

// Durable is the spec that every server with a replica still has all acknowledged messages after faults have stopped.
var Durable = spec.New("acknowledged-messages-stay", func(i lockstep.Info) *durable { return &durable{nodes: i.Nodes} })

// Equal is the spec that all replicas are equal after faults have stopped.
var Equal = spec.New("equal-replicas", func(lockstep.Info) *equal { return &equal{} })

// Restored is the spec that the stream has its full number of replicas again, after faults, moves and removals have
// stopped.
var Restored = spec.New("enough-replicas", func(i lockstep.Info) *restored {
	return &restored{nodes: i.Nodes, count: count{off: i.Options["moves"] == "" && i.Options["removals"] == ""}}
})

// Everything combines all specs of the server.
var Everything = spec.All(Unique, Ordered, kv.Linearizable, Durable, Equal, Restored, InTurn, TakenOnce, Delivering,
	Together, Gone, Mirrored, Sourced)

// Settle is the length of a settling stage in which replicas can be checked, for three servers.
const Settle = 6000

// Targets is the server in the version of this build.
var Targets = []target.Target{target.Of("nats",
	"clusters of the real NATS server with JetStream, unmodified, in virtual time", Cluster{}, Everything).
	Settled(Settle).
	Explored("walk:deliver=1500,wait=300,request=100,cut=1,heal=4,crash=1,restart=6,pause=1,steps=6000").
	WithCampaign("clients=4", "requests=40", "power=0.5", "sync-always=true", "step-downs=10", "meta-step-downs=10").
	WithScript(Script)}

// unique records the messages that were acknowledged, or read.
type unique struct {
	by      map[uint64]entered
	checked int
}

type entered struct{ data, how string }

// Reset begins a new run.
func (u *unique) Reset() { u.by, u.checked = map[uint64]entered{}, 0 }

// End returns nil: only events are checked.
func (*unique) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts messages.
func (u *unique) Checked() int { return u.checked }

// Event compares messages with earlier ones.
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
	u.checked++
	if other, ok := u.by[seq]; ok && (other.data != data || how == "acknowledged" && other.how == how) {
		return &lockstep.Finding{
			Nodes: trace.NodesOf(n),
			Text:  fmt.Sprintf("%s was %s as message %d, and now %s is %s", other.data, other.how, seq, data, how),
		}
	}
	u.by[seq] = entered{data, how}
	return nil
}

// ordered records, for each client's operation, the last message acknowledged before its request.
type ordered struct {
	last    *Acknowledged
	before  map[int]*Acknowledged // by client
	checked int
}

// Reset begins a new run.
func (o *ordered) Reset() { o.last, o.before, o.checked = nil, map[int]*Acknowledged{}, 0 }

// End returns nil: only events are checked.
func (*ordered) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts messages with an earlier one.
func (o *ordered) Checked() int { return o.checked }

// Event compares an acknowledgment with the earlier ones.
func (o *ordered) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case EventAsked:
		o.before[e.Value.(int)] = o.last
	case EventAcknowledged:
		a := e.Value.(*Acknowledged)
		if before := o.before[a.Client]; before != nil {
			if o.checked++; before.Seq >= a.Seq {
				return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Text: fmt.Sprintf(
					"%s was acknowledged as message %d; before it was asked for, %s had been as message %d", a.Data,
					a.Seq, before.Data, before.Seq)}
			}
		}
		if o.last == nil || o.last.Seq < a.Seq {
			o.last = a
		}
	}
	return nil
}

// calm is the time without faults after which every server has caught up. A former leader with 50 entries that no
// other server has drops one per attempt, every two to four seconds. still is the time without writes after which all
// servers have the written messages.
const (
	calm  = 2 * time.Minute
	still = 10 * time.Second
)

// calmReplicas records the replicas of the stream some time after faults, and then writes, have stopped. Where no
// server has a replica, writes never stop: clients ask again and again.
type calmReplicas struct {
	replicas   [65]*Replica
	began      trace.Time  // of the time without faults; -1: not yet
	wrote      trace.Time  // the last request or answer of a client
	conclusive trace.Nodes // the servers with conclusive replicas
	without    trace.Nodes // the servers that then had no replica, whether or not clients still asked
}

// event records an event.
func (c *calmReplicas) event(run *lockstep.Run, e *lockstep.Event) {
	c.observe(run.Now(), run.Settling(), e)
}

// observe does that. A pause may outlast the stage of faults, and clients may write to the end: a replica reported
// earlier need not have later acknowledged messages.
func (c *calmReplicas) observe(now trace.Time, settling bool, e *lockstep.Event) {
	if settling && (c.began < 0 || e.Type == bubble.Thawed) {
		c.began, c.conclusive, c.without = now, 0, 0
	}
	switch e.Type {
	case EventAsked, EventAcknowledged:
		c.wrote, c.conclusive = now, 0
		if e.Type == EventAcknowledged {
			c.without = 0
		}
	case EventReplica:
		c.replicas[e.Node] = e.Value.(*Replica)
		c.without = c.without.Without(e.Node)
		if c.began >= 0 && time.Duration(now-c.began) >= calm && !c.replicas[e.Node].Exists {
			c.without = c.without.With(e.Node)
		}
		if c.began >= 0 && time.Duration(now-c.began) >= calm && time.Duration(now-c.wrote) >= still {
			c.conclusive = c.conclusive.With(e.Node)
		}
	}
}

// since describes the time since the last fault.
func (c *calmReplicas) since(run *lockstep.Run) string {
	return fmt.Sprintf("%v after the last fault", time.Duration(run.Now()-c.began).Round(time.Second))
}

// durable records acknowledged messages.
type durable struct {
	calmReplicas
	drops
	nodes        int
	acknowledged []*Acknowledged
	checked      int
}

// Reset begins a new run.
func (d *durable) Reset() { *d = durable{calmReplicas: calmReplicas{began: -1}, nodes: d.nodes} }

// Checked counts the runs that could have failed.
func (d *durable) Checked() int { return d.checked }

// Event records acknowledged messages and replicas.
func (d *durable) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	d.event(run, e)
	d.drop(e)
	if e.Type == EventAcknowledged {
		d.acknowledged = append(d.acknowledged, e.Value.(*Acknowledged))
	}
	return nil
}

// End checks the replicas that servers reported some time after the last fault.
func (d *durable) End(run *lockstep.Run) *lockstep.Finding {
	gone := d.without == trace.AllNodes(d.nodes)
	if !run.Settled() || len(d.acknowledged) == 0 || d.conclusive == 0 && !gone {
		return nil
	}
	d.checked++
	if gone {
		return &lockstep.Finding{
			Nodes: d.without,
			Text: fmt.Sprintf("%s no server has the stream any more; %d messages were acknowledged", d.since(run),
				len(d.acknowledged)),
		}
	}
	for n := range d.conclusive.All() {
		c := d.replicas[n]
		if !c.Exists {
			continue
		}
		var lost []*Acknowledged
		for _, a := range d.acknowledged {
			if m, ok := c.at(a.Seq); ok && m.Data != a.Data || !ok && !d.may(a.Subject, a.Seq) {
				lost = append(lost, a)
			}
		}
		if len(lost) > 0 {
			return &lockstep.Finding{Nodes: trace.NodesOf(n), Text: fmt.Sprintf(
				"%s server %d, with %s, lacks %d of %d messages that were acknowledged, first %s", d.since(run), n, c,
				len(lost), len(d.acknowledged), lost[0])}
		}
	}
	return nil
}

// equal compares replicas.
type equal struct {
	calmReplicas
	checked int
}

// Reset begins a new run.
func (q *equal) Reset() { *q = equal{calmReplicas: calmReplicas{began: -1}} }

// Checked counts the runs that could have failed.
func (q *equal) Checked() int { return q.checked }

// Event records replicas.
func (q *equal) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	q.event(run, e)
	return nil
}

// End compares the replicas that servers reported some time after the last fault.
func (q *equal) End(run *lockstep.Run) *lockstep.Finding {
	first := lockstep.Node(0)
	for n := range q.conclusive.All() {
		switch c := q.replicas[n]; {
		case !run.Settled() || !c.Exists:
		case first == 0:
			first = n
		default:
			q.checked = 1
			if a, b := q.replicas[first].String(), c.String(); a != b {
				return &lockstep.Finding{
					Nodes: trace.NodesOf(first, n),
					Text: fmt.Sprintf("%s the replicas of servers %d and %d differ: %s; %s", q.since(run), first, n, a,
						b),
				}
			}
		}
	}
	return nil
}

// count counts checks. It is off if the options leave nothing to check.
type count struct {
	checked int
	off     bool
}

func (c *count) again() count { return count{off: c.off} }

// End returns nil: only events are checked.
func (*count) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked is the number of checks.
func (c *count) Checked() int {
	if c.off {
		return lockstep.NotCounted
	}
	return c.checked
}

// restored records moves of replicas.
type restored struct {
	calmReplicas
	nodes int
	moves int // requested moves of replicas, and removed servers

	counted trace.Nodes // servers that reported some time after faults; clients may continue, or retry in vain
	count
}

// Reset begins a new run.
func (r *restored) Reset() {
	*r = restored{calmReplicas: calmReplicas{began: -1}, nodes: r.nodes, count: r.again()}
}

// Event records replicas.
func (r *restored) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	r.event(run, e)
	switch {
	case e.Type == EventMove || e.Type == EventRefused || e.Type == EventRemoved:
		r.moves++
	case e.Type == EventReplica && r.began >= 0 && time.Duration(run.Now()-r.began) >= calm:
		r.counted = r.counted.With(e.Node)
	}
	return nil
}

// End counts the replicas, if all servers reported theirs some time after the last fault.
func (r *restored) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || r.moves == 0 || r.counted != trace.AllNodes(r.nodes) {
		return nil
	}
	r.checked++
	have, wanted := trace.Nodes(0), 0
	for n := range r.counted.All() {
		if r.replicas[n].Exists {
			have = have.With(n)
		}
		wanted = r.replicas[n].wanted
	}
	if have.Len() == wanted {
		return nil
	}
	return &lockstep.Finding{
		Nodes: have,
		Text: fmt.Sprintf(
			"%s, and %d moves of replicas or removals of servers, %d servers have the stream (%v), and %d should",
			r.since(run), r.moves, have.Len(), have, wanted),
	}
}
