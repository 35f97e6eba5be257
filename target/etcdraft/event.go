package etcdraft

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// The types of event are those of any Raft; see [raftspec]. The value of EventCrash is a
// *Crashed, that of EventMembers an *Asked.
const (
	BecameFollower     = raftspec.BecameFollower
	BecameCandidate    = raftspec.BecameCandidate
	BecameLeader       = raftspec.BecameLeader
	BecamePreCandidate = raftspec.BecamePreCandidate

	EventAppend  = raftspec.EventAppend
	EventCommit  = raftspec.EventCommit
	EventApply   = raftspec.EventApply
	EventInstall = raftspec.EventInstall
	EventCrash   = raftspec.EventCrash
	EventRestart = raftspec.EventRestart
	EventMembers = raftspec.EventMembers
)

// eventTypes are the types of the events of a cluster.
var eventTypes = []string{BecameFollower, BecameCandidate, BecameLeader, BecamePreCandidate, EventAppend, EventCommit,
	EventApply, EventInstall, EventCrash, EventRestart, EventMembers, spec.EventCall, spec.EventReturn}

// roles lists the parts that nodes play, by the words of the events.
func (c Cluster) roles() []string {
	list := []string{BecameLeader, BecameFollower, BecameCandidate}
	if c.PreVote {
		list = append(list, BecamePreCandidate)
	}
	return list
}

// What events and messages say, in a form that all versions of the library share.
type (
	// Entry is an entry of a node's log.
	Entry = raftspec.Entry
	// Conf is a configuration of members.
	Conf = raftspec.Conf
	// Appended and Applied are what scenarios look at.
	Appended = raftspec.Appended
	Applied  = raftspec.Applied
	// Message is what a message says: what [lockstep.Run.Body] returns.
	Message = raftlib.Content
)

// Crashed says what a crash interrupted and what it left.
type Crashed struct{ While, Kept string }

// String is all of it.
func (c *Crashed) String() string {
	if c.While == "" {
		return c.Kept
	}
	return "while handling " + c.While + ": " + c.Kept
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
	roles     pool[raftspec.Role]
	appended  pool[Appended]
	committed pool[raftspec.Committed]
	applied   pool[Applied]
}

func (e *events) reset() {
	e.roles.reset()
	e.appended.reset()
	e.committed.reset()
	e.applied.reset()
}
