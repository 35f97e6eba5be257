package etcdraft

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/kit/ticks"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// Deployment is a running cluster. Runs reuse it: storages, buffers and the workload's tables stay, and only the
// library's RawNodes are new in each run.
type Deployment struct {
	cluster Cluster
	network raftlib.Network
	nodes   []node
	clients *kv.Clients
	out     *lockstep.Outbox

	rand    lockstep.Source // private to the run: workload, changes, delays, reports of losses
	retired lockstep.Nodes  // removed, and stopped by their operator; see retire

	operator *operator.Operator
	asks     []raftlib.ConfChange
	clocks   *ticks.Clocks
	initial  raftlib.Snapshot
	arena    raftlib.Arena
	events   events
	data     []byte // of the proposals of a run

	travels [raftlib.Types]travel // by type of message: the rounds of its tag
	acting  int32                 // the round of the message that this step delivers, or -1
}

func newDeployment(c Cluster) *Deployment {
	d := &Deployment{cluster: c, network: c.library.NewNetwork(c.config()), nodes: make([]node, c.Nodes),
		clients: kv.NewClients(kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: c.Keys, Mix: c.Mix}, c.Nodes)}
	d.travels = c.travels()
	d.asks, _ = c.asks() // checked before
	d.operator, d.clocks = newOperator(c), ticks.New(c.Nodes, d)
	for i := range d.nodes {
		n := &d.nodes[i]
		n.id = lockstep.Node(i + 1)
		n.machine.reset(c.Keys, c.Clients)
		n.raft = d.network.NewNode(n.id, n.machine.snapshot)
		n.timer, n.disk = n.raft.Timer(), n.raft.Disk()
	}
	var m machine
	m.reset(c.Keys, c.Clients)
	m.applied, m.term = 1, 1
	m.setConf(raftspec.Conf{Voters: trace.AllNodes(c.Voters)})
	d.initial = m.snapshot()
	return d
}

// Capabilities declares that states have fingerprints, message bodies are readable, and nodes have roles.
func (d *Deployment) Capabilities() lockstep.Capabilities {
	return lockstep.Capabilities{
		View:        d,
		Fingerprint: d.fingerprint,
		Body:        d.message,
		Role:        func(n lockstep.Node) string { return d.node(n).role.String() },
	}
}

// message is the content of a message, independent of the version of the library.
func (d *Deployment) message(body trace.ID) any { return d.network.Content(body) }

// Reset begins a new run.
func (d *Deployment) Reset(_ context.Context, seed uint64, out *lockstep.Outbox) error {
	d.move(out)
	d.begin()
	d.rand.Seed(out, seed, 0)
	d.network.Reset()
	d.resetCalm()
	d.retired, d.data = 0, d.data[:0]
	for i := range d.nodes {
		n := &d.nodes[i]
		n.timeout.Seed(out, seed, uint64(n.id))
		n.chance.Seed(out, seed, uint64(n.id)<<32)
		base := raftlib.Snapshot{}
		if i < d.cluster.Voters {
			base = d.initial
		}
		n.raft.Boot(base)
		n.reports = n.reports[:0]
		if d.cluster.Async {
			n.pace = drawPace(&n.chance)
		}
		if err := d.start(n); err != nil {
			return err
		}
	}
	d.clients.Begin(&d.rand, out)
	d.operator.Begin(out)
	d.clocks.Set(out)
	if out.Texts() {
		d.reportStates()
	}
	return nil
}

// begin runs before every step.
func (d *Deployment) begin() {
	d.acting = -1
	d.arena.Reset()
	d.events.reset()
}

// move switches to another outbox, which is the same in every step but the first.
func (d *Deployment) move(out *lockstep.Outbox) {
	d.out = out
	d.clients.At(out)
	d.operator.At(out)
}

// reportStates reports the states of the nodes as text.
func (d *Deployment) reportStates() { d.out.States(d.stateText) }

// Do executes one step.
func (d *Deployment) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if out != d.out {
		d.move(out)
	}
	d.begin()
	var err error
	switch s.Kind {
	case trace.Deliver:
		d.deliver(s.Msg)
	case trace.Timer:
		d.timer(d.node(s.Node))
	case trace.Request:
		d.request(s.Request, d.node(s.Node))
	default:
		d.resetCalm()
		err = d.fault(s)
	}
	d.clocks.Set(out)
	if out.Texts() {
		d.reportStates()
	}
	return err
}

