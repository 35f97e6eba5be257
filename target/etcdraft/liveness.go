package etcdraft

import (
	"cmp"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	// Durability: a write that a client was told of is not lost. When the client is told,
	// the write is on the disks of a majority, as long as the membership is fixed; every
	// leader of a later term has it; and after a settling stage that was long enough for
	// [Live] to be judged, if there is a leader, a majority of the voters has applied it.
	Durability = spec.New("durability", func(lockstep.Info) *durability { return &durability{} })
	// Everything is all specs of this package.
	Everything = spec.All(Safety, Durability, LogAgreement, Linearizability, Live{})
)

// durability remembers the writes that clients know of.
type durability struct {
	known  []write
	judged int
}

// write is an answered write: its place in the log.
type write struct {
	op                  *Op
	index, term, prefix uint64
}

func (m *durability) Reset()      { m.known, m.judged = m.known[:0], 0 }
func (m *durability) Judged() int { return m.judged }

func (m *durability) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *spec.Return:
		return m.answered(inner(run), e.Node, v)
	case *Role:
		if v.role == raftlib.Leader {
			return m.elected(inner(run).node(e.Node), v.Term)
		}
	}
	return nil
}

// answered looks at the disks when a client is told of a write.
func (m *durability) answered(d *Deployment, by lockstep.Node, r *spec.Return) *lockstep.Finding {
	c := &d.clients[r.Client-1]
	op := &c.ops[r.ID%idStep-1]
	if op.Kind == Get {
		return nil
	}
	n := d.node(by)
	w := write{op: op, index: n.machine.applied, term: n.hard.Term, prefix: n.machine.prefix}
	m.known = append(m.known, w)
	if d.cluster.Changes > 0 || len(d.asks) > 0 {
		return nil
	}
	m.judged++
	has := lockstep.Nodes(0)
	for i := range d.nodes {
		if disk := d.nodes[i].disk; disk.Base().Index >= w.index || disk.First()+uint64(len(disk.Terms())) > w.index {
			has = has.With(d.nodes[i].id)
		}
	}
	if voters := n.machine.conf.Voters; (has & voters).Len() <= voters.Len()/2 {
		return finding(voters&^has, "node %d told the client of %q, which is at index %d, but only the disks of nodes %s reach that far", by, op.String(), w.index, has)
	}
	return nil
}

// elected looks for the writes that were answered in earlier terms.
func (m *durability) elected(n *node, term uint64) *lockstep.Finding {
	for _, w := range m.known {
		if w.term >= term || w.index < n.log.base {
			continue
		}
		m.judged++
		if prefix, known := n.log.upTo(w.index); !known || prefix != w.prefix {
			return finding(trace.NodesOf(n.id), "node %d became leader of term %d without %q, which a client was told of", n.id, term, w.op.String())
		}
	}
	return nil
}

// End judges the end of a run.
func (m *durability) End(run *lockstep.Run) *lockstep.Finding {
	d := inner(run)
	if !run.Settled() || !d.calm(d.cluster.patience()) || !d.led() {
		return nil
	}
	voters := d.Conf().Voters
	for _, w := range m.known {
		m.judged++
		has := lockstep.Nodes(0)
		for v := range voters.All() {
			if d.node(v).machine.sessions[w.op.Client-1].seq >= w.op.Seq {
				has = has.With(v)
			}
		}
		if has.Len() <= voters.Len()/2 {
			return finding(voters&^has, "after settling, only nodes %s have applied %q, which a client was told of", has, w.op.String())
		}
	}
	return nil
}

// Live is bounded liveness: after a settling stage, in which faults stop and delivery is
// fair, there is a leader that a quorum follows, and every request of a client is
// answered. It is judged only where every member had Ticks ticks without a fault before
// the end, so that a stage that is too short for an election is not held against the
// library; nor is a cluster of which removals have left fewer than three voters, for
// which the library promises nothing. [lockstep.Result.Judged] tells how often it was.
type Live struct {
	// Ticks is the bound; 0 means 20 election time-outs and 8 ticks for each request of a
	// client. A settling stage of 2000 steps has as much for three nodes and the default
	// workload.
	Ticks int
}

// Properties names what is judged.
func (l Live) Properties() []string { return l.spec().Properties() }

// New makes a monitor.
func (l Live) New(info lockstep.Info) lockstep.Monitor { return l.spec().New(info) }

func (l Live) spec() lockstep.Spec {
	return spec.New("liveness", func(lockstep.Info) *liveness { return &liveness{bound: l.Ticks} })
}

// liveness looks at the end only.
type liveness struct{ bound, judged int }

func (m *liveness) Reset()                                                   { m.judged = 0 }
func (m *liveness) Judged() int                                              { return m.judged }
func (*liveness) Event(*lockstep.Run, *lockstep.Event) (f *lockstep.Finding) { return nil }

// End judges the end of a run.
func (m *liveness) End(run *lockstep.Run) *lockstep.Finding {
	d := inner(run)
	if !run.Settled() || !d.calm(cmp.Or(m.bound, d.cluster.patience())) || d.shrunk() {
		return nil
	}
	m.judged++
	if !d.led() {
		text := "after settling there is no leader that a quorum follows:"
		for i := range d.nodes {
			n := &d.nodes[i]
			text += fmt.Sprintf(" node %d is %s in term %d;", n.id, n.role, n.hard.Term)
		}
		return finding(0, "%s", text[:len(text)-1])
	}
	if answered, all := d.Answered(); answered < all {
		return finding(0, "after settling %d of %d requests are answered", answered, all)
	}
	return nil
}

// patience is the number of ticks after which a cluster without faults has a leader and
// has answered everything.
func (c Cluster) patience() int {
	return 20*c.Election + 8*c.Requests*min(1, c.Clients)
}

// calm reports whether every member had so many ticks since the last fault.
func (d *Deployment) calm(ticks int) bool {
	for id := range d.Conf().Members().All() {
		if n := d.node(id); n.calm < ticks && d.ticking(n) {
			return false
		}
	}
	return true
}

// shrunk reports whether removals have left fewer than three voters. If only one of two
// knows of a removal, the other may campaign for ever among those that were removed, in
// terms that the first does not hear of; the library's documentation advises against it.
func (d *Deployment) shrunk() bool {
	m := d.ahead()
	return m.removed() != 0 && m.conf.Voters.Len() < 3
}

// Conf is the membership as the node sees it that has applied most.
func (d *Deployment) Conf() Conf { return d.ahead().conf }

// ahead is the state of the node that has applied most.
func (d *Deployment) ahead() *machine {
	m := &d.nodes[0].machine
	for i := range d.nodes {
		if d.nodes[i].machine.applied > m.applied {
			m = &d.nodes[i].machine
		}
	}
	return m
}

// led reports whether some leader is followed by a majority of its voters.
func (d *Deployment) led() bool {
	for i := range d.nodes {
		l := &d.nodes[i]
		if !l.up || l.role != raftlib.Leader {
			continue
		}
		follow := func(voters lockstep.Nodes) bool {
			k := 0
			for v := range voters.All() {
				if n := d.node(v); n.up && n.lead == l.id && n.hard.Term == l.hard.Term {
					k++
				}
			}
			return voters == 0 || k > voters.Len()/2
		}
		if follow(l.machine.conf.Voters) && follow(l.machine.conf.Outgoing) {
			return true
		}
	}
	return false
}
