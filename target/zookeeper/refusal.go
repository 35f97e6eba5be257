package zookeeper

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
)

// A server refuses a client that has seen more than it has, and tells it to try another. That one can be refused for as long as nobody writes
// comes from what a leader tells: its last transaction is the beginning of its epoch, which stands in no log. When the server of the client comes
// back and follows, and there was nothing that the leader had to send it, its last is an earlier one.
//
// As in the paper's tests, clients then change servers, so that each server has one still. Where that cannot be, a client is dropped: two
// have seen the beginnings of epochs, and only the one who leads has a later one.

// Zxid is the number of a transaction: an epoch, and a count in its lower half.
type Zxid uint64

// String is the number as servers write it.
func (z Zxid) String() string { return fmt.Sprintf("0x%x", uint64(z)) }

// zxid reads a number as servers write it, or is 0.
func zxid(text string) Zxid {
	z, _ := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	return Zxid(z)
}

// The types of events that tell of clients that are not served: that a server has refused a client for long, of which the value is a *Refusal; and that clients
// cannot be given servers that all take them, of which it is the *Dropped.
const (
	EventRefused = "refused"
	EventDropped = "dropped"
)

// Refusal is that a server refuses a client.
type Refusal struct {
	// Node is the server, and Client the one that it refuses.
	Node   lockstep.Node
	Client int
	// Seen is the last transaction that the client has seen, as the server logged it; 0 where it logged nothing. Line is what it logged.
	Seen Zxid
	Line string
}

// String is the refusal in words.
func (r *Refusal) String() string {
	if r.Line == "" {
		return fmt.Sprintf("server %d refuses client %d, and does not log why", r.Node, r.Client)
	}
	return fmt.Sprintf("server %d refuses client %d and logs %q", r.Node, r.Client, r.Line)
}

// Dropped is that clients cannot be given servers that all take them.
type Dropped struct {
	// Refusals are those because of which it cannot be.
	Refusals []*Refusal
	// Has is the last transaction of each server, by node-1, of those that serve.
	Has []Zxid
}

// String is the drop in words.
func (d *Dropped) String() string {
	var has, seen, why []string
	for i, last := range d.Has {
		has = append(has, fmt.Sprintf("server %d has %s", i+1, last))
	}
	for _, r := range d.Refusals {
		seen = append(seen, fmt.Sprintf("client %d has seen %s", r.Client, r.Seen))
		why = append(why, r.String())
	}
	slices.Sort(seen)
	slices.Sort(why)
	return fmt.Sprintf("a client is left over: %s; %s; %s", strings.Join(has, ", "), strings.Join(slices.Compact(seen), ", "), strings.Join(why, "; "))
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

// seats are who speaks to whom, by server, from 0: the client, from 0.
type seats []int

// without gives the servers clients so that no pair is a bad one, and reports false where that cannot be. It changes no more than it has
// to.
func (s seats) without(bad func(client, server int) bool) (seats, bool) {
	to := make([]int, len(s)) // by client: the server, or -1
	for i := range to {
		to[i] = -1
	}
	for server, client := range s {
		if !bad(client, server) {
			to[client] = server
		}
	}
	var seat func(server int, asked map[int]bool) bool
	seat = func(server int, asked map[int]bool) bool {
		for client := range to {
			if bad(client, server) || asked[client] {
				continue
			}
			if asked[client] = true; to[client] < 0 || seat(to[client], asked) {
				to[client] = server
				return true
			}
		}
		return false
	}
	for server, client := range s {
		if to[client] != server && bad(client, server) && !seat(server, map[int]bool{}) {
			return s, false
		}
	}
	next := make(seats, len(s))
	for client, server := range to {
		next[server] = client
	}
	return next, true
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

// answers reports whether a server serves its client, or refuses it, while all of these serve.
func (d *deployment) answers(ctx context.Context, n lockstep.Node, all lockstep.Nodes) bool {
	return d.clients[n-1].connected() || d.refuses(ctx, n, all)
}

// lastLines is how many of the last lines of a log are looked at.
const lastLines = 100

// refused tells which of these servers refuse their clients, and what servers have.
func (d *deployment) refused(ctx context.Context, all lockstep.Nodes) (refusals []*Refusal, has []Zxid) {
	has = make([]Zxid, len(d.clients))
	for n := range all.All() {
		_, has[n-1] = status(ctx, d.client[n-1])
		if d.refuses(ctx, n, all) {
			r := &Refusal{Node: n, Client: d.clients[n-1].number}
			r.Line, r.Seen = lastRefusal(d.Server(n).Log.Last(lastLines))
			refusals = append(refusals, r)
		}
	}
	return refusals, has
}

// reseat lets clients that are refused change servers with others until all of these servers serve one. Where that cannot be, it is told, and in the end those that are
// left over get new sessions, which have seen nothing. That is a transaction, after which the old ones would not be refused any more.
func (d *deployment) reseat(ctx context.Context, all lockstep.Nodes, out *lockstep.Outbox) error {
	var so []*Refusal // far
	for {
		refusals, has := d.refused(ctx, all)
		if len(refusals) == 0 {
			return nil
		}
		for _, r := range refusals {
			out.Event(lockstep.Event{Node: r.Node, Type: EventRefused, Text: r.String(), Value: r})
		}
		so = append(so, refusals...)
		next, can := d.seats().without(func(client, server int) bool { return bad(so, has, client+1, lockstep.Node(server+1)) })
		if !can {
			drop := &Dropped{so, has}
			out.Event(lockstep.Event{Type: EventDropped, Text: drop.String(), Value: drop})
			return d.renew(refusals, out)
		}
		d.seat(next)
		if err := d.Await(ctx, all, d.Patience, func(ctx context.Context, n lockstep.Node) bool { return d.answers(ctx, n, all) }); err != nil {
			return err
		}
	}
}

// bad reports whether a server has refused a client, or would, because it has less than the client has seen. What a server has that does not serve is
// not known.
func bad(refusals []*Refusal, has []Zxid, client int, server lockstep.Node) bool {
	for _, r := range refusals {
		if last := has[server-1]; r.Client == client && (r.Node == server || last != 0 && last < r.Seen) {
			return true
		}
	}
	return false
}

// seats are who speaks to whom now.
func (d *deployment) seats() (s seats) {
	for _, c := range d.clients {
		s = append(s, c.number-1)
	}
	return s
}

// seat lets clients change servers.
func (d *deployment) seat(next seats) {
	clients := make([]*client, len(d.clients)) // by number
	for _, c := range d.clients {
		clients[c.number-1] = c
	}
	for server, number := range next {
		c := clients[number]
		if d.clients[server] = c; c.at() != d.client[server] {
			c.move(d.client[server])
		}
	}
}

// renew gives clients that are refused in the end new sessions.
func (d *deployment) renew(refusals []*Refusal, out *lockstep.Outbox) (err error) {
	for _, r := range refusals {
		if !out.Settling() {
			return nil
		}
		d.leave(d.clients[r.Node-1])
		if d.clients[r.Node-1], err = newClient(r.Client, d.client[r.Node-1]); err != nil {
			return err
		}
	}
	return nil
}
