package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/child"
	"github.com/lockstep-go/lockstep/internal/offers"
	"github.com/lockstep-go/lockstep/internal/processor"
	"github.com/lockstep-go/lockstep/internal/timers"
	"github.com/lockstep-go/lockstep/remote/client"
	"github.com/lockstep-go/lockstep/remote/wire"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is the replicas of one worker.
type deployment struct {
	system System
	place  *lockstep.Env
	server *server
	nodes  []replica
	bodies [][]byte // by number of the body - 1
	run    uint32
}

// replica is the deployment's state of a node.
type replica struct {
	child   *child.Child // nil if it was started externally, or while it is down
	session *session
	timers  timers.Timers
	role    string
	effects int // of the current order
}

func deploy(s System, p *lockstep.Env) (*deployment, error) {
	if s.Token == "" {
		s.Token = rand.Text()
	}
	d := &deployment{system: s, place: p, nodes: make([]replica, s.Nodes)}
	server, err := newServer(&d.system)
	if err != nil {
		return nil, err
	}
	d.server = server
	for i := range d.nodes {
		if err := d.launch(i); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// launch starts the process of a node, if the deployment starts its replicas.
func (d *deployment) launch(i int) error {
	if d.system.Command == nil {
		return nil
	}
	root, err := d.place.Dir()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, strconv.Itoa(i+1))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cmd := d.system.Command(lockstep.Node(i+1), dir)
	d.environment(cmd, i)
	d.together(func() { d.nodes[i].child, err = child.Start(cmd) })
	return err
}

// together runs do on the CPU that the worker and its replicas share, if they share one.
func (d *deployment) together(do func()) {
	if !d.system.together() {
		do()
		return
	}
	processor.Only(d.place.Worker, do)
}

// environment adds the engine's address to a replica's environment.
func (d *deployment) environment(cmd *exec.Cmd, i int) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, client.URLVariable+"="+d.server.url(), client.NodeVariable+"="+strconv.Itoa(i+1),
		client.TokenVariable+"="+d.system.Token)
}

// connect waits until a node has connected.
func (d *deployment) connect(ctx context.Context, i int) error {
	n := &d.nodes[i]
	if n.session != nil {
		return nil
	}
	var failed <-chan struct{}
	if n.child != nil {
		failed = n.child.Done()
	}
	session, err := d.server.await(ctx, i, failed)
	if err != nil {
		return fmt.Errorf("remote: replica %d: %w%s", i+1, err, d.lastWords(i))
	}
	n.session = session
	return nil
}

// lastWords describes how the process of a node ended and its last output.
func (d *deployment) lastWords(i int) string {
	c := d.nodes[i].child
	if c == nil {
		return ""
	}
	text := ""
	select {
	case <-c.Done():
		text = " (" + c.Why() + ")"
	case <-time.After(100 * time.Millisecond): // it closed the connection and may be about to end
	}
	if tail := strings.TrimSpace(c.Tail()); tail != "" {
		text += "; its last words:\n" + tail
	}
	return text
}

// Reset begins a run: all replicas discard their state and start, concurrently.
func (d *deployment) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	if err := d.revive(ctx); err != nil {
		return err
	}
	d.run++
	d.bodies = d.bodies[:0]
	numbers := make([]uint32, len(d.nodes))
	for i := range d.nodes {
		d.nodes[i].timers.Clear()
		d.nodes[i].role = ""
		number, err := d.order(ctx, i,
			&wire.Order{Kind: wire.Reset, Seed: wire.Long(seed), Texts: out.Texts(), Replicas: d.hellos()}, out)
		if err != nil {
			return err
		}
		numbers[i] = number
	}
	for i := range d.nodes {
		if err := d.awaitDone(ctx, i, numbers[i], out); err != nil {
			return err
		}
	}
	if d.system.Clients != nil {
		return d.system.Clients.Begin(ctx, out)
	}
	d.offers().Begin(out)
	return nil
}

