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
func (a *agented) command(node lockstep.Node, dir string) *exec.Cmd {
	arguments := []string{"server", strconv.Itoa(int(node) - 1)}
	for _, port := range a.ports[:node-1] {
		arguments = append(arguments, strconv.Itoa(port+1))
	}
	cmd, err := a.run(dir, hooks, a.ports, arguments...)
	if err != nil {
		cmd.Err = err
	}
	return cmd
}

// begin starts the client and offers its requests.
func (a *agented) begin(ctx context.Context, out *lockstep.Outbox) error {
	a.heard = nil
	cmd, err := a.run(filepath.Join(a.root, "client"), "", a.ports, "client", strconv.Itoa(clientID))
	if err != nil {
		return err
	}
	if err := a.client.start(ctx, cmd, a.hear); err != nil {
		return err
	}
	a.begun = time.Now()
	a.cluster.offer(out)
	return nil
}

// hear records an event of the client.
func (a *agented) hear(e lockstep.Event) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.heard = append(a.heard, e)
}

// report reports the events of the client, and how much time has passed.
func (a *agented) report(out *lockstep.Outbox) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, e := range a.heard {
		out.Event(e)
	}
	a.heard = nil
	out.Advance(trace.Time(time.Since(a.begun)))
	return a.client.alive()
}
