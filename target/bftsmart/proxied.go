package bftsmart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// proxied is replicas whose messages are taken off the wire at proxies. It sees less than the
// agent: what a replica tells itself is never on the wire. What happens in a replica is told by our
// own state machine, which knows what it executes, and by its votes, which name its epoch.
// Quiet is that nothing came for a while.
type proxied struct {
	*deployment
	root     string
	programs []*program // nil while a replica is down
	hosts    [replicas][replicas]int
	proxies  []*proxy
	inbox    chan frame
	begun    atomic.Bool // until then everything passes
	over     chan struct{}
	bodies   []frame // by number of the body - 1
	epochs   [replicas]int
	decided  [replicas]int // the number of decisions that are known
}

// frame is a message on the wire.
type frame struct {
	from, to lockstep.Node
	body     []byte
}

// Reset starts new processes.
func (d *proxied) Reset(ctx context.Context, _ uint64, out *lockstep.Outbox) error {
	root, err := d.place.Folder()
	if err != nil {
		return err
	}
	if err := d.begin(ctx, root); err != nil {
		return err
	}
	d.offer(out)
	return d.quiet(ctx, out)
}

// begin starts new processes, one after the other: each connects to those before it. From then on
// what they send comes in.
func (d *proxied) begin(ctx context.Context, root string) error {
	if err := d.Close(); err != nil {
		return err
	}
	*d = proxied{deployment: d.deployment, root: root, programs: make([]*program, replicas), inbox: make(chan frame, 1000), over: make(chan struct{})}
	ports, err := freePorts(replicas + replicas*(replicas-1)/2)
	if err != nil {
		return err
	}
	d.wire(ports)
	var up []func() error
	for i := range replicas {
		ready, err := d.launch(ctx, i)
		if err != nil {
			return err
		}
		up = append(up, ready)
	}
	for _, ready := range up {
		if err := ready(); err != nil {
			return err
		}
	}
	if err := d.enter(ctx, root); err != nil {
		return err
	}
	d.begun.Store(true)
	return nil
}

// wire gives the replicas their ports: the first are their own, the others those of proxies.
func (d *proxied) wire(ports []int) {
	d.ports = [replicas]int(ports)
	free := ports[replicas:]
	for i := range replicas {
		d.hosts[i] = d.ports
		for j := range i {
			d.hosts[i][j], free = free[0], free[1:]
			d.proxies = append(d.proxies, &proxy{high: lockstep.Node(i + 1), low: lockstep.Node(j + 1), port: d.hosts[i][j] + 1, target: d.ports[j] + 1, take: d.take})
		}
	}
}

// take hands a frame to the engine, once a run has begun.
func (d *proxied) take(f frame) bool {
	if !d.begun.Load() {
		return false
	}
	select {
	case d.inbox <- f:
	case <-d.over:
	}
	return true
}

// launch starts a replica, waits until it listens for others and lets its proxies do so, too. What it
// returns waits until the replica is up, for which it may need others.
func (d *proxied) launch(ctx context.Context, i int) (ready func() error, err error) {
	folder := filepath.Join(d.root, strconv.Itoa(i+1))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	if err := d.configure(folder, d.hosts[i]); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("replica %d", i+1)
	p, err := start(d.run(folder, loopback, "server", strconv.Itoa(i)))
	if err != nil {
		return nil, err
	}
	d.programs[i] = p
	if err := process.Retry(ctx, patience, name+" did not listen", func(context.Context) error { return process.Listens(local(d.ports[i] + 1)) }); err != nil {
		return nil, err
	}
	for _, p := range d.proxies {
		if p.low == lockstep.Node(i+1) {
			if err := p.open(); err != nil {
				return nil, err
			}
		}
	}
	return func() error { return p.up(ctx, name) }, nil
}

// Do lets the step happen and waits for silence.
func (d *proxied) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	err := d.do(ctx, s, out)
	if err == nil {
		err = d.quiet(ctx, out)
	}
	d.answers(out)
	for i, p := range d.programs {
		if p != nil && err == nil {
			err = p.alive(fmt.Sprintf("replica %d", i+1))
		}
	}
	return errors.Join(err, d.client.alive("the client"))
}

func (d *proxied) do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	pause := time.Duration(0)
	switch s.Kind {
	case trace.Deliver:
		return d.deliver(ctx, s.Msg, out)
	case trace.Crash:
		d.crash(s.Node)
		return nil
	case trace.Restart:
		return d.restart(ctx, s.Node)
	case trace.Request:
		pause = d.cluster.Pace // it is on its way to the replicas
		if err := d.ask(int(s.Request), out); err != nil {
			return err
		}
	case trace.Replace:
		return d.forge(s, out)
	case trace.Wait:
		pause = time.Duration(s.For)
	}
	return process.Sleep(ctx, pause)
}

// deliver hands a message over. Replicas that have lost their connection to one that was restarted make
// a new one after a while; with one that is down there is none, and what was on its way is lost.
func (d *proxied) deliver(ctx context.Context, id lockstep.ID, out *lockstep.Outbox) error {
	return d.forward(ctx, d.bodies[out.Message(id).Body-1])
}

