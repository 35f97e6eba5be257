package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// The types of event. The first four say that a node's role or term changed; their value
// is a *Role.
const (
	BecameFollower     = "follower"
	BecameCandidate    = "candidate"
	BecameLeader       = "leader"
	BecamePreCandidate = "pre-candidate"

	EventAppend  = "append"  // a node's log got new entries: *Appended
	EventCommit  = "commit"  // a node knows more of its log to be committed: *Committed
	EventApply   = "apply"   // a node applied an entry: *Applied
	EventInstall = "install" // a node took over a snapshot: *Installed
	EventCrash   = "crash"   // a node crashed: *Crashed
	EventRestart = "restart" // a node came back: *Restarted
	EventMembers = "members" // a membership change or a transfer was asked for: *Asked
)

// roles lists the parts that nodes play, by the words of the events.
func (c Cluster) roles() []string {
	list := []string{BecameLeader, BecameFollower, BecameCandidate}
	if c.PreVote {
		list = append(list, BecamePreCandidate)
	}
	return list
}

// Entry is an entry of a node's log.
type Entry = raftlib.Entry

// Message is what a message says, in a form that all versions of the library share: what
// [lockstep.Run.Body] returns, and what a scenario looks at.
type Message = raftlib.Content

// Conf is a configuration of members.
type Conf = raftlib.Conf

// Role is what a node is in a term.
type Role struct {
	Term uint64
	Lead lockstep.Node // 0 where the node knows of none
	role raftlib.Role
}

// String is the role in words.
func (r *Role) String() string {
	s := fmt.Sprintf("term=%d", r.Term)
	if r.Lead != 0 {
		s += fmt.Sprintf(" lead=%d", r.Lead)
	}
	return s
}

// Appended says that the entries are now at the end of a node's log, in the place of what
// was there from the first one's index on.
type Appended struct {
	Entries []Entry
	Last    uint64 // index of the log's last entry before
	Leader  bool   // the node is a leader
}

// String is the entries in words.
func (a *Appended) String() string {
	s := ""
	for _, e := range a.Entries {
		s += fmt.Sprintf("[%d/%d %s]", e.Term, e.Index, entryText(e))
	}
	return s
}

// Committed says up to where a node in a term knows its log to be committed.
type Committed struct{ Term, Index uint64 }

// String is the index.
func (c *Committed) String() string { return fmt.Sprintf("up to %d", c.Index) }

// Applied says that a node applied an entry, and what the hash of its application's
// state is now.
type Applied struct {
	Entry Entry
	State uint64
	// Members are those after the entry, where it is a change of members; 0 otherwise.
	Members lockstep.Nodes
}

// String is the entry.
func (a *Applied) String() string {
	return fmt.Sprintf("[%d/%d %s]", a.Entry.Term, a.Entry.Index, entryText(a.Entry))
}

// Installed says that a snapshot is now in the place of a node's log and state.
type Installed struct{ Index, Term, State uint64 }

// String is the snapshot's index and term.
func (i *Installed) String() string { return fmt.Sprintf("snapshot %d/%d", i.Term, i.Index) }

// Crashed says what a crash interrupted and what it left.
type Crashed struct{ While, Kept string }

// String is all of it.
func (c *Crashed) String() string {
	if c.While == "" {
		return c.Kept
	}
	return "while handling " + c.While + ": " + c.Kept
}

// Restarted says what a node found on its disk when it started, or started again.
type Restarted struct {
	Base, Last uint64 // the log is what comes after Base, up to Last
	Commit     uint64
	State      uint64 // the hash of the application's state, which is that at Base
}

// String is the extent of the log.
func (r *Restarted) String() string {
	return fmt.Sprintf("log %d..%d commit=%d", r.Base+1, r.Last, r.Commit)
}

// Asked says what an operator asked for.
type Asked struct {
	Change raftlib.ConfChange
	To     lockstep.Node // the transfer's, or 0
}

// String is the request.
func (a *Asked) String() string {
	if a.To != 0 {
		return fmt.Sprintf("transfer leadership to %d", a.To)
	}
	return a.Change.String()
}

// pool hands out values that are valid during one step.
type pool[T any] struct{ list []T }

func (p *pool[T]) reset() { p.list = p.list[:0] }

func (p *pool[T]) new(v T) *T {
	p.list = append(p.list, v)
	return &p.list[len(p.list)-1]
}

// events holds the values of the events of one step.
type events struct {
	roles     pool[Role]
	appended  pool[Appended]
	committed pool[Committed]
	applied   pool[Applied]
	installed pool[Installed]
	restarted pool[Restarted]
	calls     pool[spec.Call]
	returns   pool[spec.Return]
}

func (e *events) reset() {
	e.roles.reset()
	e.appended.reset()
	e.committed.reset()
	e.applied.reset()
	e.installed.reset()
	e.restarted.reset()
	e.calls.reset()
	e.returns.reset()
}
