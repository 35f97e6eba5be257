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
	EventMirror   = "mirror"          // a server tells what its copy of the mirror holds; the value is a [*Copy]
	EventSources  = "sources"         // the same of the stream with sources, where messages have the numbers of their origin
	EventFollower = "follower-leader" // a server leads such a stream that did not when it was last asked; the value is the stream's name
	EventFell     = "follower-fell"   // a server that led such a stream when it was last asked starts again; the value is the stream's name
)

// Mirrored: when faults have stopped for long enough, every copy of the mirror shows the messages of the stream under their
// numbers, and no others.
var Mirrored = spec.New("mirror-shows-the-stream", func(i lockstep.Info) *following {
	return &following{tells: EventMirror, count: count{off: i.Options["mirror"] != "true"}}
})

// Sourced: then every copy of the stream with sources shows each message of the stream once, those of a key in their order, and
// no others; and all copies are the same.
var Sourced = spec.New("sources-show-the-stream", func(i lockstep.Info) *following {
	return &following{tells: EventSources, count: count{off: i.Options["sources"] != "true"}}
})

// catchUp is the time without faults after which a stream has caught up with the one that it follows: the server waits for half
// a minute for an answer, and for up to two minutes after several tries in vain.
const catchUp = 3 * time.Minute

// following knows the copies of a stream that follows the stream.
type following struct {
	tells  string // the type of event
	shown  [65]*Copy
	caught trace.Nodes // those whose copies count
	quiet
	drops
	count
}

// Reset begins a new run.
func (f *following) Reset() {
	*f = following{tells: f.tells, quiet: quiet{began: -1}, count: f.anew()}
}

// Event takes down what is there.
func (f *following) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	f.event(run, e)
	f.drop(e)
	if f.told == 0 { // there was a fault, or somebody wrote
		f.caught = 0
	}
	if e.Type == f.tells {
		f.shown[e.Node] = e.Value.(*Copy)
		if f.told != 0 && time.Duration(run.Now()-f.began) >= catchUp && time.Duration(run.Now()-f.wrote) >= calm {
			f.caught = f.caught.With(e.Node)
		}
	}
	return nil
}

// End compares the copies with one of the stream, and with each other. It counts messages.
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
		f.judged += len(origin.messages)
		if wrong := f.compare(origin, c.messages); wrong != "" {
			return &lockstep.Finding{Nodes: trace.NodesOf(at, n), Text: fmt.Sprintf("%s the %s of server %d, with %s, %s; server %d has the stream with %s", f.since(run), f.tells, n, c, wrong, at, origin)}
		}
		if first == 0 {
			first = n
		}
		if a, b := f.shown[first], c; a.String() != b.String() {
			return &lockstep.Finding{Nodes: trace.NodesOf(first, n), Text: fmt.Sprintf("%s the %s of servers %d and %d differ: %s; %s", f.since(run), f.tells, first, n, a, b)}
		}
	}
	return nil
}

// origin is a copy of the stream that counts, and whose it is.
func (f *following) origin() (*Copy, lockstep.Node) {
	for n := range f.told.All() {
		if f.copies[n].Exists {
			return f.copies[n], n
		}
	}
	return nil, 0
}

// compare says what is wrong with messages that should be those of the stream. What is deleted there may have been shown before, or not.
func (f *following) compare(origin *Copy, shown Messages) string {
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
