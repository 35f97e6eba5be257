package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// node is a process: a node of the library, the application on top of it, and the process's state for clients. It
// does everything that the library asks of its users.
type node struct {
	id      lockstep.Node
	raft    raftlib.Node
	timer   *raftlib.Timer
	disk    raftlib.Disk
	machine machine
	up      bool
	calm    int // timer events since the last fault of the run

	last uint64       // index of the log's last entry, as the library sees it
	role raftlib.Role // as last reported
	lead lockstep.Node
	hard raftlib.Hard
	snap uint64 // index of the last snapshot of another node that the library accepted

	waiting []waiter // writes of clients
	reads   []reader // reads of clients
	reports []report // of the transport
	pace    pace
	timeout lockstep.Source // of its timeouts
	chance  lockstep.Source // of storage and crashes
}

// pace is the slowness of a node's two storage threads: each completes one task after so many inputs. It is drawn for
// each run. A node can therefore fall far behind with one thread and not with the other.
type pace struct{ append, apply int }

func drawPace(r *lockstep.Source) pace {
	slow := [...]int{1, 2, 8}
	return pace{append: slow[r.IntN(len(slow))], apply: slow[r.IntN(len(slow))]}
}

// report is the transport's report on a sent message.
type report struct {
	to           lockstep.Node
	snapshot, ok bool
}

// start starts a node from its disk.
func (d *Deployment) start(n *node) error {
	base := n.disk.Base()
	n.machine.restore(base, d.cluster.Keys, d.cluster.Clients)
	n.last = n.disk.Last()
	entries := d.arena.Take(int(n.last - base.Index))
	for i := range entries {
		entries[i] = n.disk.Entry(base.Index + 1 + uint64(i))
	}
	n.up = true
	d.clocks.Start(n.id, d.out.Now())
	n.role, n.lead, n.hard, n.snap = raftlib.Follower, 0, n.disk.Stored(), 0
	n.waiting, n.reads = n.waiting[:0], n.reads[:0]
	if err := n.raft.Start(&n.timeout); err != nil {
		return err
	}
	d.out.Event(
		lockstep.Event{
			Type: raftspec.EventRestart,
			Node: n.id,
			Value: &raftspec.Restarted{Base: base.Index, Last: n.last, Entries: entries,
				Term: n.hard.Term, Commit: n.hard.Commit, Applied: base.Index, State: n.machine.fingerprint(),
				Conf: base.Conf},
		},
	)
	d.settle(n)
	return nil
}

// input runs before every input: the node first receives the transport's reports.
func (d *Deployment) input(n *node) {
	if len(n.reports) > 0 {
		n.hear()
	}
}

// hear hands the transport's reports to the library.
func (n *node) hear() {
	for _, r := range n.reports {
		if r.snapshot {
			n.raft.SnapshotSent(r.to, r.ok)
		} else {
			n.raft.Unreachable(r.to)
		}
	}
	n.reports = n.reports[:0]
}

// settle runs after every input: it completes the work that the library requests.
func (d *Deployment) settle(n *node) {
	d.drain(n)
	if d.cluster.Async {
		d.work(n, d.piece(n, n.pace.append), d.piece(n, n.pace.apply))
	}
	n.timer.Check()
}

// mostReadys limits the Readys that a node may have in one step. A library with an endless series of them would fill
// the memory.
const mostReadys = 10_000

// drain handles Readys until there is none. Asking the library is expensive for the library, so drain does not ask
// where there can be none.
func (d *Deployment) drain(n *node) {
	for i := 0; ; i++ {
		rd, ok := n.raft.Ready(&d.arena)
		if !ok {
			return
		}
		if i == mostReadys {
			panic(fmt.Sprintf("node %d has had %d Readys in one go and still has one", n.id, mostReadys))
		}
		last := rd.Last(n.role, n.lead)
		if rd.HardSet || rd.Role != n.role || rd.Lead != n.lead || len(rd.Entries) > 0 || rd.Snapshot.Index != 0 {
			d.observe(n, rd)
			if !d.cluster.Async {
				d.persist(n, rd)
			}
		}
		if rd.Mail > 0 {
			d.send(n, rd.Mail)
		}
		if len(rd.Reads) > 0 {
			d.confirmReads(n, rd.Reads)
		}
		if len(rd.Committed) > 0 && !d.cluster.Async {
			d.apply(n, rd.Committed)
		}
		n.raft.Advance()
		if last {
			return
		}
	}
}

// piece draws whether a storage thread completes a task after an input. When faults stop, so does slowness, and the
// thread completes all tasks.
func (d *Deployment) piece(n *node, pace int) int {
	if d.out.Settling() {
		return allWork
	}
	if n.chance.IntN(pace) == 0 {
		return 1
	}
	return 0
}

// allWork is more tasks than a node ever has.
const allWork = 1 << 20

// work lets the two storage threads complete so many tasks each.
func (d *Deployment) work(n *node, appends, applies int) {
	for range appends {
		rd, ok := n.raft.NextAppend(&d.arena)
		if !ok {
			break
		}
		d.persist(n, rd)
		n.raft.Done()
		d.send(n, rd.Mail)
		d.drain(n)
	}
	for range applies {
		rd, ok := n.raft.NextApply(&d.arena)
		if !ok {
			break
		}
		d.apply(n, rd.Committed)
		n.raft.Done()
		d.send(n, rd.Mail)
		d.drain(n)
	}
}

