package etcdraft

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// node is a process: a node of the library, the application on top of it, and what the
// process remembers of clients. It does for the library what the library asks of its
// users.
type node struct {
	id      lockstep.Node
	raft    raftlib.Node
	timer   *raftlib.Timer
	disk    raftlib.Disk
	machine machine
	up      bool
	clock   lockstep.Time // the virtual time up to which the node has been ticked
	calm    int           // alarms since the last fault of the run

	log  prefixes     // of the log, as the library sees it
	role raftlib.Role // as last seen by the outside
	lead lockstep.Node
	hard raftlib.Hard
	snap uint64 // index of the last snapshot of another node that the library took over

	waiting []waiter // writes of clients
	reads   []reader // reads of clients
	reports []report // of the transport
	pace    pace
	// Two sources, so that a run without some input of a node has the same time-outs.
	timePCG, diskPCG rand.PCG
	timeouts         *rand.Rand
	chance           *rand.Rand // of storage and crashes
}

// pace says how slow the two storage threads of a node are: each does a piece of work
// after one of so many inputs. It is drawn for a run, so that there are nodes that fall
// far behind with one thread and not with the other.
type pace struct{ append, apply int }

func drawPace(r *rand.Rand) pace {
	slow := [...]int{1, 2, 8}
	return pace{append: slow[r.IntN(len(slow))], apply: slow[r.IntN(len(slow))]}
}

// waiter is a client that waits for its write.
type waiter struct {
	client int
	seq    uint16
}

// reader is a client that waits for its read, up to the index that it may see.
type reader struct {
	waiter
	context uint64
	index   uint64 // 0: not known yet
}

// report is the transport's word on a message that was sent.
type report struct {
	to           lockstep.Node
	snapshot, ok bool
}

// start brings a node up from what is on its disk.
func (d *Deployment) start(n *node) error {
	base := n.disk.Base()
	n.machine.restore(base)
	n.log.restore(base.Index, n.machine.prefix, n.disk)
	n.up, n.clock = true, d.out.Now()
	n.role, n.lead, n.hard, n.snap = raftlib.Follower, 0, n.disk.Stored(), 0
	n.waiting, n.reads = n.waiting[:0], n.reads[:0]
	d.armed.stale = true
	if err := n.raft.Start(n.timeouts); err != nil {
		return err
	}
	d.out.Event(lockstep.Event{Type: EventRestart, Node: n.id, Value: d.events.restarted.new(Restarted{Base: base.Index,
		Last: n.log.last(), Commit: n.hard.Commit, State: n.machine.fingerprint()})})
	d.settle(n)
	return nil
}

// input precedes every input: the node first hears what the transport has to report.
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

// settle follows every input: whatever the library wants done is done.
func (d *Deployment) settle(n *node) {
	d.drain(n)
	if d.cluster.Async {
		d.work(n, d.piece(n, n.pace.append), d.piece(n, n.pace.apply))
	}
	n.timer.Check()
}

// mostReadys is how often a node may have something to do in one go. A library that has no
// end of it would fill the memory.
const mostReadys = 10_000

// drain handles Readys until there is none.
func (d *Deployment) drain(n *node) {
	for i := 0; ; i++ {
		rd, ok := n.raft.Ready(&d.arena)
		if !ok {
			return
		}
		if i == mostReadys {
			panic(fmt.Sprintf("node %d has had %d Readys in one go and still has one", n.id, mostReadys))
		}
		d.observe(n, rd)
		if !d.cluster.Async {
			d.persist(n, rd)
		}
		d.send(n, rd)
		if len(rd.Reads) > 0 {
			d.confirmReads(n, rd.Reads)
		}
		if !d.cluster.Async {
			d.apply(n, rd.Committed)
		}
		n.raft.Advance()
	}
}

// piece draws whether a storage thread does a piece of work after an input. When faults
// stop, slowness does, and it does everything.
func (d *Deployment) piece(n *node, pace int) int {
	if d.out.Settling() {
		return allWork
	}
	return btoi(n.chance.IntN(pace) == 0)
}

// allWork is more pieces of work than a node ever has.
const allWork = 1 << 20

