package hashicorpraft

import (
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// EventPreVote says that a node answered a pre-vote: *PreVoted. The other types of event are
// those of any Raft, see [raftspec]; the value of EventMembers is an *Asked.
const EventPreVote = "pre-vote"

// Asked says what an operator asked for.
type Asked struct {
	Text string
	Err  string // the answer; empty: it is done
}

// String is the request and the answer.
func (a *Asked) String() string {
	if a.Err != "" {
		return a.Text + ": " + a.Err
	}
	return a.Text + ": done"
}

// PreVoted says how a node answered a pre-vote.
type PreVoted struct {
	From     lockstep.Node
	Term     uint64
	Leader   bool // the node takes the candidate for the leader
	Newer    bool // its own term is before that of the question
	Complete bool // the candidate's log goes as far as its own
	Granted  bool
	Contact  bool // that counted as a sign of life of a leader
}

// String is the question and the answer.
func (p *PreVoted) String() string {
	return fmt.Sprintf("from=%d term=%d granted=%v leader=%v contact=%v", p.From, p.Term, p.Granted, p.Leader, p.Contact)
}

// entry is an entry of the library's in the words of the specs. The state machine is told of
// commands alone.
func entry(l *raft.Log) raftspec.Entry {
	return raftspec.Entry{Index: l.Index, Term: l.Term, Kind: raftspec.Kind(l.Type), Silent: l.Type != raft.LogCommand, Data: l.Data}
}

// entryText puts the content of an entry into words.
func entryText(e raftspec.Entry) string {
	switch raft.LogType(e.Kind) {
	case raft.LogCommand:
		if o, ok := kv.Decode(e.Data); ok {
			return o.String()
		}
	case raft.LogConfiguration:
		return "members"
	case raft.LogBarrier:
		return "barrier"
	}
	return "-"
}

// entryData is entryText of the library's own.
func entryData(l *raft.Log) string { return entryText(entry(l)) }
