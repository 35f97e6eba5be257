//go:build v0.34

package tendermint

import (
	"github.com/tendermint/tendermint/config"
	cs "github.com/tendermint/tendermint/consensus"
	"github.com/tendermint/tendermint/crypto/ed25519"
	"github.com/tendermint/tendermint/evidence"
	librand "github.com/tendermint/tendermint/libs/rand"
	"github.com/tendermint/tendermint/libs/service"
	"github.com/tendermint/tendermint/mempool/mock"
	"github.com/tendermint/tendermint/p2p"
	wire "github.com/tendermint/tendermint/proto/tendermint/consensus"
	protos "github.com/tendermint/tendermint/proto/tendermint/types"
	sm "github.com/tendermint/tendermint/state"
	"github.com/tendermint/tendermint/store"
	"github.com/tendermint/tendermint/types"
	dbm "github.com/tendermint/tm-db"
)

// The parts of Tendermint 0.34 that the adapter uses.

type (
	consensusState   = cs.State
	consensusReactor = cs.Reactor
	evidenceReactor  = evidence.Reactor
	kvDB             = dbm.DB
	kvBatch          = dbm.Batch
	kvIterator       = dbm.Iterator
	memDB            = dbm.MemDB
	baseService      = service.BaseService
	protoVote        = protos.Vote
	protoProposal    = protos.Proposal
	mockPV           = types.MockPV
	privKey          = ed25519.PrivKey
	blockData        = types.Data
	tx               = types.Tx
	protoBlock       = protos.Block
	protoEvidence    = protos.EvidenceList
	stateStore       = sm.Store
	blockStore       = store.BlockStore
)

const (
	prevoteType   = protos.PrevoteType
	precommitType = protos.PrecommitType

	flagCommit = types.BlockIDFlagCommit
	partSize   = types.BlockPartSizeBytes
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
	noMempool         = mock.Mempool{}
	defaultConfig     = config.DefaultConsensusConfig
	evidenceFromProto = types.EvidenceFromProto
	blockFromProto    = types.BlockFromProto
	newMockPV         = types.NewMockPVWithParams
	voteSignBytes     = types.VoteSignBytes
	proposalSignBytes = types.ProposalSignBytes
	newBaseService    = service.NewBaseService
	addToPeerSet      = p2p.AddPeerToSwitchPeerSet
	seedLibrary       = librand.Seed
)

// decode decodes a message from the network to one of the library.
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

// signForged signs a vote with a Byzantine validator's key.
func signForged(key privKey, v *protoVote) error {
	return newMockPV(key, false, false).SignVote(chainID, v)
}

// The names that the shared part of the binding requires of a version.

func newStates(db kvDB) stateStore { return sm.NewStore(db) }

func (r *replica) newExecutor(s stateStore, c appConns, pool *evidence.Pool) *sm.BlockExecutor {
	return newExecutor(s, r.log, c.Consensus(), noMempool, pool)
}

func partsOf(b *block) (*types.PartSet, error) {
	return b.MakePartSet(partSize), nil
}
