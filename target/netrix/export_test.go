package netrix

import "github.com/lockstep-go/lockstep"

// Address is where the server of a deployment listens.
func Address(d lockstep.Deployment) string { return d.(*deployment).server.address() }
