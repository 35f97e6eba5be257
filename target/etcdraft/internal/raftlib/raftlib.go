// Package raftlib is the interface between the adapter and a raft library, so that one adapter drives several
// versions of etcd's raft. One small package binds each version. It implements [Library], [Network] and [Node] with
// the version's RawNode and the [Store] of this package.
package raftlib

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/trace"
)

// Role is the role of a node in its term. The numbers are those of the library.
type Role uint8

// The roles.
const (
	Follower Role = iota
	Candidate
	Leader
	PreCandidate
)

// String is the name of the role.
func (r Role) String() string {
	return [...]string{"follower", "candidate", "leader", "pre-candidate"}[r]
}

// Change is the kind of an entry that changes members, one at a time. The numbers are those of the library. Every
// kind other than this and [raftspec.Normal] is a change, too, including joint ones.
const Change raftspec.Kind = 1

// Hard is the part of a node's state that must be durable.
type Hard struct{ Term, Vote, Commit uint64 }

// Snapshot replaces the log up to its index.
type Snapshot struct {
	Index, Term uint64
	Conf        raftspec.Conf
	Data        []byte
}

// Read states that the request with the context may read the state at the index or later.
type Read struct{ Index, Context uint64 }

// Envelope is the part of a message that the adapter knows.
type Envelope struct {
	To   lockstep.Node
	Term uint64
	Type Type
}

// ConfChange requests another configuration. A single change without Joint does not enter a joint configuration.
type ConfChange struct {
	Add, Learn, Remove lockstep.Nodes
	Joint              Transition
	V1                 bool // in the format of one change at a time
}

// Transition is the way in which a change passes through the joint configuration. The numbers are those of the
// library.
type Transition uint8

// The transitions.
const (
	Auto     Transition = iota // joint only if necessary, left automatically
	Implicit                   // joint, left automatically
	Explicit                   // joint, left by an empty change
)

// Each calls yield for every single change, in the order of the nodes.
func (c ConfChange) Each(yield func(change SingleChange, node lockstep.Node)) {
	for n := range (c.Add | c.Learn | c.Remove).All() {
		switch {
		case c.Remove.Has(n):
			yield(RemoveNode, n)
		case c.Learn.Has(n):
			yield(AddLearner, n)
		default:
			yield(AddNode, n)
		}
	}
}

// SingleChange is one change of one node. The numbers are those of the library.
type SingleChange uint8

// The single changes.
const (
	AddNode    SingleChange = 0
	RemoveNode SingleChange = 1
	AddLearner SingleChange = 3
)

// NewConfChange converts single changes to the types of this package; single reads one of them.
func NewConfChange[S any](changes []S, single func(S) (SingleChange, lockstep.Node)) ConfChange {
	var c ConfChange
	for _, s := range changes {
		switch change, n := single(s); change {
		case AddNode:
			c.Add = c.Add.With(n)
		case AddLearner:
			c.Learn = c.Learn.With(n)
		case RemoveNode:
			c.Remove = c.Remove.With(n)
		}
	}
	return c
}

// String is the change as text, for example "add 4, remove 2 (joint)".
func (c ConfChange) String() string {
	var parts []string
	c.Each(func(s SingleChange, n lockstep.Node) {
		parts = append(
			parts,
			fmt.Sprintf("%s %d",
				map[SingleChange]string{AddNode: "add", RemoveNode: "remove", AddLearner: "add learner"}[s], n),
		)
	})
	if len(parts) == 0 {
		return "leave joint"
	}
	text := strings.Join(parts, ", ")
	if c.Joint != Auto {
		text += " (joint)"
	}
	return text
}

// Ready is the work that a node requests, as the library states it. Its slices are valid until the next step of the
// run.
type Ready struct {
	Role Role
	Lead lockstep.Node
	Hard Hard // the current hard state; to be written if HardSet

	HardSet   bool
	Sync      bool // writes must be durable before the messages go out
	Entries   []raftspec.Entry
	Snapshot  Snapshot // Index 0: none
	Committed []raftspec.Entry
	Reads     []Read
	Mail      int // messages, see Post
}

// Last reports whether no other Ready can follow this one before the next input, given the node's state before. That
// holds if the Ready is not empty and processing it returns nothing to the library. A follower has only written the
// leader's entries. A leader may have committed its own entries, and a candidate may have won by its own vote.
func (r *Ready) Last(role Role, lead lockstep.Node) bool {
	return len(r.Committed) == 0 && r.Mail+len(r.Reads) > 0 && r.Snapshot.Index == 0 && r.Role == role &&
		r.Lead == lead &&
		(role == Follower || role == Leader && !r.HardSet && len(r.Entries) == 0)
}

