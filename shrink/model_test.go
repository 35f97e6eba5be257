package shrink_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// packet is a message of the alternating-bit protocol.
type packet struct {
	Ack  bool
	Bit  int
	Data int
}

// alternatingBit is the protocol as a blocking program: node 1 sends the numbers from 1 on to node 2, each until it is
// acknowledged. It is correct on links that lose and duplicate messages and keep their order. With the bug,
// acknowledgements carry no bit, so an old one counts for a new number.
func alternatingBit(bug bool) lockstep.System {
	return sim.Cluster[packet]{Name: "alternating-bit", Nodes: 2, New: sim.Blocking(func(p *sim.Process[packet]) {
		if p.Self() == 1 {
			send(p, bug)
		} else {
			receive(p)
		}
	})}
}

func send(p *sim.Process[packet], bug bool) {
	for n := 1; n <= 8; n++ {
		p.Send(2, packet{Bit: n % 2, Data: n})
		for {
			_, m, ok := p.Await(10)
			if ok && (bug || m.Bit == n%2) {
				break
			}
			if !ok {
				p.Send(2, packet{Bit: n % 2, Data: n})
			}
		}
	}
}

func receive(p *sim.Process[packet]) {
	expected := 1
	for {
		_, m, _ := p.Await(sim.Indefinitely)
		if m.Bit == expected {
			p.Emit("got", m.Data)
			expected = 1 - expected
		}
		p.Send(1, packet{Ack: true, Bit: m.Bit})
	}
}

// inSequence is the property that node 2 receives each number after the previous one.
var inSequence = spec.OnEvent("sequence", "got", func(last *int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	got := e.Value.(int)
	if got != *last+1 {
		return &lockstep.Finding{Property: "sequence", Text: fmt.Sprintf("got %d after %d", got, *last)}
	}
	*last = got
	return nil
})

// A run of a network that keeps the order of messages is shrunk within that network. The finding remains a bug of the
// protocol, and with the bug fixed the shrunk run passes.
func TestShrinkingKeepsTheOrderOfLinks(t *testing.T) {
	for _, s := range []lockstep.Strategy{
		strategy.Queues{Run: 10, Commit: 10, Timer: 3, Request: 1, Drop: 2, Drops: 20, Steps: 300},
		strategy.Systematic{Network: strategy.QueueNetwork, Steps: 30, Timers: 2, Losses: 2, Delays: 2},
	} {
		plan := lockstep.Plan{System: alternatingBit(true), Spec: inSequence, Strategy: s, Runs: 200_000, Workers: 1}
		found := toy.Find(t, plan)[0].Trace
		small, err := shrink.Run(t.Context(), plan, found, shrink.Options{})
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		t.Logf("%s: %s became %s", s, found.Outcome.Finding, small.Trace.Outcome.Finding)
		var last, got int
		if _, err := fmt.Sscanf(small.Trace.Outcome.Finding.Text, "got %d after %d", &got, &last); err != nil ||
			got < last {
			t.Errorf("%s: %s: no order-keeping network loses that", s, small.Trace.Outcome.Finding)
		}
		plan.System = alternatingBit(false)
		again, err := replay.Run(t.Context(), plan, small.Trace)
		if err != nil {
			t.Fatal(err)
		}
		if f := again.Trace.Outcome.Finding; f != nil {
			t.Errorf("%s: the protocol without the bug fails the shrunk run: %s", s, f)
		}
		if words := again.Words(small.Trace); !strings.HasPrefix(words, "fixed") {
			t.Errorf("%s: %s", s, words)
		}
	}
}

// servers is a system whose messages the engine does not control. All running nodes that are connected to the receiving
// node store a request.
type servers struct {
	cut  trace.Links
	up   lockstep.Nodes
	last int32
}

func (*servers) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "servers", Nodes: 3, Pace: 10, Events: []string{"stored"},
		Determinism: lockstep.Deterministic,
		Supports:    trace.KindsOf(trace.Wait, trace.Cut, trace.Heal, trace.Crash, trace.Restart, trace.Request)}, nil
}

func (*servers) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &servers{}, nil
}
func (*servers) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (*servers) Close() error                        { return nil }

