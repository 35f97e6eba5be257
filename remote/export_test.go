package remote

import (
	"context"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote/wire"
)

// AskAll asks the replicas of a deployment in turn whether they are quiet, without an engine.
func AskAll(ctx context.Context, deployed lockstep.Deployment, orders int) error {
	d := deployed.(*deployment)
	for i := range d.nodes {
		if err := d.connect(ctx, i); err != nil {
			return err
		}
	}
	for k := range orders {
		n := &d.nodes[k%len(d.nodes)]
		number, err := n.session.order(&wire.Order{Kind: wire.Deliver, From: 1, Type: "token", Body: []byte("0123456789abcdef")}, d.system.Limits.patience())
		if err != nil {
			return err
		}
		for r := <-n.session.inbox; r.Done != number; r = <-n.session.inbox {
			continue // of an order before
		}
	}
	return nil
}
