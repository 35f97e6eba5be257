package tendermint

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of messages. A vote is a Prevote or a Precommit here.
const (
	Proposal      = "Proposal"
	ProposalPOL   = "ProposalPOL"
	BlockPart     = "BlockPart"
	Prevote       = "Prevote"
	Precommit     = "Precommit"
	NewRoundStep  = "NewRoundStep"
	NewValidBlock = "NewValidBlock"
	HasVote       = "HasVote"
	HasBlockPart  = "HasProposalBlockPart"
	VoteSetMaj23  = "VoteSetMaj23"
	VoteSetBits   = "VoteSetBits"
	Proof         = "Evidence"
	Garbled       = "Garbled" // unreadable for validators
)

// Kinds are all types.
var Kinds = []string{Proposal, ProposalPOL, BlockPart, Prevote, Precommit, NewRoundStep, NewValidBlock, HasVote,
	HasBlockPart, VoteSetMaj23, VoteSetBits, Proof, Garbled}

// Nil is the block of a vote for nil.
const Nil = "nil"

// Message is a message between validators: the library's bytes, and their content.
type Message struct {
	Kind   string
	Height int64
	Round  int32
	// By is the signer of a vote, the voter of a HasVote, or the validator that evidence accuses; 0 elsewhere.
	By lockstep.Node
	// Block is the proposed block or that of a vote, as the beginning of its hash, or Nil.
	Block string
	// POL is the round of the polka that a proposal refers to, or -1.
	POL int32
	// Step is the step of a NewRoundStep.
	Step string
	// VoteType is Prevote or Precommit, if the message is about votes.
	VoteType string

	// Channel, Conn and Seq are the channel of the message, the number of the connection on its link, and the
	// position on the channel.
	Channel   byte
	Conn, Seq int
	// Raw is the message as the library encodes it.
	Raw []byte

	whole  bool // a BlockPart with all of a block
	forged bool // it is forged, and replaces another message

	id blockID // the complete ID of Block, if the message has it
}

// PhasesPerHeight is the number of phases that a height has: one for each round, the last for all
// later ones.
const PhasesPerHeight = 100

// Tag is the message's phase and round: a phase is a round of a height, and its rounds are
// propose, prevote and precommit.
func (m *Message) Tag() trace.Tag {
	if m.Height <= 0 {
		return trace.Tag{}
	}
	round := min(max(m.Round, 0), PhasesPerHeight-1)
	t := trace.Tag{Phase: int32(m.Height-1)*PhasesPerHeight + round + 1}
	switch {
	case m.VoteType == Prevote || m.Step == "prevote" || m.Kind == NewValidBlock:
		t.Round = 1
	case m.VoteType == Precommit || m.Step == "precommit" || m.Step == "commit":
		t.Round = 2
	}
	return t
}

// rank orders the messages that a validator sends another at the same time about a round. In the library their order
// depends on goroutine scheduling and random choices.
func (m *Message) rank() int {
	switch m.Kind {
	case Proposal, NewRoundStep:
		return 0
	case ProposalPOL, NewValidBlock:
		return 1
	case BlockPart, HasBlockPart:
		return 2
	case VoteSetMaj23, VoteSetBits:
		return 1000
	case Proof:
		return 2000 + int(m.By)
	}
	return 3 + int(m.By)
}

// IsVote reports whether the message is a vote.
func (m *Message) IsVote() bool { return m.Kind == Prevote || m.Kind == Precommit }

// steps are the library's steps as text; steps of one round of a phase have the same text.
var steps = []string{"", "new height", "propose", "propose", "prevote", "prevote", "precommit", "precommit", "commit"}

// short is the beginning of a hash as text.
func short(hash []byte) string {
	if len(hash) == 0 {
		return Nil
	}
	return strings.ToUpper(hex.EncodeToString(hash[:min(4, len(hash))]))
}

