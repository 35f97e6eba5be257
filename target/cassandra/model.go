package cassandra

import (
	"context"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// modelled is a model of Cassandra 2.0.0 with the change of CASSANDRA-5985 for the paper's transactions, derived from
// its source. The same steps must lead to the same row as in the servers. The model takes no time, so that it shows how
// often a strategy finds the defect.
type modelled struct{ Cluster }

// Describe returns the servers' description, except that runs are deterministic.
func (m modelled) Describe() (lockstep.Info, error) {
	info, err := m.Cluster.Describe()
	info.Determinism, info.Supports = lockstep.Deterministic, trace.KindsOf(trace.Deliver, trace.Drop, trace.Request,
		trace.Wait)
	return info, err
}

// Deploy creates a ring.
func (m modelled) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &ring{options: target.Fill(m.Cluster)}, nil
}

// replica is a server's state of the row. It has one ballot for promised and accepted, the accepted update, the last
// commit, and the data with the ballots that wrote them.
type replica struct {
	ballot, update, committed int32
	data                      Row
	times                     [3]int32
}

// ring is three replicas and the pending attempt.
type ring struct {
	options  Cluster
	replicas [nodes]replica
	next     int
	try      int
	ballot   int32
	reported bool

	// Of the pending attempt.
	busy     bool
	at       lockstep.Node
	round    int32
	answers  int
	seen     replica // the latest state of the servers that promised
	proposal int32   // the proposed update, by its transaction
	mine     bool    // it is the attempt's own
	bodies   map[trace.ID]letter
}

// letter is a message: its content, and the request that it answers.
type letter struct {
	round, ballot, update int32
	has                   replica
}

func (r *ring) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (r *ring) Close() error                        { return nil }

func (r *ring) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	*r = ring{options: r.options, try: 1, bodies: map[trace.ID]letter{}}
	r.offer(out)
	return nil
}

func (r *ring) offer(out *lockstep.Outbox) {
	if r.next < len(Transactions) && !out.Settling() {
		out.Offer(trace.Pending{ID: r.id(), To: trace.NodesOf(lockstep.Node(r.next + 1)), Text: "attempt"})
	}
}

func (r *ring) id() int32 { return int32(10*(r.next+1) + r.try) }

// Do performs a step and gives up if no more messages can come.
func (r *ring) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if out.Settling() {
		out.Withdraw(r.id())
	}
	switch s.Kind {
	case trace.Request:
		if r.options.Bounded && out.Settling() {
			return nil
		}
		r.busy, r.at = true, s.Node
		out.Event(
			lockstep.Event{
				Type:  spec.EventCall,
				Node:  s.Node,
				Value: &spec.Call{Client: int(s.Request), ID: int(s.Request), Input: operation{r.next + 1}},
			},
		)
		r.prepare(out)
	case trace.Deliver:
		m := out.Message(s.Msg)
		r.deliver(m.From, m.To, r.bodies[m.Body], out)
	case trace.Wait:
		if out.Settling() && out.InFlight() == 0 && !r.reported {
			r.observe(out)
		}
	}
	if r.busy && out.InFlight() == 0 {
		// the server gives up; if only commits are missing, the client learns that its transaction is decided
		r.end(out, false, r.round >= committed)
	}
	return nil
}

// prepare begins a ballot.
func (r *ring) prepare(out *lockstep.Outbox) {
	r.ballot++
	r.seen, r.proposal = replica{}, 0
	r.send(prepared, out)
}

// send sends a round of the attempt to all servers. The coordinator itself responds at once.
func (r *ring) send(round int32, out *lockstep.Outbox) {
	r.round, r.answers = round, 0
	l := letter{round: round, ballot: r.ballot, update: r.proposal}
	for n := range trace.AllNodes(nodes).Without(r.at).All() {
		r.post(r.at, n, l, out)
	}
	r.answer(r.handle(r.at, l), out)
}

