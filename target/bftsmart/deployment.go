package bftsmart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process/jvm"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is the replicas and the client of one worker.
type deployment struct {
	cluster  Cluster
	place    *lockstep.Place
	java     *jvm.JVM
	agent    string        // its jar
	ports    [replicas]int // for clients; the one after it is for replicas
	replicas lockstep.Deployment
	client   *program
	begun    time.Time
	original []byte // of the message that is being forged
}

func newDeployment(ctx context.Context, c Cluster, p *lockstep.Place) (*deployment, error) {
	java, agent, err := prepare(ctx)
	if err != nil {
		return nil, err
	}
	return &deployment{cluster: c, place: p, java: java, agent: agent}, nil
}

// Reset ends the processes of the run before and starts new ones.
func (d *deployment) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	if err := d.Close(); err != nil {
		return err
	}
	root, err := d.place.Folder()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, "config")); err != nil {
		return err
	}
	ports, err := freePorts(replicas)
	if err != nil {
		return err
	}
	d.ports = [replicas]int(ports)
	if d.replicas, err = d.cluster.remote(d).Deploy(ctx, d.place); err != nil {
		return err
	}
	if err := d.replicas.Reset(ctx, seed, out); err != nil {
		if ctx.Err() == nil { // a machine that is too busy spoils a run, not a campaign
			err = &lockstep.Inconclusive{Reason: err.Error()}
		}
		return err
	}
	if err := d.enter(ctx, root); err != nil {
		return err
	}
	d.offer(out)
	return nil
}

// enter starts the client.
func (d *deployment) enter(ctx context.Context, root string) (err error) {
	folder := filepath.Join(root, "client")
	if err := d.configure(folder, d.ports); err != nil {
		return err
	}
	if d.client, err = start(d.run(folder, "", "client", strconv.Itoa(clientID))); err != nil {
		return err
	}
	if err := d.client.up(ctx, "the client"); err != nil {
		return err
	}
	d.begun = time.Now()
	return nil
}

// offer offers the client's requests.
func (d *deployment) offer(out *lockstep.Outbox) {
	for k := range d.cluster.Requests {
		out.Offer(lockstep.Pending{ID: int32(k + 1), To: trace.AllNodes(replicas), Text: request(k + 1)})
	}
}

// clientID is BFT-SMaRt's number for the client.
const clientID = 1001

// command starts a replica, when those before it listen.
func (d *deployment) command(node lockstep.Node, folder string) *exec.Cmd {
	arguments := []string{"server", strconv.Itoa(int(node) - 1)}
	for _, port := range d.ports[:node-1] {
		arguments = append(arguments, strconv.Itoa(port+1))
	}
	cmd := d.run(folder, hooks, arguments...)
	if err := d.configure(folder, d.ports); err != nil {
		cmd.Err = err
	}
	return cmd
}

// What the agent is to do: take every message, or see to it that the replica listens on the loopback alone.
const hooks, loopback = "hooks", "loopback"

// run is a JVM in a folder.
func (d *deployment) run(folder, agent string, arguments ...string) *exec.Cmd {
	java := *d.java
	if agent != "" {
		java.Flags = []string{"-javaagent:" + d.agent + "=" + agent, fmt.Sprintf("-Dlockstep.silence=%d", d.cluster.Silence.Milliseconds())}
	}
	cmd := java.In(folder).Command("io.github.lockstepgo.bftsmart.Replica", arguments...)
	cmd.Dir = folder
	return cmd
}

// configure writes the configuration of a process.
func (d *deployment) configure(folder string, ports [replicas]int) error {
	config := filepath.Join(folder, "config")
	if err := os.MkdirAll(config, 0o755); err != nil {
		return err
	}
	hosts := ""
	for i, port := range ports {
		hosts += fmt.Sprintf("%d 127.0.0.1 %d\n", i, port)
	}
	settings := settings + fmt.Sprintf("system.totalordermulticast.timeout = %d\n", d.cluster.Timeout.Milliseconds())
	return errors.Join(os.WriteFile(filepath.Join(config, "hosts.config"), []byte(hosts), 0o644),
		os.WriteFile(filepath.Join(config, "system.config"), []byte(settings), 0o644))
}

// Do lets the step happen and says how much time has passed.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	err := d.do(ctx, s, out)
	d.answers(out)
	return errors.Join(err, d.client.alive("the client"))
}

// answers tells what the client was answered, and how much time has passed.
func (d *deployment) answers(out *lockstep.Outbox) {
	d.client.take(func(line string) {
		var number int
		if _, err := fmt.Sscanf(line, "reply %d", &number); err == nil {
			out.Event(clients(EventReply, number))
		}
	})
	out.Advance(lockstep.Time(time.Since(d.begun)))
}

// clients is an event of the client. It is drawn at the first node: clients are no nodes.
func clients(event string, number int) lockstep.Event {
	return lockstep.Event{Node: 1, Type: event, Text: strconv.Itoa(number), Value: number}
}

func (d *deployment) do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Request:
		if err := d.ask(int(s.Request), out); err != nil {
			return err
		}
		// It is on its way to the replicas: let it arrive.
		return d.replicas.Do(ctx, &lockstep.Step{Kind: trace.Wait, For: lockstep.Time(d.cluster.Pace)}, out)
	case trace.Replace:
		text, forged := out.Forged(s)
		body := d.replicas.Abilities().Body
		d.original = original(text, forged, func(id lockstep.ID) []byte { return body(id).([]byte) })
	}
	return d.replicas.Do(ctx, s, out)
}

// ask lets the client ask.
func (d *deployment) ask(number int, out *lockstep.Outbox) error {
	out.Event(clients(EventAsked, number))
	if err := d.client.ask(number); err != nil {
		return &lockstep.Inconclusive{Reason: "the client: " + err.Error()}
	}
	return nil
}

// forge makes a message of words and of the message that it takes the place of.
func (d *deployment) forge(text string) (string, lockstep.Tag, []byte, error) {
	forged, m, err := forge(d.original, text)
	if err != nil {
		return "", lockstep.Tag{}, nil, err
	}
	return m.Type, m.tag(), forged, nil
}

// Abilities are the bodies, as far as they can be read.
func (d *deployment) Abilities() lockstep.Abilities {
	return lockstep.Abilities{Body: func(body lockstep.ID) any {
		m, err := Decode(d.replicas.Abilities().Body(body).([]byte))
		if err != nil {
			return Message{Type: err.Error()}
		}
		return m
	}}
}

// Close ends all processes.
func (d *deployment) Close() error {
	if d.client != nil {
		d.client.Kill()
		d.client = nil
	}
	if d.replicas == nil {
		return nil
	}
	err := d.replicas.Close()
	d.replicas = nil
	return err
}
