package maelstrom

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is the nodes of one worker. They restart with each run.
type deployment struct {
	cluster Cluster
	place   *lockstep.Env
	work    *workload

	nodes    []*program // nil while a node is down
	bodies   []packet   // by number of the body - 1
	services services
	ops      []*Op
	open     map[int64]*Op // by the number of the request message
	asked    int64
	at       positions // of the client of a log
	began    time.Time
	now      time.Duration // of the clocks that programs have taken
	starts   []int         // of each node
	seed     uint64
	reads    int // rounds of final reads that were offered
}

// Reset starts the nodes and sends them their names.
func (d *deployment) Reset(_ context.Context, seed uint64, out *lockstep.Outbox) error {
	d.stop()
	d.bodies, d.services, d.open, d.asked, d.at = d.bodies[:0], newServices(), map[int64]*Op{}, 0, positions{}
	d.began, d.now, d.reads, d.seed = time.Now(), 0, 0, seed
	d.starts = make([]int, d.cluster.Nodes)
	d.nodes = make([]*program, d.cluster.Nodes)
	dir, err := d.place.Dir()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "nodes")); err != nil {
		return err
	}
	if err := writeShim(filepath.Join(dir, "python")); err != nil {
		return err
	}
	for i := range d.nodes {
		if err := d.boot(i); err != nil {
			return err
		}
	}
	for i := range d.nodes {
		if err := d.welcome(i, out); err != nil {
			return err
		}
	}
	d.ops = d.work.operations(rand.New(rand.NewPCG(seed, 1)), d.cluster.Requests)
	for _, op := range d.ops {
		d.offer(op, trace.AllNodes(len(d.nodes)), out)
	}
	return nil
}

func (d *deployment) offer(op *Op, to lockstep.Nodes, out *lockstep.Outbox) {
	out.Offer(trace.Pending{ID: int32(op.ID), To: to, Text: op.String()})
}