func (r *ring) post(from, to lockstep.Node, l letter, out *lockstep.Outbox) {
	r.bodies[out.Send(from, to, Types[l.round], trace.Tag{Phase: l.ballot, Round: l.round})] = l
}

func (r *ring) deliver(from, to lockstep.Node, l letter, out *lockstep.Outbox) {
	if l.round%2 == 0 {
		r.post(to, from, r.handle(to, l), out)
	} else if r.busy && r.at == to && l.ballot == r.ballot && l.round == r.round+1 {
		r.answer(l, out)
	}
}

// handle handles a request at a server. It never refuses: no ballot is prepared while another is in use.
func (r *ring) handle(n lockstep.Node, l letter) letter {
	has := &r.replicas[n-1]
	answer := letter{round: l.round + 1, ballot: l.ballot, has: *has}
	switch l.round {
	case prepared:
		has.ballot = max(has.ballot, l.ballot)
	case proposed:
		has.ballot, has.update = l.ballot, l.update
	case committed:
		has.write(Transactions[l.update-1].Set, [3]int32{l.ballot, l.ballot, l.ballot})
		has.committed = max(has.committed, l.ballot)
		if has.ballot <= l.ballot {
			has.ballot, has.update = l.ballot, 0
		}
	}
	return answer
}

func (r *replica) write(values Row, times [3]int32) {
	for i, v := range values {
		if v != "" && times[i] >= r.times[i] {
			r.data[i], r.times[i] = v, times[i]
		}
	}
}

// answer counts a response, and continues when there are two.
func (r *ring) answer(l letter, out *lockstep.Outbox) {
	if l.round == promised && r.answers < 2 {
		r.seen.committed = max(r.seen.committed, l.has.committed)
		if l.has.ballot > r.seen.ballot {
			r.seen.ballot, r.seen.update = l.has.ballot, l.has.update
		}
	}
	if r.answers++; r.answers != 2 {
		return
	}
	own := int32(r.next + 1)
	switch l.round {
	case promised:
		r.mine = r.seen.update == 0 || r.seen.ballot <= r.seen.committed
		if r.proposal = r.seen.update; r.mine {
			r.proposal = own
		}
		if r.mine && !r.holds(own) {
			r.end(out, true, false)
			return
		}
		r.send(proposed, out)
	case accepted:
		r.send(committed, out)
	case acknowledged:
		if r.mine {
			r.end(out, true, true)
		} else {
			r.prepare(out)
		}
	}
}

// holds reads value_1 at servers 1 and 2, which repairs it there.
func (r *ring) holds(transaction int32) bool {
	t := Transactions[transaction-1]
	if t.If == "" {
		return true
	}
	a, b := &r.replicas[0], &r.replicas[1]
	if b.times[0] > a.times[0] {
		a, b = b, a
	}
	b.write(Row{a.data[0]}, a.times)
	return a.data[0] == t.If
}

// end ends an attempt. With answered, yes is whether it was applied; otherwise, whether it was decided.
func (r *ring) end(out *lockstep.Outbox, answered, yes bool) {
	id := int(r.id())
	if answered {
		out.Event(lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: id, ID: id, Output: yes}})
	}
	r.busy = false
	if r.try++; answered || yes || r.try > r.options.Attempts {
		r.next, r.try = r.next+1, 1
	}
	r.offer(out)
}

func (r *ring) observe(out *lockstep.Outbox) {
	all := replica{}
	for _, has := range r.replicas {
		all.write(has.data, has.times)
	}
	out.Event(lockstep.Event{Type: spec.EventCall, Value: &spec.Call{Client: 1000, ID: 1000, Input: operation{}}})
	out.Event(lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: 1000, ID: 1000, Output: all.data}})
	out.Event(lockstep.Event{Type: EventRow, Text: all.data.String(), Value: all.data})
	r.reported = true
}

// modelSettle is longer than Settle: the engine controls the model's messages to the end.
const modelSettle = 60
