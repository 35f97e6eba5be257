package etcdraft

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// LogAgreement: after a settling stage every member has the leader's log, entry for entry,
// no more and no less. That all servers eventually store all entries is property P2 of
// "Testing Consensus Implementations using Communication Closure" (Drăgoi, Enea, Özkan,
// Majumdar, Niksic; OOPSLA 2020). It is judged where [Live] is, if meanwhile no log has
// changed for four election time-outs: what was asked for at the last moment is not
// everywhere yet. A member whose term is above the leader's is left out where neither PreVote nor
// CheckQuorum is on: the library then ignores what comes from an earlier term without a
// word, and a member that asks others for votes, because it does not know the present
// configuration, is out of reach for good.
var LogAgreement = spec.New("log-agreement", func(lockstep.Info) *logAgreement { return &logAgreement{} })

// logAgreement remembers when a log last grew.
type logAgreement struct {
	grew   lockstep.Time
	judged int
}

func (m *logAgreement) Reset()      { m.grew, m.judged = 0, 0 }
func (m *logAgreement) Judged() int { return m.judged }

func (m *logAgreement) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case EventAppend, EventInstall, EventRestart, BecameLeader:
		m.grew = run.Now()
	}
	return nil
}

// End judges the end of a run.
func (m *logAgreement) End(run *lockstep.Run) *lockstep.Finding {
	d := inner(run)
	if !run.Settled() || !d.calm(d.cluster.patience()) || d.shrunk() || !d.led() || run.Now()-m.grew < quiet(d.cluster) {
		return nil
	}
	leader := d.leader()
	want, _ := leader.log.upTo(leader.log.last())
	for id := range d.Conf().Members().All() {
		n := d.node(id)
		deaf := n.hard.Term > leader.hard.Term && !d.cluster.PreVote && !d.cluster.CheckQuorum
		if n == leader || !d.ticking(n) || deaf {
			continue
		}
		m.judged++
		if last := n.log.last(); last != leader.log.last() {
			return finding(trace.NodesOf(n.id, leader.id), "after settling the log of node %d goes up to %d, that of leader %d up to %d", n.id, last, leader.id, leader.log.last())
		}
		if have, _ := n.log.upTo(n.log.last()); have != want {
			return finding(trace.NodesOf(n.id, leader.id), "after settling the logs of node %d and leader %d differ", n.id, leader.id)
		}
	}
	return nil
}

// quiet is the time without news after which a leader has sent its log to everybody several
// times over: some heartbeats, whose answers make it try again.
func quiet(c Cluster) lockstep.Time { return lockstep.Time(4*c.Election + 2*c.Delay) }

// leader is the leader of the highest term.
func (d *Deployment) leader() *node {
	var leader *node
	for i := range d.nodes {
		if n := &d.nodes[i]; n.up && n.role == raftlib.Leader && (leader == nil || n.hard.Term > leader.hard.Term) {
			leader = n
		}
	}
	return leader
}
