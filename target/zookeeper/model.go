package zookeeper

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// modelled is a model of 3.5.8 with a harness when all servers are down between steps, derived from its source code. It
// covers elections, the synchronization of followers, snapshots and log files, and the zxids that clients have seen. It
// takes no time, so that it shows how often a strategy finds each defect. When three servers start, the second follower
// may connect before the leader serves or after, at random: the model draws it.
type modelled struct {
	Cluster
	late float64 // the probability of after
}

func (m modelled) Describe() (lockstep.Info, error) {
	info, err := m.Cluster.Describe()
	info.Determinism, info.Supports = lockstep.Deterministic, trace.KindsOf(trace.Crash, trace.Restart, trace.Request,
		trace.Wait)
	return info, err
}

func (m modelled) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &ensemble{modelled: m}, nil
}

// entry is a transaction in a log. The first ones, of sessions and of the creation of keys, change nothing.
type entry struct {
	zxid  Zxid
	act   Act
	write bool
}

// peer is a server: its state on disk, and in memory while it runs.
type peer struct {
	images   map[Zxid]Data // snapshots, by the last transaction in them
	files    [][]entry     // of the log, the oldest first
	current  Zxid          // epoch, of which the lower half is 0
	up, open bool          // open: it writes to the last file, otherwise to a new one

	data      Data
	last      Zxid    // processed
	committed []entry // the committed log
}

const counts32 = 1<<32 - 1 // the lower half of a Zxid

// from returns the log from a transaction on, and the number of log files after the first.
func (p *peer) from(z Zxid) (entries []entry, more int) {
	first := len(p.files)
	for first > 0 {
		if first--; p.files[first][0].zxid < z {
			break
		}
	}
	for _, f := range p.files[first:] {
		entries = append(entries, f...)
	}
	return entries, max(0, len(p.files)-first-1)
}

// load reads the disk: the last snapshot, and the log after it.
func (p *peer) load() {
	p.last, p.committed, p.open = slices.Max(slices.Collect(maps.Keys(p.images))), nil, false
	p.data = p.images[p.last]
	entries, _ := p.from(p.last + 1)
	start := slices.IndexFunc(entries, func(e entry) bool { return e.zxid > p.last })
	for i := start; i >= 0 && i < len(entries); i++ {
		p.apply(entries[i])
		p.committed = append(p.committed, entries[i])
	}
}

func (p *peer) apply(e entry) {
	if e.write {
		p.data[e.act.Key] = e.act.Value
	}
	p.last = max(p.last, e.zxid)
}

// log appends to the log.
func (p *peer) log(e entry) {
	if !p.open {
		p.files = append(slices.DeleteFunc(p.files, func(f []entry) bool { return f[0].zxid == e.zxid }), nil)
		p.open = true
	}
	p.files[len(p.files)-1] = append(p.files[len(p.files)-1], e)
}

func (p *peer) save() { p.images[p.last] = p.data }

// truncate removes the log after a transaction, and reads the rest again. Snapshots stay.
func (p *peer) truncate(z Zxid) {
	for i, f := range p.files {
		if k := slices.IndexFunc(f, func(e entry) bool { return e.zxid >= z }); k >= 0 {
			p.files[i], p.files = f[:k+1], p.files[:i+1]
			break
		}
	}
	p.load()
	p.last = z
}

// order is the first message from a leader to a follower.
type order struct {
	kind string // DIFF, TRUNC or SNAP
	zxid Zxid
	rest []entry
}

// sync decides what the leader sends to a follower with the given last transaction: LearnerHandler.syncFollower.
func (p *peer) sync(has Zxid) order {
	low, high := p.last, p.last
	if len(p.committed) > 0 {
		low, high = p.committed[0].zxid, p.committed[len(p.committed)-1].zxid
	}
	o, fresh := order{}, has&counts32 == 0
	switch {
	case p.last == has:
		return order{kind: "DIFF", zxid: has}
	case has > high && !fresh:
		return order{kind: "TRUNC", zxid: high}
	case low <= has && has <= high:
		o.queue(p.committed, has, has, 1<<63, high)
	case has < low:
		entries, more := p.from(has)
		if len(entries) == 0 || entries[0].zxid > has || more > 0 { // a file is preallocated with 64 MiB
			break
		}
		queued := o.queue(entries, has, has, low, high)
		o.queue(p.committed, queued, queued, 1<<63, high)
	}
	if o.kind == "" {
		return order{kind: "SNAP", zxid: p.last}
	}
	return o
}

