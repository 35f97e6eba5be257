package nats

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of event of the durable consumer through which subscribers take messages.
const (
	EventDelivered = "delivered" // a subscriber received a message; the value is a [*Delivered]
	EventTaken     = "taken"     // the server confirmed the acknowledgment; the value is a [*Taken]
	// EventProgress reports the progress of a server's replica of the consumer; the value is a [*Progress].
	EventProgress = "progress"
)

// Delivered is a message that a subscriber received.
type Delivered struct {
	Message
	Place uint64        // among all deliveries of the consumer
	Times uint64        // the number of its deliveries, including this one
	Asked time.Duration // when the subscriber requested messages
}

// String is the delivery as text.
func (d *Delivered) String() string {
	return fmt.Sprintf("%d: %s, delivery %d, for the %d. time", d.Seq, d.Data, d.Place, d.Times)
}

// Taken is a message whose acknowledgment the server has confirmed to the subscriber.
type Taken struct {
	Seq uint64
	At  time.Duration
}

// String is the number of the message.
func (t *Taken) String() string { return fmt.Sprint(t.Seq) }

// Place is a position in a consumer's deliveries, and the message there.
type Place struct{ Delivery, Seq uint64 }

// Progress is the progress of a server's replica of a consumer.
type Progress struct {
	Delivered, Floor Place // the last delivered one; the last one up to which all are acknowledged
	Open             int   // delivered and not acknowledged
}

// String is the progress as text.
func (p *Progress) String() string {
	return fmt.Sprintf("delivered up to message %d (delivery %d), acknowledged up to message %d (delivery %d), %d open",
		p.Delivered.Seq, p.Delivered.Delivery, p.Floor.Seq, p.Floor.Delivery, p.Open)
}

// InTurn is the spec that every delivery of a consumer has a unique number, and first deliveries come in the order of
// the stream. Messages that a server could not deliver to any subscriber in their turn are exempt.
var InTurn = spec.New("delivered-in-order", func(i lockstep.Info) *inTurn { return &inTurn{count: consuming(i)} })

// TakenOnce is the spec that a message with a confirmed acknowledgment is not delivered to a later request.
var TakenOnce = spec.New("acknowledged-not-again",
	func(i lockstep.Info) *takenOnce { return &takenOnce{count: consuming(i)} })

// Delivering is the spec that every message acknowledged to its publisher has reached a subscriber after faults have
// stopped.
var Delivering = spec.New("all-delivered",
	func(i lockstep.Info) *delivering { return &delivering{count: consuming(i)} })

// Together is the spec that all replicas of the consumer are equal after faults and deliveries have stopped.
var Together = spec.New("equal-consumers", func(i lockstep.Info) *together { return &together{count: consuming(i)} })

// consuming counts checks if there are subscribers.
func consuming(i lockstep.Info) count { return count{off: i.Options["consume"] != "true"} }

// inTurn records the deliveries, ordered by number.
type inTurn struct {
	all []*Delivered
	count
}

// Reset begins a new run.
func (o *inTurn) Reset() { o.all, o.checked = nil, 0 }

// Event compares a delivery with the one of the same number, and first deliveries with each other.
func (o *inTurn) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != EventDelivered {
		return nil
	}
	d := e.Value.(*Delivered)
	o.checked++
	i, known := slices.BinarySearchFunc(o.all, d.Place,
		func(d *Delivered, place uint64) int { return cmp.Compare(d.Place, place) })
	if known {
		return o.differ(e.Node, o.all[i], d)
	}
	o.all = slices.Insert(o.all, i, d)
	var top *Delivered
	for i, d := range o.all {
		switch {
		case d.Times > 1:
		case top == nil || top.Seq < d.Seq:
			top = d
		default:
			if f := o.outOfTurn(e.Node, o.all[:i], d); f != nil {
				return f
			}
		}
	}
	return nil
}

// differ is the finding about two deliveries of different messages with one number.
func (o *inTurn) differ(n lockstep.Node, a, b *Delivered) *lockstep.Finding {
	if a.Seq == b.Seq {
		return nil
	}
	return &lockstep.Finding{
		Nodes: trace.NodesOf(n),
		Text:  fmt.Sprintf("delivery %d was message %d, and now it is message %d", a.Place, a.Seq, b.Seq),
	}
}

// outOfTurn is the finding about a message whose first delivery follows that of a later message. It allows for a
// delivery in its turn that reached no subscriber. If the server notices that, the message's first delivery is still
// due.
func (o *inTurn) outOfTurn(n lockstep.Node, before []*Delivered, d *Delivered) *lockstep.Finding {
	at := slices.IndexFunc(before, func(b *Delivered) bool { return b.Times == 1 && b.Seq >= d.Seq })
	later, last, seen := before[at], uint64(0), uint64(0)
	for _, b := range before[:at] {
		if seen++; b.Times == 1 {
			last, seen = b.Place, 0
		}
	}
	if later.Seq > d.Seq && last+seen+1 < later.Place {
		return nil
	}
	return &lockstep.Finding{
		Nodes: trace.NodesOf(n),
		Text: fmt.Sprintf("delivery %d was message %d, and delivery %d is message %d, both for the first time",
			later.Place, later.Seq, d.Place, d.Seq),
	}
}