// describe parses the library's bytes on a channel.
func describe(channel byte, raw []byte) *Message {
	m := &Message{Kind: Garbled, POL: -1, Raw: raw, Channel: channel}
	if channel == evidenceChannel {
		m.describeProof()
		return m
	}
	decoded, err := decode(raw)
	if err != nil {
		return m
	}
	switch d := decoded.(type) {
	case *proposalMessage:
		p := d.Proposal
		m.Kind, m.Height, m.Round, m.POL, m.Block = Proposal, p.Height, small(p.Round), small(p.POLRound),
			short(p.BlockID.Hash)
		m.id = p.BlockID
	case *proposalPOLMessage:
		m.Kind, m.Height, m.POL, m.Round = ProposalPOL, d.Height, small(d.ProposalPOLRound), small(d.ProposalPOLRound)
	case *blockPartMessage:
		m.Kind, m.Height, m.Round = BlockPart, d.Height, small(d.Round)
		m.whole = d.Part != nil && d.Part.Proof.Total == 1
	case *voteMessage:
		v := d.Vote
		m.VoteType = voteType(v.Type == precommitType)
		m.Kind, m.Height, m.Round, m.By, m.Block = m.VoteType, v.Height, small(v.Round), validator(v.ValidatorIndex),
			short(v.BlockID.Hash)
		m.id = v.BlockID
	case *newRoundStepMessage:
		m.Kind, m.Height, m.Round, m.Step = NewRoundStep, d.Height, small(d.Round), stepName(int(d.Step))
	case *newValidBlockMessage:
		m.Kind, m.Height, m.Round = NewValidBlock, d.Height, small(d.Round)
	case *hasVoteMessage:
		m.Kind, m.Height, m.Round, m.By, m.VoteType = HasVote, d.Height, small(d.Round), validator(d.Index),
			voteType(d.Type == precommitType)
	case *voteSetMaj23Message:
		m.Kind, m.Height, m.Round, m.Block, m.VoteType = VoteSetMaj23, d.Height, small(d.Round), short(d.BlockID.Hash),
			voteType(d.Type == precommitType)
	case *voteSetBitsMessage:
		m.Kind, m.Height, m.Round, m.Block, m.VoteType = VoteSetBits, d.Height, small(d.Round), short(d.BlockID.Hash),
			voteType(d.Type == precommitType)
	default:
		describeOther(m, decoded)
	}
	return m
}

// describeProof parses the evidence that a validator sends: of several pieces, the first.
func (m *Message) describeProof() {
	list, err := decodeEvidence(m.Raw)
	if err != nil || len(list) == 0 {
		return
	}
	m.Kind = Proof
	if d, ok := list[0].(*duplicateVotes); ok {
		m.Height, m.Round, m.By = d.VoteA.Height, small(d.VoteA.Round), validator(d.VoteA.ValidatorIndex)
		m.VoteType = voteType(d.VoteA.Type == precommitType)
	}
}

func voteType(precommit bool) string {
	if precommit {
		return Precommit
	}
	return Prevote
}

func stepName(step int) string {
	if step < 0 || step >= len(steps) {
		return "?"
	}
	return steps[step]
}

// text is the content of the message for people.
func (m *Message) text() string {
	s := fmt.Sprintf("%d/%d", m.Height, m.Round)
	if m.Step != "" {
		s += " " + m.Step
	}
	if m.VoteType != "" && !m.IsVote() {
		s += " " + m.VoteType
	}
	if m.By != 0 {
		s += fmt.Sprintf(" by %d", m.By)
	}
	if m.Block != "" {
		s += " block " + m.Block
	}
	if m.POL >= 0 {
		s += fmt.Sprintf(" polka in %d", m.POL)
	}
	return s
}

// String is the whole message as text, which Parse reads.
func (m *Message) String() string {
	return fmt.Sprintf("%s %s; channel=%x conn=%d seq=%d raw=%x", m.Kind, m.text(), m.Channel, m.Conn, m.Seq, m.Raw)
}

// Parse parses a message in the format of String. The bytes count, not the text before them.
func Parse(text string) (*Message, error) {
	_, tail, ok := strings.Cut(text, "; ")
	if !ok {
		return nil, fmt.Errorf("%s: %q has no \"; \" before the bytes of the message", libraryName, text)
	}
	values := map[string]string{}
	for _, field := range strings.Fields(tail) {
		key, value, _ := strings.Cut(field, "=")
		values[key] = value
	}
	raw, err := hex.DecodeString(values["raw"])
	if err != nil {
		return nil, fmt.Errorf("%s: the bytes of a message: %w", libraryName, err)
	}
	channel, err := strconv.ParseUint(values["channel"], 16, 8)
	if err != nil {
		return nil, fmt.Errorf("%s: the channel of a message: %w", libraryName, err)
	}
	m := describe(byte(channel), raw)
	m.forged = true
	if m.Conn, err = strconv.Atoi(values["conn"]); err != nil {
		return nil, fmt.Errorf("%s: the connection of a message: %w", libraryName, err)
	}
	if m.Seq, err = strconv.Atoi(values["seq"]); err != nil {
		return nil, fmt.Errorf("%s: the place of a message: %w", libraryName, err)
	}
	return m, nil
}