// queue is LearnerHandler.queueCommittedProposals.
func (o *order) queue(entries []entry, has, queued, limit, high Zxid) Zxid {
	before, fresh := Zxid(0), has&counts32 == 0
	for _, e := range entries {
		if e.zxid > limit {
			break
		}
		if e.zxid < has {
			before = e.zxid
			continue
		}
		if o.kind == "" {
			switch {
			case e.zxid == has:
				o.kind, o.zxid = "DIFF", high
				continue
			case fresh:
				o.kind, o.zxid = "DIFF", high
			case e.zxid>>32 != has>>32:
				return queued
			default:
				o.kind, o.zxid = "TRUNC", before
			}
		}
		if e.zxid > queued {
			o.rest, queued = append(o.rest, e), e.zxid
		}
	}
	if o.kind == "" && fresh {
		o.kind, o.zxid = "DIFF", high
	}
	return queued
}

// follow synchronizes with a leader, as Learner.syncWithLeader.
func (p *peer) follow(leader *peer, epoch Zxid) string {
	o := leader.sync(p.last)
	switch o.kind {
	case "SNAP":
		p.data, p.last, p.committed = leader.data, o.zxid, nil
	case "TRUNC":
		p.truncate(o.zxid)
	}
	for _, e := range o.rest {
		if p.apply(e); o.kind == "DIFF" {
			p.log(e)
		}
	}
	if o.kind != "DIFF" {
		p.save()
	}
	p.current = epoch
	return o.kind
}

// ensemble is the servers, and what their clients have seen.
type ensemble struct {
	modelled
	rand     *rand.Rand
	harness  Harness
	peers    []*peer
	due      lockstep.Nodes
	leader   lockstep.Node // 0: none
	epoch    Zxid
	count    Zxid // of transactions in it
	seats    seats
	served   []bool // by server: it serves its client
	seen     []Zxid // by client
	waits    int
	reported bool
}

func (e *ensemble) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (e *ensemble) Close() error                        { return nil }

func (e *ensemble) Reset(_ context.Context, seed uint64, _ *lockstep.Outbox) error {
	*e = ensemble{
		modelled: e.modelled,
		rand:     rand.New(rand.NewPCG(seed, 2)),
		harness:  target.Fill(e.Cluster).harness(seed),
		leader:   3,
		epoch:    1 << 32,
		count:    4,
	}
	for range target.Fill(e.Cluster).Nodes {
		p := &peer{images: map[Zxid]Data{0: {}}, current: e.epoch, up: true, last: e.epoch + 4}
		for i := range Zxid(4) {
			p.log(entry{zxid: e.epoch + 1 + i})
		}
		e.seats = append(e.seats, len(e.peers))
		e.peers, e.seen, e.served = append(e.peers, p), append(e.seen, p.last), append(e.served, true)
	}
	return nil
}

func (e *ensemble) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Crash:
		e.peers[s.Node-1].up, e.served[s.Node-1] = false, false
		e.due = e.due.Without(s.Node)
		if s.Node == e.leader {
			e.leader = 0
			clear(e.served)
		}
	case trace.Restart:
		e.due = e.due.With(s.Node)
	case trace.Request:
		e.request(lockstep.Node(e.harness[s.Request-1].Node), e.harness[s.Request-1], int(s.Request), out)
	case trace.Wait:
		e.pass(out)
	}
	return nil
}

// pass lets started servers agree.
func (e *ensemble) pass(out *lockstep.Outbox) {
	if e.due != 0 {
		e.elect(out)
	}
	if out.Settling() {
		e.finalReads(out)
		return
	}
	e.waits++
	step := (e.waits - 1) / 2
	switch {
	case step >= len(e.harness) || e.harness[step].Node == 0:
	case e.waits%2 == 1:
		out.Offer(
			trace.Pending{
				ID:   int32(step + 1),
				To:   trace.NodesOf(lockstep.Node(e.harness[step].Node)),
				Text: e.harness[step].String(),
			},
		)
	default:
		out.Withdraw(int32(step + 1))
	}
}

