package ratis

import (
	"time"

	"github.com/lockstep-go/lockstep/target"
)

// Settle is the length of a settling stage: links heal, servers come back, and what is promised is waited for.
const Settle = 30

// Targets is Ratis.
var Targets = []target.Target{target.Of("ratis", "Ratis, unmodified servers in processes, behind proxies", target.Fill(Cluster{}), Properties).
	Explored("uniform:period=2,isolations=4,rounds=0,sampler=paper").Settled(Settle).Patient(10 * time.Minute)}
