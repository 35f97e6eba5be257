// Package maelstrom tests programs that were written for Maelstrom, Jepsen's workbench for learning distributed
// systems. Their nodes, in any language, exchange JSON over standard input and output. They run unmodified. The engine
// controls every message between them, so that runs can be replayed, shrunk and drawn.
//
// A node is quiescent when it has read all its input and all its threads sleep (package
// target/maelstrom/internal/asleep). On platforms that cannot detect this, silence for a while counts as quiescence.
// Programs in Python get the tester's clock and random numbers. Other programs have the machine's clock, which runs in
// Wait steps.
//
// This package provides the services of Maelstrom (lin-kv, seq-kv, lww-kv, lin-tso). A message to a service is a
// message of the node to itself, and the service acts when it is delivered.
package maelstrom

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Cluster is a deployment of a program: a [lockstep.System].
type Cluster struct {
	// Bin is the program, with its arguments.
	Bin string `help:"the program of a node, with its arguments" trust:"executes"`
	// Workload selects the operations and guarantees of clients.
	Workload string `help:"what clients do: broadcast, echo, g-counter, g-set, kafka, lin-kv, pn-counter, txn-list-append or unique-ids"`
	// Nodes is the number of nodes.
	Nodes int `help:"number of nodes" range:"1..64"`
	// Requests is the number of operations that clients begin in a run.
	Requests int `help:"operations of clients in a run; 0: 12" zero:"12" range:"1..1000"`
	// Topology is the neighborhood that nodes receive in the workload broadcast.
	Topology string `help:"the neighbors of nodes in the workload broadcast: grid, line or total" oneof:"grid line total"`
	// Crash allows crashes and restarts of nodes. Most programs keep all state in memory.
	Crash bool `help:"nodes may be killed, and restart with only the data on their disks"`
	// Exact declares that the program has no clock, no draws and no races of its own, besides those that it gets.
	Exact bool `help:"the program has no clock, random draw or race, so that runs are deterministic"`
	// Pace is the duration of a step in which time passes.
	Pace time.Duration `help:"duration of a step in which time passes; 0s: 20ms" zero:"20ms"`
	// Timeout is the timeout for a node to become quiescent.
	Timeout time.Duration `help:"how long a node may take to become quiescent; 0s: 5s" zero:"5s"`
}

// Describe returns the properties and capabilities of the system.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := c.check(); err != nil {
		return lockstep.Info{}, err
	}
	options := target.Changed(c, Cluster{}, "bin", "workload", "nodes")
	c = target.Fill(c)
	info := lockstep.Info{Name: "maelstrom", Nodes: c.Nodes, Options: options, Draws: "the clients' operations",
		Pace: trace.Time(c.Pace), Events: []string{spec.EventCall, spec.EventReturn},
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Request, trace.Cut, trace.Heal,
			trace.Wait)}
	if c.Crash {
		info.Supports |= trace.KindsOf(trace.Crash, trace.Restart)
	}
	if !c.Exact {
		info.Determinism = lockstep.BestEffort
	}
	return info, nil
}

// check validates the settings.
func (c Cluster) check() error {
	switch {
	case strings.TrimSpace(c.Bin) == "":
		return errors.New(
			"maelstrom: bin is the program of a node, like --set bin=./node or --set bin='python3 node.py'")
	case workloads[c.Workload] == nil:
		return fmt.Errorf("maelstrom: workload is %q, allowed are %s", c.Workload, strings.Join(names(), ", "))
	}
	c = target.Fill(c)
	return target.Check("maelstrom", c)
}

// Deploy creates a deployment; the nodes start with each run.
func (c Cluster) Deploy(_ context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = target.Fill(c)
	return &deployment{cluster: c, place: p, work: workloads[c.Workload]}, nil
}

// Target is a Maelstrom program.
var Target = target.Of("maelstrom",
	"a program for Maelstrom, in any language (--set bin=./node --set workload=broadcast)",
	Cluster{Nodes: 3, Topology: "grid"}, Promise).
	Settled(60)

// topologies decide whether two of n nodes are neighbors.
var topologies = map[string]func(n, a, b int) bool{
	"total": func(_, _, _ int) bool { return true },
	"line":  func(_, a, b int) bool { return a-b == 1 || b-a == 1 },
	"grid": func(n, a, b int) bool {
		width := 1
		for width*width < n {
			width++
		}
		across := a/width == b/width && (a-b == 1 || b-a == 1)
		return across || a-b == width || b-a == width
	},
}
