//go:build !v0.30 && !v0.34

package tendermint

import (
	"context"

	"github.com/cosmos/gogoproto/proto"
)

// What the bindings of CometBFT 0.38 and 1.0 have in common beyond library.go: its reactors take envelopes, and its applications contexts.

// SetRemovalFailed and GetRemovalFailed are of interest to the library's peer set.
func (p *peer) SetRemovalFailed()      { p.removalFailed.Store(true) }
func (p *peer) GetRemovalFailed() bool { return p.removalFailed.Load() }

// Send puts a message of the library on its way.
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

// TrySend is the same here: nothing is ever full.
func (p *peer) TrySend(e envelope) bool { return p.Send(e) }

// unwrap reads what travels.
func unwrap(raw []byte) (proto.Message, error) {
	m := &wireMessage{}
	if err := proto.Unmarshal(raw, m); err != nil {
		return nil, err
	}
	return m.Unwrap()
}

// decode reads what travels as a message of the library.
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

// PrepareProposal puts the transaction into a block.
func (a *application) PrepareProposal(context.Context, *prepareRequest) (*prepareResponse, error) {
	if a.size == 0 {
		return &prepareResponse{}, nil
	}
	return &prepareResponse{Txs: [][]byte{make([]byte, a.size)}}, nil
}
