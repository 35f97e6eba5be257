// Package raftlib is the little that the adapter needs of a raft library, in words of
// its own, so that one adapter drives several versions of etcd's raft. A version is
// bound in one small package, which implements [Library], [Network] and [Node] on top of
// the version's RawNode and the [Store] of this package.
package raftlib

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/trace"
)

// Role is what a node is in its term. The numbers are those of the library.
type Role uint8

// The roles.
const (
	Follower Role = iota
	Candidate
	Leader
	PreCandidate
)

// String is the role's word.
func (r Role) String() string {
	return [...]string{"follower", "candidate", "leader", "pre-candidate"}[r]
}

// Change is the kind of an entry that changes members, one at a time. The numbers are those of the library; whatever is
// neither this nor [raftspec.Normal] is a change, too, joint ones included.
const Change raftspec.Kind = 1

// Hard is the part of a node's state that must be durable.
type Hard struct{ Term, Vote, Commit uint64 }

// Snapshot stands for the log up to its index.
type Snapshot struct {
	Index, Term uint64
	Conf        raftspec.Conf
	Data        []byte
}

// Read says that what was read at or after the index is what the request with that
// context may see.
type Read struct{ Index, Context uint64 }

// Envelope is what the adapter knows of a message.
type Envelope struct {
	To   lockstep.Node
	Term uint64
	Type Type
}

// ConfChange asks for another configuration. With one change and without Joint it goes
// the short way.
type ConfChange struct {
	Add, Learn, Remove lockstep.Nodes
	Joint              Transition
	V1                 bool // in the format of one change at a time
}

// Transition says how a change goes through the joint configuration. The numbers are
// those of the library.
type Transition uint8

// The transitions.
const (
	Auto     Transition = iota // joint only where it must be, left by itself
	Implicit                   // joint, left by itself
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

// NewConfChange puts single changes, of which one is read by single, into words of this
// package.
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

// String is the change in words, e.g. "add 4, remove 2 (joint)".
func (c ConfChange) String() string {
	var parts []string
	c.Each(func(s SingleChange, n lockstep.Node) {
		parts = append(parts, fmt.Sprintf("%s %d", map[SingleChange]string{AddNode: "add", RemoveNode: "remove", AddLearner: "add learner"}[s], n))
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

// Ready is what a node wants done, as the library says it. Its slices are valid until
// the next step of the run.
type Ready struct {
	Role Role
	Lead lockstep.Node
	Hard Hard // as it is now; to be written where HardSet

	HardSet   bool
	Sync      bool // what is written must be durable before the messages go out
	Entries   []raftspec.Entry
	Snapshot  Snapshot // Index 0: none
	Committed []raftspec.Entry
	Reads     []Read
	Mail      int // messages, see Post
}

// Last reports whether no other Ready can follow this one before the next input, by what the node was before: it says something, and
// nothing comes back to the library from what is done about it. A follower has only written what it was told; a leader may have
// committed what it wrote, and a candidate may have won by its own vote.
func (r *Ready) Last(role Role, lead lockstep.Node) bool {
	return len(r.Committed) == 0 && r.Mail+len(r.Reads) > 0 && r.Snapshot.Index == 0 && r.Role == role && r.Lead == lead &&
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
	HoldVotes            bool // with these: requests for votes wait for the write of what they speak of
}

// Library is one version of the library.
type Library interface {
	// Name is the target's name.
	Name() string
	// Check reports why the version cannot be controlled.
	Check() error
	// Async says whether the version has asynchronous storage writes.
	Async() bool
	// Mutant is the change to the library's source that is on, and empty for the library
	// as it is.
	Mutant() string
	// NewNetwork makes what the nodes of one deployment share.
	NewNetwork(Config) Network
}

// Network keeps the messages of a run and makes nodes.
type Network interface {
	// Reset forgets all messages.
	Reset()
	// NewNode makes a node, which serves many runs. The source makes snapshots of its
	// application when the library asks for one.
	NewNode(id lockstep.Node, source func() Snapshot) Node
	// Content is what a message says.
	Content(body trace.ID) Content
	// Body is the library's message.
	Body(body trace.ID) any
}

// Node is one node of the library with its storage.
type Node interface {
	// Boot fills the storage for the start of a run: with a snapshot, or with nothing
	// where its index is 0.
	Boot(Snapshot)
	// Start makes a node of the library from what is stored. Its election time-outs are
	// drawn from the source.
	Start(Source) error
	// Timer gives access to the clocks of the node started last.
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

	// Ready reports what the input caused and whether there is anything.
	Ready(*Arena) (*Ready, bool)
	// WriteEntries writes the first k entries of the Ready.
	WriteEntries(k int)
	// WriteHard writes the Ready's hard state and snapshot.
	WriteHard()
	// Post keeps a message of the Ready, counted from 0, as the next body of the run.
	Post(i int) Envelope
	// Parse reads a committed membership change.
	Parse(raftspec.Entry) ConfChange
	// ApplyChange applies a committed membership change.
	ApplyChange(raftspec.Entry) raftspec.Conf
	// Advance says that the Ready is done with.
	Advance()

	// NextAppend and NextApply take up the next piece of work of the two storage threads,
	// where writes are asynchronous: it is in the Ready's Hard, Entries, Snapshot or
	// Committed. Done hands back its responses; those for other nodes are the Ready's
	// mail.
	NextAppend(*Arena) (*Ready, bool)
	NextApply(*Arena) (*Ready, bool)
	Done()
}

// Disk is what the adapter sees of a node's storage.
type Disk interface {
	// Direct makes durable what is written, and what will be written until it is called with false.
	Direct(on bool)
	// Open is the number of writes that are not durable.
	Open() int
	// Crash loses the last of the writes that are not durable. How many are kept is drawn; see
	// package storage.
	Crash(draw func(n int) int) (kept, of int)
	// Truncate loses what comes after an index, which a disk that keeps its word never
	// does: it is there for tests of the specs.
	Truncate(last uint64)
	// Stored is the hard state written, durable or not.
	Stored() Hard
	// First and Last are the indexes of the first and the last entry of the log.
	First() uint64
	Last() uint64
	// Term is the term of the entry at an index of the log, and Entry the entry.
	Term(index uint64) (uint64, error)
	Entry(index uint64) raftspec.Entry
	// Base is the snapshot that stands before the log.
	Base() Snapshot
	// Compact replaces the log up to the snapshot's index.
	Compact(Snapshot)
}

// Arena holds the entries of all Readys of one step.
type Arena struct{ entries []raftspec.Entry }

// Reset empties the arena.
func (a *Arena) Reset() { a.entries = a.entries[:0] }

// Take makes room for k entries.
func (a *Arena) Take(k int) []raftspec.Entry {
	n := len(a.entries)
	if n+k > cap(a.entries) {
		a.entries = make([]raftspec.Entry, 0, 2*cap(a.entries)+k)
		n = 0
	}
	a.entries = a.entries[:n+k]
	return a.entries[n : n+k : n+k]
}