// work lets the two storage threads do so many pieces of work each.
func (d *Deployment) work(n *node, appends, applies int) {
	for range appends {
		rd, ok := n.raft.NextAppend(&d.arena)
		if !ok {
			break
		}
		d.persist(n, rd)
		n.raft.Done()
		d.send(n, rd)
		d.drain(n)
	}
	for range applies {
		rd, ok := n.raft.NextApply(&d.arena)
		if !ok {
			break
		}
		d.apply(n, rd.Committed)
		n.raft.Done()
		d.send(n, rd)
		d.drain(n)
	}
}

// observe tells the outside what changed in the node.
func (d *Deployment) observe(n *node, rd *raftlib.Ready) {
	term, commit := n.hard.Term, n.hard.Commit
	if rd.HardSet {
		n.hard = rd.Hard
	}
	if rd.Role != n.role || n.hard.Term != term {
		n.role = rd.Role
		d.out.Event(lockstep.Event{Type: n.role.String(), Node: n.id,
			Value: d.events.roles.new(Role{Term: n.hard.Term, Lead: rd.Lead, role: n.role})})
	}
	n.lead = rd.Lead
	if rd.Snapshot.Index != 0 {
		d.observeSnapshot(n, &rd.Snapshot)
	}
	if len(rd.Entries) > 0 {
		d.out.Event(lockstep.Event{Type: EventAppend, Node: n.id,
			Value: d.events.appended.new(Appended{rd.Entries, n.log.last(), n.role == raftlib.Leader})})
		n.log.append(rd.Entries)
	}
	if n.hard.Commit > commit && rd.Snapshot.Index == 0 {
		d.out.Event(lockstep.Event{Type: EventCommit, Node: n.id, Value: d.events.committed.new(Committed{n.hard.Term, n.hard.Commit})})
	}
}

// observeSnapshot notes that the log as the library sees it begins after the snapshot from
// now on.
func (d *Deployment) observeSnapshot(n *node, s *raftlib.Snapshot) {
	var m machine
	m.reset(d.cluster.Keys, d.cluster.Clients)
	m.restore(*s)
	n.log.reset(s.Index, m.prefix)
	n.snap = s.Index
}

// persist writes what a Ready wants written: entries first, then the hard state, with
// which a snapshot becomes valid.
func (d *Deployment) persist(n *node, rd *raftlib.Ready) {
	if rd.Snapshot.Index != 0 {
		n.raft.WriteHard()
		n.raft.WriteEntries(len(rd.Entries))
		d.install(n, rd.Snapshot)
	} else {
		if len(rd.Entries) > 0 {
			n.raft.WriteEntries(len(rd.Entries))
		}
		if rd.HardSet {
			n.raft.WriteHard()
		}
	}
	if rd.Sync || rd.Snapshot.Index != 0 {
		n.disk.Sync()
	}
}

// install takes over a snapshot of another node.
func (d *Deployment) install(n *node, s raftlib.Snapshot) {
	if s.Index <= n.machine.applied {
		return
	}
	n.machine.restore(s)
	d.retire(&n.machine)
	d.out.Event(lockstep.Event{Type: EventInstall, Node: n.id,
		Value: d.events.installed.new(Installed{s.Index, s.Term, n.machine.fingerprint()})})
	d.answerReads(n)
}

// apply applies committed entries in order. With asynchronous writes the library may have
// taken over a snapshot meanwhile, and with it the snapshot's membership. An older change
// of members must not be applied on top of that, so what the snapshot covers is left to
// it, though the append thread may not have installed it yet.
func (d *Deployment) apply(n *node, entries []Entry) {
	if len(entries) == 0 {
		return
	}
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

// applyOne applies an entry. The library may ask for a snapshot while it applies a change
// of members, so the application's state moves to the entry only after that.
func (d *Deployment) applyOne(n *node, e *Entry) {
	var members lockstep.Nodes
	if e.Kind != raftlib.Normal && n.machine.allows(n.raft.Parse(*e)) {
		n.machine.setConf(n.raft.ApplyChange(*e))
		d.retire(&n.machine)
		members = n.machine.conf.Members()
	}
	n.machine.applied, n.machine.term = e.Index, e.Term
	n.machine.prefix = extend(n.machine.prefix, e)
	var o Op
	var result Result
	if e.Kind == raftlib.Normal && len(e.Data) > 0 {
		o = decode(e.Data)
		result = n.machine.apply(o)
	}
	d.out.Event(lockstep.Event{Type: EventApply, Node: n.id, Value: d.events.applied.new(Applied{*e, n.machine.fingerprint(), members})})
	if o.Client > 0 {
		d.answerWrite(n, o, result)
	}
}
