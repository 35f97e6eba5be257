package trace

import "fmt"

// Order is a bound on how messages of one link overtake each other. A link is a queue, the network, and what is behind
// it: a message that leaves the network is delivered after those that left it before. The first message on the network
// leaves it, is lost, is doubled, or changes places with the second, as in Walker and Runciman's systematic testing. The
// zero Order is a link that keeps the order of sending.
type Order struct {
	// Distance is the number of places by which a message may move away from the order of sending.
	Distance int `json:"distance"`
	// Redundant says that the first message may be lost or change places right after it was doubled, and change places
	// right after it did so, which leads to no new state.
	Redundant bool `json:"redundant,omitempty"`
}

// check reports a number that makes no sense.
func (o *Order) check() error {
	if o != nil && o.Distance < 0 {
		return fmt.Errorf("the distance of order is %d, it must not be negative", o.Distance)
	}
	return nil
}
