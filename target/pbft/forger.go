package pbft

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
)

// Forger forges messages. It has the keys of the faulty nodes and of no others.
type Forger struct {
	Faulty lockstep.Nodes
	// Nodes is the number of all nodes.
	Nodes int
	// Requests are the requests that the forger has seen clients sign.
	Requests []string
}

// Sign signs a message as a faulty node. It refuses to sign as any other node.
func (f Forger) Sign(by lockstep.Node, m Message) (Message, error) {
	if by == 0 || !f.Faulty.Has(by) {
		return m, fmt.Errorf("pbft: the forger has no key of node %d, only of %s", by, f.Faulty)
	}
	return signed(by, m), nil
}

// Falsify randomly changes a message of a faulty node, and signs it. It changes the request, the view, the index, the
// type, the prepared requests, or the changes of a new view. It leaves the message of any other node unchanged.
func (f Forger) Falsify(r *rand.Rand, by lockstep.Node, m Message) Message {
	if by == 0 || !f.Faulty.Has(by) {
		return m
	}
	switch m.Kind {
	case ViewChange:
		m = f.hide(r, m)
	case NewView:
		m.Changes = slices.Clone(m.Changes)
		if len(m.Changes) > 0 { // the ViewChange of a faulty node can be forged again
			c := &m.Changes[r.IntN(len(m.Changes))]
			if f.Faulty.Has(c.Node) {
				forged := f.hide(r, c.message())
				c.View, c.Prepared, c.Sign = forged.View, forged.Prepared, sign(c.Node, forged)
			} else {
				c.Prepared = nil // the signature no longer fits
			}
		}
	default:
		f.misstate(r, &m)
	}
	return signed(by, m)
}

// misstate changes a proposal or a vote.
func (f Forger) misstate(r *rand.Rand, m *Message) {
	switch r.IntN(6) {
	case 0:
		m.View += int32(r.IntN(3)) - 1
	case 1:
		m.Index += int32(r.IntN(3)) - 1
	case 2:
		m.Kind = []string{PrePrepare, Prepare, Commit}[r.IntN(3)]
	default:
		if len(f.Requests) > 0 {
			m.Request = f.Requests[r.IntN(len(f.Requests))]
		}
	}
}

// hide makes a ViewChange that omits prepared requests, invents a certificate, or asks for another view.
func (f Forger) hide(r *rand.Rand, m Message) Message {
	switch r.IntN(4) {
	case 0:
		m.View++
	case 1:
		m.Prepared = append(slices.Clone(m.Prepared), f.invent(r, m.View))
	default:
		m.Prepared = nil
	}
	return m
}

// invent makes a certificate with the signatures of the faulty nodes and invented ones of the others.
func (f Forger) invent(r *rand.Rand, view int32) Certificate {
	c := Certificate{View: view - 1, Index: 1}
	if len(f.Requests) > 0 {
		c.Request = f.Requests[r.IntN(len(f.Requests))]
	}
	claim := Message{Kind: Prepare, View: c.View, Index: c.Index, Request: c.Request}
	for i := range f.Nodes {
		n := lockstep.Node(i + 1)
		mark := r.Uint64()
		if f.Faulty.Has(n) {
			mark = sign(n, claim)
		}
		c.Signed = append(c.Signed, Signature{n, mark})
	}
	return c
}
