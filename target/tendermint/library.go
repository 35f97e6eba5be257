package tendermint

import "fmt"

// The binding of the library: this file is the common part of its generations, in names that do not depend on a
// version. The other files bind CometBFT 0.38, Tendermint 0.30 and 0.34 and CometBFT 1.0, each under the tag of its
// version; some generations share another file.

// assemble creates a validator from the library's parts.
func (r *replica) assemble(app *application, chain, proofs kvDB, gen *genesisDoc, conf *consensusSettings) error {
	states := newStates(chain)
	r.blocks = newBlockStore(chain)
	state, err := states.LoadFromDBOrGenesisDoc(gen)
	if err != nil {
		return err
	}
	conns := newConns(app)
	conns.SetLogger(r.log)
	if err := conns.Start(); err != nil {
		return err
	}
	r.node.OnStop(func() { _ = conns.Stop() })
	if err := shake(newHandshaker(states, state, r.blocks, gen), conns); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if state, err = states.Load(); err != nil {
		return err
	}
	pool, err := newPool(proofs, states, r.blocks)
	if err != nil {
		return err
	}
	pool.SetLogger(r.log)
	executor := r.newExecutor(states, conns, pool)
	r.state = newState(conf, state, executor, r.blocks, noMempool, pool)
	r.state.SetLogger(r.log)
	bus := newEventBus()
	bus.SetLogger(r.log)
	if err := bus.Start(); err != nil {
		return err
	}
	r.node.OnStop(func() { _ = bus.Stop() })
	r.reactor = newReactor(r.state, false)
	r.reactor.SetLogger(r.log)
	r.reactor.SetEventBus(bus)
	executor.SetEventBus(&publisher{replica: r}) // replaces the bus that the reactor has set
	r.proofs = newProofReactor(pool)
	r.proofs.SetLogger(r.log)
	r.sw = newSwitch(r.signer.PrivKey.(privKey))
	r.sw.SetLogger(r.log)
	r.sw.AddReactor("CONSENSUS", r.reactor)
	r.sw.AddReactor("EVIDENCE", r.proofs)
	return nil
}

// genesis is the beginning of the chain.
func genesis(keys []privKey) *genesisDoc {
	gen := &genesisDoc{GenesisTime: began(), ChainID: chainID, ConsensusParams: defaultParams()}
	for _, k := range keys {
		gen.Validators = append(gen.Validators,
			genesisValidator{Address: k.PubKey().Address(), PubKey: k.PubKey(), Power: 10})
	}
	if err := gen.ValidateAndComplete(); err != nil {
		panic(err) // the application is the adapter's own
	}
	return gen
}

// consensusConfig are the library's settings, with all times divided by about a hundred.
func consensusConfig() *consensusSettings {
	c := defaultConfig()
	for i, t := range []*duration{&c.TimeoutPropose, &c.TimeoutProposeDelta, &c.TimeoutPrevote, &c.TimeoutPrevoteDelta,
		&c.TimeoutPrecommit, &c.TimeoutPrecommitDelta,
		&c.TimeoutCommit, &c.PeerGossipSleepDuration, &c.PeerQueryMaj23SleepDuration} {
		*t = *t/faster + apart(i)
	}
	return c
}

// evidenceOf is the evidence in a block.
func evidenceOf(b *block) evidenceList { return b.Evidence.Evidence }

// number is the library's type for numbers of rounds, validators and parts, which differs between versions.
type number interface{ int | int32 | int64 | uint32 }

// small converts such a number to the adapter's type.
func small[N number](n N) int32 { return int32(n) }

// assign sets such a number.
func assign[N number](to *N, n int32) { *to = N(n) }

// mark is a function of the library; the directory of its source reveals the library's version.
var mark any = newState

// application is an application without state, which only records its height.
type application struct {
	baseApplication
	size   int // of the transaction in each block
	height func() int64
	commit func()
}
