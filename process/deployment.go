package process

import (
	"context"
	"errors"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// driven is a [lockstep.Deployment]: the servers of one worker under their driver.
type driven struct {
	*Deployment
	system System
	driver Driver
}

// Reset begins a run: servers start, or continue with other data, and clients offer their first requests.
func (d *driven) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	if err := d.start(ctx, seed); err != nil {
		return err
	}
	if d.driver.Begin != nil {
		if err := d.driver.Begin(ctx, out); err != nil {
			return err
		}
	}
	d.Network.SetControlled(d.system.Messages)
	return nil
}

// start starts the servers of a run, and waits until all are ready.
func (d *driven) start(ctx context.Context, seed uint64) error {
	d.stop()
	d.Seed = seed
	begin := d.Begin
	if d.system.Reuse {
		begin = d.Resume
	}
	if err := begin(); err != nil {
		return err
	}
	if d.driver.Reset != nil {
		if err := d.driver.Reset(); err != nil {
			return err
		}
	}
	_, err := d.steady(ctx, trace.AllNodes(d.system.Nodes))
	return err
}

// stop ends the clients of a run, and discards their results.
func (d *driven) stop() {
	d.calls.forget()
	if d.driver.Stop != nil {
		d.driver.Stop()
	}
	d.reports.drain()
}

// steady starts the nodes that are due and waits until the given nodes are ready. It returns the nodes it waited for.
func (d *driven) steady(ctx context.Context, nodes lockstep.Nodes) (lockstep.Nodes, error) {
	if d.driver.Ready == nil || nodes == 0 {
		return 0, d.StartDue()
	}
	return nodes, d.StartAndAwait(ctx, nodes,
		func(ctx context.Context, n lockstep.Node) bool { return d.driver.Ready(ctx, n, nodes) })
}

func (d *driven) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if out.Settling() && !d.settling {
		d.settling = true
		if !d.system.Datagrams {
			d.settle()
		}
	}
	if d.driver.Before != nil {
		d.driver.Before(s, out)
	}
	d.Collect(out)
	err := d.perform(ctx, s, out)
	if err == nil && d.driver.Quiesce != nil && (!d.settling || d.system.Datagrams) {
		err = Timed(&d.Spent.Waiting, func() error { return d.driver.Quiesce(ctx, s) })
	}
	return errors.Join(err, d.finish(out))
}

// perform performs a client request, a wait or a fault.
func (d *driven) perform(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Request:
		return Timed(&d.Spent.Working, func() error { return d.driver.Request(ctx, s, out) })
	case trace.Wait:
		return d.wait(ctx, time.Duration(s.For), out)
	default:
		return Timed(&d.Spent.Working, func() error {
			if d.system.Datagrams {
				return d.datagram(ctx, s, out)
			}
			d.Deployment.Do(s, out)
			return nil
		})
	}
}

// wait lets time pass. If servers started or links changed, a majority becomes ready before the wait begins.
func (d *driven) wait(ctx context.Context, pace time.Duration, out *lockstep.Outbox) error {
	required, pass := d.driver.MustBeReady, d.driver.Advance
	if required == nil {
		required = d.MustBeReady
	}
	if pass == nil {
		pass = func(ctx context.Context, pace time.Duration, _ lockstep.Nodes, _ *lockstep.Outbox) error {
			return Sleep(ctx, pace)
		}
	}
	ready, err := d.steady(ctx, required(out))
	if err != nil {
		return err
	}
	if err := Timed(&d.Spent.Waiting, func() error { return pass(ctx, pace, ready, out) }); err != nil {
		return err
	}
	if d.driver.GiveUp {
		d.calls.cancel()
	}
	d.Collect(out)
	if d.settling && d.driver.Inspect != nil {
		return Timed(&d.Spent.Working, func() error { return d.driver.Inspect(ctx, out) })
	}
	return nil
}

// Capabilities are the roles of servers, and the content of packets.
func (d *driven) Capabilities() lockstep.Capabilities {
	var a lockstep.Capabilities
	if d.driver.Role != nil {
		a.Role = func(n lockstep.Node) string {
			ctx, cancel := context.WithTimeout(context.Background(), asking) // Role is called without a context
			defer cancel()
			return d.driver.Role(ctx, n)
		}
	}
	if d.system.Body != nil {
		a.Body = func(body trace.ID) any { return d.system.Body(d.hands.data(body)) }
	}
	return a
}

func (d *driven) Close() error {
	d.stop()
	err := d.Deployment.Close()
	if d.driver.Close != nil {
		d.driver.Close()
	}
	return err
}
