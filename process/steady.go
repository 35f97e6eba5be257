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

// StartAndAwait starts the servers of the nodes that are due. Then it waits until the given nodes are ready according
// to the function, for at most the StartTimeout; it does not wait for other nodes. Await says what happens otherwise.
func (c *Deployment) StartAndAwait(ctx context.Context, nodes lockstep.Nodes,
	ready func(context.Context, lockstep.Node) bool) error {
	return Timed(&c.Spent.Starting, func() error {
		if err := c.StartDue(); err != nil {
			return err
		}
		if err := c.Await(ctx, nodes, c.StartTimeout, ready); err != nil {
			return err
		}
		c.did = 0
		return nil
	})
}

// KindsSinceReady returns the kinds of the steps that Do performed in this run since StartAndAwait last succeeded. A
// driver uses it to decide whether servers must become ready again before time passes.
func (c *Deployment) KindsSinceReady() trace.Kinds { return c.did }

// asking is the timeout of one readiness check.
const asking = 2 * time.Second

// Await waits until nodes are ready according to the function, or for at most the timeout. It calls the function
// repeatedly, each time with a timeout of two seconds. If a server ends or does not become ready, the run is
// inconclusive. If servers bypass their links to each other, that is an error.
func (c *Deployment) Await(ctx context.Context, nodes lockstep.Nodes, timeout time.Duration,
	ready func(context.Context, lockstep.Node) bool) error {
	limit, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took more than %s", timeout))
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
	if err := c.checkBypass(); err != nil {
		return err
	}
	return Inconclusive(errors.Join(errs...))
}

// Retry retries a function ten times a second until it succeeds. If it does not succeed within the timeout, the run is
// inconclusive. The reason has failure, which describes the operation that fails, and the last error.
func Retry(ctx context.Context, timeout time.Duration, failure string, do func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		err := do(limit)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case limit.Err() != nil:
			return Inconclusive(fmt.Errorf("%s within %s: %w", failure, timeout, err))
		}
		_ = Sleep(limit, retrying) // the next attempt reports the timeout
	}
}

// retrying is the pause between two attempts.
const retrying = 100 * time.Millisecond
