package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/process/jvm"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is the servers of one worker and their clients.
type deployment struct {
	*process.Deployment
	options Cluster
	java    *jvm.JVM

	client           []string   // addresses, by node-1
	quorum, election [][]string // addresses by node-1, as each server uses them, by node-1

	clients []*client      // by node-1, of the server that each is connected to
	parting sync.WaitGroup // clients of earlier runs
	harness Harness
	waits   int  // time steps so far
	fresh   bool // servers started since the last of them

	has      []Data // by node-1, as read last
	same     bool   // all had the same
	reported bool   // the final reads are in the history
}

// deploy creates the links, for servers of a JVM.
func (c Cluster) deploy(servers *process.Deployment, java *jvm.JVM) (process.Driver, error) {
	d := &deployment{Deployment: servers, options: c, java: java}
	driver := process.Driver{
		Stop:        d.stop,
		Reset:       d.reset,
		Command:     d.write,
		Ready:       d.answers,
		Begin:       d.begin,
		Before:      d.before,
		Request:     d.request,
		MustBeReady: d.agree,
		Advance:     d.pass,
		Inspect:     d.inspect,
		Log:         relevant,
		Close:       d.parting.Wait,
		Role:        func(ctx context.Context, n lockstep.Node) string { return mode(ctx, d.client[n-1]) },
	}
	if c.Light {
		driver.Quiesce = d.quiesce
	}
	return driver, d.wire()
}

// reset creates a client for each server.
func (d *deployment) reset() error {
	d.harness, d.waits, d.fresh, d.same, d.reported = d.options.harness(d.Seed), 0, true, false, false
	d.has = make([]Data, d.options.Nodes)
	for i, address := range d.client {
		c, err := newClient(i+1, address)
		if err != nil {
			return err
		}
		d.clients = append(d.clients, c)
	}
	return nil
}

// begin creates the keys.
func (d *deployment) begin(ctx context.Context, out *lockstep.Outbox) error {
	if d.options.free() {
		for i := range d.harness {
			d.offer(i, out)
		}
	}
	return process.Timed(&d.Spent.Working, func() error {
		if err := d.clients[0].create(); err != nil {
			return process.Inconclusive(fmt.Errorf("zookeeper: creating the keys failed: %w", err))
		}
		return d.Await(
			ctx,
			trace.AllNodes(d.options.Nodes),
			d.StartTimeout,
			func(ctx context.Context, n lockstep.Node) bool {
				_, err := d.clients[n-1].readAll(ctx)
				return err == nil
			},
		)
	})
}

// silence is how long no message must travel between servers before they count as quiescent.
const silence = 20 * time.Millisecond

// stop ends the clients of a run.
func (d *deployment) stop() {
	for _, c := range d.clients {
		d.leave(c)
	}
	d.clients = nil
}

// leave ends a client, without waiting.
func (d *deployment) leave(c *client) {
	c.close()
	d.parting.Go(c.gone.Wait)
}

// before records that a server will start.
func (d *deployment) before(s *lockstep.Step, _ *lockstep.Outbox) {
	d.fresh = d.fresh || s.Kind == trace.Restart
}

// quiesce waits until no message travels between servers.
func (d *deployment) quiesce(ctx context.Context, s *lockstep.Step) error {
	if s.Kind == trace.Wait {
		return nil
	}
	return d.Network.AwaitIdle(ctx, silence)
}

// agree returns the nodes that must serve before time passes.
func (d *deployment) agree(out *lockstep.Outbox) lockstep.Nodes {
	if d.options.free() && !out.Settling() {
		return 0
	}
	return d.MustBeReady(out)
}

// pass lets time pass. Before that, refused clients change servers.
func (d *deployment) pass(ctx context.Context, pace time.Duration, agreed lockstep.Nodes, out *lockstep.Outbox) error {
	if err := d.reseat(ctx, agreed, out); err != nil {
		return err
	}
	if !d.ended(out) {
		if err := process.Sleep(ctx, pace); err != nil {
			return err
		}
	}
	d.fresh = false
	if !out.Settling() {
		d.next(out)
	}
	return nil
}

