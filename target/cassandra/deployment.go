package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/process/jvm"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is the ring of one worker and its clients. It serves one run after the other, each with a row of its own.
type deployment struct {
	*process.Cluster
	options Cluster
	java    *jvm.JVM

	at, via         []string // addresses where servers listen, and where others believe them to; by node-1
	storage, native string   // their ports, for other servers and for clients
	clients         []*client
	book            book

	runs      int
	made      bool // the table is there
	next, try int  // the transaction that is next, from 0, and the attempt at it, from 1
	open      process.Calls[outcome]
	delivered int  // messages that are to be answered
	told      bool // the row in the end was told
}

// outcome is that of an attempt at a transaction.
type outcome struct {
	applied bool
	err     error
}

// Reset waits until all servers serve, and makes the run's row; servers of the run before are used again.
func (d *deployment) Reset(ctx context.Context, _ uint64, out *lockstep.Outbox) error {
	d.open.Forget()
	d.next, d.try, d.delivered, d.told = 0, 1, 0, false
	d.runs++
	if err := d.Resume(); err != nil {
		return err
	}
	if err := d.steady(ctx); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	d.book.begin(d.row())
	d.Network.Control(!d.options.timed())
	d.offer(out)
	return nil
}

// row is the name of the run's row.
func (d *deployment) row() string { return fmt.Sprint("run", d.runs) }

// steady starts what is due and waits until every server serves clients and has heard of the others.
func (d *deployment) steady(ctx context.Context) error {
	return d.Steady(ctx, trace.AllNodes(nodes), func(ctx context.Context, n lockstep.Node) bool {
		peers, err := d.clients[n-1].query(ctx, "SELECT data_center FROM system.peers", quorum)
		return err == nil && len(peers) == nodes-1
	})
}

// prepare makes the run's row, and the table where there is none, and waits until every server reads it at all of them.
func (d *deployment) prepare(ctx context.Context) error {
	statements := []string{fmt.Sprintf("INSERT INTO lockstep.tests (name, owner) VALUES ('%s', 'user_1')", d.row())}
	if !d.made {
		statements = append([]string{
			fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS lockstep WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}", nodes),
			"CREATE TABLE IF NOT EXISTS lockstep.tests (name text PRIMARY KEY, owner text, value_1 text, value_2 text, value_3 text) WITH " + d.unrepaired()}, statements...)
	}
	return process.Timed(&d.Spent.Working, func() error {
		for _, s := range statements {
			if _, err := d.insist(ctx, 1, s); err != nil {
				return err
			}
		}
		for n := range trace.AllNodes(nodes).All() {
			if _, err := d.insist(ctx, n, d.reading()); err != nil {
				return err
			}
		}
		d.made = true
		return nil
	})
}

// unrepaired is the property of a table whose rows are not brought together when they are read.
func (d *deployment) unrepaired() string {
	if d.options.modern() {
		return "read_repair = 'NONE'"
	}
	return "read_repair_chance = 0 AND dclocal_read_repair_chance = 0"
}

func (d *deployment) reading() string {
	return fmt.Sprintf("SELECT owner, value_1, value_2, value_3 FROM lockstep.tests WHERE name = '%s'", d.row())
}

// insist makes a statement at a server again and again, until all servers have heard of it.
func (d *deployment) insist(ctx context.Context, at lockstep.Node, statement string) (rows []row, err error) {
	err = process.Insist(ctx, d.options.Patience, fmt.Sprintf("cassandra: server %d does not do %q", at, statement), func(ctx context.Context) (err error) {
		rows, err = d.clients[at-1].query(ctx, statement, all)
		return err
	})
	return rows, err
}

// Do performs a step, and waits until all that it causes is seen.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if out.Settling() {
		d.Network.Control(false)
		out.Withdraw(d.request())
	}
	var err error
	switch s.Kind {
	case trace.Request:
		if !d.options.Bounded || !out.Settling() {
			err = d.begin(ctx, s, out)
		}
	case trace.Wait:
		err = d.pass(ctx, time.Duration(s.For), out)
	default:
		if s.Kind == trace.Deliver && out.Message(s.Msg).Tag.Round%2 == 0 {
			d.delivered++
		}
		d.Cluster.Do(s, out)
	}
	if err == nil && !out.Settling() && !d.options.timed() {
		err = process.Timed(&d.Spent.Waiting, func() error { return d.quiet(ctx) })
	}
	d.collect(out)
	return errors.Join(err, d.Look(out))
}

// request is the number of the attempt that is next.
func (d *deployment) request() int32 { return int32(10*(d.next+1) + d.try) }