func (s *servers) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	*s = servers{cut: trace.NewLinks(3), up: trace.AllNodes(3)}
	s.offer(out)
	return nil
}

func (s *servers) offer(out *lockstep.Outbox) {
	s.last++
	out.Offer(trace.Pending{ID: s.last, To: trace.AllNodes(3), Text: fmt.Sprint("write ", s.last)})
}

func (s *servers) Do(_ context.Context, step *lockstep.Step, out *lockstep.Outbox) error {
	switch step.Kind {
	case trace.Cut, trace.Heal:
		s.cut.Switch(step)
	case trace.Crash:
		s.up = s.up.Without(step.Node)
	case trace.Restart:
		s.up = s.up.With(step.Node)
	case trace.Request:
		out.Event(lockstep.Event{Type: "stored", Node: step.Node, Value: (s.up &^ s.cut[step.Node]).Len()})
		s.offer(out)
	}
	return nil
}

// seldomAlone is the property that at most this number of requests is stored by fewer nodes than all.
func seldomAlone(most int) lockstep.Spec {
	return spec.OnEvent("alone", "stored", func(alone *int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if e.Value.(int) < 3 {
			*alone++
		}
		if *alone <= most {
			return nil
		}
		return &lockstep.Finding{Property: "alone", Text: "too often"}
	})
}

// seldomGot is the property that no node receives more than this number of messages.
func seldomGot(most int) lockstep.Spec {
	return spec.OnEvent("got", "got", func(got *[4]int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if got[e.Node]++; got[e.Node] <= most {
			return nil
		}
		return &lockstep.Finding{Property: "got", Text: "too many"}
	})
}

// outOfOrder is the property that no node receives a number after a larger one.
var outOfOrder = spec.OnEvent("order", "got", func(last *[4]int, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	was := last[e.Node]
	if last[e.Node] = e.Value.(int); was <= last[e.Node] {
		return nil
	}
	return &lockstep.Finding{Property: "order", Text: fmt.Sprintf("%v after %d", e.Value, was)}
})

