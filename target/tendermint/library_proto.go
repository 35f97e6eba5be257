//go:build !v0.30

package tendermint

import "github.com/lockstep-go/lockstep/trace"

// The common part of the bindings since Tendermint 0.34: messages and signed data are protocol buffers, databases
// return errors, and reactors learn of a peer before it starts.

// logOf converts the adapter's log to the library's interface.
func logOf(w *wal) writeAheadLog { return w }

// initPeer announces a peer to the reactors.
func (r *replica) initPeer(p *peer) {
	r.reactor.InitPeer(p)
	r.proofs.InitPeer(p)
}

// decodeEvidence decodes messages of the evidence channel.
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

// signers are the round of a commit, and the signers for its block.
func signers(s *consensusState, c *commit) (round int32, by trace.Nodes) {
	for i, sig := range c.Signatures {
		_, v := s.RoundState.Validators.GetByIndex(int32(i))
		if sig.BlockIDFlag == flagCommit && v != nil && v.PubKey.VerifySignature(c.VoteSignBytes(chainID, int32(i)),
			sig.Signature) {
			by |= trace.NodesOf(validator(i))
		}
	}
	return c.Round, by
}

// polkaOf is the round of the polka that a proposal refers to.
func polkaOf(p *protoProposal) int32 { return p.PolRound }

// signVote signs a vote with a Byzantine validator's key.
func signVote(key privKey, v *libraryVote) error {
	p := v.ToProto()
	err := signForged(key, p)
	v.Signature = p.Signature
	return err
}

// signProposal signs a proposal with a Byzantine validator's key.
func signProposal(key privKey, p *libraryProposal) error {
	signed := p.ToProto()
	err := newMockPV(key, false, false).SignProposal(chainID, signed)
	p.Signature = signed.Signature
	return err
}

// signedProposal reports whether a proposal has the signature of a key.
func signedProposal(key privKey, p *libraryProposal) bool {
	return key.PubKey().VerifySignature(proposalSignBytes(chainID, p.ToProto()), p.Signature)
}

// otherBlock deterministically derives another valid block from one that fits into one part.
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
