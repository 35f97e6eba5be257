package etcdraft

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// eventTypes are the types of the events of a cluster: those of any Raft, where the value of a
// crash is a [*Crashed] and that of a request of the operator an [*Asked].
var eventTypes = []string{raftspec.BecameFollower, raftspec.BecameCandidate, raftspec.BecameLeader, raftspec.BecamePreCandidate, raftspec.EventAppend, raftspec.EventCommit,
	raftspec.EventApply, raftspec.EventInstall, raftspec.EventCrash, raftspec.EventRestart, raftspec.EventMembers, spec.EventCall, spec.EventReturn}

// roles lists the parts that nodes play, by the words of the events.
func (c Cluster) roles() []string {
	list := []string{raftspec.BecameLeader, raftspec.BecameFollower, raftspec.BecameCandidate}
	if c.PreVote {
		list = append(list, raftspec.BecamePreCandidate)
	}
	return list
}

// Message is what a message says, in a form that all versions of the library share: what
// [lockstep.Run.Body] returns.
type Message = raftlib.Content

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

// pool hands out values that are valid during one step. They hold what they held before, and are
// filled in where they are: a processor waits when it is to copy what has just been built.
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
