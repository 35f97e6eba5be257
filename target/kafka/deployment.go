package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/process/jvm"
	"github.com/lockstep-go/lockstep/trace"
)

// The parts that nodes play.
const (
	roleLeader     = "leader"     // of a partition, by what was decided last
	roleFollower   = "follower"   // any other broker
	roleController = "controller" // one of its own
)

// deployment is the servers of one worker and their clients.
type deployment struct {
	*process.Cluster
	options Cluster
	java    *jvm.JVM

	at, via [][listeners]string // where servers listen, and where others believe them to; by node-1

	asker     *client
	producers []*producer
	topic     topic
	runs      int
	calls     process.Calls[*attempt]
	roles     []string // by node-1, since the last step; nil: not asked yet
	log       [][]Placed
}

// connect makes the clients. They dial when they are asked to.
func (d *deployment) connect() error {
	var addresses []string
	for n := range d.options.brokers().All() {
		addresses = append(addresses, d.at[n-1][forClients])
	}
	var err error
	if d.asker, err = newClient(addresses); err != nil {
		return err
	}
	for i := range d.options.Clients {
		c, err := newClient(addresses)
		if err != nil {
			return err
		}
		idempotent := d.options.Producers == "idempotent" || d.options.Producers == "both" && i%2 == 0
		d.producers = append(d.producers, &producer{client: c, number: i + 1, idempotent: idempotent})
	}
	return nil
}

// Reset waits until all servers serve; those of the run before are used again, with another topic.
func (d *deployment) Reset(ctx context.Context, _ uint64, out *lockstep.Outbox) error {
	d.calls.Forget()
	d.roles, d.log = nil, nil
	d.runs++
	if err := d.Resume(); err != nil {
		return err
	}
	all := trace.AllNodes(d.options.nodes())
	if err := d.steady(ctx, all, false); err != nil {
		return err
	}
	if err := d.renew(ctx); err != nil {
		return err
	}
	if err := d.steady(ctx, all, true); err != nil {
		return err
	}
	for _, p := range d.producers {
		p.begin(d.options.Partitions)
		if err := d.introduce(ctx, p); err != nil {
			return err
		}
		d.offer(p, out)
	}
	return nil
}

// introduce lets a producer dial all brokers, and gives an idempotent one its identity, so that its first record takes no longer than others.
func (d *deployment) introduce(ctx context.Context, p *producer) error {
	return d.insist(ctx, fmt.Sprintf("producer %d gets no answer", p.number), func(ctx context.Context) error {
		for n := range d.options.brokers().All() {
			if _, err := p.view(ctx, n, d.topic, d.options.Partitions); err != nil {
				return err
			}
		}
		if !p.idempotent {
			return nil
		}
		var err error
		p.who, err = p.identify(ctx, 1)
		return err
	})
}

// insist tries something again and again until it works.
func (d *deployment) insist(ctx context.Context, trouble string, do func(context.Context) error) error {
	return process.Timed(&d.Spent.Working, func() error { return process.Insist(ctx, d.Patience, "kafka: "+trouble, do) })
}

// renew makes the topic of a run in the place of the one before. Its first leader is broker 1.
func (d *deployment) renew(ctx context.Context) error {
	if d.topic.name != "" {
		_ = d.asker.remove(ctx, 1, d.topic) // it is in nobody's way
	}
	var replicas []int32
	for n := range d.options.brokers().All() {
		replicas = append(replicas, int32(n))
	}
	settings := map[string]string{"min.insync.replicas": strconv.Itoa(d.options.Insync), "unclean.leader.election.enable": strconv.FormatBool(d.options.Unclean)}
	attempts := 0 // each with a name of its own, as one that got no answer may have made the topic
	return d.insist(ctx, "the topic cannot be created", func(ctx context.Context) (err error) {
		attempts++
		d.topic, err = d.asker.create(ctx, 1, fmt.Sprintf("run%d-%d", d.runs, attempts), d.options.Partitions, replicas, settings)
		return err
	})
}

// asking is how often a broker is asked that is not ready, and replicating how long a leader waits for others to have a record.
const (
	asking      = 100 * time.Millisecond
	replicating = 10 * time.Second
)

// steady starts what is due and waits until the nodes, which are those that can agree, have done so: their brokers know each
// other to be alive and nobody else, and each partition is led by one of them, where anybody can. With full they are in sync, too.
func (d *deployment) steady(ctx context.Context, nodes lockstep.Nodes, full bool) error {
	brokers := nodes & d.options.brokers()
	return d.Steady(ctx, nodes, func(ctx context.Context, n lockstep.Node) bool {
		if !brokers.Has(n) {
			return true
		}
		v, err := d.asker.view(ctx, n, d.topic, d.options.Partitions)
		if err == nil && v.brokers == brokers && (d.topic.name == "" || v.settled(brokers, full)) {
			return true
		}
		_ = process.Pass(ctx, asking)
		return false
	})
}

// settled reports whether the partitions are led by one of the brokers, or by nobody; with full all brokers are in sync.
func (v *view) settled(brokers lockstep.Nodes, full bool) bool {
	return len(v.partitions) > 0 && !slices.ContainsFunc(v.partitions, func(l led) bool {
		return l.leader != 0 && !brokers.Has(l.leader) || full && l.insync != brokers
	})
}

// Do performs a step.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	d.roles = nil
	d.collect(out)
	var err error
	switch s.Kind {
	case trace.Request:
		err = d.request(ctx, s, out)
	case trace.Wait:
		err = d.pass(ctx, time.Duration(s.For), out)
	default:
		err = process.Timed(&d.Spent.Working, func() error { d.Cluster.Do(s, out); return nil })
	}
	d.collect(out)
	return errors.Join(err, d.Look(out))
}