// Shrunk runs stay within the network and fault model of the plan, for every strategy and kind of system. They do not
// exceed the extent of the original run.
func TestShrunkRunsStayWithinTheModel(t *testing.T) {
	tier.NotShort(t)
	fifo := toy.Cluster(nil)
	fifo.FIFO = true
	for _, c := range []struct {
		name     string
		system   lockstep.System
		spec     lockstep.Spec
		strategy lockstep.Strategy
		budget   *lockstep.Budget
	}{
		{
			"losses",
			alternatingBit(true),
			inSequence,
			strategy.Queues{Run: 10, Commit: 10, Timer: 3, Request: 1, Drop: 2, Drops: 20, Steps: 300},
			nil,
		},
		{
			"losses and copies",
			alternatingBit(true),
			inSequence,
			strategy.Queues{
				Run:     10,
				Commit:  10,
				Timer:   3,
				Request: 1,
				Drop:    2,
				Drops:   20,
				Dup:     3,
				Dups:    10,
				Steps:   300,
			},
			nil,
		},
		{
			"swaps",
			toy.Cluster(nil),
			outOfOrder,
			strategy.Queues{
				Run:      5,
				Commit:   5,
				Timer:    5,
				Request:  1,
				Drop:     1,
				Drops:    20,
				Swap:     2,
				Distance: 2,
				Steps:    300,
			},
			nil,
		},
		{
			"swaps of a place",
			toy.Cluster(nil),
			seldomGot(20),
			strategy.Queues{
				Run:      5,
				Commit:   5,
				Timer:    5,
				Request:  1,
				Drop:     1,
				Drops:    20,
				Dup:      1,
				Dups:     5,
				Swap:     3,
				Distance: 1,
				Steps:    300,
			},
			nil,
		},
		{
			"swaps of three places",
			toy.Cluster(nil),
			seldomGot(12),
			strategy.Queues{
				Run:      5,
				Commit:   5,
				Timer:    5,
				Request:  1,
				Drop:     2,
				Drops:    20,
				Dup:      2,
				Dups:     10,
				Swap:     5,
				Distance: 3,
				Steps:    200,
			},
			nil,
		},
		{"swarm", toy.Cluster(nil), seldomGot(20), strategy.DefaultQueues, nil},
		{"systematic", alternatingBit(true), inSequence,
			strategy.Systematic{Network: strategy.QueueNetwork, Steps: 30, Timers: 2, Losses: 2, Delays: 2}, nil},
		{
			"any order",
			toy.Cluster(nil),
			outOfOrder,
			strategy.Systematic{Steps: 30, Timers: 5, Losses: 1, Delays: 3},
			nil,
		},
		{
			"guided queues",
			toy.Cluster(nil),
			seldomGot(10),
			strategy.Guided{
				Inner: strategy.Inner{
					Strategy: strategy.Queues{Run: 5, Commit: 5, Timer: 5, Request: 1, Drop: 1, Drops: 5, Steps: 200},
				},
				Fresh: 0.5,
				Keep:  10,
			},
			nil,
		},
		{"links in order", fifo, seldomGot(20), strategy.Walk{Deliver: 5, Drop: 1, Timer: 1, Steps: 300}, nil},
		{
			"crashes",
			toy.Cluster(nil),
			seldomGot(20),
			strategy.Walk{Deliver: 5, Drop: 1, Timer: 2, Crash: 1, Restart: 1, Cut: 1, Heal: 1, Down: 1, Steps: 400},
			nil,
		},
		{
			"budget",
			toy.Cluster(nil),
			seldomGot(20),
			strategy.Walk{Deliver: 5, Timer: 2, Crash: 1, Restart: 1, Down: 1, Steps: 400},
			&lockstep.Budget{Crashes: 3, Losses: lockstep.Unlimited},
		},
		{
			"partitions",
			toy.Cluster(nil),
			seldomGot(12),
			strategy.Partition{Stages: 3, During: 1, Before: 1, After: 1, Vary: true, Wipe: true},
			nil,
		},
		{"latencies", toy.Cluster(nil), seldomGot(20), strategy.DefaultDelay, nil},
		{"priorities", smr.Cluster{Nodes: 3, Bug: true}, smr.Prefix, strategy.DefaultPCTCP, nil},
		{"partial orders", smr.Cluster{Nodes: 3, Bug: true}, smr.Prefix, strategy.DefaultPOS, nil},
		{"walk", smr.Cluster{Nodes: 3, Bug: true}, smr.Prefix, strategy.DefaultWalk, nil},
		{"random losses", smr.Cluster{Nodes: 3, Bug: true}, smr.Prefix, strategy.DefaultBaseline, nil},
		{"random order", toy.Cluster(nil), seldomGot(20), strategy.Baseline{Steps: 300}, nil},
		{"random cuts of servers", &servers{}, seldomAlone(3), strategy.Baseline{Drop: 0.5, Steps: 200}, nil},
		{"isolation", smr.Cluster{Nodes: 3, Bug: true}, smr.Prefix, strategy.DefaultUniform, nil},
		{"isolation of live nodes", smr.Cluster{Nodes: 3, Bug: true}, smr.Prefix,
			strategy.Uniform{Isolations: 4, Rounds: 16, Isolated: strategy.CutOff}, nil},
		{
			"lost links",
			smr.Cluster{Nodes: 3, Bug: true},
			smr.Prefix,
			strategy.Lossy{Rounds: 20, Period: 4, Losses: 8},
			nil,
		},
		{"in time", &forgetful{}, kept(1), busy, nil},
		{
			"servers",
			&servers{},
			seldomAlone(3),
			strategy.Walk{Request: 2, Wait: 3, Crash: 1, Restart: 2, Cut: 1, Heal: 2, Down: 1, Steps: 200},
			nil,
		},
		{"servers in rounds", &servers{}, seldomAlone(2), strategy.Uniform{Isolations: 4, Rounds: 16}, nil},
		{"partitions of servers", &servers{}, seldomAlone(1), strategy.DefaultPartition, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := lockstep.Plan{
				System:    c.system,
				Spec:      c.spec,
				Strategy:  c.strategy,
				Budget:    c.budget,
				Runs:      20_000,
				KeepGoing: true,
				Keep:      3,
				Workers:   1,
			}
			for _, f := range findAFew(t, plan) {
				small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{Attempts: 5000})
				if err != nil {
					t.Fatal(err)
				}
				again := f.Trace
				if small != nil {
					again = small.Trace
				}
				info, _ := c.system.Describe()
				m := model{t, info, c.strategy}
				m.holds("found", f.Trace)
				m.holds("shrunk", again)
				noMore(t, f.Trace, again)
				if r, err := replay.Run(t.Context(), plan, again); err != nil || r.Difference != "" {
					t.Errorf("the shrunk run is not repeated: %v, %v", r, err)
				}
			}
		})
	}
}