// takenOnce records when acknowledgments were confirmed.
type takenOnce struct {
	taken map[uint64]time.Duration
	count
}

// Reset begins a new run.
func (o *takenOnce) Reset() { o.taken, o.checked = map[uint64]time.Duration{}, 0 }

// Event compares a delivery with the acknowledgments confirmed before its request.
func (o *takenOnce) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case EventTaken:
		t := e.Value.(*Taken)
		if _, known := o.taken[t.Seq]; !known {
			o.taken[t.Seq] = t.At
			o.checked++
		}
	case EventDelivered:
		d := e.Value.(*Delivered)
		if at, known := o.taken[d.Seq]; known && at < d.Asked {
			return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Text: fmt.Sprintf(
				"the acknowledgment of message %d was confirmed at %v, and a subscriber that asked at %v received it, for "+
					"the %d. time",
				d.Seq,
				at.Round(time.Millisecond),
				d.Asked.Round(time.Millisecond),
				d.Times,
			)}
		}
	}
	return nil
}

// delivering records the messages acknowledged to publishers, and those that subscribers received.
type delivering struct {
	calmReplicas
	drops
	acknowledged []*Acknowledged
	came         map[uint64]bool
	progress     [65]*Progress
	count
}

// Reset begins a new run.
func (d *delivering) Reset() {
	*d = delivering{calmReplicas: calmReplicas{began: -1}, count: d.again(), came: map[uint64]bool{}}
}

// Event records acknowledgments and deliveries.
func (d *delivering) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	d.event(run, e)
	d.drop(e)
	switch e.Type {
	case EventAcknowledged:
		d.acknowledged = append(d.acknowledged, e.Value.(*Acknowledged))
	case EventDelivered:
		d.came[e.Value.(*Delivered).Seq] = true
	case EventProgress:
		d.progress[e.Node] = e.Value.(*Progress)
	}
	return nil
}

// enough is the time in which a message reaches a subscriber, although its first recipient had just crashed.
const enough = 3 * redelivery

// End looks for undelivered messages, if servers reported the consumer some time after the last fault.
func (d *delivering) End(run *lockstep.Run) *lockstep.Finding {
	servers := slices.Collect(d.conclusive.All())
	servers = slices.DeleteFunc(servers, func(n lockstep.Node) bool { return d.progress[n] == nil })
	if !run.Settled() || len(d.acknowledged) == 0 || len(servers) == 0 || time.Duration(run.Now()-d.wrote) < enough {
		return nil
	}
	d.checked++
	missing := slices.DeleteFunc(slices.Clone(d.acknowledged),
		func(a *Acknowledged) bool { return d.came[a.Seq] || d.may(a.Subject, a.Seq) })
	if len(missing) == 0 {
		return nil
	}
	return &lockstep.Finding{
		Nodes: trace.NodesOf(servers...),
		Text: fmt.Sprintf(
			"%s %d of %d messages that were acknowledged reached no subscriber, first %s; at server %d the consumer has %s",
			d.since(run),
			len(missing),
			len(d.acknowledged),
			missing[0],
			servers[0],
			d.progress[servers[0]],
		),
	}
}

// idle is the time without deliveries and acknowledgments before replicas of a consumer are compared. It is longer
// than any wait of subscribers, and than the report interval of servers.
const idle = 4 * look

// together records the progress of the consumer's replicas.
type together struct {
	calmReplicas
	moved    trace.Time // when a message was last delivered or acknowledged
	progress [65]*Progress
	at       [65]trace.Time
	count
}

// Reset begins a new run.
func (t *together) Reset() { *t = together{calmReplicas: calmReplicas{began: -1}, count: t.again()} }

// Event records the progress of replicas.
func (t *together) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	t.event(run, e)
	switch e.Type {
	case EventDelivered, EventTaken:
		t.moved = run.Now()
	case EventProgress:
		t.progress[e.Node], t.at[e.Node] = e.Value.(*Progress), run.Now()
	}
	return nil
}

// End compares the last reported replicas, after some time without faults and without deliveries.
func (t *together) End(run *lockstep.Run) *lockstep.Finding {
	first := lockstep.Node(0)
	for n := range t.conclusive.All() {
		switch p := t.progress[n]; {
		case !run.Settled() || p == nil || time.Duration(t.at[n]-t.began) < calm ||
			time.Duration(t.at[n]-t.moved) < idle:
		case first == 0:
			first = n
		default:
			t.checked = 1
			if one := t.progress[first]; *one != *p {
				return &lockstep.Finding{
					Nodes: trace.NodesOf(first, n),
					Text: fmt.Sprintf("%s the replicas of the consumer at servers %d and %d differ: %s; %s",
						t.since(run), first, n, one, p),
				}
			}
		}
	}
	return nil
}