// elect starts servers, none of which was running. A majority elects the one with the latest epoch and transaction.
func (e *ensemble) elect(out *lockstep.Outbox) {
	up := slices.Collect(e.due.All())
	e.due = 0
	for _, n := range up {
		e.peers[n-1].load()
		e.peers[n-1].up = true
	}
	if 2*len(up) <= len(e.peers) {
		return
	}
	e.leader = slices.MaxFunc(up, func(a, b lockstep.Node) int {
		p, q := e.peers[a-1], e.peers[b-1]
		return cmp.Or(cmp.Compare(p.current, q.current), cmp.Compare(p.last, q.last), cmp.Compare(a, b))
	})
	for _, p := range e.peers { // of those that are up; no other can have a later one
		e.epoch = max(e.epoch, p.current)
	}
	leader := e.peers[e.leader-1]
	leader.save()
	e.epoch, e.count = e.epoch+1<<32, 0
	leader.current = e.epoch
	followers := slices.DeleteFunc(up, func(n lockstep.Node) bool { return n == e.leader })
	e.rand.Shuffle(len(followers), func(i, j int) { followers[i], followers[j] = followers[j], followers[i] })
	serving := false
	for i, n := range followers {
		if i > 0 && e.rand.Float64() < e.late {
			leader.last, serving = e.epoch, true
		}
		kind := e.peers[n-1].follow(leader, e.epoch)
		out.Event(
			lockstep.Event{
				Node: n,
				Type: "log",
				Text: fmt.Sprintf("%d leads and sends %s, serving %v", e.leader, kind, serving),
			},
		)
	}
	leader.last = e.epoch
	e.serve(out)
}

// serve makes refused clients change servers, as the deployment does.
func (e *ensemble) serve(out *lockstep.Outbox) {
	has := make([]Zxid, len(e.peers))
	for n, p := range e.peers {
		if p.up {
			has[n] = p.last
		}
	}
	var so []*Refusal
	for {
		before := len(so)
		for n, p := range e.peers {
			client := e.seats[n]
			e.served[n] = p.up && e.seen[client] <= p.last
			if p.up && !e.served[n] {
				so = append(so,
					&Refusal{Node: lockstep.Node(n + 1), Client: client + 1, Seen: e.seen[client], Line: "seen"})
			}
		}
		if len(so) == before {
			return
		}
		next, can := e.seats.without(
			func(client, server int) bool { return bad(so, has, client+1, lockstep.Node(server+1)) })
		if e.seats = next; !can {
			drop := &Dropped{so, has}
			out.Event(lockstep.Event{Type: EventDropped, Text: drop.String(), Value: drop})
			return
		}
	}
}

// request makes a client act.
func (e *ensemble) request(n lockstep.Node, a Act, id int, out *lockstep.Outbox) {
	p, client := e.peers[n-1], e.seats[n-1]
	if !e.served[n-1] {
		return
	}
	h := hearing{out.Event, n, client + 1}
	if a.If {
		h.call(2*id, operation{kind: read, key: a.Other})
		h.answer(2*id, p.data[a.Other])
		e.seen[client] = max(e.seen[client], p.last)
		if p.data[a.Other] != a.Has {
			return
		}
	}
	h.call(2*id+1, operation{kind: write, key: a.Key, arg: a.Value})
	e.count++
	t := entry{e.epoch + e.count, a, true}
	up := slices.DeleteFunc(slices.Clone(e.peers), func(p *peer) bool { return !p.up })
	for _, p := range up {
		p.log(t)
	}
	if 2*len(up) <= len(e.peers) {
		return // it is logged only
	}
	for _, p := range up {
		p.apply(t)
	}
	e.seen[client] = t.zxid
	h.answer(2*id+1, "done")
}

// finalReads performs the final reads.
func (e *ensemble) finalReads(out *lockstep.Outbox) {
	if e.reported {
		return
	}
	e.reported = true
	equal := true
	for i, p := range e.peers {
		equal = equal && p.data == e.peers[0].data
		out.Event(lockstep.Event{Node: lockstep.Node(i + 1), Type: EventData, Text: p.data.String(), Value: p.data})
	}
	if equal {
		for i, p := range e.peers {
			h := hearing{out.Event, lockstep.Node(i + 1), e.seats[i] + 1}
			h.call(-1-i, operation{kind: final})
			h.answer(-1-i, p.data)
		}
	}
}
