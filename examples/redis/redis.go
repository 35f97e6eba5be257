// Package redis tests Redis Sentinel: three nodes, each with an unmodified redis-server and a sentinel. It is an
// example of how little code a target in processes needs: see package process.
//
// Clients follow the Redis documentation: they ask a sentinel for the master, and then the master. Sentinel promises
// availability, not consistency: an isolated master acknowledges writes that are lost when it is back. The
// linearizability check finds that.
package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of Redis Sentinel: a [lockstep.System].
type Cluster struct {
	Clients  int           `help:"clients, each with one request at a time" zero:"2" range:"1..16"`
	Requests int           `help:"operations of each client" zero:"8" range:"1..1000"`
	Down     time.Duration `help:"how long sentinels hear nothing of a node until it is down" zero:"300ms" range:"1ms.."`
	Pace     time.Duration `help:"how long a Wait step lasts, and how long a client waits for an answer" zero:"200ms" range:"1ms.."`
}

// Target is Redis Sentinel.
var Target = target.Of("redis", "Redis with Sentinel, unmodified servers in processes", Cluster{}, kv.Linearizable).
	Explored("walk:request=4,cut=1,heal=1,wait=2,deliver=0,drop=0,timer=0,crash=0,restart=0,steps=30").Settled(4)

// Describe returns the properties and capabilities of the system.
func (c Cluster) Describe() (lockstep.Info, error) { return c.system().Describe() }

// Deploy creates a deployment; servers start with each run.
func (c Cluster) Deploy(ctx context.Context, place *lockstep.Env) (lockstep.Deployment, error) {
	return c.system().Deploy(ctx, place)
}

const nodes = 3

// system returns the cluster as servers in processes.
func (c Cluster) system() process.System {
	c = target.Fill(c)
	return process.System{Name: "redis", Options: target.Changed(c, Cluster{}), Nodes: nodes, New: c.deploy,
		Check: func() error { return target.Check("redis", c) }, Pace: c.Pace, StartTimeout: time.Minute,
		Draws: "the clients' operations", Events: []string{spec.EventCall, spec.EventReturn},
		Roles: []string{"master", "slave"}}
}

// address is a server's own address, and via the address at which the other servers reach it.
type address struct{ at, via string }

// deployment is the servers of one worker.
type deployment struct {
	*process.Deployment
	options          Cluster
	program          string
	redis, sentinels [nodes]address
	clients          *kv.Clients
}

// deploy assigns ports and links to the servers. All others use the same address of a server: there is one link for
// each.
func (c Cluster) deploy(_ context.Context, servers *process.Deployment) (process.Driver, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return process.Driver{}, errors.New("redis: redis-server is not installed; `make setup` installs it")
	}
	load := kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: 1, Mix: kv.Mix{Put: 1, Get: 1}}
	d := &deployment{Deployment: servers, options: c, program: program, clients: kv.NewClients(load, nodes)}
	for i := range nodes {
		for _, a := range []*address{&d.redis[i], &d.sentinels[i]} {
			a.at, a.via = d.Port(), d.Port()
			if _, err := d.Network.Link(0, lockstep.Node(i+1), a.via, a.at, nil); err != nil {
				return process.Driver{}, err
			}
		}
	}
	return process.Driver{Command: d.command, Ready: d.ready, Begin: d.begin, Request: d.request, GiveUp: true,
		Log: func(line string) bool { return strings.Contains(line, "+switch-master") }, Role: d.role}, nil
}

// settings returns those that both servers of a node have: the addresses to listen at and to announce.
func (a address) settings(announce, more string) string {
	host, port, _ := strings.Cut(a.at, ":")
	viaHost, viaPort, _ := strings.Cut(a.via, ":")
	return fmt.Sprintf("bind %s\nport %s\nprotected-mode no\n%[3]s-ip %[4]s\n%[3]s-port %[5]s\n%[6]s",
		host, port, announce, viaHost, viaPort, more)
}

// The settings of the servers, and of a sentinel: the first master, and the timeout after which it is considered down.
const (
	durable  = "appendonly yes\nappendfsync always\nsave \"\"\nrepl-diskless-sync-delay 0\nrepl-timeout 2\n"
	watching = "sentinel monitor main %s 2\nsentinel down-after-milliseconds main %d\nsentinel failover-timeout main %d\n"
)

