package scenario

import "github.com/lockstep-go/lockstep"

// Drawn is what a director drew for the present run, for tests.
func Drawn(d lockstep.Director) []lockstep.Nodes { return d.(*director).drawn }
