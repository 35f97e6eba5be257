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

// A server refuses a client that has seen a later transaction than it has, so that the client connects to another
// server. A server can refuse a client for as long as no client writes. The cause is the leader's last transaction:
// the beginning of its epoch, which is in no log. When the server of the client comes back and follows, and needs no
// data from the leader, its last transaction is an earlier one.
//
// As in the paper's tests, clients then change servers, so that each server still has one. If that is impossible, a
// client is dropped: two have seen the beginnings of epochs, and only the leader has a later one.

// Zxid is the number of a transaction: an epoch, and a count in its lower half.
type Zxid uint64

// String returns the number as servers write it.
func (z Zxid) String() string { return fmt.Sprintf("0x%x", uint64(z)) }

// zxid parses a number as servers write it, or returns 0.
func zxid(text string) Zxid {
	z, _ := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	return Zxid(z)
}

// The types of events about clients that are not served. One reports that a server has refused a client for long; its
// value is a *Refusal. The other reports that no assignment of clients to servers is accepted by all; its value is a
// *Dropped.
const (
	EventRefused = "refused"
	EventDropped = "dropped"
)

// Refusal is the refusal of a client by a server.
type Refusal struct {
	// Node is the server, and Client the client that it refuses.
	Node   lockstep.Node
	Client int
	// Seen is the last transaction that the client has seen, as the server logged it; 0 if it logged nothing. Line is
	// that log line.
	Seen Zxid
	Line string
}

// String returns the refusal as text.
func (r *Refusal) String() string {
	if r.Line == "" {
		return fmt.Sprintf("server %d refuses client %d, and does not log why", r.Node, r.Client)
	}
	return fmt.Sprintf("server %d refuses client %d and logs %q", r.Node, r.Client, r.Line)
}

// Dropped reports that no assignment of clients to servers is accepted by all.
type Dropped struct {
	// Refusals are the cause.
	Refusals []*Refusal
	// Has is the last transaction of each serving server, by node-1.
	Has []Zxid
}

// String returns the drop as text.
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
	return fmt.Sprintf("a client is left over: %s; %s; %s", strings.Join(has, ", "),
		strings.Join(slices.Compact(seen), ", "), strings.Join(why, "; "))
}

var refusing = regexp.MustCompile(`Refusing session.* as it has seen zxid (0x[0-9a-f]+) our last zxid is 0x[0-9a-f]+`)

// lastRefusal finds the last log line about a refused session, and what the client had seen.
func lastRefusal(lines []string) (line string, seen Zxid) {
	for _, l := range lines {
		if m := refusing.FindStringSubmatch(l); m != nil {
			line, seen = strings.TrimSpace(l), zxid(m[1])
		}
	}
	return line, seen
}

// seats assigns clients to servers: by server, from 0, the client, from 0.
type seats []int

// without returns an assignment of clients to servers without a bad pair, and reports false if there is none. It
// changes no more than necessary.
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

// refuses reports whether a server has refused its client for long enough, while all given servers serve.
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

// answers reports whether a server serves its client, or refuses it, while all given servers serve.
func (d *deployment) answers(ctx context.Context, n lockstep.Node, all lockstep.Nodes) bool {
	return d.clients[n-1].connected() || d.refuses(ctx, n, all)
}

// lastLines is the number of log lines that are searched, from the end.
const lastLines = 100

// refused returns the refusals by the given servers, and the last transactions of servers.
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

// reseat makes refused clients change servers with others until each of the given servers serves one. If that is
// impossible, it reports so, and in the end the remaining clients get new sessions, which have seen nothing. A new
// session is a transaction, after which the old ones would no longer be refused.
func (d *deployment) reseat(ctx context.Context, all lockstep.Nodes, out *lockstep.Outbox) error {
	var so []*Refusal // so far
	for {
		refusals, has := d.refused(ctx, all)
		if len(refusals) == 0 {
			return nil
		}
		for _, r := range refusals {
			out.Event(lockstep.Event{Node: r.Node, Type: EventRefused, Text: r.String(), Value: r})
		}
		so = append(so, refusals...)
		next, can := d.seats().
			without(func(client, server int) bool { return bad(so, has, client+1, lockstep.Node(server+1)) })
		if !can {
			drop := &Dropped{so, has}
			out.Event(lockstep.Event{Type: EventDropped, Text: drop.String(), Value: drop})
			return d.renew(refusals, out)
		}
		d.seat(next)
		if err := d.Await(ctx, all, d.StartTimeout,
			func(ctx context.Context, n lockstep.Node) bool { return d.answers(ctx, n, all) }); err != nil {
			return err
		}
	}
}

// bad reports whether a server has refused a client, or would, because its last transaction is earlier than what the
// client has seen. The state of a server that does not serve is unknown.
func bad(refusals []*Refusal, has []Zxid, client int, server lockstep.Node) bool {
	for _, r := range refusals {
		if last := has[server-1]; r.Client == client && (r.Node == server || last != 0 && last < r.Seen) {
			return true
		}
	}
	return false
}

// seats returns the current assignment.
func (d *deployment) seats() (s seats) {
	for _, c := range d.clients {
		s = append(s, c.number-1)
	}
	return s
}

// seat makes clients change servers.
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

// renew gives clients that are finally refused new sessions.
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