// command starts a node. The servers keep their state in their settings files, which are therefore written once.
func (d *deployment) command(n lockstep.Node) (*exec.Cmd, error) {
	first, down := strings.Replace(d.redis[0].via, ":", " ", 1), d.options.Down.Milliseconds()
	redis, sentinel := durable, fmt.Sprintf(watching, first, down, 4*down)
	if n != 1 {
		redis += "replicaof " + first + "\n"
	}
	for name, text := range map[string]string{"redis.conf": d.redis[n-1].settings("replica-announce", redis),
		"sentinel.conf": d.sentinels[n-1].settings("sentinel announce", sentinel)} {
		file := filepath.Join(d.Server(n).Dir, name)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return exec.Command("/bin/sh", "-c", `"$0" redis.conf & exec "$0" sentinel.conf --sentinel`, d.program), nil
}

// ready reports whether the sentinel of a node has found all others, and a reachable master that considers itself
// master.
func (d *deployment) ready(ctx context.Context, n lockstep.Node, among lockstep.Nodes) bool {
	state, err := ask(ctx, d.sentinels[n-1].at, "SENTINEL MASTER main")
	if err != nil || !strings.Contains(strings.Join(state, " "), "num-slaves 2 num-other-sentinels 2") {
		// shortens its polling interval
		_, _ = ask(ctx, d.sentinels[n-1].at, "SENTINEL DEBUG info-period 500 publish-period 500")
		return false
	}
	m, err := d.master(ctx, n)
	return err == nil && among.Has(m) && d.role(ctx, m) == "master"
}

// master asks the sentinel of a node for the master.
func (d *deployment) master(ctx context.Context, n lockstep.Node) (lockstep.Node, error) {
	got, err := ask(ctx, d.sentinels[n-1].at, "SENTINEL GET-MASTER-ADDR-BY-NAME main")
	for i, a := range d.redis {
		if err == nil && strings.Join(got, ":") == a.via {
			return lockstep.Node(i + 1), nil
		}
	}
	return 0, errors.Join(err, errors.New("redis: no master is known"))
}

// role returns the role that a node believes it has.
func (d *deployment) role(ctx context.Context, n lockstep.Node) string {
	got, err := ask(ctx, d.redis[n-1].at, "ROLE")
	if err != nil || len(got) == 0 {
		return ""
	}
	return got[0]
}

func (d *deployment) begin(_ context.Context, out *lockstep.Outbox) error {
	d.clients.Begin(rand.New(rand.NewPCG(d.Seed, 1)), out)
	return nil
}

// request makes a client ask the sentinel of a node for the master, and then the master. After an error the operation
// may take effect or not.
func (d *deployment) request(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	d.clients.At(out)
	given, _ := d.clients.Given(s.Request)
	op, node := *given, s.Node
	return d.StartCall(ctx, op.Client, d.options.Pace, func(ctx context.Context) func(*lockstep.Outbox) {
		result, err := d.do(ctx, node, op)
		return func(out *lockstep.Outbox) {
			if d.clients.At(out); err != nil {
				d.clients.GiveUp(op.Client, op.Seq)
			} else {
				d.clients.Answer(node, op.Client, op.Seq, result)
			}
		}
	})
}

// do performs an operation.
func (d *deployment) do(ctx context.Context, n lockstep.Node, op kv.Op) (kv.Result, error) {
	m, err := d.master(ctx, n)
	if err != nil {
		return kv.Result{}, err
	}
	if op.Kind == kv.Put {
		_, err := ask(ctx, d.redis[m-1].at, fmt.Sprintf("SET %s %d", kv.KeyName(op.Key), op.Value))
		return kv.Result{Value: kv.Value{Number: op.Value}, OK: true}, err
	}
	got, err := ask(ctx, d.redis[m-1].at, "GET "+kv.KeyName(op.Key))
	if err != nil || got[0] == "" { // a missing key has the value 0
		return kv.Result{OK: true}, err
	}
	number, err := strconv.ParseInt(got[0], 10, 32)
	return kv.Result{Value: kv.Value{Number: int32(number)}, OK: true}, err
}

// ask sends a command to a server, and returns the strings of the reply.
func ask(ctx context.Context, server, command string) ([]string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return nil, err
	}
	return reply(bufio.NewReader(conn))
}

// reply parses a reply in the Redis protocol. It flattens nested lists.
func reply(r *bufio.Reader) (list []string, err error) {
	line, err := r.ReadString('\n')
	if err != nil || len(line) < 3 {
		return nil, errors.Join(err, errors.New("redis: no answer"))
	}
	text := strings.TrimRight(line[1:], "\r\n")
	number, _ := strconv.Atoi(text)
	switch line[0] {
	case '-':
		return nil, errors.New("redis: " + text)
	case '$':
		if number < 0 || number > 1<<20 {
			return []string{""}, nil // there is no value
		}
		value := make([]byte, number+2)
		_, err := io.ReadFull(r, value)
		return []string{strings.TrimSuffix(string(value), "\r\n")}, err
	case '*':
		for range number {
			part, err := reply(r)
			if list = append(list, part...); err != nil {
				return list, err
			}
		}
		return list, nil
	default:
		return []string{text}, nil
	}
}