// boot starts a node's program in its directory.
func (d *deployment) boot(i int) error {
	root, err := d.place.Dir()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "nodes", nodeName(i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	d.starts[i]++
	d.nodes[i], err = start(d.cluster.Bin, dir, filepath.Join(root, "python"), d.now, seedOf(d.seed, i, d.starts[i]))
	return err
}

// nodeName returns a node's name in Maelstrom.
func nodeName(i int) string { return "n" + strconv.Itoa(i+1) }

// welcome sends a node its name, and the workload's initial message.
func (d *deployment) welcome(i int, out *lockstep.Outbox) error {
	ids := make([]string, len(d.nodes))
	for k := range ids {
		ids[k] = nodeName(k)
	}
	if err := d.ask(i, map[string]any{"type": "init", "node_id": nodeName(i), "node_ids": ids}, out); err != nil {
		return err
	}
	if err := d.nodes[i].clock.probe(); err != nil {
		return d.inconclusive(i, err)
	}
	if d.work.topology {
		return d.ask(i, map[string]any{"type": "topology", "topology": d.topology()}, out)
	}
	return nil
}

// topology returns the neighbors of each node.
func (d *deployment) topology() map[string][]string {
	t := map[string][]string{}
	for a := range d.nodes {
		t[nodeName(a)] = []string{}
		for b := range d.nodes {
			if a != b && topologies[d.cluster.Topology](len(d.nodes), a, b) {
				t[nodeName(a)] = append(t[nodeName(a)], nodeName(b))
			}
		}
	}
	return t
}

// ask sends a node a request on behalf of the test, and expects an answer.
func (d *deployment) ask(i int, body map[string]any, out *lockstep.Outbox) error {
	d.asked++
	answered := &Op{ID: -1}
	d.open[d.asked] = answered
	body["msg_id"] = d.asked
	if err := d.submit(i, "c0", body, out); err != nil {
		return err
	}
	if answered.reply == nil {
		return d.inconclusive(i,
			fmt.Errorf("it does not answer %q with %q", body["type"], fmt.Sprint(body["type"], "_ok")))
	}
	return nil
}

// submit sends a message to a node and processes its effects.
func (d *deployment) submit(i int, from string, body any, out *lockstep.Outbox) error {
	raw, ok := body.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	if err := d.nodes[i].write(packet{Src: from, Dest: nodeName(i), Body: raw}, d.cluster.Timeout); err != nil {
		return d.inconclusive(i, err)
	}
	return d.await(i, out)
}

// await waits until a node is quiescent, and processes its output.
func (d *deployment) await(i int, out *lockstep.Outbox) error {
	if err := d.nodes[i].await(d.cluster.Timeout, func(m packet) error { return d.hear(i, m, out) }); err != nil {
		return d.inconclusive(i, err)
	}
	return nil
}

// inconclusive returns the error of a run that a node made inconclusive.
func (d *deployment) inconclusive(i int, err error) error {
	words := ""
	if p := d.nodes[i]; p != nil {
		words = p.lastWords()
	}
	return &lockstep.Inconclusive{Reason: fmt.Sprintf("node %s: %v%s", nodeName(i), err, words)}
}

// hear processes a message that a node has sent.
func (d *deployment) hear(i int, m packet, out *lockstep.Outbox) error {
	h, err := headOf(m.Body)
	if err != nil {
		return err
	}
	from := lockstep.Node(i + 1)
	switch to, service := d.nodeOf(m.Dest), d.services.has(m.Dest); {
	case strings.HasPrefix(m.Dest, "c"):
		d.answered(from, m, h, out)
	case to != 0:
		d.send(from, to, h.Type, m, out)
	case service:
		d.send(from, from, m.Dest+" "+h.Type, m, out)
	default:
		return fmt.Errorf("a message to %q, which does not exist: %s to %s, clients, and %s are known", m.Dest,
			nodeName(0), nodeName(len(d.nodes)-1), strings.Join(serviceNames, ", "))
	}
	return nil
}

// nodeOf returns the number of the node with the given name, or 0.
func (d *deployment) nodeOf(name string) lockstep.Node {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	if err != nil || n < 1 || n > len(d.nodes) || name != nodeName(n-1) {
		return 0
	}
	return lockstep.Node(n)
}

// send sends a message through the engine.
func (d *deployment) send(from, to lockstep.Node, kind string, m packet, out *lockstep.Outbox) {
	body := out.Send(from, to, kind, trace.Tag{})
	d.bodies = append(d.bodies, m)
	if out.Texts() {
		out.Text(body, string(m.Body))
	}
}

// answered processes a node's answer to a client.
func (d *deployment) answered(from lockstep.Node, m packet, h head, out *lockstep.Outbox) {
	if h.InReplyTo == nil {
		return
	}
	op := d.open[*h.InReplyTo]
	if op == nil {
		return // answered before
	}
	delete(d.open, *h.InReplyTo)
	op.reply, op.code = m.Body, h.Code
	if h.Type == "error" && op.code == 0 {
		op.code = codeTimeout
	}
	op.words = fmt.Sprint(h.Type, " ", h.Text)
	if op.ID > 0 && !op.unknown() {
		op.learn(d.at)
		out.Event(
			lockstep.Event{
				Node:  from,
				Type:  spec.EventReturn,
				Value: &spec.Return{Client: op.ID, ID: op.ID, Output: Answer{op}},
			},
		)
	}
}

// Do performs a step.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	err := d.do(ctx, s, out)
	switch {
	case err != nil:
	case d.takesClock():
		out.Advance(trace.Time(d.now))
	case !d.cluster.Exact:
		err = d.overhear(out)
		out.Advance(trace.Time(time.Since(d.began)))
	}
	return err
}

func (d *deployment) do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Deliver:
		return d.deliver(s, out)
	case trace.Request:
		return d.request(s, out)
	case trace.Crash:
		d.nodes[s.Node-1].kill()
		d.nodes[s.Node-1] = nil
	case trace.Restart:
		if err := d.boot(int(s.Node - 1)); err != nil {
			return err
		}
		return d.welcome(int(s.Node-1), out)
	case trace.Wait:
		return d.wait(ctx, time.Duration(s.For), out)
	}
	return nil
}