// offer offers the record that is next.
func (d *deployment) offer(p *producer, out *lockstep.Outbox) {
	if p.at <= d.options.Requests {
		out.Offer(lockstep.Pending{ID: p.request(), To: d.options.brokers(), Text: "write " + p.record(d.options.Partitions).String()})
	}
}

// request lets a producer attempt its record at a server, and waits for the outcome a little.
func (d *deployment) request(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if err := d.Launch(); err != nil {
		return err
	}
	p := d.producers[s.Request/perProducer-1]
	r := p.record(d.options.Partitions)
	if p.tries == 0 {
		out.Event(lockstep.Event{Type: EventSend, Node: s.Node, Value: &r})
	}
	a := &attempt{record: r, node: s.Node}
	acks := int16(-1)
	if d.options.Acks == "leader" {
		acks = 1
	}
	t := d.topic
	return process.Timed(&d.Spent.Working, func() error {
		return d.calls.Ask(ctx, p.number, d.options.Pace, func(ctx context.Context) *attempt {
			a.offset, a.err = p.try(ctx, a.node, t, r, d.options.Partitions, acks, replicating)
			return a
		})
	})
}

// collect takes the outcomes that there are.
func (d *deployment) collect(out *lockstep.Outbox) {
	d.calls.Answers(func(number int, a *attempt) {
		p := d.producers[number-1]
		acknowledged, again := p.learn(a)
		if acknowledged {
			out.Event(lockstep.Event{Type: EventAck, Node: a.node, Value: &Ack{a.record, a.offset}})
		}
		if !again {
			p.next()
		}
		d.offer(p, out)
	})
}

// pass lets time pass. Where servers started or ended or links changed, it ends when those that can agree have done so, and a little
// later. Producers who have waited that long stop waiting.
func (d *deployment) pass(ctx context.Context, pace time.Duration, out *lockstep.Outbox) error {
	if d.Did() != 0 {
		if err := d.steady(ctx, d.agreeing(out), out.Settling()); err != nil {
			return err
		}
	}
	if err := process.Timed(&d.Spent.Waiting, func() error { return process.Pass(ctx, pace) }); err != nil {
		return err
	}
	d.calls.Cancel()
	d.collect(out)
	if out.Settling() {
		return process.Timed(&d.Spent.Working, func() error { return d.look(ctx, out) })
	}
	return nil
}

// agreeing are the nodes that can agree: all that hear each other and nobody else, with a majority of the controllers among
// them.
func (d *deployment) agreeing(out *lockstep.Outbox) lockstep.Nodes {
	controllers := d.options.controllers()
	return d.Group(out, func(nodes lockstep.Nodes) bool { return 2*(nodes&controllers).Len() > controllers.Len() })
}

// look reads the log of all partitions. No more records are offered.
func (d *deployment) look(ctx context.Context, out *lockstep.Outbox) error {
	for _, p := range d.producers {
		out.Withdraw(p.request())
	}
	var log [][]Placed
	for partition := range d.options.Partitions {
		records, err := d.read(ctx, partition)
		if err != nil {
			return errors.Join(ctx.Err(), process.Worthless(fmt.Errorf("kafka: partition %d cannot be read after all have come back: %w", partition, err)))
		}
		log = append(log, records)
		if d.log == nil || !slices.Equal(d.log[partition], records) {
			out.Event(lockstep.Event{Type: EventRecords, Value: &Records{partition, records}})
		}
	}
	if d.log == nil {
		out.Event(d.Spent.Event())
	}
	d.log = log
	return nil
}

// read reads the log of a partition from whoever leads it.
func (d *deployment) read(ctx context.Context, partition int) ([]Placed, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	v, err := d.asker.view(ctx, 1, d.topic, d.options.Partitions)
	switch {
	case err != nil:
		return nil, err
	case len(v.partitions) == 0 || v.partitions[partition].leader == 0:
		return nil, errNobody
	}
	return d.asker.read(ctx, v.partitions[partition].leader, d.topic, partition)
}

// Abilities are the parts that servers play.
func (d *deployment) Abilities() lockstep.Abilities {
	return lockstep.Abilities{Role: func(n lockstep.Node) string {
		if d.roles == nil {
			d.roles = d.casting()
		}
		return d.roles[n-1]
	}}
}

// casting asks all brokers who plays which part. Who leads is what the one says who knows of the latest election.
func (d *deployment) casting() []string {
	views := make([]view, d.options.Brokers)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for n := range d.options.brokers().All() {
		if d.Server(n).Running() {
			all.Go(func() { views[n-1], _ = d.asker.view(ctx, n, d.topic, d.options.Partitions) })
		}
	}
	all.Wait()
	leaders := lockstep.Nodes(0)
	for partition := range d.options.Partitions {
		last := led{epoch: -1}
		for _, v := range views {
			if len(v.partitions) > 0 && v.partitions[partition].epoch > last.epoch {
				last = v.partitions[partition]
			}
		}
		if last.leader != 0 {
			leaders = leaders.With(last.leader)
		}
	}
	roles := make([]string, d.options.nodes())
	for i := range roles {
		switch n := lockstep.Node(i + 1); {
		case leaders.Has(n):
			roles[i] = roleLeader
		case d.options.brokers().Has(n):
			roles[i] = roleFollower
		default:
			roles[i] = roleController
		}
	}
	return roles
}

// Close ends clients and servers.
func (d *deployment) Close() error {
	d.calls.Forget()
	for _, p := range d.producers {
		p.Client.Close()
	}
	if d.asker != nil {
		d.asker.Client.Close()
	}
	return d.Cluster.Close()
}
