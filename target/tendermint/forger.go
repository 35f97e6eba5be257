package tendermint

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
)

// Forger forges messages. It has the keys of the faulty validators and of no others, and signs with the library.
type Forger struct {
	Faulty lockstep.Nodes
	// Nodes is the number of all validators.
	Nodes int
}

// key is the key of a faulty validator.
func (f Forger) key(n lockstep.Node) (privKey, error) {
	if n < 1 || int(n) > f.Nodes || !f.Faulty.Has(n) {
		return nil, fmt.Errorf("%s: the forger has no key of validator %d, only of %s", libraryName, n, f.Faulty)
	}
	return keysOf(f.Nodes)[n-1], nil
}

// Ballot is the forged content of a vote.
type Ballot struct {
	Round int32
	// Like is a message with the block of the vote; nil means a vote for nil.
	Like *Message
}

// Vote changes a vote of a faulty validator, and signs it. It refuses to sign as any other validator.
func (f Forger) Vote(m *Message, b Ballot) (*Message, error) {
	decoded, err := decode(m.Raw)
	if err != nil {
		return nil, err
	}
	d, ok := decoded.(*voteMessage)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a vote", libraryName, m.Kind)
	}
	key, err := f.key(m.By)
	if err != nil {
		return nil, err
	}
	v := *d.Vote
	assign(&v.Round, b.Round)
	v.BlockID = blockID{}
	if b.Like != nil {
		v.BlockID = b.Like.id
	}
	if err := signVote(key, &v); err != nil {
		return nil, err
	}
	return m.with(&voteMessage{Vote: &v})
}

// Propose changes a proposal of a faulty validator to one of another block or polka.
func (f Forger) Propose(by lockstep.Node, m *Message, pol int32, block *Message) (*Message, error) {
	decoded, err := decode(m.Raw)
	if err != nil {
		return nil, err
	}
	d, ok := decoded.(*proposalMessage)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a proposal", libraryName, m.Kind)
	}
	key, err := f.key(by)
	if err != nil {
		return nil, err
	}
	p := *d.Proposal
	assign(&p.POLRound, pol)
	if block != nil {
		p.BlockID = block.id
	}
	if err := signProposal(key, &p); err != nil {
		return nil, err
	}
	return m.with(&proposalMessage{Proposal: &p})
}

// proposes reports whether a proposal has the signature of a faulty validator.
func (f Forger) proposes(by lockstep.Node, m *Message) bool {
	decoded, err := decode(m.Raw)
	key, keyErr := f.key(by)
	if err != nil || keyErr != nil {
		return false
	}
	d, ok := decoded.(*proposalMessage)
	return ok && signedProposal(key, d.Proposal)
}

// Other is the same block part of another block, derived from the given one, and a message with the name of that
// block.
func (f Forger) Other(part *Message) (*Message, error) {
	decoded, err := decode(part.Raw)
	if err != nil {
		return nil, err
	}
	d, ok := decoded.(*blockPartMessage)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a block part", libraryName, part.Kind)
	}
	if d.Part.Proof.Total > 1 {
		return nil, fmt.Errorf("%s: the block has %d parts, another can be made of one part only", libraryName,
			d.Part.Proof.Total)
	}
	id, other, err := otherBlock(d.Part)
	if err != nil {
		return nil, err
	}
	m, err := part.with(&blockPartMessage{Height: d.Height, Round: d.Round, Part: other})
	if err != nil {
		return nil, err
	}
	m.id, m.Block = id, short(id.Hash)
	return m, nil
}

// with is the message with another content, on the same channel.
func (m *Message) with(content any) (*Message, error) {
	raw, err := encode(content)
	if err != nil {
		return nil, err
	}
	n := describe(m.Channel, raw)
	n.Conn, n.Seq = m.Conn, m.Seq
	return n, nil
}

// world is the knowledge of a Byzantine validator: all messages of the run.
type world struct{ run *lockstep.Run }

// blocks are messages with the blocks of a height, without duplicates, the oldest first.
func (w world) blocks(height int64) (list []*Message) {
	for i := range w.run.Messages() {
		m, ok := w.run.Body(w.run.Messages()[i].ID).(*Message)
		if ok && m.Height == height && len(m.id.Hash) > 0 &&
			!slices.ContainsFunc(list, func(o *Message) bool { return o.Block == m.Block }) {
			list = append(list, m)
		}
	}
	return list
}

