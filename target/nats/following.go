package nats

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of event of streams that follow the stream.
const (
	EventMirror  = "mirror"  // a server reports its replica of the mirror; the value is a [*Replica]
	EventSources = "sources" // the same for the stream with sources, with the message numbers of the origin
	// EventFollower reports that a server leads such a stream and did not at its last report; the value is the
	// stream's name.
	EventFollower = "follower-leader"
	// EventFell reports that a server restarts that led such a stream at its last report; the value is the stream's
	// name.
	EventFell = "follower-fell"
)

// Mirrored is the spec of the mirror. Long enough after faults have stopped, every replica of the mirror has the
// messages of the stream under their numbers, and no others.
var Mirrored = spec.New("mirror-shows-the-stream", func(i lockstep.Info) *following {
	return &following{eventType: EventMirror, count: count{off: i.Options["mirror"] != "true"}}
})

// Sourced is the spec of the stream with sources. Long enough after faults have stopped, every replica of it has each
// message of the stream once, those of a key in order, and no others. All its replicas are equal.
var Sourced = spec.New("sources-show-the-stream", func(i lockstep.Info) *following {
	return &following{eventType: EventSources, count: count{off: i.Options["sources"] != "true"}}
})

// catchUp is the time without faults after which a stream has caught up with the one that it follows. The server
// waits up to half a minute for an answer, and up to two minutes after several failed attempts.
const catchUp = 3 * time.Minute

// following records the replicas of a stream that follows the stream.
type following struct {
	eventType string // of the replicas
	shown     [65]*Replica
	caught    trace.Nodes // nodes with up-to-date replicas
	calmReplicas
	drops
	count
}

// Reset begins a new run.
func (f *following) Reset() {
	*f = following{eventType: f.eventType, calmReplicas: calmReplicas{began: -1}, count: f.again()}
}

// Event records replicas.
func (f *following) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	f.event(run, e)
	f.drop(e)
	if f.conclusive == 0 { // there was a fault, or a client wrote
		f.caught = 0
	}
	if e.Type == f.eventType {
		f.shown[e.Node] = e.Value.(*Replica)
		if f.conclusive != 0 && time.Duration(run.Now()-f.began) >= catchUp && time.Duration(run.Now()-f.wrote) >= calm {
			f.caught = f.caught.With(e.Node)
		}
	}
	return nil
}

// End compares the replicas with one of the stream, and with each other. It counts messages.
func (f *following) End(run *lockstep.Run) *lockstep.Finding {
	origin, at := f.origin()
	if !run.Settled() || origin == nil {
		return nil
	}
	first := lockstep.Node(0)
	for n := range f.caught.All() {
		c := f.shown[n]
		if !c.Exists {
			continue
		}
		f.checked += len(origin.messages)
		if wrong := f.compare(origin, c.messages); wrong != "" {
			return &lockstep.Finding{
				Nodes: trace.NodesOf(at, n),
				Text: fmt.Sprintf("%s the %s of server %d, with %s, %s; server %d has the stream with %s", f.since(run),
					f.eventType, n, c, wrong, at, origin),
			}
		}
		if first == 0 {
			first = n
		}
		if a, b := f.shown[first], c; a.String() != b.String() {
			return &lockstep.Finding{
				Nodes: trace.NodesOf(first, n),
				Text: fmt.Sprintf("%s the %s of servers %d and %d differ: %s; %s", f.since(run), f.eventType, first, n,
					a, b),
			}
		}
	}
	return nil
}

// origin is an up-to-date replica of the stream, and its server.
func (f *following) origin() (*Replica, lockstep.Node) {
	for n := range f.conclusive.All() {
		if f.replicas[n].Exists {
			return f.replicas[n], n
		}
	}
	return nil, 0
}

// compare describes differences between some messages and those of the stream. A message deleted in the stream may or
// may not be among them.
func (f *following) compare(origin *Replica, shown Messages) string {
	last, there := map[string]uint64{}, map[uint64]bool{}
	for _, m := range shown {
		is, ok := origin.at(m.Seq)
		switch {
		case last[m.Subject] >= m.Seq:
			return fmt.Sprintf("has message %d of %s after %d", m.Seq, m.Subject, last[m.Subject])
		case ok && is != m:
			return fmt.Sprintf("has %s as message %d, which is %s", m.Data, m.Seq, is.Data)
		case !ok && !f.may(m.Subject, m.Seq):
			return fmt.Sprintf("has message %d, %s, which is not there", m.Seq, m.Data)
		}
		last[m.Subject], there[m.Seq] = m.Seq, true
	}
	lacking := 0
	text := ""
	for _, m := range origin.messages {
		if there[m.Seq] || f.may(m.Subject, m.Seq) {
			continue
		}
		if lacking++; text == "" {
			text = fmt.Sprintf("first message %d, %s", m.Seq, m.Data)
		}
	}
	if lacking == 0 {
		return ""
	}
	return fmt.Sprintf("lacks %d messages, %s", lacking, text)
}
