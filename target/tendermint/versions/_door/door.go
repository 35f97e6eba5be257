// Package lockstep is a door to what CometBFT 1.0 keeps in its folder internal. It has nothing but
// other names for it. It is in a module whose path is below the library's, which is what the go
// tool asks of those who import internal packages; nobody but Lockstep's adapter uses it.
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