// part is a block part of a round.
func (w world) part(height int64, round int32) *Message {
	for i := range w.run.Messages() {
		if m, ok := w.run.Body(w.run.Messages()[i].ID).(*Message); ok && m.Kind == BlockPart && m.Height == height &&
			m.Round == round {
			return m
		}
	}
	return nil
}

// proposer is the faulty validator that made the proposal of a round, or 0.
func (w world) proposer(f Forger, height int64, round int32) lockstep.Node {
	for i := range w.run.Messages() {
		m, ok := w.run.Body(w.run.Messages()[i].ID).(*Message)
		if !ok || m.Kind != Proposal || m.Height != height || m.Round != round {
			continue
		}
		for by := range f.Faulty.All() {
			if f.proposes(by, m) {
				return by
			}
		}
		return 0
	}
	return 0
}

// Falsify randomly changes a message of a faulty validator, and signs it. It changes the block or the round of a vote,
// the polka of a proposal, the validator's round, or the block of its majority. It returns nil if there is nothing to
// forge.
func (f Forger) Falsify(r *rand.Rand, run *lockstep.Run, by lockstep.Node, m *Message) (*Message, error) {
	switch {
	case m.IsVote() && m.By == by:
		b := Ballot{Round: m.Round}
		blocks := world{run}.blocks(m.Height)
		switch k := r.IntN(5); {
		case k < 3 && len(blocks) > 0:
			b.Like = blocks[r.IntN(len(blocks))]
		case k == 3:
			b.Like = m
			b.Round = max(0, m.Round+int32(r.IntN(4))-1)
		}
		return f.Vote(m, b)
	case m.Kind == Proposal && f.proposes(by, m):
		return f.Propose(by, m, int32(r.IntN(int(m.Round)+1))-1, nil)
	case m.Kind == NewRoundStep:
		return f.Move(by, m, m.Round+int32(r.IntN(3)))
	case m.Kind == BlockPart:
		return f.Misname(m)
	}
	return nil, nil
}

// Misname gives a block part the index of another part, if there are several.
func (f Forger) Misname(part *Message) (*Message, error) {
	decoded, err := decode(part.Raw)
	if err != nil {
		return nil, err
	}
	d, ok := decoded.(*blockPartMessage)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a block part", libraryName, part.Kind)
	}
	if d.Part.Proof.Total < 2 {
		return nil, nil
	}
	p := *d.Part
	if p.Index++; small(p.Index) == small(p.Proof.Total) {
		p.Index = 0
	}
	return part.with(&blockPartMessage{Height: d.Height, Round: d.Round, Part: &p})
}

// Move forges the round that a faulty validator reports of itself. Others send it the votes of that round. It refuses
// to do so for any other validator.
func (f Forger) Move(by lockstep.Node, m *Message, round int32) (*Message, error) {
	if !f.Faulty.Has(by) {
		return nil, fmt.Errorf("%s: validator %d is not one of the faulty validators %s", libraryName, by, f.Faulty)
	}
	decoded, err := decode(m.Raw)
	if err != nil {
		return nil, err
	}
	d, ok := decoded.(*newRoundStepMessage)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a report of a round", libraryName, m.Kind)
	}
	forged := *d
	assign(&forged.Round, round)
	return m.with(&forged)
}

// TwoFaced is the version of a faulty validator's message for one half of the others. If the proposer is faulty,
// these receive another block, and votes of faulty validators for it. It returns nil if all validators receive the
// same message.
func (f Forger) TwoFaced(run *lockstep.Run, m *Message) (*Message, error) {
	w := world{run}
	part, proposer := w.part(m.Height, m.Round), w.proposer(f, m.Height, m.Round)
	if part == nil || !part.whole || proposer == 0 || m.IsVote() && !f.Faulty.Has(m.By) {
		return nil, nil
	}
	other, err := f.Other(part)
	switch {
	case err != nil:
		return nil, err
	case m.Kind == BlockPart:
		return f.Other(m)
	case m.Kind == Proposal:
		return f.Propose(proposer, m, m.POL, other)
	case m.IsVote():
		return f.Vote(m, Ballot{Round: m.Round, Like: other})
	}
	return nil, nil
}
