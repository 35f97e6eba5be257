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

// The types of event of the durable consumer by which subscribers take messages.
const (
	EventDelivered = "delivered" // a message came to a subscriber; the value is a [*Delivered]
	EventTaken     = "taken"     // the server confirmed that it was acknowledged; the value is a [*Taken]
	EventProgress  = "progress"  // a server tells how far its copy of the consumer is; the value is a [*Progress]
)

// Delivered is a message that came to a subscriber.
type Delivered struct {
	Message
	Place uint64        // among all that the consumer delivered
	Times uint64        // that it was delivered, with this one
	Asked time.Duration // when the subscriber had asked for messages
}

// String is the delivery in words.
func (d *Delivered) String() string {
	return fmt.Sprintf("%d: %s, delivery %d, for the %d. time", d.Seq, d.Data, d.Place, d.Times)
}

// Taken is a message of which the server confirmed to the subscriber that it is acknowledged.
type Taken struct {
	Seq uint64
	At  time.Duration
}

// String is the number of the message.
func (t *Taken) String() string { return fmt.Sprint(t.Seq) }

// Place is a place in what a consumer delivered, and the message there.
type Place struct{ Delivery, Seq uint64 }

// Progress is how far a server's copy of a consumer is.
type Progress struct {
	Delivered, Floor Place // the last that was delivered; the last before which, and with which, all are acknowledged
	Open             int   // delivered and not acknowledged
}

// String is the progress in words.
func (p *Progress) String() string {
	return fmt.Sprintf("delivered up to message %d (delivery %d), acknowledged up to message %d (delivery %d), %d open", p.Delivered.Seq, p.Delivered.Delivery, p.Floor.Seq, p.Floor.Delivery, p.Open)
}

// InTurn: the deliveries of a consumer have numbers of their own, and messages that are delivered for the first time are so in
// the order of the stream, those aside that a server could give to nobody in their turn.
var InTurn = spec.New("delivered-in-order", func(i lockstep.Info) *inTurn { return &inTurn{count: consuming(i)} })

// TakenOnce: a message whose acknowledgement the server has confirmed is not delivered to a subscriber who asks after that.
var TakenOnce = spec.New("acknowledged-not-again", func(i lockstep.Info) *takenOnce { return &takenOnce{count: consuming(i)} })

// Delivering: when faults have stopped, every message that was acknowledged to who published it has come to a subscriber.
var Delivering = spec.New("all-delivered", func(i lockstep.Info) *delivering { return &delivering{count: consuming(i)} })

// Together: then, when nothing is delivered any more, all copies of the consumer are the same.
var Together = spec.New("equal-consumers", func(i lockstep.Info) *together { return &together{count: consuming(i)} })

// consuming counts judgements where there are subscribers.
func consuming(i lockstep.Info) count { return count{off: i.Options["consume"] != "true"} }

// inTurn knows the deliveries, in the order of their numbers.
type inTurn struct {
	all []*Delivered
	count
}

// Reset begins a new run.
func (o *inTurn) Reset() { o.all, o.judged = nil, 0 }

// Event compares a delivery with the one of its number, and those for the first time with each other.
func (o *inTurn) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != EventDelivered {
		return nil
	}
	d := e.Value.(*Delivered)
	o.judged++
	i, known := slices.BinarySearchFunc(o.all, d.Place, func(d *Delivered, place uint64) int { return cmp.Compare(d.Place, place) })
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

// differ is the finding about two deliveries with one number, where they are of two messages.
func (o *inTurn) differ(n lockstep.Node, a, b *Delivered) *lockstep.Finding {
	if a.Seq == b.Seq {
		return nil
	}
	return &lockstep.Finding{Nodes: trace.NodesOf(n), Text: fmt.Sprintf("delivery %d was message %d, and now it is message %d", a.Place, a.Seq, b.Seq)}
}

// outOfTurn is the finding about a message delivered for the first time after a later one, unless there is a delivery in its
// turn that came to nobody: where the server sees that, the message is still to be delivered for the first time.
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
	return &lockstep.Finding{Nodes: trace.NodesOf(n), Text: fmt.Sprintf("delivery %d was message %d, and delivery %d is message %d, both for the first time", later.Place, later.Seq, d.Place, d.Seq)}
}

