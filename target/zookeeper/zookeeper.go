package zookeeper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of ZooKeeper: a [lockstep.System].
type Cluster struct {
	// Version is the version of the servers.
	Version string `help:"version of ZooKeeper: 3.4.9, 3.5.8 and 3.9.5 are known to work" zero:"3.5.8" trust:"fetches" known:"3.4.9 3.5.8 3.9.5"`
	// Nodes is the number of servers.
	Nodes int `help:"number of servers" zero:"3" range:"1..7"`
	// Harness is the client workload: see Parse. "random" draws a different one for each run.
	Harness string `help:"what clients do: div, sc, random, or steps like '2:k0=101; ; 3:k1=302' or '2:k1=0?k0=101'" zero:"div"`
	// Steps and Requests are the size of a random harness.
	Steps    int `help:"steps of a random harness" zero:"3" range:"1..20"`
	Requests int `help:"requests of a random harness" zero:"2" range:"0..20"`
	// Free offers all requests from the beginning, for strategies that do not follow the harness steps. Time then does
	// not wait for servers to agree.
	Free bool `help:"requests may be made at any time, and time does not wait for servers to agree"`
	// Light gives the engine control over the messages between servers: notifications of elections, and ZAB. Requests
	// are as with Free.
	Light bool `help:"the engine delivers or drops each message between servers; a dropped message closes its connection; requests as with free"`
	// Tick is the servers' unit of time. A leader detects the loss of its quorum after half of it.
	Tick time.Duration `help:"the servers' unit of time: a leader detects the loss of its quorum after half of it" zero:"1s" range:"1ms.."`
	// Pace is the minimum duration of a step in which time passes.
	Pace time.Duration `help:"duration of a step in which time passes, without the start of servers" zero:"100ms" range:"0s.."`
	// StartTimeout limits the time in which servers must start and agree.
	StartTimeout time.Duration `help:"how long servers may take to start and to agree" zero:"1m" range:"1ms.."`
	// Refusal is how long a server may refuse its client while all serve.
	Refusal time.Duration `help:"how long a server may refuse its client while all serve" zero:"10s" range:"1ms.."`
	// Warm starts and ends servers inside JVMs that keep running, as the paper's tests did, which makes runs several
	// times as fast. A crash is then a shutdown and no SIGKILL.
	Warm bool `help:"servers start and end inside JVMs that keep running, as in the paper: runs are several times as fast, and a crash is a shutdown"`
	// Stall makes a cut stall connections instead of closing them.
	Stall bool `help:"a cut stalls connections instead of closing them"`
}

// known are artifacts that a version needs and does not declare.
var known = map[string][]string{
	"3.4.9": nil, "3.5.8": nil,
	"3.9.5": {
		"io.dropwizard.metrics:metrics-core:4.1.12.1",
		"org.xerial.snappy:snappy-java:1.1.10.5",
		"ch.qos.logback:logback-classic:1.3.15",
	},
}

// Describe returns the properties and capabilities of the system.
func (c Cluster) Describe() (lockstep.Info, error) { return target.Fill(c).system().Describe() }

// Deploy creates a deployment; servers start with each run.
func (c Cluster) Deploy(ctx context.Context, place *lockstep.Env) (lockstep.Deployment, error) {
	return target.Fill(c).system().Deploy(ctx, place)
}

// system returns the cluster as servers in processes.
func (c Cluster) system() process.System {
	s := process.System{
		Name:    "zookeeper",
		Options: target.Changed(c, target.Fill(Cluster{}), "version"),
		Nodes:   c.Nodes,
		Check:   c.check,
		New: func(ctx context.Context, servers *process.Deployment) (process.Driver, error) {
			java, err := prepare(ctx, c.Version, c.Warm)
			if err != nil {
				return process.Driver{}, err
			}
			return c.deploy(servers, java)
		},
		Messages:     c.Light,
		Breakage:     process.StallsIf(c.Stall),
		Pace:         c.Pace,
		StartTimeout: c.StartTimeout,
		Types:        Types,
		Rounds:       Rounds,
		Roles:        []string{"leader", "follower"},
		Events:       []string{spec.EventCall, spec.EventReturn, EventData, EventRefused, EventDropped},
	}
	if c.Harness == "random" {
		s.Draws = "the harness"
	}
	if !c.free() {
		s.Waits = 2 * c.steps() // each step of a harness is two time steps
	}
	return s
}

// check validates the settings.
func (c Cluster) check() error {
	if err := target.Check("zookeeper", c); err != nil {
		return err
	}
	if c.Harness == "random" {
		if c.Requests > c.Steps {
			return fmt.Errorf("zookeeper: requests is %d, at most the number of steps, %d, is allowed", c.Requests, c.Steps)
		}
		return nil
	}
	h, err := Parse(c.Harness)
	if err != nil {
		return fmt.Errorf("zookeeper: harness: %w", err)
	}
	for _, a := range h {
		if a.Node > c.Nodes {
			return fmt.Errorf("zookeeper: harness: %s names server %d, and there are %d", a, a.Node, c.Nodes)
		}
	}
	return nil
}

// free reports whether requests are made at any time.
func (c Cluster) free() bool { return c.Free || c.Light }

// steps returns the length of a harness.
func (c Cluster) steps() int {
	if c.Harness == "random" {
		return c.Steps
	}
	h, _ := Parse(c.Harness) // check reports its errors
	return len(h)
}

// harness returns the client workload of the run with the given seed.
func (c Cluster) harness(seed uint64) Harness {
	if c.Harness == "random" {
		return draw(rand.New(rand.NewPCG(seed, 1)), c.Nodes, c.Steps, c.Requests)
	}
	h, _ := Parse(c.Harness) // Describe has read it
	return h
}
