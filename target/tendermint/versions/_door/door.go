// Package lockstep re-exports names from CometBFT 1.0's directory internal. It contains nothing else. Its module path
// is below the library's, because the go tool requires that for imports of internal packages. Only Lockstep's adapter
// uses it.
package lockstep

import (
	"github.com/cometbft/cometbft/internal/consensus"
	"github.com/cometbft/cometbft/internal/events"
	"github.com/cometbft/cometbft/internal/evidence"
)

// The types.
type (
	State            = consensus.State
	Reactor          = consensus.Reactor
	WAL              = consensus.WAL
	WALMessage       = consensus.WALMessage
	WALSearchOptions = consensus.WALSearchOptions
	TimedWALMessage  = consensus.TimedWALMessage
	EndHeightMessage = consensus.EndHeightMessage
	Message          = consensus.Message
	EventSwitch      = events.EventSwitch
	EventData        = events.EventData
	EvidenceReactor  = evidence.Reactor
	Pool             = evidence.Pool
	Handshaker       = consensus.Handshaker

	ProposalMessage             = consensus.ProposalMessage
	ProposalPOLMessage          = consensus.ProposalPOLMessage
	BlockPartMessage            = consensus.BlockPartMessage
	VoteMessage                 = consensus.VoteMessage
	NewRoundStepMessage         = consensus.NewRoundStepMessage
	NewValidBlockMessage        = consensus.NewValidBlockMessage
	HasVoteMessage              = consensus.HasVoteMessage
	HasProposalBlockPartMessage = consensus.HasProposalBlockPartMessage
	VoteSetMaj23Message         = consensus.VoteSetMaj23Message
	VoteSetBitsMessage          = consensus.VoteSetBitsMessage
)

// The functions.
var (
	NewState      = consensus.NewState
	NewReactor    = consensus.NewReactor
	NewHandshaker = consensus.NewHandshaker
	NewWALEncoder = consensus.NewWALEncoder
	NewWALDecoder = consensus.NewWALDecoder
	MsgFromProto  = consensus.MsgFromProto
	MsgToProto    = consensus.MsgToWrappedProto
	NewPool       = evidence.NewPool

	NewEvidenceReactor = evidence.NewReactor
)