// revive ensures that all nodes are up and connected. New processes start concurrently, because one may wait for
// another.
func (d *deployment) revive(ctx context.Context) error {
	if d.system.Fresh && d.run > 0 {
		d.end()
	}
	for i := range d.nodes {
		if err := d.relaunch(i); err != nil {
			return err
		}
	}
	for i := range d.nodes {
		err := d.connect(ctx, i)
		if err != nil && d.system.Fresh {
			// an overloaded machine makes a run inconclusive, and does not end a campaign
			return d.inconclusive(ctx, i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// relaunch starts the process of a node that is down.
func (d *deployment) relaunch(i int) error {
	if n := &d.nodes[i]; n.child != nil || n.session != nil {
		return nil
	}
	return d.launch(i)
}

// end ends the clients and the processes of all nodes.
func (d *deployment) end() {
	if d.system.Clients != nil {
		d.system.Clients.Stop()
	}
	for i := range d.nodes {
		d.kill(i)
	}
}

// kill ends the process of a node, if the deployment started it.
func (d *deployment) kill(i int) {
	n := &d.nodes[i]
	if n.session != nil {
		n.session.end("it was crashed")
	}
	if n.child != nil {
		n.child.Kill()
	}
	n.child, n.session = nil, nil
}

// hellos returns the information that all replicas published about themselves.
func (d *deployment) hellos() []wire.Hello {
	var all []wire.Hello
	for i := range d.nodes {
		if s := d.nodes[i].session; s != nil && len(s.hello.Info) > 0 {
			all = append(all, s.hello)
		}
	}
	return all
}

// Do sends the order of a step to its replica.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	err := d.perform(ctx, s, out)
	if d.system.Clients != nil {
		err = errors.Join(err, d.system.Clients.Report(out))
	}
	return err
}

func (d *deployment) perform(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Deliver:
		m := out.Message(s.Msg)
		return d.command(ctx, m.To,
			&wire.Order{Kind: wire.Deliver, From: uint32(m.From), Type: m.Type, Body: d.bodies[m.Body-1]}, out)
	case trace.Timer:
		name := d.fire(s.Node, out)
		return d.command(ctx, s.Node, &wire.Order{Kind: wire.Fire, Type: name}, out)
	case trace.Request:
		if d.system.Clients != nil {
			if err := d.system.Clients.Request(s, out); err != nil {
				return err
			}
			return d.wait(ctx, d.system.pace(), out)
		}
		return d.command(ctx, s.Node,
			&wire.Order{Kind: wire.Request, Request: uint32(s.Request), Text: d.offers().Given(out, s.Request)}, out)
	case trace.Crash:
		return d.crash(ctx, s.Node, out)
	case trace.Restart:
		err := d.relaunch(int(s.Node - 1))
		if err == nil {
			err = d.connect(ctx, int(s.Node-1))
		}
		if err != nil {
			return d.inconclusive(ctx, int(s.Node-1), err)
		}
		return d.command(ctx, s.Node, &wire.Order{Kind: wire.Start, Texts: out.Texts()}, out)
	case trace.Replace:
		return d.forge(s, out)
	case trace.Wait:
		return d.wait(ctx, time.Duration(s.For), out)
	}
	return nil
}

// offers are the clients' requests.
func (d *deployment) offers() offers.List {
	return offers.List{Nodes: len(d.nodes), Texts: d.system.Requests, Repeat: d.system.Repeat}
}

// crash ends a node: its process, or its volatile state.
func (d *deployment) crash(ctx context.Context, node lockstep.Node, out *lockstep.Outbox) error {
	n := &d.nodes[node-1]
	n.timers.Clear()
	n.role = ""
	if !d.system.Kill {
		return d.command(ctx, node, &wire.Order{Kind: wire.Stop}, out)
	}
	d.kill(int(node - 1))
	return nil
}

// forge substitutes another body for that of a message.
func (d *deployment) forge(s *lockstep.Step, out *lockstep.Outbox) error {
	text, body := out.Forged(s)
	kind, tag, bytes, err := d.system.Forge(text, body, func(id trace.ID) []byte { return d.bodies[id-1] })
	if err != nil {
		return fmt.Errorf("forged message %q: %w", text, err)
	}
	d.bodies = append(d.bodies, bytes)
	out.Retype(s.Msg, kind, tag)
	out.Text(body, text)
	return nil
}

// wait lets replicas act on their own for a while, and processes their reports.
func (d *deployment) wait(ctx context.Context, long time.Duration, out *lockstep.Outbox) error {
	pause := time.NewTimer(long)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for i := range d.nodes {
		if d.nodes[i].session == nil {
			continue
		}
		if err := d.command(ctx, lockstep.Node(i+1), &wire.Order{Kind: wire.Ask}, out); err != nil {
			return err
		}
	}
	return nil
}

// command sends an order to a node and processes its effects.
func (d *deployment) command(ctx context.Context, node lockstep.Node, o *wire.Order, out *lockstep.Outbox) error {
	number, err := d.order(ctx, int(node-1), o, out)
	if err != nil {
		return err
	}
	return d.awaitDone(ctx, int(node-1), number, out)
}

func (d *deployment) order(ctx context.Context, i int, o *wire.Order, out *lockstep.Outbox) (uint32, error) {
	o.Run, o.Now = d.run, wire.Long(out.Now())
	d.nodes[i].effects = 0
	number, err := d.nodes[i].session.order(o, d.system.Limits.timeout())
	if err != nil {
		return 0, d.inconclusive(ctx, i, err)
	}
	if st := d.system.Stats; st != nil {
		st.Orders.Add(1)
	}
	return number, nil
}

// awaitDone processes a node's reports until the node reports an order as done.
func (d *deployment) awaitDone(ctx context.Context, i int, number uint32, out *lockstep.Outbox) error {
	session := d.nodes[i].session
	for {
		r, err := session.report(ctx)
		if err != nil {
			return d.inconclusive(ctx, i, err)
		}
		done, err := d.apply(i, r, number, out)
		if err != nil {
			return d.inconclusive(ctx, i, err)
		}
		if done {
			session.due.Store(0)
			return nil
		}
	}
}

// inconclusive returns the error of a run that a replica made inconclusive.
func (d *deployment) inconclusive(ctx context.Context, i int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &lockstep.Inconclusive{Reason: fmt.Sprintf("replica %d: %v%s", i+1, err, d.lastWords(i))}
}

// fire removes a node's earliest timer, and arms the timer for the next one.
func (d *deployment) fire(node lockstep.Node, out *lockstep.Outbox) string {
	name := d.nodes[node-1].timers.Fire()
	out.Describe(name)
	d.nodes[node-1].timers.Arm(node, out)
	return name
}

// Capabilities are roles and bodies.
func (d *deployment) Capabilities() lockstep.Capabilities {
	a := lockstep.Capabilities{Body: func(body trace.ID) any { return d.bodies[body-1] }}
	if d.system.Body != nil {
		a.Body = func(body trace.ID) any { return d.system.Body(d.bodies[body-1]) }
	}
	if d.system.together() {
		a.Enclose = func(run func()) (*lockstep.Finding, error) {
			d.together(run)
			return nil, nil
		}
	}
	if len(d.system.Roles) > 0 {
		a.Role = func(n lockstep.Node) string { return d.nodes[n-1].role }
	}
	return a
}

// Close ends the replicas that the deployment started.
func (d *deployment) Close() error {
	err := d.server.close()
	d.end()
	return err
}