// findAFew returns up to three failing runs.
func findAFew(t *testing.T, plan lockstep.Plan) (found []lockstep.Failure) {
	t.Helper()
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	plan.OnFailure = func(*lockstep.Failure) {
		if found = append(found, lockstep.Failure{}); len(found) == plan.Keep {
			enough()
		}
	}
	result, err := lockstep.Explore(ctx, plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Failures) == 0 {
		t.Fatal("nothing found")
	}
	return result.Failures
}

// noMore checks that a shrunk run does not exceed the extent of the original run.
func noMore(t *testing.T, found, small *trace.Trace) {
	t.Helper()
	was, is := count(found), count(small)
	counted := []trace.Kind{trace.Request}
	if len(found.Rounds) == 0 { // in rounds, the faults are isolations
		counted = append(counted, trace.Drop, trace.Duplicate, trace.Replace, trace.Crash, trace.Cut, trace.Pause,
			trace.Jump)
	}
	for _, kind := range counted {
		if is[kind] > was[kind] {
			t.Errorf("shrinking made %d steps %s of %d", is[kind], kind, was[kind])
		}
	}
	if len(small.Records) > len(found.Records) {
		t.Errorf("shrinking made %d steps of %d", len(small.Records)-1, len(found.Records)-1)
	}
	if is, was := explored(small), explored(found); len(found.Rounds) == 0 && is > was {
		t.Errorf("shrinking made a run of %v from one of %v", is, was)
	}
}

// explored is the time of a run without its settling stage.
func explored(t *trace.Trace) (now trace.Time) {
	for i := range t.Records {
		if r := &t.Records[i]; !r.Settle {
			now = r.Now
		}
	}
	return now
}

// model describes the possible runs of a strategy.
type model struct {
	*testing.T
	info     lockstep.Info
	strategy lockstep.Strategy
}

// holds checks a run against the model of its strategy.
func (m model) holds(which string, t *trace.Trace) {
	m.Helper()
	n := count(t)
	n[trace.Drop] -= lostToDown(t) // they could not be delivered
	atMost := func(kind trace.Kind, most int) {
		m.Helper()
		if n[kind] > most {
			m.Errorf("the %s run has %d steps %s, the strategy makes %d at most", which, n[kind], kind, most)
		}
	}
	never := func(kinds ...trace.Kind) {
		m.Helper()
		for _, kind := range kinds {
			atMost(kind, 0)
		}
	}
	if m.info.FIFO && !inLine(t) {
		m.Errorf("the links are FIFO, and messages of the %s run overtake each other", which)
	}
	switch s := m.strategy.(type) {
	case strategy.Queues:
		never(trace.Crash, trace.Restart, trace.Cut, trace.Heal, trace.Replace)
		atMost(trace.Drop, s.Drops)
		atMost(trace.Duplicate, s.Dups)
		distance := s.Distance
		if s.Swap == 0 && !s.Swarm {
			distance = 0
		}
		m.queued(which, t, distance)
	case strategy.Guided:
		model{m.T, m.info, s.Inner.Strategy}.holds(which, t)
	case strategy.Systematic:
		never(trace.Crash, trace.Restart, trace.Replace)
		atMost(trace.Timer, s.Timers)
		atMost(trace.Drop, s.Losses)
		atMost(trace.Duplicate, s.Duplicates)
		if s.Network == strategy.QueueNetwork {
			m.queued(which, t, s.Distance)
		}
	case strategy.Walk:
		for kind, weight := range map[trace.Kind]int{
			trace.Drop:      s.Drop,
			trace.Duplicate: s.Duplicate,
			trace.Crash:     s.Crash,
			trace.Cut:       s.Cut,
		} {
			if weight == 0 && !rounds.Coarse(m.info) {
				never(kind)
			}
		}
		if down := mostDown(t); s.Down > 0 && down > s.Down {
			m.Errorf("in the %s run %d nodes are down at once", which, down)
		}
		if !oneCut(t) {
			m.Errorf("in the %s run nodes are cut while others are cut off", which)
		}
	case strategy.Partition:
		never(trace.Crash, trace.Restart, trace.Duplicate, trace.Replace)
		if !inLine(t) {
			m.Errorf("messages of the %s run overtake each other", which)
		}
	case strategy.Delay:
		never(trace.Duplicate, trace.Replace)
		atMost(trace.Crash, s.Crashes)
	case strategy.Baseline:
		never(trace.Crash, trace.Restart, trace.Duplicate, trace.Replace)
		if s.Drop == 0 || rounds.Coarse(m.info) {
			never(trace.Drop)
		}
		if s.Drop == 0 || !rounds.Coarse(m.info) {
			never(trace.Cut)
		}
		if !oneCut(t) {
			m.Errorf("in the %s run nodes are cut while others are cut off", which)
		}
	case strategy.PCTCP, strategy.POS:
		never(trace.Drop, trace.Duplicate, trace.Crash, trace.Cut, trace.Replace)
	case strategy.Uniform, strategy.Lossy:
		m.inRounds(which, t)
	}
}

