package bftsmart

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target"
)

// replicas is the number of replicas, one of which may fail.
const replicas = 4

// Cluster is four replicas and a client: a [lockstep.System].
type Cluster struct {
	Requests int           `help:"numbers that the client appends; 0: 2" zero:"2" range:"1..100"`
	Timeout  time.Duration `help:"time after which a replica requests another leader; 0: 2s" zero:"2s" range:"100ms.."`
	Silence  time.Duration `help:"how long a replica must be idle to count as quiescent; 0: 10ms" zero:"10ms" range:"1ms.."`
	// Proxies intercepts messages at proxies between the replicas, without an agent in them.
	Proxies bool          `help:"intercept messages at proxies between replicas, not in the replicas"`
	Pace    time.Duration `help:"duration of a step in which time passes; 0: 200ms" zero:"200ms" range:"1ms.."`
}

// Target is the cluster with its guarantees.
var Target = target.Of("bftsmart",
	"BFT-SMaRt without TLS (JD's fork), unmodified, four replicas and a client", Cluster{}, Promise).
	Settled(150).
	Guided(guides()...)

// The events of a replica, and of the client.
const (
	EventDecided  = "Decided"  // a consensus has a decision; the value is a *Decision
	EventExecuted = "Executed" // a number was appended; the value is an *Execution
	EventNewEpoch = "NewEpoch" // a leader change ended; the value is the epoch
	EventAsked    = "Asked"    // the client sends a request; the value is the number to append
	EventReply    = "Reply"    // the client received an answer; the value is the number
)

var events = []string{EventDecided, EventExecuted, EventNewEpoch, EventAsked, EventReply}

// Describe returns the properties and capabilities of the system.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := c.fill(); err != nil {
		return lockstep.Info{}, err
	}
	if c.Proxies {
		return c.proxied().Describe()
	}
	return c.agented(&agented{}).Describe()
}

// Deploy fetches and builds missing programs; the replicas start with each run.
func (c Cluster) Deploy(ctx context.Context, place *lockstep.Env) (lockstep.Deployment, error) {
	if err := c.fill(); err != nil {
		return nil, err
	}
	if c.Proxies {
		return c.proxied().Deploy(ctx, place)
	}
	p, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	d, err := newAgented(p, place)
	if err != nil {
		return nil, err
	}
	return c.agented(d).Deploy(ctx, place)
}

// fill completes and validates the settings.
func (c *Cluster) fill() error {
	*c = target.Fill(*c)
	return target.Check("bftsmart", *c)
}

// options are the non-default settings, for traces.
func (c Cluster) options() map[string]string { return target.Changed(c, Cluster{}) }
