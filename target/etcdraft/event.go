package etcdraft

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// eventTypes are the types of the events of a cluster: those of any Raft. The value of a crash is a [*Crashed], and
// that of an operator's request an [*Asked].
var eventTypes = []string{raftspec.BecameFollower, raftspec.BecameCandidate, raftspec.BecameLeader,
	raftspec.BecamePreCandidate, raftspec.EventAppend, raftspec.EventCommit,
	raftspec.EventApply, raftspec.EventInstall, raftspec.EventCrash, raftspec.EventRestart, raftspec.EventMembers,
	spec.EventCall, spec.EventReturn}

// roles lists the roles of nodes, named like the events.
func (c Cluster) roles() []string {
	list := []string{raftspec.BecameLeader, raftspec.BecameFollower, raftspec.BecameCandidate}
	if c.PreVote {
		list = append(list, raftspec.BecamePreCandidate)
	}
	return list
}

// Message is the content of a message, in a form that all versions of the library share. [lockstep.Run.Body] returns
// it, so that conditions and actions of scenarios can refer to its fields:
//
//	scenario.Body("an entry of term 2", func(m etcdraft.Message) bool { return m.Term == 2 && len(m.Entries) > 0 })
//
// The fields have the names and the meaning of those of the library's own message:
//
//	From                         lockstep.Node
//	Type                         the type, with the library's name as text
//	Term, LogTerm, Index, Commit uint64
//	Reject                       bool
//	Hint                         uint64
//	Entries                      []raftspec.Entry
//	Snapshot                     with Index, Term, Conf and Data
type Message = raftlib.Content

// Crashed describes the operation that a crash interrupted and the writes that it kept.
type Crashed struct{ While, Kept string }

// String combines both.
func (c *Crashed) String() string {
	if c.While == "" {
		return c.Kept
	}
	return "while handling " + c.While + ": " + c.Kept
}

// Asked describes a request of the operator.
type Asked struct {
	Change raftlib.ConfChange
	To     lockstep.Node // the transferee, or 0
}

// String is the request.
func (a *Asked) String() string {
	if a.To != 0 {
		return fmt.Sprintf("transfer leadership to %d", a.To)
	}
	return a.Change.String()
}

// pool hands out values that are valid during one step. They keep their previous contents and are filled in place,
// because the CPU stalls when it copies a value that has just been written.
type pool[T any] struct{ list []T }

func (p *pool[T]) reset() { p.list = p.list[:0] }

func (p *pool[T]) next() *T {
	if len(p.list) == cap(p.list) {
		p.list = slices.Grow(p.list, 1)
	}
	p.list = p.list[:len(p.list)+1]
	return &p.list[len(p.list)-1]
}

// events holds the values of the events of one step.
type events struct {
	roles     pool[raftspec.Role]
	appended  pool[raftspec.Appended]
	committed pool[raftspec.Committed]
	applied   pool[raftspec.Applied]
}

func (e *events) reset() {
	e.roles.reset()
	e.appended.reset()
	e.committed.reset()
	e.applied.reset()
}