// fault executes a step that begins or ends a fault.
func (d *Deployment) fault(s *lockstep.Step) error {
	switch s.Kind {
	case trace.Drop:
		d.lose(s.Msg)
	case trace.Crash:
		d.crash(d.node(s.Node))
	case trace.Restart:
		return d.start(d.node(s.Node))
	}
	return nil
}

func (d *Deployment) resetCalm() {
	for i := range d.nodes {
		d.nodes[i].calm = 0
	}
}

// Close releases the resources of the deployment.
func (d *Deployment) Close() error { return nil }

func (d *Deployment) node(n lockstep.Node) *node { return &d.nodes[n-1] }

// deliver gives a message to its receiver, unless the transport refuses it.
func (d *Deployment) deliver(id trace.ID) {
	m := d.out.Message(id)
	d.acting = m.Tag.Round
	n := d.node(m.To)
	if m.Type == raftlib.NameSnap {
		d.report(m.From, m.To, true, true)
	}
	if d.retired != 0 && d.refused(m) {
		return
	}
	d.input(n)
	_ = n.raft.Receive(m.Body) // an error means that the library ignores the message
	d.settle(n)
}

// refused reports whether the transport refuses a message because of a removal. Campaigns of a retired node disturb
// the others. A message forwarded to a retired node that still believes that it leads would keep it active. The
// transport delivers answers of a retired node.
func (d *Deployment) refused(m *trace.Message) bool {
	switch m.Type {
	case raftlib.MsgVote.String(), raftlib.MsgPreVote.String():
		return d.retired.Has(m.From)
	case raftlib.MsgProp.String(), raftlib.MsgReadIndex.String(), raftlib.MsgTransferLeader.String():
		return d.retired.Has(m.To)
	}
	return false
}

// lose notifies the sender of a lost message: of a snapshot always, as the library demands, of others at random.
func (d *Deployment) lose(id trace.ID) {
	m := d.out.Message(id)
	d.lost(m.From, m.To, m.Type)
}

func (d *Deployment) lost(from, to lockstep.Node, kind string) {
	if kind == raftlib.NameSnap {
		d.report(from, to, true, false)
	} else if kind == raftlib.NameApp && d.rand.IntN(4) == 0 {
		d.report(from, to, false, false)
	}
}

// report queues the transport's report for the sender of a message; the sender receives it with its next input.
func (d *Deployment) report(from, to lockstep.Node, snapshot, ok bool) {
	if n := d.node(from); n.up {
		n.reports = append(n.reports, report{to: to, snapshot: snapshot, ok: ok})
	}
}

// send puts the messages of a Ready in flight.
func (d *Deployment) send(n *node, mail int) {
	out := d.out
	plain := out.Cut(n.id) == 0 && !out.Texts()
	for i := range mail {
		e := n.raft.Post(i)
		var at trace.Time
		if d.cluster.Delay > 0 {
			at = out.Now() + trace.Time(d.rand.IntN(d.cluster.Delay+1))
		}
		body := out.SendAt(n.id, e.To, e.Type.String(), d.tag(e, n.hard.Term), at)
		if !plain {
			d.sent(n, e, body)
		}
	}
}

// sent records the text of a sent message, if the run needs texts. It notifies the sender of a message that is lost
// at once.
func (d *Deployment) sent(n *node, e raftlib.Envelope, body trace.ID) {
	if d.out.Texts() {
		d.out.Text(body, d.network.Content(body).Text(entryText))
	}
	if d.out.Cut(n.id).Has(e.To) {
		d.lost(n.id, e.To, e.Type.String())
	}
}

// stateText summarizes the state of a node.
func (d *Deployment) stateText(id lockstep.Node) string {
	n := d.node(id)
	return fmt.Sprintf("%s term=%d log=%d..%d commit=%d %s", n.role, n.hard.Term, n.disk.First(), n.disk.Last(),
		n.hard.Commit, &n.machine)
}

// fingerprint hashes the state of a node.
func (d *Deployment) fingerprint(id lockstep.Node) uint64 {
	n := d.node(id)
	h := mix.Hash(n.machine.fingerprint())
	h.Mix(uint64(n.role)<<8 | uint64(n.lead))
	h.Mix(n.hard.Term)
	h.Mix(n.hard.Vote)
	h.Mix(n.hard.Commit)
	h.Mix(n.machine.applied)
	h.Mix(n.disk.First())
	for i := n.disk.First(); i <= n.disk.Last(); i++ {
		t, _ := n.disk.Term(i) // the entry is in the log
		h.Mix(t)
	}
	return uint64(h)
}
