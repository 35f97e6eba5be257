package raftspec

import (
	"fmt"
	"strconv"

	"github.com/lockstep-go/lockstep"
)

// The types of event. The first four say that a node's role or term changed; their value
// is a *Role.
const (
	BecameFollower     = "follower"
	BecameCandidate    = "candidate"
	BecameLeader       = "leader"
	BecamePreCandidate = "pre-candidate"

	EventAppend  = "append"  // a node's log changed: *Appended
	EventCommit  = "commit"  // a node knows more of its log to be committed: *Committed
	EventApply   = "apply"   // a node applied an entry: *Applied
	EventInstall = "install" // a node took over a snapshot: *Installed
	EventCrash   = "crash"   // a node crashed; the value is the system's own
	EventRestart = "restart" // a node started, or started again: *Restarted
	EventMembers = "members" // a membership change or a transfer was asked for; the value is the system's own
)

// Role is what a node is in a term.
type Role struct {
	Term uint64
	Lead lockstep.Node // 0 where the node knows of none
}

// String is the role as text.
func (r *Role) String() string {
	s := "term=" + strconv.FormatUint(r.Term, 10)
	if r.Lead != 0 {
		s += " lead=" + strconv.Itoa(int(r.Lead))
	}
	return s
}

// Kind says what an entry of the log holds; the numbers other than Normal are the system's.
type Kind uint8

// Normal is an entry for the state machine. All others are for the protocol.
const Normal Kind = 0

// Entry is an entry of a node's log.
type Entry struct {
	Index, Term uint64
	Kind        Kind
	Silent      bool   // the state machine is not given it
	Data        []byte // never changed
}

// Words puts the content of an entry into words; nil means its size.
type Words func(Entry) string

// text adds an entry as text: "[1/2 c1 put a=3]". Systems whose runs are all recorded do
// this for every event, so it is done without fmt.
func (w Words) text(b []byte, e *Entry) []byte {
	b = append(strconv.AppendUint(append(b, '['), e.Term, 10), '/')
	b = append(strconv.AppendUint(b, e.Index, 10), ' ')
	if w == nil {
		b = append(strconv.AppendInt(b, int64(len(e.Data)), 10), " bytes"...)
	} else {
		b = append(b, w(*e)...)
	}
	return append(b, ']')
}

// Appended says that the entries are now at the end of a node's log, in the place of what
// was there from the first one's index on. Without entries the log was cut from Cut on.
type Appended struct {
	Entries []Entry
	Last    uint64 // index at which the log, or a snapshot in its place, ended before
	Cut     uint64
	Leader  bool // the node is a leader
	Words   Words
}

// String is the entries as text.
func (a *Appended) String() string {
	if len(a.Entries) == 0 {
		return fmt.Sprintf("cut=%d", a.Cut)
	}
	var b []byte
	for i := range a.Entries {
		b = a.Words.text(b, &a.Entries[i])
	}
	return string(b)
}

// Committed says up to where a node in a term knows its log to be committed.
type Committed struct{ Term, Index uint64 }

// String is the index.
func (c *Committed) String() string { return fmt.Sprintf("up to %d", c.Index) }

// Conf is a configuration: the voters and the learners.
type Conf struct {
	Voters, Outgoing, Learners, LearnersNext lockstep.Nodes
	AutoLeave                                bool
}

// Members are all nodes of the configuration.
func (c Conf) Members() lockstep.Nodes { return c.Voters | c.Outgoing | c.Learners | c.LearnersNext }

// String writes the configuration as "1,2,3", "1,2,4&1,2,3" while it is joint, and with
// "learners=4".
func (c Conf) String() string {
	s := c.Voters.String()
	if c.Outgoing != 0 {
		s += "&" + c.Outgoing.String()
	}
	if learners := c.Learners | c.LearnersNext; learners != 0 {
		s += " learners=" + learners.String()
	}
	return s
}

// Applied says that a node applied an entry, and what the hash of its state machine is now.
type Applied struct {
	Entry Entry
	State uint64
	// Conf is the configuration from this entry on, where the entry changed it.
	Conf Conf
	// Term is the node's term, of a system that does not report what is committed.
	Term  uint64
	Words Words
}

// String is the entry.
func (a *Applied) String() string { return string(a.Words.text(nil, &a.Entry)) }

// Installed says that a snapshot is now in the place of a node's state, and of its log
// unless that agrees with it.
type Installed struct {
	Index, Term uint64
	// State is the hash of the state machine, which was given the entry at Applied last; 0:
	// that at Index.
	State, Applied uint64
	Conf           Conf
}

// String is the snapshot's index and term.
func (i *Installed) String() string { return fmt.Sprintf("snapshot %d/%d", i.Term, i.Index) }

// Restarted says what a node found on its disk.
type Restarted struct {
	Base, Last   uint64  // the log is what comes after Base, up to Last
	Entries      []Entry // of the log
	Term, Commit uint64
	// Applied is the index at which the state machine stands, and State its hash; 0: it is
	// not there yet.
	Applied, State uint64
	Conf           Conf
}

// String is the extent of the log.
func (r *Restarted) String() string {
	return fmt.Sprintf("log %d..%d term=%d commit=%d", r.Base+1, r.Last, r.Term, r.Commit)
}
