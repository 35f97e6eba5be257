package trace

import "fmt"

// Order bounds how messages of one link overtake each other. A link consists of a queue, the network, and a part
// behind the network. A message that leaves the network is delivered after those that left it before. The first
// message on the network leaves it, is lost, is duplicated, or swaps places with the second, as in Walker and
// Runciman's systematic testing. The zero Order is a link that keeps the order of sending.
type Order struct {
	// Distance is the number of places by which a message may move away from the order of sending.
	Distance int `json:"distance"`
	// Redundant allows steps that lead to no new state. The first message may be lost or swapped directly after its
	// duplication, and swapped again directly after a swap.
	Redundant bool `json:"redundant,omitempty"`
}

// check reports a number that makes no sense.
func (o *Order) check() error {
	if o != nil && o.Distance < 0 {
		return fmt.Errorf("the distance of order is %d, it must not be negative", o.Distance)
	}
	return nil
}
