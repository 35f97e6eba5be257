//go:build !v0.30 && !v0.34 && !v1.0

package tendermint

import (
	dbm "github.com/cometbft/cometbft-db"
	abci "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	cs "github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/evidence"
	"github.com/cometbft/cometbft/libs/events"
	"github.com/cometbft/cometbft/libs/log"
	librand "github.com/cometbft/cometbft/libs/rand"
	"github.com/cometbft/cometbft/libs/service"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	wire "github.com/cometbft/cometbft/proto/tendermint/consensus"
	protos "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/proxy"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/store"
	"github.com/cometbft/cometbft/types"
	"github.com/cosmos/gogoproto/proto"
)

// What the adapter uses of CometBFT 0.38.

// libraryName is the target's name on the command line.
const libraryName = "cometbft"

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

	envelope        = p2p.Envelope
	wrapper         = p2p.Wrapper
	wireMessage     = wire.Message
	infoRequest     = abci.RequestInfo
	infoResponse    = abci.ResponseInfo
	commitRequest   = abci.RequestCommit
	commitResponse  = abci.ResponseCommit
	prepareRequest  = abci.RequestPrepareProposal
	prepareResponse = abci.ResponsePrepareProposal

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
	noMempool         = &mempool.NopMempool{}
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
	messageFromProto  = cs.MsgFromProto
	newBaseService    = service.NewBaseService
	addToPeerSet      = p2p.AddPeerToSwitchPeerSet
	seedLibrary       = librand.Seed
)

// encode is the reverse of decode.
func encode(m any) ([]byte, error) {
	inner, err := cs.MsgToProto(m.(cs.Message))
	if err != nil {
		return nil, err
	}
	return proto.Marshal(inner.(p2p.Wrapper).Wrap())
}

// describeOther reads what only some versions send: nothing here.
func describeOther(*Message, any) {}

// SignVote signs a vote, or gives the signature again that it gave before.
func (s *signer) SignVote(chain string, v *protoVote) error {
	return s.signVote(chain, v, func() error { return s.mockPV.SignVote(chain, v) })
}

// signForged signs a vote with a liar's key.
func signForged(key privKey, v *protoVote) error {
	return newMockPV(key, false, false).SignVote(chainID, v)
}

// What the shared part of the binding asks of a version.

func newStates(db kvDB) stateStore { return sm.NewStore(db, sm.StoreOptions{}) }
func newConns(app *application) appConns {
	return proxy.NewAppConns(proxy.NewLocalClientCreator(app), proxy.NopMetrics())
}
func shake(h *cs.Handshaker, c appConns) error { return h.Handshake(c) }

func (r *replica) newExecutor(s stateStore, c appConns, pool *evidence.Pool) *sm.BlockExecutor {
	return newExecutor(s, r.log, c.Consensus(), noMempool, pool, r.blocks)
}

func newSwitch(key privKey) *p2pSwitch {
	return p2p.NewSwitch(config.DefaultP2PConfig(), p2p.NewMultiplexTransport(p2p.DefaultNodeInfo{}, p2p.NodeKey{PrivKey: key}, conn.DefaultMConnConfig()))
}

func partsOf(b *block) (*types.PartSet, error) {
	return b.MakePartSet(partSize)
}
