package bftsmart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// proxied is replicas whose messages are taken off the wire at proxies. It sees less than the
// agent: what a replica tells itself is never on the wire, and of what happens in it only
// executions are told, by our own state machine. Quiet is that nothing came for a while.
type proxied struct {
	*deployment
	programs []*program
	proxies  []*proxy
	inbox    chan frame
	bodies   []frame // by number of the body - 1
}

// frame is a message on the wire.
type frame struct {
	from, to lockstep.Node
	body     []byte
}

// Reset starts new processes, one after the other: each connects to those before it.
func (d *proxied) Reset(ctx context.Context, _ uint64, out *lockstep.Outbox) error {
	if err := d.Close(); err != nil {
		return err
	}
	ports, err := freePorts(replicas + replicas*(replicas-1)/2)
	if err != nil {
		return err
	}
	root, err := d.place.Folder()
	if err != nil {
		return err
	}
	d.ports, d.inbox, d.bodies = [replicas]int(ports), make(chan frame, 1000), d.bodies[:0]
	free := ports[replicas:]
	var starting sync.WaitGroup
	failed := make([]error, replicas)
	d.programs = make([]*program, replicas)
	for i := range replicas {
		hosts := d.ports
		for j := range i {
			hosts[j], free = free[0], free[1:]
			p, err := newProxy(hosts[j]+1, d.ports[j]+1, lockstep.Node(i+1), lockstep.Node(j+1), d.inbox)
			if err != nil {
				return err
			}
			d.proxies = append(d.proxies, p)
		}
		starting.Go(func() { d.programs[i], failed[i] = d.start(ctx, root, i, hosts) })
		if err := d.listens(ctx, i); err != nil {
			return err
		}
	}
	starting.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if err := d.enter(ctx, root, out); err != nil {
		return err
	}
	for _, p := range d.proxies {
		p.begun.Store(true)
	}
	return d.quiet(ctx, out)
}

func (d *proxied) start(ctx context.Context, root string, i int, hosts [replicas]int) (*program, error) {
	folder := filepath.Join(root, strconv.Itoa(i+1))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	if err := d.configure(folder, hosts); err != nil {
		return nil, err
	}
	return start(ctx, fmt.Sprintf("replica %d", i+1), d.run(folder, loopback, "server", strconv.Itoa(i)))
}

// listens waits until a replica listens for others.
func (d *proxied) listens(ctx context.Context, i int) error {
	for begin := time.Now(); !listening(d.ports[i] + 1); {
		if time.Since(begin) > patience {
			return &lockstep.Worthless{Reason: fmt.Sprintf("replica %d did not listen within %s", i+1, patience)}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Do lets the step happen and waits for silence.
func (d *proxied) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	err := d.do(ctx, s, out)
	if err == nil {
		err = d.quiet(ctx, out)
	}
	d.answers(out)
	return err
}

func (d *proxied) do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	pause := time.Duration(0)
	switch s.Kind {
	case trace.Deliver:
		f := d.bodies[out.Message(s.Msg).Body-1]
		for _, p := range d.proxies {
			if err := p.forward(f); err != nil {
				return &lockstep.Worthless{Reason: fmt.Sprintf("the connection from %d to %d: %v", f.from, f.to, err)}
			}
		}
	case trace.Request:
		pause = d.cluster.Pace // it is on its way to the replicas
		if err := d.ask(int(s.Request), out); err != nil {
			return err
		}
	case trace.Replace:
		text, body := out.Forged(s)
		forged, m, err := forge(original(text, body, func(id lockstep.ID) []byte { return d.bodies[id-1].body }), text)
		if err != nil {
			return fmt.Errorf("forged message %q: %w", text, err)
		}
		d.bodies = append(d.bodies, frame{out.Message(s.Msg).From, out.Message(s.Msg).To, forged})
		out.Retype(s.Msg, m.Type, m.tag())
		out.Text(body, text)
	case trace.Wait:
		pause = time.Duration(s.For)
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// quiet takes frames until none has come for the time of silence.
func (d *proxied) quiet(ctx context.Context, out *lockstep.Outbox) error {
	for {
		select {
		case f := <-d.inbox:
			m, err := Decode(f.body)
			if err != nil {
				return &lockstep.Worthless{Reason: fmt.Sprintf("a message from %d to %d: %v", f.from, f.to, err)}
			}
			body := out.Send(f.from, f.to, m.Type, m.tag())
			d.bodies = append(d.bodies, f)
			out.Text(body, m.String())
		case <-time.After(d.cluster.Silence):
			d.executions(out)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// executions tells what the replicas have executed.
func (d *proxied) executions(out *lockstep.Outbox) {
	for i, p := range d.programs {
		p.take(func(line string) {
			event, text, _ := strings.Cut(line, " ")
			out.Event(lockstep.Event{Node: lockstep.Node(i + 1), Type: event, Text: text, Value: value(event, text)})
		})
	}
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
	for _, p := range d.proxies {
		p.close()
	}
	for _, p := range d.programs {
		if p != nil {
			p.end()
		}
	}
	d.proxies, d.programs = nil, nil
	return d.deployment.Close()
}
