//go:build v0.30

package tendermint

import (
	"bufio"
	"math"

	amino "github.com/tendermint/go-amino"
	"github.com/tendermint/tendermint/blockchain"
	"github.com/tendermint/tendermint/config"
	cs "github.com/tendermint/tendermint/consensus"
	"github.com/tendermint/tendermint/crypto"
	"github.com/tendermint/tendermint/evidence"
	"github.com/tendermint/tendermint/libs/autofile"
	"github.com/tendermint/tendermint/libs/common"
	dbm "github.com/tendermint/tendermint/libs/db"
	"github.com/tendermint/tendermint/p2p"
	sm "github.com/tendermint/tendermint/state"
	"github.com/tendermint/tendermint/types"

	"github.com/lockstep-go/lockstep/trace"
)

// The parts of Tendermint 0.30 that the adapter uses: amino encodes messages and signed data, databases return no
// errors, and the log returns readers of files.

type (
	consensusState   = cs.ConsensusState
	consensusReactor = cs.ConsensusReactor
	evidenceReactor  = evidence.EvidenceReactor
	kvDB             = database
	kvBatch          = *batch
	baseService      = common.BaseService
	protoVote        = types.Vote
	protoProposal    = types.Proposal
	privKey          = crypto.PrivKey
	blockStore       = blockchain.BlockStore
)

const (
	precommitType = types.PrecommitType
)

var (
	newState        = cs.NewConsensusState
	newReactor      = cs.NewConsensusReactor
	newProofReactor = evidence.NewEvidenceReactor
	noMempool       = sm.MockMempool{}
	newBaseService  = common.NewBaseService
	seedLibrary     = common.Seed
)

// codec encodes the messages between validators.
var codec = func() *amino.Codec {
	c := amino.NewCodec()
	cs.RegisterConsensusMessages(c)
	evidence.RegisterEvidenceMessages(c)
	types.RegisterBlockAmino(c)
	return c
}()

// decode decodes a message from the network to one of the library.
func decode(raw []byte) (any, error) {
	var m cs.ConsensusMessage
	err := codec.UnmarshalBinaryBare(raw, &m)
	return m, err
}

// encode is the reverse of decode.
func encode(m any) ([]byte, error) { return codec.MarshalBinaryBare(m) }

// decodeEvidence decodes messages of the evidence channel.
func decodeEvidence(raw []byte) (evidenceList, error) {
	var m evidence.EvidenceMessage
	if err := codec.UnmarshalBinaryBare(raw, &m); err != nil {
		return nil, err
	}
	return m.(*evidence.EvidenceListMessage).Evidence, nil
}

// otherBlock deterministically derives another valid block from one that fits into one part.
func otherBlock(part *blockPart) (blockID, *blockPart, error) {
	b := &block{}
	if err := codec.UnmarshalBinaryLengthPrefixed(part.Bytes, b); err != nil {
		return blockID{}, nil, err
	}
	b.Data = types.Data{Txs: types.Txs{types.Tx("another truth")}}
	b.DataHash = b.Data.Hash()
	b.TotalTxs += 1 - b.NumTxs
	b.NumTxs = 1
	parts := b.MakePartSet(types.BlockPartSizeBytes)
	return blockID{Hash: b.Hash(), PartsHeader: parts.Header()}, parts.GetPart(0), nil
}

// mockPV is the library's, which does not expose its key.
type mockPV struct {
	*types.MockPV
	PrivKey privKey
}

func newMockPV(key privKey, badProposals, badVotes bool) mockPV {
	return mockPV{types.NewMockPVWithParams(key, badProposals, badVotes), key}
}

func voteSignBytes(chain string, v *protoVote) []byte         { return v.SignBytes(chain) }
func proposalSignBytes(chain string, p *protoProposal) []byte { return p.SignBytes(chain) }

// polkaOf is the round of the polka that a proposal refers to.
func polkaOf(p *protoProposal) int32 { return small(p.POLRound) }

// signVote signs a vote with a Byzantine validator's key.
func signVote(key privKey, v *libraryVote) error {
	return newMockPV(key, false, false).SignVote(chainID, v)
}

// signProposal signs a proposal with a Byzantine validator's key.
func signProposal(key privKey, p *libraryProposal) error {
	return newMockPV(key, false, false).SignProposal(chainID, p)
}

// signedProposal reports whether a proposal has the signature of a key.
func signedProposal(key privKey, p *libraryProposal) bool {
	return key.PubKey().VerifyBytes(p.SignBytes(chainID), p.Signature)
}

// signers are the round of a commit, and the signers for its block.
func signers(s *consensusState, c *commit) (round int32, by trace.Nodes) {
	for i, sig := range c.Precommits {
		_, v := s.RoundState.Validators.GetByIndex(i)
		if sig != nil && sig.BlockID.Equals(c.BlockID) && v != nil &&
			v.PubKey.VerifyBytes(c.VoteSignBytes(chainID, sig), sig.Signature) {
			by |= trace.NodesOf(validator(i))
		}
	}
	return small(c.Round()), by
}

// The names that the shared part of the binding requires of a version.

// stateStore is the library's store of states.
type stateStore struct{ db dbm.DB }

// LoadFromDBOrGenesisDoc is the initial state.
func (s stateStore) LoadFromDBOrGenesisDoc(gen *genesisDoc) (sm.State, error) {
	return sm.LoadStateFromDBOrGenesisDoc(s.db, gen)
}

// Load is the last state.
func (s stateStore) Load() (sm.State, error) { return sm.LoadState(s.db), nil }

func newStates(db kvDB) stateStore      { return stateStore{oldDB{db}} }
func newBlockStore(db kvDB) *blockStore { return blockchain.NewBlockStore(oldDB{db}) }

