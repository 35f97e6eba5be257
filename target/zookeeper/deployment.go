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
	*process.Cluster
	options Cluster
	java    *jvm.JVM

	client           []string   // addresses, by node-1
	quorum, election [][]string // addresses by node-1, of those that it knows, by node-1

	clients []*client      // by node-1, of the server that each speaks to
	parting sync.WaitGroup // clients of earlier runs
	harness Harness
	waits   int  // stretches of time so far
	fresh   bool // servers were started since the last of them
	news    news

	has  []Data // by node-1, as read last
	same bool   // all had the same
	told bool   // the final reads are in the history
}

// news is what clients have heard and nobody has told the engine.
type news struct {
	sync.Mutex
	events []lockstep.Event
	open   int // requests under way
}

func (n *news) tell(e lockstep.Event) {
	n.Lock()
	defer n.Unlock()
	n.events = append(n.events, e)
}

// Reset starts all servers with empty folders, gives each a client, and creates the keys.
func (d *deployment) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	d.part()
	if err := d.Begin(); err != nil {
		return err
	}
	d.harness, d.waits, d.fresh, d.same, d.told = d.options.harness(seed), 0, true, false, false
	d.has = make([]Data, d.options.Nodes)
	for i, address := range d.client {
		c, err := newClient(i+1, address)
		if err != nil {
			return err
		}
		d.clients = append(d.clients, c)
	}
	if err := d.Steady(ctx, trace.AllNodes(d.options.Nodes), func(_ context.Context, n lockstep.Node) bool { return d.clients[n-1].connected() }); err != nil {
		return err
	}
	if d.free() {
		for i := range d.harness {
			d.offer(i, out)
		}
	}
	err := process.Timed(&d.Spent.Working, func() error {
		if err := d.clients[0].create(); err != nil {
			return process.Worthless(fmt.Errorf("zookeeper: the keys cannot be created: %w", err))
		}
		return d.Await(ctx, trace.AllNodes(d.options.Nodes), d.Patience, func(ctx context.Context, n lockstep.Node) bool {
			_, err := d.clients[n-1].readAll(ctx)
			return err == nil
		})
	})
	d.Network.Control(d.options.Light)
	return err
}

// free reports whether requests are made at any time.
func (d *deployment) free() bool { return d.options.Free || d.options.Light }

// silence is how long nothing must travel between servers before they are taken to be quiet.
const silence = 20 * time.Millisecond

// part ends the clients of the run before.
func (d *deployment) part() {
	for _, c := range d.clients {
		d.leave(c)
	}
	d.clients = nil
	d.news.Lock()
	d.news.events, d.news.open = nil, 0
	d.news.Unlock()
}

// leave ends a client, and does not wait for that.
func (d *deployment) leave(c *client) {
	c.close()
	d.parting.Go(c.gone.Wait)
}

// Do performs a step.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	var err error
	switch s.Kind {
	case trace.Request:
		d.drain(out)
		d.request(d.harness[s.Request-1], int(s.Request))
	case trace.Wait:
		err = d.pass(ctx, time.Duration(s.For), out)
	default:
		d.fresh = d.fresh || s.Kind == trace.Restart
		err = process.Timed(&d.Spent.Working, func() error { d.Cluster.Do(s, out); return nil })
	}
	if d.options.Light && err == nil && s.Kind != trace.Wait {
		err = process.Timed(&d.Spent.Waiting, func() error { return d.Network.Quiet(ctx, silence) })
	}
	d.drain(out)
	return errors.Join(err, d.Look(out))
}

// pass lets time pass. Where servers started or links changed, those that can agree have done so before
// it begins to count.
func (d *deployment) pass(ctx context.Context, pace time.Duration, out *lockstep.Outbox) error {
	if out.Settling() {
		d.Network.Control(false)
	}
	if d.free() && !out.Settling() {
		if err := d.Launch(); err != nil {
			return err
		}
	} else if d.Did()&trace.KindsOf(trace.Restart, trace.Cut, trace.Heal) != 0 {
		nodes := d.Majority(out)
		if err := d.Steady(ctx, nodes, d.answers(nodes)); err != nil {
			return err
		}
		if err := d.reseat(ctx, nodes, out); err != nil {
			return err
		}
	}
	if !d.over(out) {
		if err := process.Timed(&d.Spent.Waiting, func() error { return process.Pass(ctx, pace) }); err != nil {
			return err
		}
	}
	d.fresh = false
	d.drain(out)
	if out.Settling() {
		return process.Timed(&d.Spent.Working, func() error { return d.look(ctx, out) })
	}
	d.next(out)
	return nil
}