// inRounds checks that a run is in rounds, with no more isolations than the strategy allows.
func (m model) inRounds(which string, t *trace.Trace) {
	m.Helper()
	if err := rounds.Check(t); err != nil && !rounds.Coarse(m.info) {
		m.Errorf("the %s run is not in rounds: %v", which, err)
	}
	u, ok := m.strategy.(strategy.Uniform)
	if !ok {
		return
	}
	isolations := 0
	var before lockstep.Nodes
	for i, r := range t.Rounds {
		if i == 0 || t.Rounds[i-1].Phase != r.Phase {
			before = 0
		}
		apart := trace.AllNodes(m.info.Nodes) &^ r.Kernel
		isolations += (apart &^ before).Len()
		before = apart
	}
	if isolations > u.Isolations {
		m.Errorf("the %s run has %d isolations, the strategy makes %d at most", which, isolations, u.Isolations)
	}
}

// lostToDown returns the number of messages that were lost because their receiver was down.
func lostToDown(t *trace.Trace) (n int) {
	var down lockstep.Nodes
	for _, r := range t.Records {
		switch r.Step.Kind {
		case trace.Crash:
			down = down.With(r.Step.Node)
		case trace.Restart:
			down = down.Without(r.Step.Node)
		case trace.Drop:
			if m, ok := t.Message(r.Step.Msg); ok && down.Has(m.To) {
				n++
			}
		}
	}
	return n
}

// mostDown returns the maximum number of nodes that are down at once.
func mostDown(t *trace.Trace) (most int) {
	var down lockstep.Nodes
	for _, r := range t.Records {
		switch r.Step.Kind {
		case trace.Crash:
			down = down.With(r.Step.Node)
		case trace.Restart:
			down = down.Without(r.Step.Node)
		}
		most = max(most, down.Len())
	}
	return most
}

// oneCut reports whether the network has at most two parts at any time.
func oneCut(t *trace.Trace) bool {
	cut := trace.NewLinks(t.Header.Nodes)
	for _, r := range t.Records {
		if r.Step.Kind == trace.Cut && slices.ContainsFunc(cut, func(to lockstep.Nodes) bool { return to != 0 }) {
			return false
		}
		if r.Step.Kind == trace.Cut || r.Step.Kind == trace.Heal {
			cut.Switch(&r.Step)
		}
	}
	return true
}

// inLine reports whether messages of every link are delivered in sending order.
func inLine(t *trace.Trace) bool {
	for _, l := range linksOf(t) {
		for i, x := range l.did {
			for _, sent := range l.sent[:slices.Index(l.sent, x.id)] {
				if x.kind == trace.Deliver &&
					!slices.ContainsFunc(l.did[:i],
						func(y did) bool { return y.id == sent && y.kind != trace.Duplicate }) {
					return false
				}
			}
		}
	}
	return true
}

// observed is the history of a link: the messages in sending order, and what happened to them in order.
type observed struct {
	sent []trace.ID
	did  []did
}

