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

// The roles of nodes.
const (
	roleLeader     = "leader"     // of a partition, by the latest election
	roleFollower   = "follower"   // any other broker
	roleController = "controller" // a separate controller
)

// deployment is the servers of one worker and their clients.
type deployment struct {
	*process.Deployment
	options Cluster
	java    *jvm.JVM

	at, via [][listeners]string // where servers listen, and where others reach them; by node-1

	asker     *client
	producers []*producer
	topic     topic
	runs      int
	roles     []string // by node-1, since the last step; nil: not requested yet
	log       [][]Placed
}

// deploy fetches a version and creates the links and the clients.
func (c Cluster) deploy(ctx context.Context, servers *process.Deployment) (process.Driver, error) {
	java, err := prepare(ctx, c.Version)
	if err != nil {
		return process.Driver{}, err
	}
	d := &deployment{Deployment: servers, options: c, java: java}
	driver := process.Driver{
		Reset:       d.reset,
		Command:     d.write,
		Ready:       d.ready,
		Begin:       d.begin,
		Before:      d.before,
		Request:     d.request,
		MustBeReady: d.agree,
		GiveUp:      true,
		Inspect:     d.inspect,
		Log:         relevant,
		Role:        d.role,
		Close:       d.close,
	}
	return driver, d.wire()
}

// connect creates the clients. They dial on their first request.
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

// reset discards the state of the previous run.
func (d *deployment) reset() error {
	d.roles, d.log = nil, nil
	d.runs++
	return nil
}

