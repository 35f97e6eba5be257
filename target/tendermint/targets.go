package tendermint

import "github.com/lockstep-go/lockstep/target"

// Settle is the length of a settling stage in which Liveness can be checked: a few heights of four validators.
const Settle = 2000

// Usual is the target's default strategy: validators crash, links are cut and messages are lost a few times a run each.
const Usual = "walk:deliver=40,drop=1,wait=4,cut=1,heal=2,crash=1,restart=2,steps=1500"

// Targets is the library in the version of this build.
var Targets = []target.Target{target.Of(libraryName,
	"the consensus of "+libraryName+", unmodified, with its goroutines, in virtual time", Cluster{}, Everything).
	Settled(Settle).Explored(Usual).WithCampaign("slow=0.1")}
