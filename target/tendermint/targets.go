package tendermint

import "github.com/lockstep-go/lockstep/target"

// Settle is the length of a settling stage in which Liveness can be checked: a few heights of four validators.
const Settle = 2000

// Targets is the library in the version of this build.
var Targets = []target.Target{target.Of(libraryName,
	"the consensus of "+libraryName+", unmodified, with its goroutines, in virtual time", Cluster{}, Everything).
	Settled(Settle)}
