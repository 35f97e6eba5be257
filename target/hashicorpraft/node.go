package hashicorpraft

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// serverLog is the logger of a node. A recorded run keeps its lines.
type serverLog struct {
	hclog.Logger // which is off
	node         *bubble.Node
}

func logOf(n *bubble.Node) hclog.Logger { return serverLog{silence, n} }

var silence = hclog.New(&hclog.LoggerOptions{Level: hclog.Off, Output: io.Discard})

// Debug logs a line.
func (s serverLog) Debug(text string, values ...any) { s.node.LogPairs(bubble.Debug, text, values...) }

// Info logs a line.
func (s serverLog) Info(text string, values ...any) { s.node.LogPairs(bubble.Info, text, values...) }

// Warn logs a line.
func (s serverLog) Warn(text string, values ...any) { s.node.LogPairs(bubble.Warn, text, values...) }

// Error logs a line.
func (s serverLog) Error(text string, values ...any) { s.node.LogPairs(bubble.Error, text, values...) }

// replica is one incarnation of a node.
type replica struct {
	raft    *raft.Raft
	disk    *disk
	machine *machine
	trans   *transport
	current atomic.Uint64 // the term on the disk
	terms   atomic.Uint64 // the last one with an up-to-date map for reads
	led     atomic.Bool   // it was leader

	calls sync.WaitGroup // transfers and verifications in progress
}

// start starts a node.
func start(n *bubble.Node, c Cluster, template *store) error {
	r := &replica{}
	r.disk = &disk{Disk: bubble.DiskOf(n, "raft", template.clone, (*store).clone), node: n, replica: r}
	r.machine = newMachine(n, r, c)
	r.disk.Read(func(s *store) {
		r.current.Store(s.numbers[currentTerm])
		n.Emit(raftspec.EventRestart, s.found())
	})
	trans, closed, err := r.transport(n, c)
	if err != nil {
		return err
	}
	n.OnStop(closed)
	server, err := raft.NewRaft(c.config(n), r.machine, r.disk, r.disk, r.disk, trans)
	if err != nil {
		return err
	}
	r.raft = server
	n.OnStop(func() {
		closed()
		r.calls.Wait() // after a shutdown the library no longer answers them
		_ = server.Shutdown().Error()
	})
	server.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		if state, ok := o.Data.(raft.RaftState); ok {
			r.became(n, state)
		}
		return false
	}))
	n.SetState(r.stateText())
	n.SetRole(func() string { return roleOf(server.State()) })
	if r.trans != nil {
		n.ReceiveAtOnce(r.trans.receive)
	}
	n.OnRequestAtOnce(func(id int32, _ string) { n.World().Value.(*clients).given(n, r, id) })
	return nil
}

// stateText is the state as text. It is rebuilt only when the state has changed, because the engine reads it after
// every step.
func (r *replica) stateText() func() string {
	type state struct {
		is                  raft.RaftState
		term, last, applied uint64
		leader              raft.ServerAddress
	}
	var was state
	var words string
	return func() string {
		now := state{is: r.raft.State(), term: r.term(), last: r.raft.LastIndex(), applied: r.raft.AppliedIndex()}
		now.leader, _ = r.raft.LeaderWithID()
		if now != was || words == "" {
			t := newText(now.is.String())
			t.number("term", now.term).number("last", now.last).number("applied", now.applied).word("leader")
			was, words = now, string(append(t.b, now.leader...))
		}
		return words
	}
}

// transport is Lockstep's transport, or the library's for TCP.
func (r *replica) transport(n *bubble.Node, c Cluster) (raft.Transport, func(), error) {
	if c.TCP {
		t, err := raft.NewTCPTransportWithLogger(string(c.at(n.Self())), nil, 3, c.Timeout, logOf(n))
		if err != nil {
			return nil, nil, err
		}
		return t, func() { _ = t.Close() }, nil
	}
	r.trans = newTransport(n, r, c)
	return r.trans, func() { _ = r.trans.Close() }, nil
}

// roleOf is the event of a state.
func roleOf(s raft.RaftState) string {
	switch s {
	case raft.Leader:
		return raftspec.BecameLeader
	case raft.Candidate:
		return raftspec.BecameCandidate
	case raft.Follower:
		return raftspec.BecameFollower
	}
	return ""
}

// became reports a new role.
func (r *replica) became(n *bubble.Node, s raft.RaftState) {
	kind := roleOf(s)
	if kind == "" { // shut down
		return
	}
	if s == raft.Leader {
		r.led.Store(true)
	}
	n.Emit(kind, &raftspec.Role{Term: r.term()})
}

// leads reports whether the node is a leader.
func (r *replica) leads() bool { return r.raft != nil && r.raft.State() == raft.Leader }

// term is the node's term on its disk.
func (r *replica) term() uint64 { return r.current.Load() }

// upToDate reports whether a barrier was passed in this term.
func (r *replica) upToDate(term uint64) bool { return r.terms.Load() == term }

func (r *replica) passed(term uint64) { r.terms.Store(term) }
