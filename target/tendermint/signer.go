package tendermint

import (
	"bytes"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// signer is a validator's key with a state, like the library's own file signer: it does not sign two different votes
// or proposals for one step. It signs through the library.
type signer struct {
	mockPV
	node *bubble.Node
	disk *disk
}

// place is a step for which a validator signs at most once.
type place struct {
	height int64
	round  int32
	step   int8
}

func (p place) before(q place) bool {
	return p.height < q.height || p.height == q.height && (p.round < q.round || p.round == q.round && p.step < q.step)
}

func placeOfVote(v *protoVote) place {
	if v.Type == precommitType {
		return place{v.Height, small(v.Round), 3}
	}
	return place{v.Height, small(v.Round), 2}
}

// last is the last signed step.
func (d *durable) last() (p place) {
	if d.proposal != nil {
		p = place{d.proposal.Height, small(d.proposal.Round), 1}
	}
	if d.vote != nil && p.before(placeOfVote(d.vote)) {
		p = placeOfVote(d.vote)
	}
	return p
}

// signVote signs a vote, or returns its previous signature.
func (s *signer) signVote(chain string, v *protoVote, sign func() error) error {
	var err error
	s.disk.Read(func(d *durable) {
		now, last := placeOfVote(v), d.last()
		switch {
		case now.before(last):
			err = fmt.Errorf("%d/%d was signed before", last.height, last.round)
		case now == last:
			again := *v
			again.Timestamp = d.vote.Timestamp
			if !bytes.Equal(voteSignBytes(chain, &again), voteSignBytes(chain, d.vote)) {
				err = fmt.Errorf("conflicting votes in %d/%d", now.height, now.round)
				return
			}
			*v = *d.vote
		}
	})
	if err != nil {
		return err
	}
	if len(v.Signature) == 0 {
		if err := sign(); err != nil {
			return err
		}
		kept := *v
		s.disk.locked(func(d *durable) { d.vote = &kept })
	}
	kind := EventPrevote
	if v.Type == precommitType {
		kind = EventPrecommit
	}
	s.node.Emit(kind, &Vote{Height: v.Height, Round: small(v.Round), Block: short(v.BlockID.Hash), By: s.node.Self()})
	return nil
}

// SignProposal signs a proposal, or returns its previous signature.
func (s *signer) SignProposal(chain string, p *protoProposal) error {
	var err error
	s.disk.Read(func(d *durable) {
		now, last := place{p.Height, small(p.Round), 1}, d.last()
		switch {
		case now.before(last):
			err = fmt.Errorf("%d/%d was signed before", last.height, last.round)
		case now == last:
			again := *p
			again.Timestamp = d.proposal.Timestamp
			if !bytes.Equal(proposalSignBytes(chain, &again), proposalSignBytes(chain, d.proposal)) {
				err = fmt.Errorf("conflicting proposals in %d/%d", now.height, now.round)
				return
			}
			*p = *d.proposal
		}
	})
	if err != nil {
		return err
	}
	if len(p.Signature) == 0 {
		if err := s.mockPV.SignProposal(chain, p); err != nil {
			return err
		}
		kept := *p
		s.disk.locked(func(d *durable) { d.proposal = &kept })
	}
	s.node.Emit(
		EventPropose,
		&Proposed{
			Height: p.Height,
			Round:  small(p.Round),
			POL:    polkaOf(p),
			Block:  short(p.BlockID.Hash),
			By:     s.node.Self(),
		},
	)
	return nil
}

// validator is the node of a validator's number.
func validator[N number](index N) lockstep.Node { return lockstep.Node(index + 1) }