// begin creates the topic of the run, waits until all servers have it, and offers the first record of each producer.
func (d *deployment) begin(ctx context.Context, out *lockstep.Outbox) error {
	if err := d.renew(ctx); err != nil {
		return err
	}
	all := trace.AllNodes(d.options.nodes())
	if err := d.StartAndAwait(ctx, all,
		func(ctx context.Context, n lockstep.Node) bool { return d.serves(ctx, n, all, true) }); err != nil {
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

// introduce makes a producer dial all brokers, and gives an idempotent one its identity, so that its first record takes
// no longer than others.
func (d *deployment) introduce(ctx context.Context, p *producer) error {
	return d.retry(ctx, fmt.Sprintf("producer %d gets no answer", p.number), func(ctx context.Context) error {
		for n := range d.options.brokers().All() {
			if _, err := p.view(ctx, n, d.topic, d.options.Partitions); err != nil {
				return err
			}
		}
		if !p.idempotent {
			return nil
		}
		var err error
		p.identity, err = p.identify(ctx, 1)
		return err
	})
}

// retry retries an operation until it succeeds.
func (d *deployment) retry(ctx context.Context, failure string, do func(context.Context) error) error {
	return process.Timed(&d.Spent.Working,
		func() error { return process.Retry(ctx, d.StartTimeout, "kafka: "+failure, do) })
}

// renew replaces the topic of the previous run by a new one. Its first leader is broker 1.
func (d *deployment) renew(ctx context.Context) error {
	if d.topic.name != "" {
		_ = d.asker.remove(ctx, 1, d.topic) // a topic that remains does no harm
	}
	var replicas []int32
	for n := range d.options.brokers().All() {
		replicas = append(replicas, int32(n))
	}
	settings := map[string]string{
		"min.insync.replicas":            strconv.Itoa(d.options.Insync),
		"unclean.leader.election.enable": strconv.FormatBool(d.options.Unclean),
	}
	attempts := 0 // each with a different name, as one without an answer may have created the topic
	return d.retry(ctx, "the topic cannot be created", func(ctx context.Context) (err error) {
		attempts++
		d.topic, err = d.asker.create(ctx, 1, fmt.Sprintf("run%d-%d", d.runs, attempts), d.options.Partitions, replicas,
			settings)
		return err
	})
}

// asking is the polling interval of a broker that is not ready, and replicating how long a leader waits for the
// replication of a record.
const (
	asking      = 100 * time.Millisecond
	replicating = 10 * time.Second
)

// ready reports whether a node serves; in the settling stage its broker must also be in sync for all partitions.
func (d *deployment) ready(ctx context.Context, n lockstep.Node, among lockstep.Nodes) bool {
	return d.serves(ctx, n, among, d.Settling())
}

// serves reports whether a node and the nodes that can agree have done so. Their brokers see exactly each other as
// alive, and one of them leads each partition that can have a leader. With full all of them are also in sync.
func (d *deployment) serves(ctx context.Context, n lockstep.Node, among lockstep.Nodes, full bool) bool {
	brokers := among & d.options.brokers()
	if !brokers.Has(n) {
		return true
	}
	v, err := d.asker.view(ctx, n, d.topic, d.options.Partitions)
	if err == nil && v.brokers == brokers && (d.topic.name == "" || v.settled(brokers, full)) {
		return true
	}
	_ = process.Sleep(ctx, asking)
	return false
}

// settled reports whether each partition is led by one of the brokers, or has no leader; with full all brokers are in
// sync.
func (v *view) settled(brokers lockstep.Nodes, full bool) bool {
	return len(v.partitions) > 0 && !slices.ContainsFunc(v.partitions, func(l led) bool {
		return l.leader != 0 && !brokers.Has(l.leader) || full && l.insync != brokers
	})
}

// before invalidates the roles.
func (d *deployment) before(*lockstep.Step, *lockstep.Outbox) { d.roles = nil }

// offer offers the next record.
func (d *deployment) offer(p *producer, out *lockstep.Outbox) {
	if p.at <= d.options.Requests {
		out.Offer(
			trace.Pending{
				ID:   p.request(),
				To:   d.options.brokers(),
				Text: "write " + p.record(d.options.Partitions).String(),
			},
		)
	}
}

// request makes a producer attempt its record at a server, and waits a short time for the outcome.
func (d *deployment) request(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if err := d.StartDue(); err != nil {
		return err
	}
	p := d.producers[s.Request/perProducer-1]
	r := p.record(d.options.Partitions)
	if p.attempts == 0 {
		out.Event(lockstep.Event{Type: EventSend, Node: s.Node, Value: &r})
	}
	acks := int16(-1)
	if d.options.Acks == "leader" {
		acks = 1
	}
	node, t := s.Node, d.topic
	return d.StartCall(ctx, p.number, d.options.Pace, func(ctx context.Context) func(*lockstep.Outbox) {
		a := &attempt{record: r, node: node}
		a.offset, a.err = p.try(ctx, node, t, r, d.options.Partitions, acks, replicating)
		return func(out *lockstep.Outbox) { d.learn(p, a, out) }
	})
}

// learn processes the outcome of an attempt.
func (d *deployment) learn(p *producer, a *attempt, out *lockstep.Outbox) {
	acknowledged, again := p.learn(a)
	if acknowledged {
		out.Event(lockstep.Event{Type: EventAck, Node: a.node, Value: &Ack{a.record, a.offset}})
	}
	if !again {
		p.next()
	}
	d.offer(p, out)
}

// agree returns the nodes that can agree, after a change of servers or links. They are nodes that hear only each other,
// with a majority of the controllers among them.
func (d *deployment) agree(out *lockstep.Outbox) lockstep.Nodes {
	if d.KindsSinceReady() == 0 {
		return 0
	}
	controllers := d.options.controllers()
	return d.Group(out, func(nodes lockstep.Nodes) bool { return 2*(nodes&controllers).Len() > controllers.Len() })
}

// inspect reads the log of all partitions. It offers no more records.
func (d *deployment) inspect(ctx context.Context, out *lockstep.Outbox) error {
	for _, p := range d.producers {
		out.Withdraw(p.request())
	}
	var log [][]Placed
	for partition := range d.options.Partitions {
		records, err := d.read(ctx, partition)
		if err != nil {
			return errors.Join(
				ctx.Err(),
				process.Inconclusive(
					fmt.Errorf("kafka: partition %d cannot be read after all servers restarted: %w", partition, err)),
			)
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

// read reads the log of a partition from its leader.
func (d *deployment) read(ctx context.Context, partition int) ([]Placed, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	v, err := d.asker.view(ctx, 1, d.topic, d.options.Partitions)
	switch {
	case err != nil:
		return nil, err
	case len(v.partitions) == 0 || v.partitions[partition].leader == 0:
		return nil, errNoLeader
	}
	return d.asker.read(ctx, v.partitions[partition].leader, d.topic, partition)
}

// role returns the role of a node, as of the first request for a role since the last step.
func (d *deployment) role(ctx context.Context, n lockstep.Node) string {
	if d.roles == nil {
		d.roles = d.casting(ctx)
	}
	return d.roles[n-1]
}

// casting requests the roles from all brokers. The broker with the latest election determines the leader.
func (d *deployment) casting(ctx context.Context) []string {
	views := make([]view, d.options.Brokers)
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

// close ends the clients.
func (d *deployment) close() {
	for _, p := range d.producers {
		p.Client.Close()
	}
	if d.asker != nil {
		d.asker.Client.Close()
	}
}