func (d *proxied) forward(ctx context.Context, f frame) error {
	p := d.between(f.from, f.to)
	var broken error
	err := process.Retry(ctx, patience, fmt.Sprintf("replicas %d and %d did not connect", f.from, f.to), func(context.Context) error {
		there, err := p.forward(f)
		if broken = err; there || d.programs[f.from-1] == nil {
			return nil
		}
		return errors.New("there is no connection")
	})
	if err == nil && broken != nil {
		err = process.Worthless(fmt.Errorf("the connection from %d to %d: %w", f.from, f.to, broken))
	}
	return err
}

// between is the proxy between two replicas.
func (d *proxied) between(a, b lockstep.Node) *proxy {
	for _, p := range d.proxies {
		if p.high == max(a, b) && p.low == min(a, b) {
			return p
		}
	}
	return nil
}

// crash kills a replica. Others are not told: their connections stay, as when a machine loses its power.
func (d *proxied) crash(node lockstep.Node) {
	d.programs[node-1].Kill()
	d.programs[node-1] = nil
	for _, p := range d.proxies {
		if p.low == node {
			p.shut()
		}
	}
}

// restart starts a replica again, in the same folder; others must connect anew.
func (d *proxied) restart(ctx context.Context, node lockstep.Node) error {
	for _, p := range d.proxies {
		if p.low == node || p.high == node {
			p.hangUp()
		}
	}
	d.epochs[node-1] = 0
	ready, err := d.launch(ctx, int(node-1))
	if err != nil {
		return err
	}
	return ready()
}

// forge puts another value into a message.
func (d *proxied) forge(s *lockstep.Step, out *lockstep.Outbox) error {
	text, body := out.Forged(s)
	forged, m, err := forge(original(text, body, func(id lockstep.ID) []byte { return d.bodies[id-1].body }), text)
	if err != nil {
		return fmt.Errorf("forged message %q: %w", text, err)
	}
	d.bodies = append(d.bodies, frame{out.Message(s.Msg).From, out.Message(s.Msg).To, forged})
	out.Retype(s.Msg, m.Type, m.tag())
	out.Text(body, text)
	return nil
}

// quiet takes frames until none has come for the time of silence.
func (d *proxied) quiet(ctx context.Context, out *lockstep.Outbox) error {
	for {
		select {
		case f := <-d.inbox:
			m, err := Decode(f.body)
			if err != nil {
				return &lockstep.Inconclusive{Reason: fmt.Sprintf("a message from %d to %d: %v", f.from, f.to, err)}
			}
			body := out.Send(f.from, f.to, m.Type, m.tag())
			d.bodies = append(d.bodies, f)
			out.Text(body, m.String())
			d.changes(f.from, m, out)
		case <-time.After(d.cluster.Silence):
			d.executions(out)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// changes tells that a replica has changed to an epoch, which its first WRITE there says.
func (d *proxied) changes(node lockstep.Node, m Message, out *lockstep.Outbox) {
	if m.Type == "WRITE" && m.Epoch > d.epochs[node-1] {
		d.epochs[node-1] = m.Epoch
		out.Event(event(node, EventNewEpoch, fmt.Sprintf("epoch=%d", m.Epoch)))
	}
}

// executions tells what the replicas have executed. That a batch was decided is known by then, and its
// time tells batches apart.
func (d *proxied) executions(out *lockstep.Outbox) {
	for i, p := range d.programs {
		if p == nil {
			continue
		}
		node := lockstep.Node(i + 1)
		p.take(func(line string) {
			kind, text, _ := strings.Cut(line, " ")
			e := event(node, kind, text)
			if x, ok := e.Value.(*Execution); ok && x.Consensus >= d.decided[i] {
				d.decided[i] = x.Consensus + 1
				out.Event(event(node, EventDecided, fmt.Sprintf("consensus=%d epoch=%d value=%d", x.Consensus, d.epochs[i], x.Time)))
			}
			out.Event(e)
		})
	}
}

// event is an event from its words.
func event(node lockstep.Node, kind, text string) lockstep.Event {
	return lockstep.Event{Node: node, Type: kind, Text: text, Value: value(kind, text)}
}

// Abilities are the bodies.
func (d *proxied) Abilities() lockstep.Abilities {
	return lockstep.Abilities{Body: func(body lockstep.ID) any {
		m, err := Decode(d.bodies[body-1].body)
		if err != nil {
			return Message{Type: err.Error()}
		}
		return m
	}}
}

// Close ends all processes and proxies.
func (d *proxied) Close() error {
	if d.over != nil {
		close(d.over)
	}
	for _, p := range d.programs {
		if p != nil {
			p.Kill()
		}
	}
	for _, p := range d.proxies {
		p.close()
	}
	d.over, d.proxies, d.programs = nil, nil, nil // nobody uses them any more
	return d.deployment.Close()
}
