package pbft

import "github.com/lockstep-go/lockstep/spec"

// Agreement is the protocol's guarantee: no two correct nodes decide different requests at one index, and no correct
// node decides twice.
var Agreement = spec.Agreement(Decided, func(d *Decision) int { return int(d.Index) },
	func(a, b *Decision) bool { return a.Request == b.Request })
