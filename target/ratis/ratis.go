package ratis

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of Ratis: a [lockstep.System].
type Cluster struct {
	// Version is the version of the servers.
	Version string `help:"version of Ratis: 1.0.0 and 3.3.0 are known to work" zero:"1.0.0" trust:"fetches" known:"1.0.0 3.3.0"`
	// Transport is the transport of servers and clients.
	Transport string `help:"grpc or netty" zero:"grpc" oneof:"grpc netty"`
	// Nodes is the number of servers.
	Nodes int `help:"number of servers" zero:"3" range:"1..7"`
	// Phases and Requests bound the client's workload: the number of phases, and of concurrent increments in each.
	Phases   int `help:"phases in which the client sends requests" zero:"4" range:"1..100"`
	Requests int `help:"requests that are sent at once in a phase" zero:"1" range:"1..20"`
	// Each gives every request a separate client.
	Each bool `help:"every request has a separate client; otherwise all share one, as the threads of Ratis' own example do"`
	// Control selects what a round is, and which messages the engine controls.
	Control string `help:"log: a round ends when the log has grown, or after its pace; time: a round is a period of time; messages: each message is delivered or dropped" zero:"log" oneof:"log time messages"`
	// Timeout is the minimum election timeout of a server; the maximum is twice as long.
	Timeout time.Duration `help:"minimum election timeout of a server; the maximum is twice as long" zero:"300ms" range:"10ms.."`
	// Pace is the duration of a round, or its maximum if a round ends when the log has grown.
	Pace time.Duration `help:"duration of a round; with control=log the maximum" zero:"1s" range:"1ms.."`
	// Within is the time limit of the three properties.
	Within time.Duration `help:"time limit of each property after all links are healed: until a server leads, logs agree, and requests are answered" zero:"10s" range:"1ms.."`
	// StartTimeout limits the time in which servers must start and agree, before any fault.
	StartTimeout time.Duration `help:"how long servers may take to start and to agree, before any fault" zero:"2m" range:"1ms.."`
	// Warm starts and ends servers inside JVMs that keep running, as the paper's tests did. A crash is then a shutdown
	// and no SIGKILL.
	Warm bool `help:"servers start and end inside JVMs that keep running, as in the paper: runs are several times as fast, and a crash is a shutdown"`
	// Stall makes a cut stall connections instead of closing them.
	Stall bool `help:"a cut stalls connections instead of closing them"`
	// Swallow makes a lost message disappear alone, which no TCP connection does. The paper's instrumentation inside the
	// servers did. On a gRPC stream it is impossible.
	Swallow bool `help:"a lost message disappears alone, and its connection continues, as with the paper's instrumentation inside the servers; only with transport=netty"`
}

// The definitions of a round.
const (
	byLog     = "log"
	byTime    = "time"
	byMessage = "messages"
)

// netty is the transport over which a single message can be missing.
const netty = "netty"

// Describe returns the properties and capabilities of the system.
func (c Cluster) Describe() (lockstep.Info, error) { return target.Fill(c).system().Describe() }

// Deploy creates a deployment; servers start with each run.
func (c Cluster) Deploy(ctx context.Context, place *lockstep.Env) (lockstep.Deployment, error) {
	return target.Fill(c).system().Deploy(ctx, place)
}

// system returns the cluster as servers in processes.
func (c Cluster) system() process.System {
	s := process.System{
		Name:         "ratis",
		Options:      target.Changed(c, target.Fill(Cluster{}), "version", "transport"),
		Nodes:        c.Nodes,
		Check:        c.check,
		New:          c.deploy,
		Messages:     c.Control == byMessage,
		Breakage:     c.breakage(),
		Pace:         c.Pace,
		StartTimeout: c.StartTimeout,
		Types:        Types,
		Rounds:       Rounds,
		Events:       []string{EventSend, EventAnswer, EventWaits, EventEnd},
		Roles:        []string{roleLeader, roleFollower},
	}
	if c.Control != byMessage {
		s.Waits = 2 * c.Phases // a phase is two periods of time
	}
	return s
}

// breakage returns the effect of a cut on connections.
func (c Cluster) breakage() process.Breakage {
	if c.Swallow {
		return process.Swallows
	}
	return process.StallsIf(c.Stall)
}

// check validates the settings.
func (c Cluster) check() error {
	if c.Swallow && c.Stall {
		return fmt.Errorf("ratis: stall and swallow exclude each other: a cut stalls connections or swallows packets")
	}
	if c.Swallow && c.Transport != netty {
		return fmt.Errorf("ratis: swallow needs transport=netty: on a gRPC stream no message can be missing")
	}
	return target.Check("ratis", c)
}
