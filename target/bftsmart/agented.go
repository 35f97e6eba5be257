package bftsmart

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/trace"
)

// agented is replicas with an agent in each, which intercepts every message, and their client.
type agented struct {
	programs
	root   string
	ports  [replicas]int // for clients; the port after it is for replicas
	client client
	begun  time.Time

	mutex sync.Mutex
	heard []lockstep.Event // events of the client
}

func newAgented(p programs, place *lockstep.Env) (*agented, error) {
	root, err := place.Dir()
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(replicas)
	if err != nil {
		return nil, err
	}
	return &agented{programs: p, root: root, ports: [replicas]int(ports)}, nil
}

// agented returns the cluster as replicas that report.
func (c Cluster) agented(d *agented) remote.System {
	return remote.System{
		Name:     "bftsmart",
		Options:  c.options(),
		Nodes:    replicas,
		Kill:     true,
		Own:      true,
		Fresh:    true,
		Timeless: true,
		Pace:     c.Pace,
		Serial:   true, // four JVMs at a time are enough
		Types:    Types,
		Rounds:   Rounds,
		Events:   events,
		Requests: c.requests(),
		Value:    value,
		Limits:   remote.Limits{Timeout: timeout},
		Command:  d.command,
		Body:     decoded,
		Clients:  &remote.Clients{Begin: d.begin, Request: d.client.ask, Report: d.report, Stop: d.client.stop},
		Forge: func(text string, forgedID trace.ID, sent func(trace.ID) []byte) (string, trace.Tag, []byte, error) {
			body, m, err := forge(original(text, forgedID, sent), text)
			return m.Type, m.tag(), body, err
		},
	}
}

// decoded returns the value of a message that scenarios see.
func decoded(body []byte) any {
	m, err := Decode(body)
	if err != nil {
		return Message{Type: err.Error()}
	}
	return m
}

// command starts a replica, when those before it listen.
func (d *agented) command(node lockstep.Node, dir string) *exec.Cmd {
	arguments := []string{"server", strconv.Itoa(int(node) - 1)}
	for _, port := range d.ports[:node-1] {
		arguments = append(arguments, strconv.Itoa(port+1))
	}
	cmd, err := d.run(dir, hooks, d.ports, arguments...)
	if err != nil {
		cmd.Err = err
	}
	return cmd
}

// begin starts the client and offers its requests.
func (d *agented) begin(ctx context.Context, out *lockstep.Outbox) error {
	d.heard = nil
	cmd, err := d.run(filepath.Join(d.root, "client"), "", d.ports, "client", strconv.Itoa(clientID))
	if err != nil {
		return err
	}
	if err := d.client.start(ctx, cmd, d.hear); err != nil {
		return err
	}
	d.begun = time.Now()
	d.cluster.offer(out)
	return nil
}

// hear records an event of the client.
func (d *agented) hear(e lockstep.Event) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.heard = append(d.heard, e)
}

// report reports the events of the client, and how much time has passed.
func (d *agented) report(out *lockstep.Outbox) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, e := range d.heard {
		out.Event(e)
	}
	d.heard = nil
	out.Advance(trace.Time(time.Since(d.begun)))
	return d.client.alive()
}
