package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

var (
	// Durability: a write that a client was told of is not lost. When the client is told,
	// the write is on the disks of a majority, as long as the membership is fixed; every
	// leader of a later term has it; and after a settling stage every member has applied
	// it.
	Durability = spec.New("durability", func(lockstep.Info) *durability { return &durability{} })
	// Liveness: after a settling stage there is a leader that a quorum follows, and every
	// request of a client is answered. It is not judged without a settling stage; one of
	// 3000 steps is enough for three nodes and the default workload.
	Liveness = spec.New("liveness", func(lockstep.Info) *liveness { return &liveness{} })
	// Everything is all specs of this package.
	Everything = spec.All(Safety, Durability, Linearizability, Liveness)
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
	if d.cluster.Changes > 0 {
		return nil
	}
	m.judged++
	has := lockstep.Nodes(0)
	for i := range d.nodes {
		if disk := d.nodes[i].raft.Disk(); disk.Base().Index >= w.index || disk.First()+uint64(len(disk.Terms())) > w.index {
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

// End implements [spec.Ender].
func (m *durability) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() {
		return nil
	}
	d := inner(run)
	members := d.Conf().Members() // a node that was removed need not know of it
	for _, w := range m.known {
		for i := range d.nodes {
			n := &d.nodes[i]
			if !n.up || !members.Has(n.id) {
				continue
			}
			m.judged++
			if n.machine.sessions[w.op.Client-1].seq < w.op.Seq {
				return finding(trace.NodesOf(n.id), "after settling, node %d has not applied %q, which a client was told of", n.id, w.op.String())
			}
		}
	}
	return nil
}

// liveness looks at the end only.
type liveness struct{ judged int }

func (m *liveness) Reset()                                                   { m.judged = 0 }
func (m *liveness) Judged() int                                              { return m.judged }
func (*liveness) Event(*lockstep.Run, *lockstep.Event) (f *lockstep.Finding) { return nil }

// End implements [spec.Ender].
func (m *liveness) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() {
		return nil
	}
	m.judged++
	d := inner(run)
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

// Conf is the membership as the node sees it that has applied most.
func (d *Deployment) Conf() Conf {
	m := &d.nodes[0].machine
	for i := range d.nodes {
		if d.nodes[i].machine.applied > m.applied {
			m = &d.nodes[i].machine
		}
	}
	return m.conf
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