// observe reports the changes in the node as events.
func (d *Deployment) observe(n *node, rd *raftlib.Ready) {
	term, commit := n.hard.Term, n.hard.Commit
	if rd.HardSet {
		n.hard = rd.Hard
	}
	if rd.Role != n.role || n.hard.Term != term {
		n.role = rd.Role
		e := lockstep.Event{Type: n.role.String(), Node: n.id}
		if d.out.Watched() {
			role := d.events.roles.next()
			role.Term, role.Lead = n.hard.Term, rd.Lead
			e.Value = role
		}
		d.out.Event(e)
	}
	n.lead = rd.Lead
	if rd.Snapshot.Index != 0 {
		d.observeSnapshot(n, &rd.Snapshot)
	}
	if len(rd.Entries) > 0 {
		e := lockstep.Event{Type: raftspec.EventAppend, Node: n.id}
		if d.out.Watched() {
			a := d.events.appended.next()
			a.Entries, a.Last, a.Leader, a.Words = rd.Entries, n.last, n.role == raftlib.Leader, entryText
			e.Value = a
		}
		d.out.Event(e)
		n.last = rd.Entries[len(rd.Entries)-1].Index
	}
	if n.hard.Commit > commit && rd.Snapshot.Index == 0 {
		e := lockstep.Event{Type: raftspec.EventCommit, Node: n.id}
		if d.out.Watched() {
			c := d.events.committed.next()
			c.Term, c.Index = n.hard.Term, n.hard.Commit
			e.Value = c
		}
		d.out.Event(e)
	}
}

// observeSnapshot reports that the library's log begins after the snapshot from now on. If storage is slow, the
// application follows later.
func (d *Deployment) observeSnapshot(n *node, s *raftlib.Snapshot) {
	n.last, n.snap = s.Index, s.Index
	if s.Index > n.machine.applied {
		var m machine
		m.restore(*s, d.cluster.Keys, d.cluster.Clients)
		d.out.Event(lockstep.Event{Type: raftspec.EventInstall, Node: n.id,
			Value: &raftspec.Installed{Index: s.Index, Term: s.Term, State: m.fingerprint(), Conf: s.Conf}})
	}
}

// persist performs the writes of a Ready. No crash occurs between the writes; interrupt handles that case.
func (d *Deployment) persist(n *node, rd *raftlib.Ready) {
	if !rd.Sync && rd.Snapshot.Index == 0 {
		d.write(n, rd)
		return
	}
	n.disk.Direct(true)
	d.write(n, rd)
	if rd.Snapshot.Index != 0 {
		d.install(n, rd.Snapshot)
	}
	n.disk.Direct(false)
}

// write writes entries first, then the hard state, with which a snapshot becomes valid.
func (d *Deployment) write(n *node, rd *raftlib.Ready) {
	if rd.Snapshot.Index != 0 {
		n.raft.WriteHard()
	}
	if len(rd.Entries) > 0 {
		n.raft.WriteEntries(len(rd.Entries))
	}
	if rd.HardSet && rd.Snapshot.Index == 0 {
		n.raft.WriteHard()
	}
}

// install installs a snapshot of another node.
func (d *Deployment) install(n *node, s raftlib.Snapshot) {
	if s.Index <= n.machine.applied {
		return
	}
	n.machine.restore(s, d.cluster.Keys, d.cluster.Clients)
	d.retire(&n.machine)
	d.answerReads(n)
}

// apply applies committed entries in order. With asynchronous writes the library may have accepted a snapshot
// meanwhile, and with it the snapshot's membership. An older membership change must not be applied on top of that.
// apply therefore skips the entries that the snapshot covers, although the append thread may not have installed it
// yet.
func (d *Deployment) apply(n *node, entries []raftspec.Entry) {
	for i := range entries {
		if entries[i].Index > n.snap || !d.cluster.Async {
			d.applyOne(n, &entries[i])
		}
	}
	d.answerReads(n)
	if c := d.cluster.Compact; c > 0 && n.machine.applied >= n.disk.Base().Index+uint64(c) &&
		n.disk.Stored().Commit >= n.machine.applied {
		n.disk.Compact(n.machine.snapshot())
	}
}

// applyOne applies an entry. The library may request a snapshot while it applies a membership change, so the
// application's state moves to the entry only after that.
func (d *Deployment) applyOne(n *node, e *raftspec.Entry) {
	var conf raftspec.Conf
	if e.Kind != raftspec.Normal && n.machine.allows(n.raft.Parse(*e)) {
		conf = n.raft.ApplyChange(*e)
		n.machine.setConf(conf)
		d.retire(&n.machine)
	}
	n.machine.applied, n.machine.term = e.Index, e.Term
	o, ok := kv.Op{}, false
	var result kv.Result
	if e.Kind == raftspec.Normal && len(e.Data) > 0 {
		if o, ok = kv.Decode(e.Data); ok {
			result = n.machine.Apply(o)
		}
	}
	applied := lockstep.Event{Type: raftspec.EventApply, Node: n.id}
	if d.out.Watched() {
		a := d.events.applied.next()
		a.Entry, a.State, a.Conf, a.Words = *e, n.machine.fingerprint(), conf, entryText
		applied.Value = a
	}
	d.out.Event(applied)
	if ok {
		d.answerWrite(n, o, result)
	}
}