// ended reports whether the step need not wait. As in the paper, a step in which servers start ends when they serve,
// and an empty step consists of that alone. A run is over when all servers have reported the same data twice.
func (d *deployment) ended(out *lockstep.Outbox) bool {
	switch {
	case d.options.free() && !out.Settling():
		return false
	case out.Settling():
		return d.reported
	case d.waits%2 == 0:
		return d.fresh
	default:
		return d.waits/2 < len(d.harness) && d.harness[d.waits/2].Node == 0
	}
}

// next offers the request of a harness step after its first time step, and withdraws it after the second.
func (d *deployment) next(out *lockstep.Outbox) {
	d.waits++
	step := (d.waits - 1) / 2
	switch {
	case d.options.free() || step >= len(d.harness):
	case d.waits%2 == 1:
		d.offer(step, out)
	default:
		out.Withdraw(int32(step + 1))
	}
}

// offer offers the request of a harness step, if it has one.
func (d *deployment) offer(step int, out *lockstep.Outbox) {
	if a := d.harness[step]; a.Node != 0 {
		out.Offer(trace.Pending{ID: int32(step + 1), To: trace.NodesOf(lockstep.Node(a.Node)), Text: a.String()})
	}
}

// request makes the client of a server act, and does not wait for it. Without a session it does nothing.
func (d *deployment) request(_ context.Context, s *lockstep.Step, _ *lockstep.Outbox) error {
	a, id := d.harness[s.Request-1], int(s.Request)
	c := d.clients[a.Node-1]
	if !c.connected() {
		return nil
	}
	h := hearing{d.Report, lockstep.Node(a.Node), c.number}
	c.gone.Go(func() {
		if a.If {
			h.call(2*id, operation{kind: read, key: a.Other})
			is, err := c.read(a.Other)
			if err != nil {
				return
			}
			h.answer(2*id, is)
			if is != a.Has {
				return
			}
		}
		h.call(2*id+1, operation{kind: write, key: a.Key, arg: a.Value})
		if err := c.write(a.Key, a.Value); err == nil {
			h.answer(2*id+1, "done")
		}
	})
	return nil
}

// hearing reports the operations and results of one client.
type hearing struct {
	report func(lockstep.Event)
	node   lockstep.Node
	client int
}

func (h hearing) call(id int, op operation) {
	h.report(lockstep.Event{Node: h.node, Type: spec.EventCall, Value: &spec.Call{Client: h.client, ID: id, Input: op}})
}

func (h hearing) answer(id int, output any) {
	h.report(
		lockstep.Event{
			Node:  h.node,
			Type:  spec.EventReturn,
			Value: &spec.Return{Client: h.client, ID: id, Output: output},
		},
	)
}

// inspect reads all keys at every server, which may first have to accept its client again. When all servers have the
// same data in two consecutive calls, the reads become the clients' last operations.
func (d *deployment) inspect(ctx context.Context, out *lockstep.Outbox) error {
	before, equal := d.has[0], true
	all, lost, refused := trace.AllNodes(d.options.Nodes), make([]error, len(d.clients)), make([]bool, len(d.clients))
	err := d.Await(ctx, all, d.StartTimeout, func(ctx context.Context, n lockstep.Node) bool {
		if refused[n-1] = d.refuses(ctx, n, all); refused[n-1] {
			return true
		}
		data, err := d.clients[n-1].readAll(ctx)
		switch {
		case err == nil:
			d.has[n-1] = data
		case errors.Is(err, zk.ErrNoNode):
			lost[n-1] = fmt.Errorf("zookeeper: server %d has lost the keys: %w", n, err)
		default:
			return false
		}
		return true
	})
	if err == nil && slices.Contains(refused, true) { // the next call reads with a new session
		d.same = false
		return d.reseat(ctx, all, out)
	}
	if err := errors.Join(err, errors.Join(lost...)); err != nil {
		d.same = false
		return err
	}
	for i, data := range d.has {
		equal = equal && data == d.has[0]
		out.Event(lockstep.Event{Node: lockstep.Node(i + 1), Type: EventData, Text: data.String(), Value: data})
	}
	if equal && d.same && before == d.has[0] && !d.reported {
		d.reported = true
		for i, data := range d.has {
			h := hearing{d.Report, lockstep.Node(i + 1), d.clients[i].number}
			h.call(-1-i, operation{kind: final})
			h.answer(-1-i, data)
		}
		out.Event(d.Spent.Event())
	}
	d.same = equal
	return nil
}
