package tendermint

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
)

// The events of a validator.
const (
	EventStep      = "step"      // *Step: it entered a step of a round
	EventPropose   = "propose"   // *Proposed: it signed a proposal
	EventPrevote   = "prevote"   // *Vote: it signed a prevote
	EventPrecommit = "precommit" // *Vote: it signed a precommit
	EventPolka     = "polka"     // *Vote: it has +2/3 of the prevotes of a round for a block, or for nil
	EventLock      = "lock"      // *Vote: it locked on a block in a round
	EventUnlock    = "unlock"    // *Vote: it released its lock
	EventValid     = "valid"     // *Vote: it knows a valid block
	EventCommit    = "committed" // *Commit: it decided
	EventEvidence  = "evidence"  // *Evidence: a block that it decided has evidence
	EventFailure   = "failure"   // *Failure: the library's state machine stopped
	EventStart     = "start"     // *Started: an incarnation began
	EventMissed    = "missed"    // nothing: a vote arrived on a connection that is gone, and was discarded
	// EventRepair has no value: the validator repaired a write-ahead log whose last record was torn in a crash.
	EventRepair = "repair"
)

var eventTypes = []string{EventStep, EventPropose, EventPrevote, EventPrecommit, EventPolka, EventLock, EventUnlock,
	EventValid, EventCommit, EventEvidence, EventFailure, EventStart, EventMissed, EventRepair}

// Step is the current step of a validator.
type Step struct {
	Height int64
	Round  int32
	Step   string
}

// String is "1/0 propose".
func (s *Step) String() string { return fmt.Sprintf("%d/%d %s", s.Height, s.Round, s.Step) }

// Proposed is a proposal.
type Proposed struct {
	Height     int64
	Round, POL int32
	Block      string
	By         lockstep.Node
}

// String is the proposal as text.
func (p *Proposed) String() string {
	return fmt.Sprintf("%d/%d %s, polka in %d", p.Height, p.Round, p.Block, p.POL)
}

// Vote is a vote, or a result of votes.
type Vote struct {
	Height int64
	Round  int32
	Block  string
	By     lockstep.Node // the signer, for a vote
}

// String is the vote as text.
func (v *Vote) String() string { return fmt.Sprintf("%d/%d %s", v.Height, v.Round, v.Block) }

// Commit is a decision, with the signers of its precommits.
type Commit struct {
	Height  int64
	Round   int32
	Block   string
	Signers lockstep.Nodes
}

// String is the commit as text.
func (c *Commit) String() string {
	return fmt.Sprintf("%d/%d %s by %s", c.Height, c.Round, c.Block, c.Signers)
}

// Evidence is evidence in a block against a validator that signed two votes.
type Evidence struct {
	Height  int64 // of the block
	At      int64 // of the votes
	Against lockstep.Node
}

// String is the evidence as text.
func (e *Evidence) String() string {
	return fmt.Sprintf("against %d, which voted twice at height %d", e.Against, e.At)
}

// Failure is the reason why the state machine stopped.
type Failure struct{ Text, Stack string }

// String is the reason.
func (f *Failure) String() string { return f.Text }

// Started is the beginning of an incarnation.
type Started struct {
	Incarnation int
	Height      int64 // committed before
}

// String is the start as text.
func (s *Started) String() string {
	return fmt.Sprintf("incarnation %d after height %d", s.Incarnation, s.Height)
}
