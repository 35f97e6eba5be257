package hashicorpraft

import (
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// EventPreVote reports that a node answered a pre-vote: *PreVoted. The other types of event are those of any Raft,
// see [raftspec]; the value of EventMembers is an *Asked.
const EventPreVote = "pre-vote"

// Asked is a request of the operator.
type Asked struct {
	Text string
	Err  string // the response; empty: success
}

// String is the request and the response.
func (a *Asked) String() string {
	if a.Err != "" {
		return a.Text + ": " + a.Err
	}
	return a.Text + ": done"
}

// PreVoted is a node's response to a pre-vote.
type PreVoted struct {
	From     lockstep.Node
	Term     uint64
	Leader   bool // the node considers the candidate its leader
	Newer    bool // its own term is older than that of the request
	Complete bool // the candidate's log is at least as long as its own
	Granted  bool
	Contact  bool // the pre-vote counted as contact with a leader
}

// String is the request and the response.
func (p *PreVoted) String() string {
	return fmt.Sprintf("from=%d term=%d granted=%v leader=%v contact=%v", p.From, p.Term, p.Granted, p.Leader,
		p.Contact)
}

// entry converts an entry of the library to the type of the specs. The state machine receives only commands.
func entry(l *raft.Log) raftspec.Entry {
	return raftspec.Entry{
		Index:  l.Index,
		Term:   l.Term,
		Kind:   raftspec.Kind(l.Type),
		Silent: l.Type != raft.LogCommand,
		Data:   l.Data,
	}
}

// entryText is the content of an entry as text.
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

// entryData is entryText for the library's type.
func entryData(l *raft.Log) string { return entryText(entry(l)) }
