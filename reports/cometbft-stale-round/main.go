// Command cometbft-stale-round restarts a validator of CometBFT, and connects a peer to it at once. The validator has
// replayed its log and is in round 1. It reports to the peer that it is in round 0, and never corrects that. Such a
// peer sends it no votes of round 1.
//
//	go run .             the peer connects as soon as the consensus reactor has started
//	go run . -control    the peer connects 100 ms later
//
// The consensus state, its log in a file and the reactor are the library's own. The peer records what it receives. The
// program uses one processor, so that the library's ticker does not run between start and connection. The exit status
// is 1 if the peer has learned a wrong round.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abci "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/consensus"
	cmtlog "github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	wire "github.com/cometbft/cometbft/proto/tendermint/consensus"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/proxy"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/store"
	"github.com/cometbft/cometbft/types"
)

var control = flag.Bool("control", false, "connect the peer 100 ms after the start")

const chain = "chain"

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// peer records the rounds that a validator reports to it.
type peer struct {
	*mock.Peer
	mutex  sync.Mutex
	rounds []int32
}

func (p *peer) Send(e p2p.Envelope) bool {
	if m, ok := e.Message.(*wire.NewRoundStep); ok {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.rounds = append(p.rounds, m.Round)
	}
	return true
}

func (p *peer) TrySend(e p2p.Envelope) bool { return p.Send(e) }

func (p *peer) reported() []int32 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append([]int32(nil), p.rounds...)
}

// validator is one of four validators. Its state and its log survive a restart.
type validator struct {
	key   types.PrivValidator
	state sm.State
	file  string
}

// start makes the consensus state, with its reactor.
func (v *validator) start() (*consensus.State, *consensus.Reactor) {
	c := config.DefaultConsensusConfig()
	c.SetWalFile(v.file)
	c.TimeoutPropose = 200 * time.Millisecond
	states := sm.NewStore(dbm.NewMemDB(), sm.StoreOptions{})
	must(states.Save(v.state))
	blocks := store.NewBlockStore(dbm.NewMemDB())
	app := proxy.NewAppConns(proxy.NewLocalClientCreator(abci.NewBaseApplication()), proxy.NopMetrics())
	must(app.Start())
	executor := sm.NewBlockExecutor(states, cmtlog.NewNopLogger(), app.Consensus(), &mempool.NopMempool{},
		sm.EmptyEvidencePool{}, blocks)
	cs := consensus.NewState(c, v.state.Copy(), executor, blocks, &mempool.NopMempool{}, sm.EmptyEvidencePool{})
	cs.SetLogger(cmtlog.NewNopLogger())
	cs.SetPrivValidator(v.key)
	bus := types.NewEventBus()
	bus.SetLogger(cmtlog.NewNopLogger())
	must(bus.Start())
	cs.SetEventBus(bus)
	reactor := consensus.NewReactor(cs, false)
	reactor.SetLogger(cmtlog.NewNopLogger())
	reactor.SetEventBus(bus)
	p2p.NewSwitch(config.DefaultP2PConfig(), nil).AddReactor("CONSENSUS", reactor)
	must(reactor.Start())
	return cs, reactor
}

func main() {
	flag.Parse()
	runtime.GOMAXPROCS(1)
	dir, err := os.MkdirTemp("", "cometbft")
	must(err)
	defer os.RemoveAll(dir)

	genesis := types.GenesisDoc{ChainID: chain, GenesisTime: time.Now()}
	keys := map[string]types.MockPV{}
	for range 4 {
		key := types.NewMockPV()
		public, err := key.GetPubKey()
		must(err)
		keys[public.Address().String()] = key
		genesis.Validators = append(genesis.Validators, types.GenesisValidator{PubKey: public, Power: 10})
	}
	must(genesis.ValidateAndComplete())
	state, err := sm.MakeGenesisState(&genesis)
	must(err)

	// The validator under test proposes neither in round 0 nor in round 1.
	first := state.Validators.GetProposer().Address
	second := state.Validators.CopyIncrementProposerPriority(1).GetProposer().Address
	var own types.Address
	for _, m := range state.Validators.Validators {
		if !bytes.Equal(m.Address, first) && !bytes.Equal(m.Address, second) {
			own = m.Address
		}
	}
	v := &validator{key: keys[own.String()], state: state, file: filepath.Join(dir, "wal", "wal")}

	cs, reactor := v.start()
	for i, m := range state.Validators.Validators {
		if bytes.Equal(m.Address, own) {
			continue
		}
		vote := &types.Vote{Type: cmtproto.PrevoteType, Height: 1, Round: 1, Timestamp: time.Now(),
			ValidatorAddress: m.Address, ValidatorIndex: int32(i)}
		signed := vote.ToProto()
		must(keys[m.Address.String()].SignVote(chain, signed))
		vote.Signature = signed.Signature
		_, err := cs.AddVote(vote, p2p.ID(m.Address.String()))
		must(err)
	}
	for cs.GetRoundState().Round != 1 {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond) // it prevotes
	fmt.Printf("the validator has got three prevotes of round 1: it is in round %d\n", cs.GetRoundState().Round)
	must(reactor.Stop())

	cs, reactor = v.start()
	if *control {
		time.Sleep(100 * time.Millisecond)
	}
	p := &peer{Peer: mock.NewPeer(nil)}
	reactor.InitPeer(p)
	reactor.AddPeer(p)
	fmt.Printf("the validator restarts, and has replayed its log: it is in round %d\n", cs.GetRoundState().Round)
	time.Sleep(5 * time.Second)
	round, reported := cs.GetRoundState().Round, p.reported()
	fmt.Printf("five seconds later it is in round %d; it has reported these rounds to the peer: %d\n", round, reported)
	if reported[len(reported)-1] != round {
		fmt.Println("BUG: the peer takes it to be in another round")
		os.RemoveAll(dir)
		os.Exit(1)
	}
	fmt.Println("OK: the peer knows the round")
}
