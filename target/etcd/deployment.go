package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/process"
)

// deployment is the servers of one worker and their clients.
type deployment struct {
	*process.Deployment
	options Cluster
	program string

	gateways []*gateway // by node-1
	peer     []string   // where servers listen for each other, by node-1
	via      []string   // where the other servers reach them

	clients *kv.Clients
	runs    int
}

// deploy builds the server and creates the links. All servers must use the same addresses, so that there is one link
// for each destination.
func (c Cluster) deploy(ctx context.Context, servers *process.Deployment) (process.Driver, error) {
	program, err := process.Program(ctx, "go.etcd.io/etcd/server/v3", c.Version)
	if err != nil {
		return process.Driver{}, err
	}
	d := &deployment{Deployment: servers, options: c, program: program, clients: kv.NewClients(c.load(), c.Nodes)}
	for i := range c.Nodes {
		d.gateways = append(d.gateways,
			&gateway{address: d.Port(), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		d.peer, d.via = append(d.peer, d.Port()), append(d.via, d.Port())
		if _, err := d.Network.Link(0, lockstep.Node(i+1), d.via[i], d.peer[i], nil); err != nil {
			return process.Driver{}, err
		}
	}
	return process.Driver{
		Reset:   d.reset,
		Command: d.command,
		Ready:   d.ready,
		Begin:   d.begin,
		Request: d.request,
		GiveUp:  true,
		Log:     aboutConsensus,
	}, nil
}

// command starts a node. Its data must survive the process, but not the machine.
func (d *deployment) command(n lockstep.Node) (*exec.Cmd, error) {
	var members []string
	for i, address := range d.via {
		members = append(members, fmt.Sprintf("n%d=http://%s", i+1, address))
	}
	client, peer := "http://"+d.gateways[n-1].address, "http://"+d.peer[n-1]
	return exec.Command(
		d.program,
		"--name",
		fmt.Sprintf("n%d", n),
		"--data-dir",
		"data",
		"--listen-client-urls",
		client,
		"--advertise-client-urls",
		client,
		"--listen-peer-urls",
		peer,
		"--initial-advertise-peer-urls",
		"http://"+d.via[n-1],
		"--initial-cluster",
		strings.Join(members, ","),
		"--initial-cluster-token",
		"lockstep",
		"--initial-cluster-state",
		"new",
		"--heartbeat-interval",
		"50",
		"--election-timeout",
		"500",
		"--unsafe-no-fsync",
		"--log-level",
		"info",
		"--log-outputs",
		"stdout",
	), nil
}

// aboutConsensus selects the log lines about consensus between servers.
func aboutConsensus(line string) bool {
	return slices.ContainsFunc(
		[]string{
			"elected leader",
			"became leader",
			"became candidate",
			"lost leader",
			"stepped down",
			`"level":"error"`,
			`"level":"panic"`,
			`"level":"fatal"`,
		},
		func(words string) bool { return strings.Contains(line, words) },
	)
}

// reset gives the run a separate key prefix.
func (d *deployment) reset() error {
	d.runs++
	return nil
}

// ready reports whether a node answers.
func (d *deployment) ready(ctx context.Context, n lockstep.Node, _ lockstep.Nodes) bool {
	_, err := d.gateways[n-1].get(ctx, "ready", false)
	return err == nil
}

// begin offers the first request of each client.
func (d *deployment) begin(_ context.Context, out *lockstep.Outbox) error {
	d.clients.Begin(rand.New(rand.NewPCG(d.Seed, 1)), out)
	return nil
}

// request makes a client send a request to a node, and waits for the response for one pace. A client continues after an
// error: its operation may take effect or not.
func (d *deployment) request(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if err := d.StartDue(); err != nil {
		return err
	}
	d.clients.At(out)
	given, _ := d.clients.Given(s.Request)
	op, node, at, prefix := *given, s.Node, d.gateways[s.Node-1], fmt.Sprintf("run%d/", d.runs)
	return d.StartCall(ctx, op.Client, d.options.Pace, func(ctx context.Context) func(*lockstep.Outbox) {
		result, err := at.do(ctx, prefix, op, d.options.Serializable)
		return func(out *lockstep.Outbox) {
			d.clients.At(out)
			if err != nil {
				d.clients.GiveUp(op.Client, op.Seq)
			} else {
				d.clients.Answer(node, op.Client, op.Seq, result)
			}
		}
	})
}
