package bftsmart

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// replicas is their number, of which one may fail.
const replicas = 4

// Cluster is four replicas and a client: a [lockstep.System].
type Cluster struct {
	Requests int           `help:"numbers that the client appends; 0: 2" zero:"2" range:"1..100"`
	Timeout  time.Duration `help:"time after which a replica wants another leader; 0: 2s" zero:"2s"`
	Silence  time.Duration `help:"how long nothing must happen for a replica to be quiet; 0: 10ms" zero:"10ms"`
	// Proxies takes messages at proxies between the replicas, without an agent in them.
	Proxies bool          `help:"take messages at proxies between replicas, not in them"`
	Pace    time.Duration `help:"how long time passes at once; 0: 200ms" zero:"200ms"`
}

// Target is the cluster with its promises.
var Target = target.Of("bftsmart", "BFT-SMaRt: JD's fork of the line before TLS, unmodified, four replicas and a client", Cluster{}, Promise).
	Settled(150).Guided(guides()...)

// The events of a replica, and of the client.
const (
	EventDecided  = "Decided"  // a consensus has a decision; the value is a *Decision
	EventExecuted = "Executed" // a number was appended; the value is an *Execution
	EventNewEpoch = "NewEpoch" // a leader change came to its end; the value is the epoch
	EventAsked    = "Asked"    // the client asks; the value is the number to append
	EventReply    = "Reply"    // the client has an answer; the value is the number
)

// Describe says what the system is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := c.fill(); err != nil {
		return lockstep.Info{}, err
	}
	info, err := c.remote(nil).Describe()
	info.Serial = true // four JVMs at a time are enough
	info.Supports |= trace.KindsOf(trace.Request)
	info.Supports &^= trace.KindsOf(trace.Alarm)
	info.Requests = nil
	for k := range c.Requests {
		info.Requests = append(info.Requests, request(k+1))
	}
	return info, err
}

// request is the text of a request.
func request(number int) string { return fmt.Sprintf("append %d", number) }

// fill completes the settings and finds what is wrong with them.
func (c *Cluster) fill() error {
	target.Fill(c)
	if err := target.Check("bftsmart", *c); err != nil {
		return err
	}
	if c.Timeout < 100*time.Millisecond || c.Silence < time.Millisecond || c.Pace < time.Millisecond {
		return fmt.Errorf("bftsmart: timeout=%s silence=%s pace=%s; at least 100ms, 1ms and 1ms are possible", c.Timeout, c.Silence, c.Pace)
	}
	return nil
}

// remote is the replicas alone.
func (c *Cluster) remote(d *deployment) remote.System {
	s := remote.System{Name: "bftsmart", Options: target.Changed(*c, Cluster{}), Nodes: replicas, Kill: true, Own: true, Pace: c.Pace,
		Types: Types, Rounds: Rounds, Events: []string{EventDecided, EventExecuted, EventNewEpoch, EventAsked, EventReply},
		Value: value, Limits: remote.Limits{Patience: patience}}
	s.Command = d.command
	s.Forge = d.forge
	return s
}

// Deploy fetches and builds what is not there; the replicas start with each run.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	if err := c.fill(); err != nil {
		return nil, err
	}
	d, err := newDeployment(ctx, c, p)
	if err != nil {
		return nil, err
	}
	if !c.Proxies {
		return d, nil
	}
	return &proxied{deployment: d}, nil
}
