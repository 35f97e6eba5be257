package cassandra

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Cluster is a deployment of Cassandra: a [lockstep.System].
type Cluster struct {
	// Version is the version of the servers.
	Version string `help:"version of Cassandra: 2.0.0 and 2.0.17 are known to work" zero:"2.0.0"`
	// Change5985 makes the change of CASSANDRA-5985 to 2.0.0, by an agent of ours in the JVM. The paper's servers had it.
	Change5985 bool `help:"what CASSANDRA-5985 changed after 2.0.0, on 2.0.0: what is in progress is proposed again with the new ballot, as in the paper's servers"`
	// Tries is how often a client attempts a transaction that is not answered in time.
	Tries int `help:"attempts at a transaction that gets no answer in time, all at its server" zero:"2" range:"1..9"`
	// Bounded lets no attempt begin after the last round. Otherwise one that is due then is still made.
	Bounded bool `help:"no attempt begins when the run is over, as in the paper; otherwise one that is due then is made without faults"`
	// Timeout is how long a server waits for a quorum.
	Timeout time.Duration `help:"how long a server waits for a quorum" zero:"1s"`
	// Pace is how long a step lasts in which time passes and nothing is under way.
	Pace time.Duration `help:"how long a stretch of time lasts in which nothing is under way" zero:"10ms"`
	// Patience is how long servers may take to start and to agree.
	Patience time.Duration `help:"how long servers may take to start and to agree" zero:"2m"`
	// Stall lets connections across a cut stand still instead of being closed.
	Stall bool `help:"a cut lets connections stand still instead of closing them"`
}

// nodes is the number of servers: the paper's harness has three.
const nodes = 3

func (c Cluster) filled() Cluster {
	target.Fill(&c)
	return c
}

// Describe says what the system is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = c.filled()
	if err := c.check(); err != nil {
		return lockstep.Info{}, err
	}
	return lockstep.Info{Name: "cassandra", Nodes: nodes, Options: target.Changed(c, Cluster{}.filled(), "version"), Pace: lockstep.Time(c.Pace), Repeats: lockstep.Roughly,
		Events: []string{spec.EventCall, spec.EventReturn, EventRow, process.EventLog, process.EventTime}, Rounds: Rounds, Types: Types,
		Supports: process.Light | trace.KindsOf(trace.Request, trace.Wait)}, nil
}

// check finds what is wrong with the settings.
func (c Cluster) check() error {
	if err := target.Check("cassandra", c); err != nil {
		return err
	}
	switch {
	case c.Timeout < 10*time.Millisecond || c.Pace < 0 || c.Patience <= 0:
		return fmt.Errorf("cassandra: timeout %s, pace %s and patience %s must be positive, and timeout at least 10ms", c.Timeout, c.Pace, c.Patience)
	case c.Change5985 && c.Version != "2.0.0":
		return fmt.Errorf("cassandra: change5985 is for version 2.0.0: later ones have it, and this is %s", c.Version)
	}
	return nil
}

// Deploy makes a deployment; servers start with its first run.
func (c Cluster) Deploy(place *lockstep.Place) (lockstep.Deployment, error) {
	c = c.filled()
	if err := c.check(); err != nil {
		return nil, err
	}
	java, err := prepare(context.Background(), c.Version, c.Change5985)
	if err != nil {
		return nil, err
	}
	servers, err := process.NewCluster(place, nodes, c.Stall)
	if err != nil {
		return nil, err
	}
	d := &deployment{Cluster: servers, options: c, java: java}
	if err := d.wire(); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}
