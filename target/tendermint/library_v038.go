//go:build !v0.30 && !v0.34 && !v1.0

package tendermint

import (
	abci "github.com/cometbft/cometbft/abci/types"
	cs "github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/evidence"
	"github.com/cometbft/cometbft/libs/events"
	librand "github.com/cometbft/cometbft/libs/rand"
	"github.com/cometbft/cometbft/p2p"
	wire "github.com/cometbft/cometbft/proto/tendermint/consensus"
	protos "github.com/cometbft/cometbft/proto/tendermint/types"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cosmos/gogoproto/proto"
)

// The parts of CometBFT 0.38 that the adapter uses.

// libraryName is the target's name on the command line.
const libraryName = "cometbft"

type (
	consensusState   = cs.State
	consensusReactor = cs.Reactor
	evidenceReactor  = evidence.Reactor
	walMessage       = cs.WALMessage
	walSearch        = cs.WALSearchOptions
	timedWALMessage  = cs.TimedWALMessage
	endHeight        = cs.EndHeightMessage
	writeAheadLog    = cs.WAL
	eventSwitch      = events.EventSwitch
	eventData        = events.EventData
	protoVote        = protos.Vote
	protoProposal    = protos.Proposal
	protoBlock       = protos.Block
	protoEvidence    = protos.EvidenceList

	wrapper         = p2p.Wrapper
	wireMessage     = wire.Message
	infoRequest     = abci.RequestInfo
	infoResponse    = abci.ResponseInfo
	commitRequest   = abci.RequestCommit
	commitResponse  = abci.ResponseCommit
	prepareRequest  = abci.RequestPrepareProposal
	prepareResponse = abci.ResponsePrepareProposal

	proposalMessage      = cs.ProposalMessage
	proposalPOLMessage   = cs.ProposalPOLMessage
	blockPartMessage     = cs.BlockPartMessage
	voteMessage          = cs.VoteMessage
	newRoundStepMessage  = cs.NewRoundStepMessage
	newValidBlockMessage = cs.NewValidBlockMessage
	hasVoteMessage       = cs.HasVoteMessage
	voteSetMaj23Message  = cs.VoteSetMaj23Message
	voteSetBitsMessage   = cs.VoteSetBitsMessage
)

const (
	prevoteType   = protos.PrevoteType
	precommitType = protos.PrecommitType
)

var (
	newHandshaker    = cs.NewHandshaker
	newState         = cs.NewState
	newReactor       = cs.NewReactor
	newPool          = evidence.NewPool
	newProofReactor  = evidence.NewReactor
	newWALEncoder    = cs.NewWALEncoder
	newWALDecoder    = cs.NewWALDecoder
	messageFromProto = cs.MsgFromProto
	seedLibrary      = librand.Seed
)

// encode is the reverse of decode.
func encode(m any) ([]byte, error) {
	inner, err := cs.MsgToProto(m.(cs.Message))
	if err != nil {
		return nil, err
	}
	return proto.Marshal(inner.(p2p.Wrapper).Wrap())
}

// describeOther describes messages that only some versions send: none here.
func describeOther(*Message, any) {}

// SignVote signs a vote, or returns its previous signature.
func (s *signer) SignVote(chain string, v *protoVote) error {
	return s.signVote(chain, v, func() error { return s.mockPV.SignVote(chain, v) })
}

// signForged signs a vote with a Byzantine validator's key.
func signForged(key privKey, v *protoVote) error {
	return newMockPV(key, false, false).SignVote(chainID, v)
}

// The names that the shared part of the binding requires of a version.

func shake(h *cs.Handshaker, c appConns) error { return h.Handshake(c) }

func (r *replica) newExecutor(s stateStore, c appConns, pool *evidence.Pool) *sm.BlockExecutor {
	return newExecutor(s, r.log, c.Consensus(), noMempool, pool, r.blocks)
}
