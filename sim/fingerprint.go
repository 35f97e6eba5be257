package sim

import "github.com/lockstep-go/lockstep"

// fingerprinter is a Node that can hash its state.
type fingerprinter interface{ Fingerprint() uint64 }

// Fingerprints reports whether the nodes can hash their states.
func (d *Deployment[M]) Fingerprints() bool {
	_, ok := d.places[0].node.(fingerprinter)
	return ok
}

// Fingerprint implements [lockstep.Fingerprinter]. It is 0 where Fingerprints is false.
func (d *Deployment[M]) Fingerprint(n lockstep.Node) uint64 {
	if f, ok := d.places[n-1].node.(fingerprinter); ok {
		return f.Fingerprint()
	}
	return 0
}
