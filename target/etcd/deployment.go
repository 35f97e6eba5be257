package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is the servers of one worker and their clients.
type deployment struct {
	*process.Cluster
	options Cluster
	program string

	gateways []*gateway // by node-1
	peer     []string   // where servers listen for each other, by node-1
	via      []string   // where the others believe them to be

	clients *kv.Clients
	runs    int
	calls   process.Calls[answer]
}

// answer is what came of an operation.
type answer struct {
	op     kv.Op
	node   lockstep.Node
	result kv.Result
	err    error
}

// wire makes the links. All servers must be told the same addresses, so that there is one for each
// destination.
func (d *deployment) wire() error {
	for i := range d.options.Nodes {
		d.gateways = append(d.gateways, &gateway{address: d.Port(), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		d.peer, d.via = append(d.peer, d.Port()), append(d.via, d.Port())
		if _, err := d.Network.Link(0, lockstep.Node(i+1), d.via[i], d.peer[i], nil); err != nil {
			return err
		}
	}
	d.Command, d.Telling, d.Patience = d.command, telling, d.options.Patience
	return nil
}

// command starts a node. What it writes need not survive the machine, only the process.
func (d *deployment) command(n lockstep.Node) (*exec.Cmd, error) {
	var members []string
	for i, address := range d.via {
		members = append(members, fmt.Sprintf("n%d=http://%s", i+1, address))
	}
	client, peer := "http://"+d.gateways[n-1].address, "http://"+d.peer[n-1]
	return exec.Command(d.program, "--name", fmt.Sprintf("n%d", n), "--data-dir", "data", "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", "http://"+d.via[n-1], "--initial-cluster", strings.Join(members, ","),
		"--initial-cluster-token", "lockstep", "--initial-cluster-state", "new", "--heartbeat-interval", "50", "--election-timeout", "500",
		"--unsafe-no-fsync", "--log-level", "info", "--log-outputs", "stdout"), nil
}

// telling picks the lines of a log that tell how servers agree.
func telling(line string) bool {
	return slices.ContainsFunc([]string{"elected leader", "became leader", "became candidate", "lost leader", "stepped down", `"level":"error"`, `"level":"panic"`, `"level":"fatal"`},
		func(words string) bool { return strings.Contains(line, words) })
}

// Reset waits until all servers serve; those of the run before are used again, with other keys.
func (d *deployment) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	d.calls.Forget()
	d.runs++
	if err := d.Resume(); err != nil {
		return err
	}
	if err := d.Steady(ctx, trace.AllNodes(d.options.Nodes), d.ready); err != nil {
		return err
	}
	d.clients.Begin(rand.New(rand.NewPCG(seed, 1)), out)
	return nil
}

// ready reports whether a node answers.
func (d *deployment) ready(ctx context.Context, n lockstep.Node) bool {
	_, err := d.gateways[n-1].get(ctx, "ready", false)
	return err == nil
}

// prefix tells the keys of this run from those of others.
func (d *deployment) prefix() string { return fmt.Sprintf("run%d/", d.runs) }

// Do performs a step.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	d.clients.At(out)
	d.collect()
	var err error
	switch s.Kind {
	case trace.Request:
		err = d.request(ctx, s)
	case trace.Wait:
		err = d.pass(ctx, time.Duration(s.For), out)
	default:
		d.Cluster.Do(s, out)
	}
	d.collect()
	return errors.Join(err, d.Look(out))
}

// request lets a client ask a node, and waits for the answer a little.
func (d *deployment) request(ctx context.Context, s *lockstep.Step) error {
	if err := d.Launch(); err != nil {
		return err
	}
	op, _ := d.clients.Given(s.Request)
	a := answer{op: *op, node: s.Node}
	prefix, serializable, at := d.prefix(), d.options.Serializable, d.gateways[s.Node-1]
	return process.Timed(&d.Spent.Working, func() error {
		return d.calls.Ask(ctx, op.Client, d.options.Pace, func(ctx context.Context) answer {
			a.result, a.err = at.do(ctx, prefix, a.op, serializable)
			return a
		})
	})
}

// collect takes the answers that have come. A client that got an error goes on: what it asked for
// may take effect or not.
func (d *deployment) collect() {
	d.calls.Answers(func(client int, a answer) {
		if a.err != nil {
			d.clients.GiveUp(client, a.op.Seq)
		} else {
			d.clients.Answer(a.node, client, a.op.Seq, a.result)
		}
	})
}

// pass lets time pass. Where servers started or links changed, it ends when those that can agree
// have done so, and a little later. Clients who have waited that long give up.
func (d *deployment) pass(ctx context.Context, pace time.Duration, out *lockstep.Outbox) error {
	if d.Did()&^trace.KindsOf(trace.Crash) != 0 {
		if err := d.Steady(ctx, d.Majority(out), d.ready); err != nil {
			return err
		}
	}
	if err := process.Timed(&d.Spent.Waiting, func() error { return process.Pass(ctx, pace) }); err != nil {
		return err
	}
	d.collect()
	d.calls.Cancel()
	return nil
}

// Abilities has none.
func (d *deployment) Abilities() lockstep.Abilities { return lockstep.Abilities{} }

// Close ends clients and servers.
func (d *deployment) Close() error {
	d.calls.Forget()
	return d.Cluster.Close()
}
