package zookeeper

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// A server refuses a client that has seen more than it has, and tells it to try another. That one can be refused for as long as nobody writes
// comes from what a leader tells: its last transaction is the beginning of its epoch, which stands in no log. When the server of the client comes
// back and follows, and there was nothing that the leader had to send it, its last is an earlier one.

// Zxid is the number of a transaction: an epoch, and a count in its lower half.
type Zxid uint64

// String is the number as servers write it.
func (z Zxid) String() string { return fmt.Sprintf("0x%x", uint64(z)) }

// zxid reads a number as servers write it, or is 0.
func zxid(text string) Zxid {
	z, _ := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	return Zxid(z)
}

// EventRefused is the type of the events that tell that a server has refused its client for long; the value is the *Refusal.
const EventRefused = "refused"

// Refusal is that a server refuses its client.
type Refusal struct {
	// Node is the server, and Seen the last transaction that the client has seen, as the server logged it; 0 where it logged nothing.
	Node lockstep.Node
	Seen Zxid
	// Has is the last transaction of each server, by node-1, of those that serve.
	Has []Zxid
	// Line is what the server logged.
	Line string
}

// Elsewhere are the servers that would take the client, because they have what it has seen.
func (r *Refusal) Elsewhere() (nodes lockstep.Nodes) {
	for i, last := range r.Has {
		if r.Seen != 0 && last >= r.Seen {
			nodes = nodes.With(lockstep.Node(i + 1))
		}
	}
	return nodes
}

// String is the refusal in words.
func (r *Refusal) String() string {
	var has []string
	for i, last := range r.Has {
		has = append(has, fmt.Sprintf("%d has %s", i+1, last))
	}
	text := fmt.Sprintf("server %d refuses its client, which has seen %s, while server %s", r.Node, r.Seen, strings.Join(has, ", "))
	switch where := r.Elsewhere(); {
	case r.Seen == 0:
		text += "; why was not logged"
	case where == 0:
		text += "; no server would take it"
	default:
		text += fmt.Sprintf("; server %s would take it", where)
	}
	if r.Line != "" {
		text += fmt.Sprintf("; it logged %q", r.Line)
	}
	return text
}

var refusing = regexp.MustCompile(`Refusing session.* as it has seen zxid (0x[0-9a-f]+) our last zxid is 0x[0-9a-f]+`)

// lastRefusal finds what a server logged last of a refused session, and what the client had seen.
func lastRefusal(lines []string) (line string, seen Zxid) {
	for _, l := range lines {
		if m := refusing.FindStringSubmatch(l); m != nil {
			line, seen = strings.TrimSpace(l), zxid(m[1])
		}
	}
	return line, seen
}

// refuses reports whether a server refuses its client, and has for long enough, while all of these serve.
func (d *deployment) refuses(ctx context.Context, n lockstep.Node, all lockstep.Nodes) bool {
	if d.clients[n-1].refused() < d.options.Refusal {
		return false
	}
	for m := range all.All() {
		if mode(ctx, d.client[m-1]) == "" {
			return false
		}
	}
	return true
}

// lastLines is how many of the last lines of a log are looked at.
const lastLines = 100

// note tells which clients are refused. In the end they get a new session, which has seen nothing. That
// is a transaction, after which the old one would not be refused any more.
func (d *deployment) note(ctx context.Context, all lockstep.Nodes, out *lockstep.Outbox) (err error) {
	var fresh []lockstep.Node
	for n := range all.All() {
		if !d.refuses(ctx, n, all) {
			continue
		}
		r := &Refusal{Node: n, Has: make([]Zxid, d.options.Nodes)}
		for m := range all.All() {
			_, r.Has[m-1] = status(ctx, d.client[m-1])
		}
		r.Line, r.Seen = lastRefusal(d.Server(n).Log.Last(lastLines))
		out.Event(lockstep.Event{Node: n, Type: EventRefused, Text: r.String(), Value: r})
		fresh = append(fresh, n)
	}
	if !out.Settling() {
		return nil
	}
	for _, n := range fresh { // after all were told
		d.leave(d.clients[n-1])
		if d.clients[n-1], err = newClient(d.client[n-1]); err != nil {
			return err
		}
	}
	return nil
}

// Returns is the promise that when all servers serve again in the end, some server takes each client back. That its own does not, because it has not
// seen as much as the client, is how ZooKeeper works: the client is to try another.
var Returns = spec.New("client-comes-back", func(lockstep.Info) *returns { return &returns{} })

type returns struct {
	refusal *Refusal
	judged  int
}

// Reset begins a new run.
func (q *returns) Reset() { *q = returns{} }

// Judged counts the runs in which all servers came back.
func (q *returns) Judged() int { return q.judged }

// Event notes the first who is refused everywhere in the end.
func (q *returns) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if r, ok := e.Value.(*Refusal); ok && run.Settling() && q.refusal == nil && r.Elsewhere() == 0 {
		q.refusal = r
	}
	return nil
}

// End judges.
func (q *returns) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || run.Up() != trace.AllNodes(run.Info().Nodes) {
		return nil
	}
	q.judged++
	if q.refusal == nil {
		return nil
	}
	return &lockstep.Finding{Text: "after all servers came back, " + q.refusal.String()}
}