// offer offers the attempt that is next.
func (d *deployment) offer(out *lockstep.Outbox) {
	if d.next < len(Transactions) && !out.Settling() {
		out.Offer(lockstep.Pending{ID: d.request(), To: trace.NodesOf(lockstep.Node(d.next + 1)), Text: fmt.Sprintf("%s, attempt %d", Transactions[d.next], d.try)})
	}
}

// begin begins an attempt.
func (d *deployment) begin(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if err := d.Launch(); err != nil {
		return err
	}
	id := int(s.Request)
	out.Event(lockstep.Event{Node: s.Node, Type: spec.EventCall, Value: &spec.Call{Client: id, ID: id, Input: operation{transaction: d.next + 1}}})
	c, statement := d.clients[s.Node-1], Transactions[d.next].statement(d.row())
	return d.open.Ask(ctx, id, 0, func(ctx context.Context) (o outcome) {
		ctx, cancel := context.WithTimeout(ctx, d.options.Patience)
		defer cancel()
		var rows []row
		if rows, o.err = c.query(ctx, statement, quorum); o.err == nil && len(rows) == 1 {
			o.applied = rows[0]["[applied]"] == "true"
		}
		return o
	})
}

// collect takes the outcome of an attempt that is over. One that failed is made again, unless it was the last or the client was told that it is decided.
func (d *deployment) collect(out *lockstep.Outbox) {
	d.open.Answers(func(id int, o outcome) {
		at := lockstep.Node(d.next + 1)
		var t *trouble
		if d.try++; o.err == nil || d.try > d.options.Tries || errors.As(o.err, &t) && t.decided() {
			d.next, d.try = d.next+1, 1
		}
		if o.err == nil {
			out.Event(lockstep.Event{Node: at, Type: spec.EventReturn, Value: &spec.Return{Client: id, ID: id, Output: o.applied}})
		}
		d.offer(out)
	})
}

// Bounds of waiting for what a step causes: for messages that should come at once, for those that may come where servers were killed or links cut, and
// how often it is looked.
const (
	soon    = time.Second
	perhaps = 50 * time.Millisecond
	looking = time.Millisecond
)

// quiet waits until nothing happens any more by itself: all answers that are to come are there, and whoever is at work on a transaction
// waits for messages that wait for the engine, or has answered its client. That may take as long as a server waits for a quorum.
func (d *deployment) quiet(ctx context.Context) error {
	begin, bound := time.Now(), soon
	if d.Did()&process.Kinds != 0 {
		bound = perhaps
	}
	for {
		whole, answers := d.book.whole()
		passed := time.Since(begin)
		switch {
		case (!d.open.Busy() || d.Network.Waiting() > 0) && (whole && answers >= d.delivered || passed > bound):
			return nil
		case passed > 2*contention*d.options.Timeout+soon:
			return nil
		}
		if err := process.Pass(ctx, looking); err != nil {
			return err
		}
	}
}

// pass lets time pass, where nothing is under way or a round is a stretch of time. In the end what is under way ends, all servers come back, and the row is read.
func (d *deployment) pass(ctx context.Context, pace time.Duration, out *lockstep.Outbox) error {
	if err := d.Launch(); err != nil {
		return err
	}
	switch {
	case out.Settling():
		return process.Timed(&d.Spent.Working, func() error { return d.look(ctx, out) })
	case !d.open.Busy() && d.next == len(Transactions), d.open.Busy() && !d.options.timed():
		return nil
	default:
		return process.Timed(&d.Spent.Waiting, func() error { return process.Pass(ctx, pace) })
	}
}

// look tells the row in the end, as all servers together have it.
func (d *deployment) look(ctx context.Context, out *lockstep.Outbox) error {
	if d.told {
		return nil
	}
	for d.open.Busy() {
		if err := process.Pass(ctx, looking); err != nil {
			return err
		}
	}
	d.collect(out)
	if d.Did()&process.Kinds != 0 {
		if err := d.steady(ctx); err != nil {
			return err
		}
	}
	rows, err := d.insist(ctx, 1, d.reading())
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return fmt.Errorf("cassandra: %d rows are called %s", len(rows), d.row())
	}
	var has Row
	for i := range has {
		has[i] = rows[0][fmt.Sprint("value_", i+1)]
	}
	const reader = 1000
	out.Event(lockstep.Event{Type: spec.EventCall, Value: &spec.Call{Client: reader, ID: reader, Input: operation{}}})
	out.Event(lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: reader, ID: reader, Output: has}})
	out.Event(lockstep.Event{Type: EventRow, Text: has.String(), Value: has})
	out.Event(d.Spent.Event())
	d.told = true
	return nil
}

// Abilities are none beyond the steps.
func (d *deployment) Abilities() lockstep.Abilities { return lockstep.Abilities{} }

// Close ends clients and servers.
func (d *deployment) Close() error {
	d.open.Forget()
	for _, c := range d.clients {
		c.close()
	}
	return d.Cluster.Close()
}