type did struct {
	kind   trace.Kind
	id     trace.ID
	copied trace.ID // the message created by a Duplicate
}

// linksOf decomposes a run into its links. Messages that were sent into a cut were never on a link.
func linksOf(t *trace.Trace) map[[2]lockstep.Node]*observed {
	all, at := map[[2]lockstep.Node]*observed{}, map[trace.ID]*observed{}
	for _, r := range t.Records {
		if l := at[r.Step.Msg]; l != nil && !r.Settle {
			l.did = append(l.did, did{kind: r.Step.Kind, id: r.Step.Msg})
		}
		for _, m := range r.Sent {
			l := all[[2]lockstep.Node{m.From, m.To}]
			if l == nil {
				l = &observed{}
				all[[2]lockstep.Node{m.From, m.To}] = l
			}
			at[m.ID] = l
			switch {
			case m.Lost:
			case m.Copy != 0:
				l.did[len(l.did)-1].copied = m.ID
			default:
				l.sent = append(l.sent, m.ID)
			}
		}
	}
	return all
}

// queued checks that the queues of the paper can produce the history of every link. There must be a sequence of commit,
// drop, swap and dup, without the forbidden pairs and with no message moved further than the distance. It must deliver
// the same messages in the same order, and lose and duplicate the same ones. The times of losses and duplications do
// not matter.
func (m model) queued(which string, t *trace.Trace, distance int) {
	m.Helper()
	for link, l := range linksOf(t) {
		q := &queueSearch{
			distance: distance,
			lost:     map[trace.ID]bool{},
			copies:   map[trace.ID][]trace.ID{},
			seen:     map[string]bool{},
		}
		for _, x := range l.did {
			switch x.kind {
			case trace.Deliver:
				q.delivered = append(q.delivered, x.id)
			case trace.Drop:
				q.lost[x.id] = true
			case trace.Duplicate:
				q.copies[x.id] = append(q.copies[x.id], x.copied)
			}
		}
		for id := range q.lost {
			if len(q.copies[id]) > 0 {
				m.Errorf("the %s run doubles the message %d and loses it, which is a forbidden pair", which, id)
			}
		}
		var network []slot
		for _, id := range l.sent {
			network = append(network, slot{id: id})
		}
		if !q.can(network, 0, 0) {
			m.Errorf(
				"queues that move messages by %d places cannot do what the %s run does on the link %v: sent %v, did %v",
				distance, which, link, l.sent, l.did)
		}
	}
}

// slot is a message on the network, with the number of positions that it moved back.
type slot struct {
	id    trace.ID
	moved int
}

// queueSearch searches for a sequence of actions on one link. All of its messages are on the network from the start:
// the time of sending matters no more than the time of the commit.
type queueSearch struct {
	distance  int
	delivered []trace.ID
	lost      map[trace.ID]bool
	copies    map[trace.ID][]trace.ID // copies that are not in the network yet must still be created
	seen      map[string]bool
}

// can reports whether the remaining deliveries are possible from a state: the network, the number of deliveries, and
// the previous action.
func (q *queueSearch) can(network []slot, done int, before byte) bool {
	if done == len(q.delivered) {
		return true
	}
	key := fmt.Sprint(network, done, before, q.copies)
	if len(network) == 0 || q.seen[key] {
		return false
	}
	q.seen[key] = true
	head := network[0]
	if head.id == q.delivered[done] && q.can(network[1:], done+1, 'c') {
		return true
	}
	if q.lost[head.id] && before != 'd' && q.can(network[1:], done, 'x') {
		return true
	}
	if made := q.copies[head.id]; len(made) > 0 {
		q.copies[head.id] = made[1:]
		next := slices.Insert(slices.Clone(network), 1, slot{made[0], head.moved})
		ok := q.can(next, done, 'd')
		q.copies[head.id] = made
		if ok {
			return true
		}
	}
	if len(network) > 1 && before != 's' && before != 'd' && head.moved < q.distance && network[1].moved > -q.distance {
		next := slices.Clone(network)
		next[0], next[1] = slot{next[1].id, next[1].moved - 1}, slot{head.id, head.moved + 1}
		return q.can(next, done, 's')
	}
	return false
}
