package remote

import (
	"context"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote/wire"
)

// AskAll asks the replicas of a deployment in turn whether they are quiescent, without an engine.
func AskAll(ctx context.Context, deployed lockstep.Deployment, orders int) error {
	d := deployed.(*deployment)
	for i := range d.nodes {
		if err := d.connect(ctx, i); err != nil {
			return err
		}
	}
	for k := range orders {
		n := &d.nodes[k%len(d.nodes)]
		number, err := n.session.order(
			&wire.Order{Kind: wire.Deliver, From: 1, Type: "token", Body: []byte("0123456789abcdef")},
			d.system.Limits.timeout())
		if err != nil {
			return err
		}
		for done := uint32(0); done != number; { // reports before it belong to earlier orders
			r, err := n.session.report(ctx)
			if err != nil {
				return err
			}
			done = r.Done
		}
	}
	return nil
}

// Together runs do where the worker of a deployment would.
func Together(deployed lockstep.Deployment, do func()) { deployed.(*deployment).together(do) }