// wait lets time pass, by the clocks that programs have taken or in real time, and offers the final reads.
func (d *deployment) wait(ctx context.Context, long time.Duration, out *lockstep.Outbox) error {
	switch {
	case d.takesClock():
		if err := d.advance(long, out); err != nil {
			return err
		}
	case !d.cluster.Exact:
		if err := process.Sleep(ctx, long); err != nil {
			return err
		}
	}
	d.finalReads(out)
	return nil
}

// advance moves the clocks of all nodes. Sleepers whose deadline comes meanwhile continue one after the other, and the
// next one when the program is quiescent.
func (d *deployment) advance(long time.Duration, out *lockstep.Outbox) error {
	d.now += long
	for i, p := range d.nodes {
		if p == nil {
			continue
		}
		for there := false; !there; {
			var err error
			if there, err = p.clock.advance(d.now, d.cluster.Timeout); err != nil {
				return d.inconclusive(i, err)
			}
			if err := d.await(i, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliver delivers a message: to a node, or to a service, whose answer is sent back.
func (d *deployment) deliver(s *lockstep.Step, out *lockstep.Outbox) error {
	envelope := out.Message(s.Msg)
	m := d.bodies[envelope.Body-1]
	if d.services.has(m.Dest) {
		h, err := headOf(m.Body)
		if err != nil {
			return d.inconclusive(int(envelope.From-1), err)
		}
		answer := d.services.serve(m)
		to := envelope.From
		d.send(to, to, m.Dest+" "+h.Type+" answered", packet{Src: m.Dest, Dest: m.Src, Body: answer}, out)
		return nil
	}
	return d.submit(int(envelope.To-1), m.Src, m.Body, out)
}

// request makes a client begin an operation.
func (d *deployment) request(s *lockstep.Step, out *lockstep.Outbox) error {
	op := d.ops[s.Request-1]
	op.Node = s.Node
	body := op.body(d.at)
	d.asked++
	body["msg_id"] = d.asked
	d.open[d.asked] = op
	out.Event(
		lockstep.Event{Node: s.Node, Type: spec.EventCall, Value: &spec.Call{Client: op.ID, ID: op.ID, Input: op}})
	return d.submit(int(s.Node-1), "c"+strconv.Itoa(op.ID), body, out)
}

// overhear processes messages that nodes have sent on their own.
func (d *deployment) overhear(out *lockstep.Outbox) error {
	for i, p := range d.nodes {
		if p == nil {
			continue
		}
		if _, err := p.drain(func(m packet) error { return d.hear(i, m, out) }); err != nil {
			return d.inconclusive(i, err)
		}
	}
	return nil
}

// finalReads offers a read at every node periodically while the run settles; the last reads count for the final
// guarantees.
func (d *deployment) finalReads(out *lockstep.Outbox) {
	if !out.Settling() || d.work.final == "" {
		return
	}
	if d.reads++; d.reads%readEvery != 0 {
		return
	}
	for n := range d.nodes {
		op := &Op{ID: len(d.ops) + 1, Final: true, Kind: d.work.final}
		d.ops = append(d.ops, op)
		d.offer(op, lockstep.Nodes(0).With(lockstep.Node(n+1)), out)
	}
}

// readEvery is the number of waits of the settling stage between two rounds of reads.
const readEvery = 10

// Capabilities has the bodies of messages.
func (d *deployment) Capabilities() lockstep.Capabilities {
	return lockstep.Capabilities{Body: func(body trace.ID) any { return d.bodies[body-1].Body }}
}

func (d *deployment) stop() {
	for i, p := range d.nodes {
		if p != nil {
			p.kill()
			d.nodes[i] = nil
		}
	}
}

// Close ends the nodes.
func (d *deployment) Close() error {
	d.stop()
	return nil
}
