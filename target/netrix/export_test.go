package netrix

import "github.com/lockstep-go/lockstep"

// Address returns the address of a deployment's server.
func Address(d lockstep.Deployment) string { return d.(*deployment).server.address() }
