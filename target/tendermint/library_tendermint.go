//go:build v0.30 || v0.34

package tendermint

import (
	"slices"

	abci "github.com/tendermint/tendermint/abci/types"
	"github.com/tendermint/tendermint/config"
	cs "github.com/tendermint/tendermint/consensus"
	"github.com/tendermint/tendermint/crypto/ed25519"
	"github.com/tendermint/tendermint/libs/events"
	"github.com/tendermint/tendermint/libs/log"
	"github.com/tendermint/tendermint/p2p"
	"github.com/tendermint/tendermint/p2p/conn"
	"github.com/tendermint/tendermint/proxy"
	"github.com/tendermint/tendermint/types"
)

// The common part of the bindings of Tendermint 0.30 and 0.34 beyond library.go: most names, and reactors that take
// bytes.

type (
	walMessage        = cs.WALMessage
	walSearch         = cs.WALSearchOptions
	stepRecord        = types.EventDataRoundState
	timedWALMessage   = cs.TimedWALMessage
	endHeight         = cs.EndHeightMessage
	writeAheadLog     = cs.WAL
	eventSwitch       = events.EventSwitch
	eventData         = events.EventData
	logger            = log.Logger
	p2pSwitch         = p2p.Switch
	nopEventBus       = types.NopEventBus
	newBlock          = types.EventDataNewBlock
	blockPart         = types.Part
	blockID           = types.BlockID
	duplicateVotes    = types.DuplicateVoteEvidence
	genesisDoc        = types.GenesisDoc
	genesisValidator  = types.GenesisValidator
	commit            = types.Commit
	libraryVote       = types.Vote
	libraryProposal   = types.Proposal
	block             = types.Block
	evidenceList      = types.EvidenceList
	appConns          = proxy.AppConns
	nodeInfo          = p2p.NodeInfo
	netAddress        = p2p.NetAddress
	connStatus        = conn.ConnectionStatus
	peerID            = p2p.ID
	baseApplication   = abci.BaseApplication
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
	eventNewRoundStep = types.EventNewRoundStep
	eventVote         = types.EventVote
	eventValidBlock   = types.EventValidBlock
)

var (
	newEventBus   = types.NewEventBus
	defaultParams = types.DefaultConsensusParams
	newWALEncoder = cs.NewWALEncoder
	newWALDecoder = cs.NewWALDecoder
	keyFromSecret = ed25519.GenPrivKeyFromSecret
)

// libraryName is the target's name on the command line.
const libraryName = "tendermint"

// Send sends a message of the library.
func (p *peer) Send(channel byte, raw []byte) bool { return p.send(channel, slices.Clone(raw)) }

// TrySend is the same here: no queue is ever full.
func (p *peer) TrySend(channel byte, raw []byte) bool { return p.Send(channel, raw) }

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

// describeOther describes messages that only some versions send: none here.
func describeOther(*Message, any) {}

// SignVote signs a vote, or returns its previous signature.
func (s *signer) SignVote(chain string, v *protoVote) error {
	return s.signVote(chain, v, func() error { return s.mockPV.SignVote(chain, v) })
}

func newConns(app *application) appConns       { return proxy.NewAppConns(proxy.NewLocalClientCreator(app)) }
func shake(h *cs.Handshaker, c appConns) error { return h.Handshake(c) }

func newSwitch(key privKey) *p2pSwitch {
	return p2p.NewSwitch(config.DefaultP2PConfig(),
		p2p.NewMultiplexTransport(p2p.DefaultNodeInfo{}, p2p.NodeKey{PrivKey: key}, conn.DefaultMConnConfig()))
}