// over reports whether there is nothing to wait for. As in the paper, a stretch in which servers start ends when they serve, an
// empty step is nothing but that, and a run is over when all have told the same twice.
func (d *deployment) over(out *lockstep.Outbox) bool {
	switch {
	case d.free() && !out.Settling():
		return false
	case out.Settling():
		return d.told
	case d.waits%2 == 0:
		return d.fresh
	default:
		return d.waits/2 < len(d.harness) && d.harness[d.waits/2].Node == 0
	}
}

// next offers the request of a step of the harness when its first stretch of time is over, and
// takes it back after the second.
func (d *deployment) next(out *lockstep.Outbox) {
	d.waits++
	step := (d.waits - 1) / 2
	switch {
	case d.free() || step >= len(d.harness):
	case d.waits%2 == 1:
		d.offer(step, out)
	default:
		out.Withdraw(int32(step + 1))
	}
}

// offer offers the request of a step of the harness, where it has one.
func (d *deployment) offer(step int, out *lockstep.Outbox) {
	if a := d.harness[step]; a.Node != 0 {
		out.Offer(lockstep.Pending{ID: int32(step + 1), To: trace.NodesOf(lockstep.Node(a.Node)), Text: a.String()})
	}
}

// request lets the client of a server act, and does not wait for it. Without a session it does
// nothing.
func (d *deployment) request(a Act, id int) {
	c := d.clients[a.Node-1]
	if !c.connected() {
		return
	}
	h := hearing{&d.news, lockstep.Node(a.Node), c.number}
	d.news.Lock()
	d.news.open++
	d.news.Unlock()
	c.gone.Go(func() {
		defer h.done()
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
}

// hearing tells what one client does and hears.
type hearing struct {
	news   *news
	node   lockstep.Node
	client int
}

func (h hearing) call(id int, op operation) {
	h.news.tell(lockstep.Event{Node: h.node, Type: spec.EventCall, Value: &spec.Call{Client: h.client, ID: id, Input: op}})
}

func (h hearing) answer(id int, output any) {
	h.news.tell(lockstep.Event{Node: h.node, Type: spec.EventReturn, Value: &spec.Return{Client: h.client, ID: id, Output: output}})
}

func (h hearing) done() {
	h.news.Lock()
	defer h.news.Unlock()
	h.news.open--
}

// drain tells the engine what clients have heard.
func (d *deployment) drain(out *lockstep.Outbox) {
	d.news.Lock()
	defer d.news.Unlock()
	for _, e := range d.news.events {
		out.Event(e)
	}
	d.news.events = d.news.events[:0]
}

// look reads everything at every server, which may have to serve its client again first. When nothing has changed from one look to the next, the
// reads are the clients' last operations.
func (d *deployment) look(ctx context.Context, out *lockstep.Outbox) error {
	before, equal := d.has[0], true
	all, lost, refused := trace.AllNodes(d.options.Nodes), make([]error, len(d.clients)), make([]bool, len(d.clients))
	err := d.Await(ctx, all, d.Patience, func(ctx context.Context, n lockstep.Node) bool {
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
	if err == nil && slices.Contains(refused, true) { // the next look reads with a new session
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
	if equal && d.same && before == d.has[0] && !d.told {
		d.told = true
		for i, data := range d.has {
			h := hearing{&d.news, lockstep.Node(i + 1), d.clients[i].number}
			h.call(-1-i, operation{kind: final})
			h.answer(-1-i, data)
		}
		out.Event(d.Spent.Event())
	}
	d.same = equal
	return nil
}

// Abilities are the parts that servers play.
func (d *deployment) Abilities() lockstep.Abilities {
	return lockstep.Abilities{Role: func(n lockstep.Node) string { return mode(context.Background(), d.client[n-1]) }}
}

// Close ends clients and servers.
func (d *deployment) Close() error {
	d.part()
	err := d.Cluster.Close()
	d.parting.Wait()
	return err
}
