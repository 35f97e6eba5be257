//go:build v0.34

package tendermint

import (
	"slices"

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

// libraryName is the target's name on the command line.
const libraryName = "tendermint"

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
	commitSig        = types.CommitSig
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

// Send puts a message of the library on its way.
func (p *peer) Send(channel byte, raw []byte) bool { return p.send(channel, slices.Clone(raw)) }

// TrySend is the same here: nothing is ever full.
func (p *peer) TrySend(channel byte, raw []byte) bool { return p.Send(channel, raw) }

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

// hand gives a message to its reactor, as the connection of a peer would.
func (r *replica) hand(channel byte, from *peer, raw []byte) error {
	if channel == evidenceChannel {
		r.proofs.Receive(channel, from, raw)
	} else {
		r.reactor.Receive(channel, from, raw)
	}
	return nil
}

func (a *application) Info(abci.RequestInfo) abci.ResponseInfo {
	return abci.ResponseInfo{LastBlockHeight: a.height()}
}

func (a *application) Commit() abci.ResponseCommit {
	a.commit()
	return abci.ResponseCommit{}
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

func newStates(db kvDB) stateStore             { return sm.NewStore(db) }
func newConns(app *application) appConns       { return proxy.NewAppConns(proxy.NewLocalClientCreator(app)) }
func shake(h *cs.Handshaker, c appConns) error { return h.Handshake(c) }

func (r *replica) newExecutor(s stateStore, c appConns, pool *evidence.Pool) *sm.BlockExecutor {
	return newExecutor(s, r.log, c.Consensus(), noMempool, pool)
}

func newSwitch(key privKey) *p2pSwitch {
	return p2p.NewSwitch(config.DefaultP2PConfig(), p2p.NewMultiplexTransport(p2p.DefaultNodeInfo{}, p2p.NodeKey{PrivKey: key}, conn.DefaultMConnConfig()))
}

func partsOf(b *block) (*types.PartSet, error) {
	return b.MakePartSet(partSize), nil
}
