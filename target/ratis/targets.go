package ratis

import (
	"time"

	"github.com/lockstep-go/lockstep/target"
)

// Settle is the length of a settling stage: links heal, servers come back, and the checks of the guarantees wait up to
// their limits.
const Settle = 30

// Targets is Ratis.
var Targets = []target.Target{
	target.Of("ratis", "Ratis, unmodified servers in processes, behind proxies", target.Fill(Cluster{}), Properties).
		Explored("uniform:period=2,isolations=4,rounds=0,sampler=paper").Settled(Settle).WithStepTimeout(10 * time.Minute),
}
