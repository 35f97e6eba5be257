//go:build !v0.30 && !v0.34

package tendermint

import (
	"context"

	dbm "github.com/cometbft/cometbft-db"
	abci "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/libs/service"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	"github.com/cometbft/cometbft/proxy"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/store"
	"github.com/cometbft/cometbft/types"
	"github.com/cosmos/gogoproto/proto"
)

// The common part of the bindings of CometBFT 0.38 and 1.0 beyond library.go: most names, reactors that take
// envelopes, and applications that take contexts.

type (
	stepRecord        = types.EventDataRoundState
	logger            = log.Logger
	kvDB              = dbm.DB
	kvBatch           = dbm.Batch
	kvIterator        = dbm.Iterator
	memDB             = dbm.MemDB
	p2pSwitch         = p2p.Switch
	baseService       = service.BaseService
	mockPV            = types.MockPV
	nopEventBus       = types.NopEventBus
	newBlock          = types.EventDataNewBlock
	blockPart         = types.Part
	blockID           = types.BlockID
	duplicateVotes    = types.DuplicateVoteEvidence
	privKey           = ed25519.PrivKey
	genesisDoc        = types.GenesisDoc
	genesisValidator  = types.GenesisValidator
	commit            = types.Commit
	libraryVote       = types.Vote
	libraryProposal   = types.Proposal
	block             = types.Block
	blockData         = types.Data
	tx                = types.Tx
	evidenceList      = types.EvidenceList
	stateStore        = sm.Store
	appConns          = proxy.AppConns
	blockStore        = store.BlockStore
	nodeInfo          = p2p.NodeInfo
	netAddress        = p2p.NetAddress
	connStatus        = conn.ConnectionStatus
	peerID            = p2p.ID
	baseApplication   = abci.BaseApplication
	envelope          = p2p.Envelope
	consensusSettings = config.ConsensusConfig
)

const (
	flagCommit        = types.BlockIDFlagCommit
	partSize          = types.BlockPartSizeBytes
	eventNewRoundStep = types.EventNewRoundStep
	eventVote         = types.EventVote
	eventValidBlock   = types.EventValidBlock
)

var (
	newMemDB          = dbm.NewMemDB
	newBlockStore     = store.NewBlockStore
	newExecutor       = sm.NewBlockExecutor
	newEventBus       = types.NewEventBus
	noMempool         = &mempool.NopMempool{}
	defaultParams     = types.DefaultConsensusParams
	defaultConfig     = config.DefaultConsensusConfig
	evidenceFromProto = types.EvidenceFromProto
	blockFromProto    = types.BlockFromProto
	newMockPV         = types.NewMockPVWithParams
	voteSignBytes     = types.VoteSignBytes
	proposalSignBytes = types.ProposalSignBytes
	keyFromSecret     = ed25519.GenPrivKeyFromSecret
	newBaseService    = service.NewBaseService
	addToPeerSet      = p2p.AddPeerToSwitchPeerSet
)

// The names that the shared part of the binding requires of a generation.

func newStates(db kvDB) stateStore { return sm.NewStore(db, sm.StoreOptions{}) }

func newConns(app *application) appConns {
	return proxy.NewAppConns(proxy.NewLocalClientCreator(app), proxy.NopMetrics())
}

func newSwitch(key privKey) *p2pSwitch {
	return p2p.NewSwitch(config.DefaultP2PConfig(),
		p2p.NewMultiplexTransport(p2p.DefaultNodeInfo{}, p2p.NodeKey{PrivKey: key}, conn.DefaultMConnConfig()))
}

func partsOf(b *block) (*types.PartSet, error) {
	return b.MakePartSet(partSize)
}

// SetRemovalFailed and GetRemovalFailed are used by the library's peer set.
func (p *peer) SetRemovalFailed()      { p.removalFailed.Store(true) }
func (p *peer) GetRemovalFailed() bool { return p.removalFailed.Load() }

// Send sends a message of the library.
func (p *peer) Send(e envelope) bool {
	m := e.Message
	if w, ok := m.(wrapper); ok {
		m = w.Wrap()
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		panic(err) // of the library's own message
	}
	return p.send(e.ChannelID, raw)
}

// TrySend is the same here: no queue is ever full.
func (p *peer) TrySend(e envelope) bool { return p.Send(e) }

// unwrap decodes a message from the network.
func unwrap(raw []byte) (proto.Message, error) {
	m := &wireMessage{}
	if err := proto.Unmarshal(raw, m); err != nil {
		return nil, err
	}
	return m.Unwrap()
}

// decode decodes a message from the network to one of the library.
func decode(raw []byte) (any, error) {
	m, err := unwrap(raw)
	if err != nil {
		return nil, err
	}
	return messageFromProto(m)
}

// hand gives a message to its reactor, as the connection of a peer would.
func (r *replica) hand(channel byte, from *peer, raw []byte) error {
	if channel == evidenceChannel {
		m := &protoEvidence{}
		if err := m.Unmarshal(raw); err != nil {
			return err
		}
		r.proofs.Receive(envelope{ChannelID: channel, Src: from, Message: m})
		return nil
	}
	m, err := unwrap(raw)
	if err != nil {
		return err
	}
	r.reactor.Receive(envelope{ChannelID: channel, Src: from, Message: m})
	return nil
}

func (a *application) Info(context.Context, *infoRequest) (*infoResponse, error) {
	return &infoResponse{LastBlockHeight: a.height()}, nil
}

func (a *application) Commit(context.Context, *commitRequest) (*commitResponse, error) {
	a.commit()
	return &commitResponse{}, nil
}

// PrepareProposal adds the transaction to a block.
func (a *application) PrepareProposal(context.Context, *prepareRequest) (*prepareResponse, error) {
	if a.size == 0 {
		return &prepareResponse{}, nil
	}
	return &prepareResponse{Txs: [][]byte{make([]byte, a.size)}}, nil
}