// takenOnce knows when acknowledgements were confirmed.
type takenOnce struct {
	taken map[uint64]time.Duration
	count
}

// Reset begins a new run.
func (o *takenOnce) Reset() { o.taken, o.judged = map[uint64]time.Duration{}, 0 }

// Event compares a delivery with the acknowledgements confirmed before it was asked for.
func (o *takenOnce) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case EventTaken:
		t := e.Value.(*Taken)
		if _, known := o.taken[t.Seq]; !known {
			o.taken[t.Seq] = t.At
			o.judged++
		}
	case EventDelivered:
		d := e.Value.(*Delivered)
		if at, known := o.taken[d.Seq]; known && at < d.Asked {
			return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Text: fmt.Sprintf(
				"at %v it was confirmed that message %d is acknowledged, and a subscriber who asked at %v was given it, for the %d. time", at.Round(time.Millisecond), d.Seq, d.Asked.Round(time.Millisecond), d.Times)}
		}
	}
	return nil
}

// delivering knows what was acknowledged to those who published, and what came to subscribers.
type delivering struct {
	quiet
	drops
	acknowledged []*Acknowledged
	came         map[uint64]bool
	progress     [65]*Progress
	count
}

// Reset begins a new run.
func (d *delivering) Reset() {
	*d = delivering{quiet: quiet{began: -1}, count: d.anew(), came: map[uint64]bool{}}
}

// Event takes down what was acknowledged, and what was delivered.
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

// enough is the time in which a message comes to a subscriber, though the first who was given it had just gone.
const enough = 3 * again

// End looks for messages that never came, where servers told of the consumer after some time without faults.
func (d *delivering) End(run *lockstep.Run) *lockstep.Finding {
	told := slices.Collect(d.told.All())
	told = slices.DeleteFunc(told, func(n lockstep.Node) bool { return d.progress[n] == nil })
	if !run.Settled() || len(d.acknowledged) == 0 || len(told) == 0 || time.Duration(run.Now()-d.wrote) < enough {
		return nil
	}
	d.judged++
	missing := slices.DeleteFunc(slices.Clone(d.acknowledged), func(a *Acknowledged) bool { return d.came[a.Seq] || d.may(a.Subject, a.Seq) })
	if len(missing) == 0 {
		return nil
	}
	return &lockstep.Finding{Nodes: trace.NodesOf(told...), Text: fmt.Sprintf("%s %d of %d messages that were acknowledged had come to no subscriber, first %s; at server %d the consumer has %s",
		d.since(run), len(missing), len(d.acknowledged), missing[0], told[0], d.progress[told[0]])}
}

// idle is for how long nothing may have been delivered or acknowledged before copies of a consumer are compared: longer than
// subscribers wait for anything, and servers before they tell.
const idle = 4 * look

// together knows how far the copies of the consumer are.
type together struct {
	quiet
	moved    trace.Time // when something was delivered or acknowledged last
	progress [65]*Progress
	at       [65]trace.Time
	count
}

// Reset begins a new run.
func (g *together) Reset() { *g = together{quiet: quiet{began: -1}, count: g.anew()} }

// Event takes down how far copies are.
func (g *together) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	g.event(run, e)
	switch e.Type {
	case EventDelivered, EventTaken:
		g.moved = run.Now()
	case EventProgress:
		g.progress[e.Node], g.at[e.Node] = e.Value.(*Progress), run.Now()
	}
	return nil
}

// End compares the copies that servers told of last, after some time without faults and without deliveries.
func (g *together) End(run *lockstep.Run) *lockstep.Finding {
	first := lockstep.Node(0)
	for n := range g.told.All() {
		switch p := g.progress[n]; {
		case !run.Settled() || p == nil || time.Duration(g.at[n]-g.began) < calm || time.Duration(g.at[n]-g.moved) < idle:
		case first == 0:
			first = n
		default:
			g.judged = 1
			if one := g.progress[first]; *one != *p {
				return &lockstep.Finding{Nodes: trace.NodesOf(first, n), Text: fmt.Sprintf("%s the copies of the consumer at servers %d and %d differ: %s; %s", g.since(run), first, n, one, p)}
			}
		}
	}
	return nil
}