// Config is the configuration of every node.
type Config struct {
	Election, Heartbeat  int
	PreVote, CheckQuorum bool
	Lease                bool // lease-based reads
	MaxInflight          int
	MaxSize              uint64
	NoForward            bool // proposals at followers are refused
	Async                bool // asynchronous storage writes
	HoldVotes            bool // with Async: requests for votes wait for the write of the state that they refer to
}

// Library is one version of the library.
type Library interface {
	// Name is the target's name.
	Name() string
	// Check reports why the engine cannot control the version.
	Check() error
	// Async reports whether the version has asynchronous storage writes.
	Async() bool
	// Mutant is the active mutant of the library, and empty for the unmodified library.
	Mutant() string
	// NewNetwork makes the network that the nodes of one deployment share.
	NewNetwork(Config) Network
}

// Network stores the messages of a run and makes nodes.
type Network interface {
	// Reset forgets all messages.
	Reset()
	// NewNode makes a node, which serves many runs. The source makes snapshots of its application when the library
	// requests one.
	NewNode(id lockstep.Node, source func() Snapshot) Node
	// Content is the content of a message.
	Content(body trace.ID) Content
	// Vote is the term of a message, and whether it rejects something. It costs less than Content.
	Vote(body trace.ID) (term uint64, rejects bool)
	// Body is the library's message.
	Body(body trace.ID) any
}

// Node is one node of the library with its storage.
type Node interface {
	// Boot fills the storage for the start of a run: with a snapshot, or with nothing if its index is 0.
	Boot(Snapshot)
	// Start makes a node of the library from its storage. Its election timeouts are drawn from the source.
	Start(Source) error
	// Timer gives access to the clocks of the most recently started node.
	Timer() *Timer
	// Disk is the storage.
	Disk() Disk

	// Tick, Receive and the others up to SnapshotSent are inputs.
	Tick()
	Receive(body trace.ID) error
	Propose(data []byte) error
	ReadIndex(context uint64)
	ProposeChange(ConfChange) error
	TransferLeader(to lockstep.Node)
	Unreachable(n lockstep.Node)
	SnapshotSent(n lockstep.Node, ok bool)

	// Ready returns the result of the input and reports whether there is any.
	Ready(*Arena) (*Ready, bool)
	// WriteEntries writes the first k entries of the Ready.
	WriteEntries(k int)
	// WriteHard writes the Ready's hard state and snapshot.
	WriteHard()
	// Post stores a message of the Ready, counted from 0, as the next body of the run.
	Post(i int) Envelope
	// Parse decodes a committed membership change.
	Parse(raftspec.Entry) ConfChange
	// ApplyChange applies a committed membership change.
	ApplyChange(raftspec.Entry) raftspec.Conf
	// Advance reports that the Ready has been processed.
	Advance()

	// NextAppend and NextApply take the next task of the two storage threads, with asynchronous writes: it is in the
	// Ready's Hard, Entries, Snapshot or Committed. Done returns the task's responses to the node itself. Those for
	// other nodes are the Ready's mail.
	NextAppend(*Arena) (*Ready, bool)
	NextApply(*Arena) (*Ready, bool)
	Done()
}

// Disk is the part of a node's storage that the adapter sees.
type Disk interface {
	// Direct makes past and future writes durable until it is called with false.
	Direct(on bool)
	// Open is the number of writes that are not durable.
	Open() int
	// Crash loses the last of the writes that are not durable. The number of kept writes is drawn; see package
	// storage.
	Crash(draw func(n int) int) (kept, of int)
	// Truncate loses everything after an index, which a correct disk never does. Tests of the specs use it.
	Truncate(last uint64)
	// Stored is the hard state written, durable or not.
	Stored() Hard
	// First and Last are the indexes of the first and the last entry of the log.
	First() uint64
	Last() uint64
	// Term is the term of the entry at an index of the log, and Entry the entry.
	Term(index uint64) (uint64, error)
	Entry(index uint64) raftspec.Entry
	// Base is the snapshot that precedes the log.
	Base() Snapshot
	// Compact replaces the log up to the snapshot's index.
	Compact(Snapshot)
}

// Arena holds the entries of all Readys of one step.
type Arena struct{ entries []raftspec.Entry }

// Reset empties the arena.
func (a *Arena) Reset() { a.entries = a.entries[:0] }

// Take allocates space for k entries.
func (a *Arena) Take(k int) []raftspec.Entry {
	n := len(a.entries)
	if n+k > cap(a.entries) {
		a.entries = make([]raftspec.Entry, 0, 2*cap(a.entries)+k)
		n = 0
	}
	a.entries = a.entries[:n+k]
	return a.entries[n : n+k : n+k]
}
