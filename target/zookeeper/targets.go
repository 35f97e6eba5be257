package zookeeper

import (
	"time"

	"github.com/lockstep-go/lockstep/target"
)

// Settle is the length of a settling stage: links heal, servers come back, and all keys are read a few times.
const Settle = 9

// Targets is ZooKeeper.
var Targets = []target.Target{
	target.Of("zookeeper", "ZooKeeper, unmodified servers in processes, behind proxies", target.Fill(Cluster{}),
		Properties).
		Explored("uniform:period=2,isolations=4,rounds=0,by=restart").
		Settled(Settle).
		WithStepTimeout(10 * time.Minute).
		Guided(Scenarios...),
}
