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

// deployment is the ring of one worker and its clients. It serves one run after the other, each with a separate row.
type deployment struct {
	*process.Deployment
	options Cluster
	java    *jvm.JVM

	at, via         []string // addresses where servers listen, and where others reach them; by node-1
	storage, native string   // their ports, for other servers and for clients
	clients         []*client
	tracker         tracker

	runs      int
	made      bool // the table exists
	next, try int  // the next transaction, from 0, and the attempt at it, from 1
	delivered int  // delivered messages that expect a response
	reported  bool // the final row was reported
}

// deploy fetches a version and creates the links.
func (c Cluster) deploy(ctx context.Context, servers *process.Deployment) (process.Driver, error) {
	java, err := prepare(ctx, c)
	if err != nil {
		return process.Driver{}, err
	}
	d := &deployment{Deployment: servers, options: c, java: java}
	driver := process.Driver{
		Reset:       d.reset,
		Command:     d.write,
		Ready:       d.ready,
		Begin:       d.begin,
		Before:      d.before,
		Request:     d.ask,
		MustBeReady: func(*lockstep.Outbox) lockstep.Nodes { return 0 },
		Advance:     d.pass,
		Inspect:     d.inspect,
		Log:         relevant,
		Close:       d.close,
	}
	if !c.timed() {
		driver.Quiesce = d.quiesce
	}
	return driver, d.wire()
}

// reset gives the run a separate row.
func (d *deployment) reset() error {
	d.next, d.try, d.delivered, d.reported = 0, 1, 0, false
	d.runs++
	return nil
}

// begin creates the row.
func (d *deployment) begin(ctx context.Context, out *lockstep.Outbox) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	d.tracker.begin(d.row())
	d.offer(out)
	return nil
}

// row returns the name of the run's row.
func (d *deployment) row() string { return fmt.Sprint("run", d.runs) }

// ready reports whether a server serves clients and has discovered the others.
func (d *deployment) ready(ctx context.Context, n lockstep.Node, _ lockstep.Nodes) bool {
	peers, err := d.clients[n-1].query(ctx, "SELECT data_center FROM system.peers", quorum)
	return err == nil && len(peers) == nodes-1
}

// prepare creates the run's row, and the table if it is missing, and waits until every server reads the row at all of
// them.
func (d *deployment) prepare(ctx context.Context) error {
	statements := []string{fmt.Sprintf("INSERT INTO lockstep.tests (name, owner) VALUES ('%s', 'user_1')", d.row())}
	if !d.made {
		statements = append([]string{
			fmt.Sprintf(
				"CREATE KEYSPACE IF NOT EXISTS lockstep WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}",
				nodes,
			),
			"CREATE TABLE IF NOT EXISTS lockstep.tests (name text PRIMARY KEY, owner text, value_1 text, value_2 text, " +
				"value_3 text) WITH " +
				d.unrepaired()}, statements...)
	}
	return process.Timed(&d.Spent.Working, func() error {
		for _, s := range statements {
			if _, err := d.retry(ctx, 1, s); err != nil {
				return err
			}
		}
		for n := range trace.AllNodes(nodes).All() {
			if _, err := d.retry(ctx, n, d.reading()); err != nil {
				return err
			}
		}
		d.made = true
		return nil
	})
}

// unrepaired returns the property of a table that disables read repair.
func (d *deployment) unrepaired() string {
	if d.options.modern() {
		return "read_repair = 'NONE'"
	}
	return "read_repair_chance = 0 AND dclocal_read_repair_chance = 0"
}

func (d *deployment) reading() string {
	return fmt.Sprintf("SELECT owner, value_1, value_2, value_3 FROM lockstep.tests WHERE name = '%s'", d.row())
}

// retry executes a statement at a server until all servers have acknowledged it.
func (d *deployment) retry(ctx context.Context, at lockstep.Node, statement string) (rows []row, err error) {
	err = process.Retry(
		ctx,
		d.options.StartTimeout,
		fmt.Sprintf("cassandra: server %d does not do %q", at, statement),
		func(ctx context.Context) (err error) {
			rows, err = d.clients[at-1].query(ctx, statement, all)
			return err
		},
	)
	return rows, err
}

// before counts the messages that expect a response. In the settling stage it offers no more attempts.
func (d *deployment) before(s *lockstep.Step, out *lockstep.Outbox) {
	if out.Settling() {
		out.Withdraw(d.request())
	}
	if s.Kind == trace.Deliver && out.Message(s.Msg).Tag.Round%2 == 0 {
		d.delivered++
	}
}

