//go:build v0.34

package tendermint

import (
	"fmt"
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

// What the adapter uses of the library, under names that do not depend on its version. This
// file binds Tendermint 0.34.

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
	blockStore       = store.BlockStore
	nodeInfo         = p2p.NodeInfo
	netAddress       = p2p.NetAddress
	connStatus       = conn.ConnectionStatus

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

	eventNewRoundStep = types.EventNewRoundStep
	eventVote         = types.EventVote
	eventValidBlock   = types.EventValidBlock
)

var (
	newMemDB          = dbm.NewMemDB
	newWALEncoder     = cs.NewWALEncoder
	newWALDecoder     = cs.NewWALDecoder
	newMockPV         = types.NewMockPVWithParams
	voteSignBytes     = types.VoteSignBytes
	proposalSignBytes = types.ProposalSignBytes
	keyFromSecret     = ed25519.GenPrivKeyFromSecret
	newBaseService    = service.NewBaseService
	seedLibrary       = librand.Seed
)

// mark is a function of the library, by whose place its version is known.
var mark any = cs.NewState

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

// decodeEvidence reads what travels on the channel of evidence.
func decodeEvidence(raw []byte) (list types.EvidenceList, err error) {
	m := &protos.EvidenceList{}
	if err := m.Unmarshal(raw); err != nil {
		return nil, err
	}
	for i := range m.Evidence {
		e, err := types.EvidenceFromProto(&m.Evidence[i])
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
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

// application does nothing, and remembers how far it came.
type application struct {
	abci.BaseApplication
	size   int // of the transaction in each block
	height func() int64
	commit func()
}

func (a *application) Info(abci.RequestInfo) abci.ResponseInfo {
	return abci.ResponseInfo{LastBlockHeight: a.height()}
}

func (a *application) Commit() abci.ResponseCommit {
	a.commit()
	return abci.ResponseCommit{}
}

// assemble puts a validator together from the library's parts.
func (r *replica) assemble(app *application, chain, proofs kvDB, gen *genesisDoc, conf *consensusSettings) error {
	states := sm.NewStore(chain)
	r.blocks = store.NewBlockStore(chain)
	state, err := states.LoadFromDBOrGenesisDoc(gen)
	if err != nil {
		return err
	}
	conns := proxy.NewAppConns(proxy.NewLocalClientCreator(app))
	conns.SetLogger(r.log)
	if err := conns.Start(); err != nil {
		return err
	}
	r.node.OnStop(func() { _ = conns.Stop() })
	hand := cs.NewHandshaker(states, state, r.blocks, gen)
	if err := hand.Handshake(conns); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if state, err = states.Load(); err != nil {
		return err
	}
	pool, err := evidence.NewPool(proofs, states, r.blocks)
	if err != nil {
		return err
	}
	pool.SetLogger(r.log)
	none := mock.Mempool{}
	executor := sm.NewBlockExecutor(states, r.log, conns.Consensus(), none, pool)
	r.state = cs.NewState(conf, state, executor, r.blocks, none, pool)
	r.state.SetLogger(r.log)
	bus := types.NewEventBus()
	bus.SetLogger(r.log)
	if err := bus.Start(); err != nil {
		return err
	}
	r.node.OnStop(func() { _ = bus.Stop() })
	r.reactor = cs.NewReactor(r.state, false)
	r.reactor.SetLogger(r.log)
	r.reactor.SetEventBus(bus)
	executor.SetEventBus(&publisher{replica: r})
	r.sw = p2p.NewSwitch(config.DefaultP2PConfig(), p2p.NewMultiplexTransport(p2p.DefaultNodeInfo{}, p2p.NodeKey{PrivKey: r.signer.PrivKey}, conn.DefaultMConnConfig()))
	r.sw.SetLogger(r.log)
	r.sw.AddReactor("CONSENSUS", r.reactor)
	r.proofs = evidence.NewReactor(pool)
	r.proofs.SetLogger(r.log)
	r.sw.AddReactor("EVIDENCE", r.proofs)
	return nil
}

// addToPeerSet puts a peer of ours among those of the switch.
func addToPeerSet(sw *p2pSwitch, p *peer) { p2p.AddPeerToSwitchPeerSet(sw, p) }

// genesis is the beginning of the chain.
func genesis(keys []privKey) *genesisDoc {
	gen := &types.GenesisDoc{GenesisTime: began(), ChainID: chainID, InitialHeight: 1, ConsensusParams: types.DefaultConsensusParams()}
	for _, k := range keys {
		gen.Validators = append(gen.Validators, types.GenesisValidator{Address: k.PubKey().Address(), PubKey: k.PubKey(), Power: 10})
	}
	return gen
}

// consensusConfig are the library's settings, with all times about a hundredth.
func consensusConfig() *consensusSettings {
	c := config.DefaultConsensusConfig()
	for i, t := range timesOf(c) {
		*t = *t/faster + apart(i)
	}
	return c
}

func timesOf(c *config.ConsensusConfig) []*duration {
	return []*duration{&c.TimeoutPropose, &c.TimeoutProposeDelta, &c.TimeoutPrevote, &c.TimeoutPrevoteDelta, &c.TimeoutPrecommit, &c.TimeoutPrecommitDelta,
		&c.TimeoutCommit, &c.PeerGossipSleepDuration, &c.PeerQueryMaj23SleepDuration}
}

// peerID is the name of a peer.
type peerID = p2p.ID

// describeOther reads what only some versions send: nothing here.
func describeOther(*Message, any) {}

// forBlock reports whether a signature of a commit is for its block.
func forBlock(s types.CommitSig) bool { return s.BlockIDFlag == types.BlockIDFlagCommit }

// verifies checks a signature of a commit.
func verifies(s *consensusState, c *types.Commit, i int) bool {
	_, v := s.RoundState.Validators.GetByIndex(int32(i))
	return v != nil && v.PubKey.VerifySignature(c.VoteSignBytes(chainID, int32(i)), c.Signatures[i].Signature)
}

// evidenceOf is what a block has of it.
func evidenceOf(b *types.Block) types.EvidenceList { return b.Evidence.Evidence }

// SignVote signs a vote, or gives the signature again that it gave before.
func (s *signer) SignVote(chain string, v *protoVote) error {
	return s.signVote(chain, v, func() error { return s.mockPV.SignVote(chain, v) })
}

// signForged signs a vote with a liar's key.
func signForged(key privKey, v *protoVote) error {
	return newMockPV(key, false, false).SignVote(chainID, v)
}

// otherBlock makes another valid block of one that is whole in a part, in the same way each time.
func otherBlock(part *blockPart) (blockID, *blockPart, error) {
	p := &protos.Block{}
	if err := p.Unmarshal(part.Bytes); err != nil {
		return blockID{}, nil, err
	}
	b, err := types.BlockFromProto(p)
	if err != nil {
		return blockID{}, nil, err
	}
	b.Data = types.Data{Txs: types.Txs{types.Tx("another truth")}}
	b.DataHash = b.Data.Hash()
	parts := b.MakePartSet(types.BlockPartSizeBytes)
	return blockID{Hash: b.Hash(), PartSetHeader: parts.Header()}, parts.GetPart(0), nil
}
