//go:build v1.0

package tendermint

import (
	"context"
	crand "crypto/rand"
	"math/rand/v2"

	abci "github.com/cometbft/cometbft/abci/types"
	wire "github.com/cometbft/cometbft/api/cometbft/consensus/v1"
	protos "github.com/cometbft/cometbft/api/cometbft/types/v1"
	cs "github.com/cometbft/cometbft/lockstep"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"
	"github.com/cosmos/gogoproto/proto"
)

// The parts of CometBFT 1.0 that the adapter uses. Its consensus is in its directory internal; package lockstep below
// the library's path provides access.

// libraryName is the target's name on the command line.
const libraryName = "cometbft"

type (
	consensusState   = cs.State
	consensusReactor = cs.Reactor
	evidenceReactor  = cs.EvidenceReactor
	walMessage       = cs.WALMessage
	walSearch        = cs.WALSearchOptions
	timedWALMessage  = cs.TimedWALMessage
	endHeight        = cs.EndHeightMessage
	writeAheadLog    = cs.WAL
	eventSwitch      = cs.EventSwitch
	eventData        = cs.EventData
	protoVote        = protos.Vote
	protoProposal    = protos.Proposal
	protoBlock       = protos.Block
	protoEvidence    = protos.EvidenceList

	wrapper         = types.Wrapper
	wireMessage     = wire.Message
	infoRequest     = abci.InfoRequest
	infoResponse    = abci.InfoResponse
	commitRequest   = abci.CommitRequest
	commitResponse  = abci.CommitResponse
	prepareRequest  = abci.PrepareProposalRequest
	prepareResponse = abci.PrepareProposalResponse

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
	prevoteType   = types.PrevoteType
	precommitType = types.PrecommitType
)

var (
	newHandshaker    = cs.NewHandshaker
	newState         = cs.NewState
	newReactor       = cs.NewReactor
	newPool          = cs.NewPool
	newProofReactor  = cs.NewEvidenceReactor
	newWALEncoder    = cs.NewWALEncoder
	newWALDecoder    = cs.NewWALDecoder
	messageFromProto = cs.MsgFromProto
)

// encode is the reverse of decode.
func encode(m any) ([]byte, error) {
	wrapped, err := cs.MsgToProto(m.(cs.Message))
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&wrapped)
}

// describeOther describes messages that only some versions send.
func describeOther(m *Message, decoded any) {
	if d, ok := decoded.(*cs.HasProposalBlockPartMessage); ok {
		m.Kind, m.Height, m.Round = HasBlockPart, d.Height, d.Round
	}
}

// seedLibrary makes the library's random choices depend on a seed: the library seeds each of its sources from
// crypto/rand.
func seedLibrary(seed int64) {
	crand.Reader = rand.NewChaCha8(
		[32]byte{
			byte(seed),
			byte(seed >> 8),
			byte(seed >> 16),
			byte(seed >> 24),
			byte(seed >> 32),
			byte(seed >> 40),
			byte(seed >> 48),
			byte(seed >> 56),
		},
	)
}

// SignVote signs a vote, or returns its previous signature.
func (s *signer) SignVote(chain string, v *protoVote, extension bool) error {
	return s.signVote(chain, v, func() error { return s.mockPV.SignVote(chain, v, extension) })
}

// signForged signs a vote with a Byzantine validator's key.
func signForged(key privKey, v *protoVote) error {
	return newMockPV(key, false, false).SignVote(chainID, v, false)
}

// The names that the shared part of the binding requires of a version.

func shake(h *cs.Handshaker, c appConns) error { return h.Handshake(context.Background(), c) }

func (r *replica) newExecutor(s stateStore, c appConns, pool *cs.Pool) *sm.BlockExecutor {
	return newExecutor(s, r.log, c.Consensus(), noMempool, pool, r.blocks)
}
