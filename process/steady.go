package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Steady starts the nodes that are due, and waits until nodes are ready, as the function tells; others may take their time. It is
// for the beginning of a run, and for when time passes after servers were started or links changed: see Did.
func (c *Cluster) Steady(ctx context.Context, nodes lockstep.Nodes, ready func(context.Context, lockstep.Node) bool) error {
	return Timed(&c.Spent.Starting, func() error {
		if err := c.Launch(); err != nil {
			return err
		}
		if err := c.Await(ctx, nodes, c.Patience, ready); err != nil {
			return err
		}
		c.did = 0
		return nil
	})
}

// Did are the kinds of the steps that were performed since servers were last Steady.
func (c *Cluster) Did() trace.Kinds { return c.did }

// asking is how long a server may take to tell whether it is ready.
const asking = 2 * time.Second

// Await waits until nodes are ready, as the function tells, at most for so long. The function is asked again and again, each
// time for two seconds. That a server ends or does not become ready makes the run worthless; that servers speak to each other past their
// links is an error.
func (c *Cluster) Await(ctx context.Context, nodes lockstep.Nodes, patience time.Duration, ready func(context.Context, lockstep.Node) bool) error {
	limit, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took more than %s", patience))
	defer cancel()
	errs := make([]error, len(c.servers))
	var all sync.WaitGroup
	for n := range nodes.All() {
		all.Go(func() {
			errs[n-1] = c.Server(n).Await(limit, func(ctx context.Context) bool {
				ctx, cancel := context.WithTimeout(ctx, asking)
				defer cancel()
				return ready(ctx, n)
			})
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := c.direct(); err != nil {
		return err
	}
	return Inconclusive(errors.Join(errs...))
}

// Retry tries something ten times a second, until it works. The run is inconclusive where it does not work within the patience: the
// reason has the failure, which says what does not work, and the last error.
func Retry(ctx context.Context, patience time.Duration, failure string, do func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := do(limit)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case limit.Err() != nil:
			return Inconclusive(fmt.Errorf("%s within %s: %w", failure, patience, err))
		}
		_ = Sleep(limit, retrying) // the next attempt tells that time is up
	}
}

// retrying is the pause between two attempts.
const retrying = 100 * time.Millisecond
