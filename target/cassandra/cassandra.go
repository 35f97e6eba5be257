package cassandra

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of Cassandra: a [lockstep.System].
type Cluster struct {
	// Version is the version of the servers.
	Version string `help:"version of Cassandra: 2.0.0, 2.0.17, 4.1.9 and 5.0.5 are known to work" zero:"2.0.0" trust:"fetches" known:"2.0.0 2.0.17 4.1.9 5.0.5"`
	// Change5985 applies the change of CASSANDRA-5985 to 2.0.0, with a Java agent. The paper's servers had it.
	Change5985 bool `help:"apply the change of CASSANDRA-5985 to 2.0.0: updates in progress are proposed again with the new ballot, as in the paper's servers"`
	// Control selects which part of the messages the engine controls, and what a round is.
	Control string `help:"messages: each message is delivered or dropped (only versions 2.0); time: a round is a period of time, and whole links are cut; auto: messages in versions 2.0, time in others" zero:"auto" oneof:"auto messages time"`
	// Attempts is the number of attempts of a client at a transaction that is not answered in time.
	Attempts int `help:"attempts of a client at a transaction that is not answered in time, all at the same server" zero:"2" range:"1..9"`
	// Bounded prevents attempts after the last round. Otherwise an attempt that is due then still takes place.
	Bounded bool `help:"no attempt begins after the last round, as in the paper; otherwise a due attempt is made without faults"`
	// Timeout is how long a server waits for a quorum.
	Timeout time.Duration `help:"how long a server waits for a quorum" zero:"1s" range:"10ms.."`
	// Pace is the duration of a time step.
	Pace time.Duration `help:"duration of a step in which time passes; default 10ms, and with control=time a sixth of timeout, so that a server waits six rounds for a quorum" range:"0s.."`
	// StartTimeout limits the time in which servers must start and agree.
	StartTimeout time.Duration `help:"how long servers may take to start and to agree" zero:"2m" range:"1ms.."`
	// Stall makes a cut stall connections instead of closing them.
	Stall bool `help:"a cut stalls connections instead of closing them"`
}

// nodes is the number of servers: the paper's harness has three.
const nodes = 3

// The values of Control.
const (
	auto      = "auto"
	byMessage = "messages"
	byTime    = "time"
)

// timed reports whether a round is a period of time.
func (c Cluster) timed() bool { return c.Control == byTime || c.Control == auto && c.modern() }

// pace returns the duration of a time step.
func (c Cluster) pace() time.Duration {
	switch {
	case c.Pace > 0:
		return c.Pace
	case c.timed():
		return c.Timeout / time.Duration(len(Rounds))
	default:
		return 10 * time.Millisecond
	}
}

// Describe returns the properties and capabilities of the system.
func (c Cluster) Describe() (lockstep.Info, error) { return target.Fill(c).system().Describe() }

// Deploy creates a deployment; servers start with its first run.
func (c Cluster) Deploy(ctx context.Context, place *lockstep.Env) (lockstep.Deployment, error) {
	return target.Fill(c).system().Deploy(ctx, place)
}

// system returns the cluster as servers in processes.
func (c Cluster) system() process.System {
	return process.System{
		Name:         "cassandra",
		Options:      target.Changed(c, target.Fill(Cluster{}), "version"),
		Nodes:        nodes,
		Check:        c.check,
		New:          c.deploy,
		Reuse:        true,
		Messages:     !c.timed(),
		Breakage:     process.StallsIf(c.Stall),
		Pace:         c.pace(),
		StartTimeout: c.StartTimeout,
		Types:        Types,
		Rounds:       Rounds,
		Events:       []string{spec.EventCall, spec.EventReturn, EventRow},
	}
}

// check validates the settings.
func (c Cluster) check() error {
	if err := target.Check("cassandra", c); err != nil {
		return err
	}
	switch {
	case c.Control == byMessage && c.modern():
		return fmt.Errorf("cassandra: control=messages needs a version 2.0, whose messages are known; version is %s",
			c.Version)
	case c.Change5985 && c.Version != "2.0.0":
		return fmt.Errorf("cassandra: change5985 needs version 2.0.0, later versions have the change; version is %s",
			c.Version)
	}
	return nil
}
