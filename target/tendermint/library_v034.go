//go:build v0.34

package tendermint

import (
	abci "github.com/tendermint/tendermint/abci/types"
	"github.com/tendermint/tendermint/config"
	cs "github.com/tendermint/tendermint/consensus"
	"github.com/tendermint/tendermint/crypto/ed25519"
	"github.com/tendermint/tendermint/evidence"
	"github.com/tendermint/tendermint/libs/events"
	"github.com/tendermint/tendermint/libs/log"
	librand "github.com/tendermint/tendermint/libs/rand"
	"github.com/tendermint/tendermint/libs/service"
	"github.com/tendermint/tendermint/mempool/mock"
	"github.com/tendermint/tendermint/p2p"
	"github.com/tendermint/tendermint/p2p/conn"
	wire "github.com/tendermint/tendermint/proto/tendermint/consensus"
	protos "github.com/tendermint/tendermint/proto/tendermint/types"
	"github.com/tendermint/tendermint/proxy"
	sm "github.com/tendermint/tendermint/state"
	"github.com/tendermint/tendermint/store"
	"github.com/tendermint/tendermint/types"
	dbm "github.com/tendermint/tm-db"
)

// What the adapter uses of Tendermint 0.34.

type (
	consensusState   = cs.State
	consensusReactor = cs.Reactor
	evidenceReactor  = evidence.Reactor
	walMessage       = cs.WALMessage
	walSearch        = cs.WALSearchOptions
	stepRecord       = types.EventDataRoundState
	timedWALMessage  = cs.TimedWALMessage
	endHeight        = cs.EndHeightMessage
	writeAheadLog    = cs.WAL
	eventSwitch      = events.EventSwitch
	eventData        = events.EventData
	logger           = log.Logger
	kvDB             = dbm.DB
	kvBatch          = dbm.Batch
	kvIterator       = dbm.Iterator
	memDB            = dbm.MemDB
	p2pSwitch        = p2p.Switch
	baseService      = service.BaseService
	protoVote        = protos.Vote
	protoProposal    = protos.Proposal
	mockPV           = types.MockPV
	nopEventBus      = types.NopEventBus
	newBlock         = types.EventDataNewBlock
	blockPart        = types.Part
	blockID          = types.BlockID
	duplicateVotes   = types.DuplicateVoteEvidence
	privKey          = ed25519.PrivKey
	genesisDoc       = types.GenesisDoc
	genesisValidator = types.GenesisValidator
	commit           = types.Commit
	libraryVote      = types.Vote
	libraryProposal  = types.Proposal
	block            = types.Block
	blockData        = types.Data
	tx               = types.Tx
	protoBlock       = protos.Block
	protoEvidence    = protos.EvidenceList
	evidenceList     = types.EvidenceList
	stateStore       = sm.Store
	appConns         = proxy.AppConns
	blockStore       = store.BlockStore
	nodeInfo         = p2p.NodeInfo
	netAddress       = p2p.NetAddress
	connStatus       = conn.ConnectionStatus
	peerID           = p2p.ID
	baseApplication  = abci.BaseApplication

	consensusSettings = config.ConsensusConfig

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

	flagCommit = types.BlockIDFlagCommit
	partSize   = types.BlockPartSizeBytes

	eventNewRoundStep = types.EventNewRoundStep
	eventVote         = types.EventVote
	eventValidBlock   = types.EventValidBlock
)

var (
	newMemDB          = dbm.NewMemDB
	newBlockStore     = store.NewBlockStore
	newHandshaker     = cs.NewHandshaker
	newState          = cs.NewState
	newReactor        = cs.NewReactor
	newPool           = evidence.NewPool
	newProofReactor   = evidence.NewReactor
	newExecutor       = sm.NewBlockExecutor
	newEventBus       = types.NewEventBus
	noMempool         = mock.Mempool{}
	defaultParams     = types.DefaultConsensusParams
	defaultConfig     = config.DefaultConsensusConfig
	evidenceFromProto = types.EvidenceFromProto
	blockFromProto    = types.BlockFromProto
	newWALEncoder     = cs.NewWALEncoder
	newWALDecoder     = cs.NewWALDecoder
	newMockPV         = types.NewMockPVWithParams
	voteSignBytes     = types.VoteSignBytes
	proposalSignBytes = types.ProposalSignBytes
	keyFromSecret     = ed25519.GenPrivKeyFromSecret
	newBaseService    = service.NewBaseService
	addToPeerSet      = p2p.AddPeerToSwitchPeerSet
	seedLibrary       = librand.Seed
)

// decode reads what travels as a message of the library.
func decode(raw []byte) (any, error) {
	m := &wire.Message{}
	if err := m.Unmarshal(raw); err != nil {
		return nil, err
	}
	return cs.MsgFromProto(m)
}

// encode is the reverse of decode.
func encode(m any) ([]byte, error) {
	p, err := cs.MsgToProto(m.(cs.Message))
	if err != nil {
		return nil, err
	}
	return p.Marshal()
}

// signForged signs a vote with a liar's key.
func signForged(key privKey, v *protoVote) error {
	return newMockPV(key, false, false).SignVote(chainID, v)
}

// What the shared part of the binding asks of a version.

func newStates(db kvDB) stateStore { return sm.NewStore(db) }

func (r *replica) newExecutor(s stateStore, c appConns, pool *evidence.Pool) *sm.BlockExecutor {
	return newExecutor(s, r.log, c.Consensus(), noMempool, pool)
}

func partsOf(b *block) (*types.PartSet, error) {
	return b.MakePartSet(partSize), nil
}
