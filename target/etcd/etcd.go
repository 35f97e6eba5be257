// Package etcd tests etcd: unmodified servers of a given version in separate processes, with proxies between them.
// Clients are those of kit/kv, through the servers' JSON gateway.
//
// Servers stay up from run to run, and each run has separate keys. All reads are linearizable unless Serializable is
// set. Then a server answers from its local state, as etcd's version 2 did by default. Section 2 of "Why Is Random
// Testing Effective for Partition Tolerance Bugs?" describes how random testing finds that.
package etcd

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of etcd: a [lockstep.System].
type Cluster struct {
	// Version is the version of the servers.
	Version string `help:"version of etcd, like v3.6.16" zero:"v3.6.16" trust:"fetches" known:"v3.6.16"`
	// Nodes is the number of servers.
	Nodes int `help:"number of servers" zero:"3" range:"1..7"`
	// Clients, Requests and Keys bound the client workload, and Mix selects the operations that clients draw.
	Clients  int    `help:"clients, each with one request at a time" zero:"2" range:"1..16"`
	Requests int    `help:"operations of each client" zero:"6" range:"1..1000"`
	Keys     int    `help:"keys that clients read and write" zero:"1" range:"1..8"`
	Mix      kv.Mix `help:"operations: mixed, binary, or weights of put, get and cas such as put:2,get:3,cas:1"`
	// Serializable lets servers answer reads from their local state.
	Serializable bool `help:"servers answer reads from their local state, so that reads may be stale"`
	// Pace is the minimum duration of a step in which time passes, and the timeout of a client.
	Pace time.Duration `help:"duration of a step in which time passes, and of a client's timeout" zero:"200ms" range:"1ms.."`
	// StartTimeout limits the time in which servers must start and agree.
	StartTimeout time.Duration `help:"how long servers may take to start and to agree" zero:"1m" range:"1ms.."`
	// Stall makes a cut stall connections instead of closing them.
	Stall bool `help:"a cut stalls connections instead of closing them"`
}

func (c Cluster) load() kv.Load {
	return kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: c.Keys, Mix: c.Mix}
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
		Name:         "etcd",
		Options:      target.Changed(c, target.Fill(Cluster{}), "version"),
		Nodes:        c.Nodes,
		Check:        c.check,
		New:          c.deploy,
		Reuse:        true,
		Breakage:     process.StallsIf(c.Stall),
		Pace:         c.Pace,
		StartTimeout: c.StartTimeout,
		Draws:        "the clients' operations",
		Events:       []string{spec.EventCall, spec.EventReturn},
	}
}

// check validates the settings.
func (c Cluster) check() error {
	if err := target.Check("etcd", c); err != nil {
		return err
	}
	if c.Mix.Append != 0 || c.Mix.Delete != 0 || c.Mix.Txn != 0 {
		return fmt.Errorf("etcd: mix is %s, allowed are put, get and cas", c.Mix)
	}
	return nil
}

// Target is etcd.
var Target = target.Of("etcd", "etcd, unmodified servers in processes, behind proxies", target.Fill(Cluster{}),
	kv.Linearizable).
	Explored("walk:request=4,cut=1,heal=1,crash=1,restart=2,wait=2,deliver=0,drop=0,timer=0,steps=40").
	Settled(6).
	WithStepTimeout(10 * time.Minute)
