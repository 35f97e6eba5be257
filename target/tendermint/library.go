package tendermint

import "fmt"

// The binding of the library: this file is what its generations have in common, in names that do not depend on a version. The
// files beside it bind CometBFT 0.38, Tendermint 0.34 and CometBFT 1.0, each under the tag of its version.

// assemble puts a validator together from the library's parts.
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
	executor.SetEventBus(&publisher{replica: r}) // in the place of the bus, which the reactor has set
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
	gen := &genesisDoc{GenesisTime: began(), ChainID: chainID, InitialHeight: 1, ConsensusParams: defaultParams()}
	for _, k := range keys {
		gen.Validators = append(gen.Validators, genesisValidator{Address: k.PubKey().Address(), PubKey: k.PubKey(), Power: 10})
	}
	return gen
}

// consensusConfig are the library's settings, with all times about a hundredth.
func consensusConfig() *consensusSettings {
	c := defaultConfig()
	for i, t := range []*duration{&c.TimeoutPropose, &c.TimeoutProposeDelta, &c.TimeoutPrevote, &c.TimeoutPrevoteDelta, &c.TimeoutPrecommit, &c.TimeoutPrecommitDelta,
		&c.TimeoutCommit, &c.PeerGossipSleepDuration, &c.PeerQueryMaj23SleepDuration} {
		*t = *t/faster + apart(i)
	}
	return c
}

// decodeEvidence reads what travels on the channel of evidence.
func decodeEvidence(raw []byte) (list evidenceList, err error) {
	m := &protoEvidence{}
	if err := m.Unmarshal(raw); err != nil {
		return nil, err
	}
	for i := range m.Evidence {
		e, err := evidenceFromProto(&m.Evidence[i])
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// forBlock reports whether a signature of a commit is for its block.
func forBlock(s commitSig) bool { return s.BlockIDFlag == flagCommit }

// verifies checks a signature of a commit.
func verifies(s *consensusState, c *commit, i int) bool {
	_, v := s.RoundState.Validators.GetByIndex(int32(i))
	return v != nil && v.PubKey.VerifySignature(c.VoteSignBytes(chainID, int32(i)), c.Signatures[i].Signature)
}

// evidenceOf is what a block has of it.
func evidenceOf(b *block) evidenceList { return b.Evidence.Evidence }

// otherBlock makes another valid block of one that is whole in a part, in the same way each time.
func otherBlock(part *blockPart) (blockID, *blockPart, error) {
	p := &protoBlock{}
	if err := p.Unmarshal(part.Bytes); err != nil {
		return blockID{}, nil, err
	}
	b, err := blockFromProto(p)
	if err != nil {
		return blockID{}, nil, err
	}
	b.Data = blockData{Txs: []tx{tx("another truth")}}
	b.DataHash = b.Data.Hash()
	parts, err := partsOf(b)
	if err != nil {
		return blockID{}, nil, err
	}
	return blockID{Hash: b.Hash(), PartSetHeader: parts.Header()}, parts.GetPart(0), nil
}

// mark is a function of the library, by whose place its version is known.
var mark any = newState

// application does nothing, and remembers how far it came.
type application struct {
	baseApplication
	size   int // of the transaction in each block
	height func() int64
	commit func()
}