func newHandshaker(s stateStore, state sm.State, blocks *blockStore, gen *genesisDoc) *cs.Handshaker {
	return cs.NewHandshaker(s.db, state, blocks, gen)
}

func newPool(proofs kvDB, s stateStore, _ *blockStore) (*evidence.EvidencePool, error) {
	return evidence.NewEvidencePool(s.db, oldDB{proofs}), nil
}

func (r *replica) newExecutor(s stateStore, c appConns, pool *evidence.EvidencePool) *sm.BlockExecutor {
	return sm.NewBlockExecutor(s.db, r.log, c.Consensus(), noMempool, pool)
}

// defaultConfig are the library's settings. The minimum time between blocks is divided like all times.
func defaultConfig() *consensusSettings {
	c := config.DefaultConsensusConfig()
	c.BlockTimeIota /= faster
	return c
}

// initPeer has nothing to do: reactors learn of a peer when it is added.
func (*replica) initPeer(*peer) {}

func addToPeerSet(sw *p2pSwitch, p *peer) {
	if err := (*private[*p2p.PeerSet](sw, "peers")).Add(p); err != nil {
		panic(err) // there is one at a time
	}
}

// OriginalAddr is the address at which the peer was dialed.
func (p *peer) OriginalAddr() *netAddress { return nil }

// OnStop makes a stopped peer appear ahead of all others. The goroutine that sends it evidence polls indefinitely
// until the peer is far enough, and does not observe its end.
func (p *peer) OnStop() {
	s, ok := p.Get(types.PeerStateKey).(*cs.PeerState)
	if !ok {
		s = cs.NewPeerState(p)
		p.Set(types.PeerStateKey, s)
	}
	s.ApplyNewRoundStepMessage(&newRoundStepMessage{Height: math.MaxInt64})
}

// memDB adapts the library's database, which returns no errors, to the interface of later versions.
type memDB struct{ db *dbm.MemDB }

func newMemDB() *memDB { return &memDB{dbm.NewMemDB()} }

// Get returns a value.
func (m *memDB) Get(key []byte) ([]byte, error) { return m.db.Get(key), nil }

// Has reports whether there is a value.
func (m *memDB) Has(key []byte) (bool, error) { return m.db.Has(key), nil }

// Set sets a value.
func (m *memDB) Set(key, value []byte) error { m.db.Set(key, value); return nil }

// Delete deletes a value.
func (m *memDB) Delete(key []byte) error { m.db.Delete(key); return nil }

// Iterator iterates over keys.
func (m *memDB) Iterator(start, end []byte) (kvIterator, error) {
	return kvIterator{m.db.Iterator(start, end)}, nil
}

// ReverseIterator iterates from the last key to the first.
func (m *memDB) ReverseIterator(start, end []byte) (kvIterator, error) {
	return kvIterator{m.db.ReverseIterator(start, end)}, nil
}

// kvIterator adapts the library's iterator to the interface of later versions.
type kvIterator struct{ dbm.Iterator }

// Close closes the iterator.
func (k kvIterator) Close() error { k.Iterator.Close(); return nil }

// oldDB adapts the adapter's database to the library's interface.
type oldDB struct{ database }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // memory does not fail
	}
	return v
}

func (o oldDB) Get(key []byte) []byte     { return must(o.database.Get(key)) }
func (o oldDB) Has(key []byte) bool       { return must(o.database.Has(key)) }
func (o oldDB) Set(key, value []byte)     { must(0, o.database.Set(key, append([]byte{}, value...))) }
func (o oldDB) SetSync(key, value []byte) { o.Set(key, value) }
func (o oldDB) Delete(key []byte)         { must(0, o.database.Delete(key)) }
func (o oldDB) DeleteSync(key []byte)     { o.Delete(key) }
func (o oldDB) Iterator(start, end []byte) dbm.Iterator {
	return must(o.database.Iterator(start, end)).Iterator
}
func (o oldDB) ReverseIterator(start, end []byte) dbm.Iterator {
	return must(o.database.ReverseIterator(start, end)).Iterator
}
func (o oldDB) NewBatch() dbm.Batch { return oldBatch{o.database.NewBatch()} }
func (oldDB) Close()                {}
func (oldDB) Print()                {}

// oldBatch adapts the adapter's batch to the library's interface.
type oldBatch struct{ *batch }

func (o oldBatch) Set(key, value []byte) { must(0, o.batch.Set(key, append([]byte{}, value...))) }
func (o oldBatch) Delete(key []byte)     { must(0, o.batch.Delete(key)) }
func (o oldBatch) Write()                { must(0, o.batch.Write()) }
func (o oldBatch) WriteSync()            { o.Write() }

// oldWAL adapts the adapter's log to the library's interface.
type oldWAL struct{ *wal }

func logOf(w *wal) writeAheadLog { return oldWAL{w} }

func (w oldWAL) Write(m walMessage)     { must(0, w.wal.Write(m)) }
func (w oldWAL) WriteSync(m walMessage) { must(0, w.wal.WriteSync(m)) }
func (oldWAL) Group() *autofile.Group   { return nil } // the library does not call it

// SearchForEndHeight returns a reader over the records after the end of a height, without a file.
func (w oldWAL) SearchForEndHeight(height int64, o *walSearch) (*autofile.GroupReader, bool, error) {
	rest, found, err := w.wal.SearchForEndHeight(height, o)
	if !found || err != nil {
		return nil, false, err
	}
	r := &autofile.GroupReader{Group: &autofile.Group{}}
	*private[*bufio.Reader](r, "curReader") = bufio.NewReader(rest)
	return r, true, nil
}
