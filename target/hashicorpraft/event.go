package hashicorpraft

import (
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
)

// The types of event. The first three say that a node's role changed; their value is a *Role.
const (
	BecameFollower  = "follower"
	BecameCandidate = "candidate"
	BecameLeader    = "leader"

	EventAppend  = "append"   // a node's log changed: *Appended
	EventApply   = "apply"    // a node applied an entry: *Applied
	EventInstall = "install"  // a node took over a snapshot: *Installed
	EventRestart = "restart"  // a node came up: *Restarted
	EventMembers = "members"  // the operator asked for something: *Asked
	EventPreVote = "pre-vote" // a node answered a pre-vote: *PreVoted
)

// Role is what a node is in a term.
type Role struct {
	Term uint64
	// Log is the hash of the log up to each index from First on, of a leader at its
	// election.
	First uint64
	Log   []uint64
}

// String is the term.
func (r *Role) String() string { return fmt.Sprintf("term=%d", r.Term) }

// Entry is an entry of a log, with the hash of the log up to it.
type Entry struct {
	Index, Term, Prefix uint64
	Text                string
}

// Appended says that the entries are now at the end of a node's log, in the place of what
// was there from the first one's index on; or, where Cut is set, that the log was cut there.
type Appended struct {
	Entries []Entry
	Last    uint64 // index of the log's last entry before
	Cut     uint64
	Leader  bool // the node is a leader
}

// String is the entries.
func (a *Appended) String() string {
	var t text
	if a.Cut > 0 {
		t.number("cut", a.Cut)
	}
	for _, e := range a.Entries {
		t.b = append(t.b, '[')
		t.place(e.Term, e.Index, e.Text)
	}
	return string(t.b)
}

// Applied says that a node in a term applied an entry, what the hash of the log up to it is,
// and what its map is now.
type Applied struct {
	Entry Entry
	Term  uint64 // of the node
	State uint64
}

// String is the entry.
func (a *Applied) String() string {
	t := text{[]byte{'['}}
	t.place(a.Entry.Term, a.Entry.Index, a.Entry.Text)
	return string(t.b)
}

// Installed says that a snapshot is now in the place of a node's map.
type Installed struct{ Applied, State uint64 }

// String is the index.
func (i *Installed) String() string { return fmt.Sprintf("up to %d", i.Applied) }

// Restarted says what a node found on its disk.
type Restarted struct{ First, Last, Term uint64 }

// String is the extent of the log.
func (r *Restarted) String() string {
	return fmt.Sprintf("log %d..%d term=%d", r.First, r.Last, r.Term)
}

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

// entryData puts the content of an entry into words.
func entryData(l *raft.Log) string {
	switch l.Type {
	case raft.LogCommand:
		return string(l.Data)
	case raft.LogConfiguration:
		return "members"
	case raft.LogBarrier:
		return "barrier"
	default:
		return "-"
	}
}
