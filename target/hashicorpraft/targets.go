package hashicorpraft

import "github.com/lockstep-go/lockstep/target"

// Settle is the length of a settling stage in which Live can be checked, for three nodes.
const Settle = 5000

// Usual is the target's default strategy: of those that were measured it finds most mutants
// (docs/evidence/mutants-hashicorpraft.md).
const Usual = "walk:deliver=20,drop=1,wait=10,request=3,crash=1,restart=2,cut=1,heal=2"

// Targets is the library in the version of this build.
var Targets = []target.Target{target.Of("hashicorpraft",
	"hashicorp/raft, unmodified, in virtual time, with a replicated map and its clients", Cluster{}, Everything).
	Settled(Settle).Explored(Usual)}
