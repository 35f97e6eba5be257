package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// datagram performs a step on servers whose messages are independent of their connections. Only the engine deals with
// cut, dropped or duplicated messages.
func (d *driven) datagram(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Deliver:
		return d.deliver(ctx, out.Message(s.Msg))
	case trace.Replace:
		return d.hands.replace(s, out)
	case trace.Crash:
		d.lose(s.Node)
	case trace.Restart:
		d.Network.SetOffline(s.Node, true) // the other nodes see the crash only now
		d.hold(s.Node, false)
		d.due = d.due.With(s.Node)
		_, err := d.steady(ctx, trace.NodesOf(s.Node))
		return err
	}
	return nil
}

// errNoConnection explains why a message waits.
var errNoConnection = errors.New("there is no connection")

// deliver delivers a message. Servers that lose a connection reconnect after a while. If a node is down, the messages
// that it sent on a connection that ended with it are lost.
func (d *driven) deliver(ctx context.Context, m *trace.Message) error {
	number := d.hands.numbers[m.Body]
	return Retry(
		ctx,
		d.StartTimeout,
		fmt.Sprintf("nodes %d and %d do not connect", m.From, m.To),
		func(context.Context) error {
			if d.Network.Deliver(number) || !d.Up().Has(m.From) {
				return nil
			}
			return errNoConnection
		},
	)
}

// lose ends a node without notifying the others: their connections stay open.
func (d *driven) lose(n lockstep.Node) {
	d.due = d.due.Without(n)
	d.hold(n, true)
	d.Server(n).Kill()
}