// request returns the number of the next attempt.
func (d *deployment) request() int32 { return int32(10*(d.next+1) + d.try) }

// offer offers the next attempt.
func (d *deployment) offer(out *lockstep.Outbox) {
	if d.next < len(Transactions) && !out.Settling() {
		out.Offer(
			trace.Pending{
				ID:   d.request(),
				To:   trace.NodesOf(lockstep.Node(d.next + 1)),
				Text: fmt.Sprintf("%s, attempt %d", Transactions[d.next], d.try),
			},
		)
	}
}

// ask begins an attempt.
func (d *deployment) ask(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if d.options.Bounded && out.Settling() {
		return nil
	}
	if err := d.StartDue(); err != nil {
		return err
	}
	id := int(s.Request)
	out.Event(
		lockstep.Event{
			Node:  s.Node,
			Type:  spec.EventCall,
			Value: &spec.Call{Client: id, ID: id, Input: operation{transaction: d.next + 1}},
		},
	)
	c, statement := d.clients[s.Node-1], Transactions[d.next].statement(d.row())
	return d.StartCall(ctx, id, 0, func(ctx context.Context) func(*lockstep.Outbox) {
		ctx, cancel := context.WithTimeout(ctx, d.options.StartTimeout)
		defer cancel()
		rows, err := c.query(ctx, statement, quorum)
		applied := err == nil && len(rows) == 1 && rows[0]["[applied]"] == "true"
		return func(out *lockstep.Outbox) { d.learn(id, applied, err, out) }
	})
}

// learn records the outcome of an attempt. A failed attempt is retried, unless it was the last or the server reported
// the transaction as decided.
func (d *deployment) learn(id int, applied bool, err error, out *lockstep.Outbox) {
	at := lockstep.Node(d.next + 1)
	var t *trouble
	if d.try++; err == nil || d.try > d.options.Attempts || errors.As(err, &t) && t.decided() {
		d.next, d.try = d.next+1, 1
	}
	if err == nil {
		out.Event(
			lockstep.Event{Node: at, Type: spec.EventReturn, Value: &spec.Return{Client: id, ID: id, Output: applied}})
	}
	d.offer(out)
}

// soon bounds the wait for messages that should come at once. perhaps bounds it after servers were killed or links cut,
// when messages may be missing. looking is the polling interval.
const (
	soon    = time.Second
	perhaps = 50 * time.Millisecond
	looking = time.Millisecond
)

// quiesce waits until the ring is quiescent. All expected responses have arrived. The server that works on a
// transaction waits for messages that the engine holds, or has answered its client. That may take as long as a
// server waits for a quorum.
func (d *deployment) quiesce(ctx context.Context, _ *lockstep.Step) error {
	begin, bound := time.Now(), soon
	if d.KindsSinceReady()&process.Kinds != 0 {
		bound = perhaps
	}
	for {
		whole, answers := d.tracker.whole()
		passed := time.Since(begin)
		switch {
		case (!d.Busy() || d.Network.Waiting() > 0) && (whole && answers >= d.delivered || passed > bound):
			return nil
		case passed > 2*contention*d.options.Timeout+soon:
			return nil
		}
		if err := process.Sleep(ctx, looking); err != nil {
			return err
		}
	}
}

// pass lets time pass, if no transaction is pending or a round is a period of time.
func (d *deployment) pass(ctx context.Context, pace time.Duration, _ lockstep.Nodes, out *lockstep.Outbox) error {
	if out.Settling() || !d.Busy() && d.next == len(Transactions) || d.Busy() && !d.options.timed() {
		return nil
	}
	return process.Sleep(ctx, pace)
}

// inspect reads the final row at consistency ALL, when pending operations have ended and all servers are back.
func (d *deployment) inspect(ctx context.Context, out *lockstep.Outbox) error {
	if d.reported {
		return nil
	}
	for d.Busy() {
		if err := process.Sleep(ctx, looking); err != nil {
			return err
		}
	}
	d.Collect(out)
	if d.KindsSinceReady()&process.Kinds != 0 {
		all := trace.AllNodes(nodes)
		if err := d.StartAndAwait(ctx, all,
			func(ctx context.Context, n lockstep.Node) bool { return d.ready(ctx, n, all) }); err != nil {
			return err
		}
	}
	rows, err := d.retry(ctx, 1, d.reading())
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return fmt.Errorf("cassandra: %d rows are named %s", len(rows), d.row())
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
	d.reported = true
	return nil
}

// close ends the clients.
func (d *deployment) close() {
	for _, c := range d.clients {
		c.close()
	}
}
