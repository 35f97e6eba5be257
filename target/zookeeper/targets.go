package zookeeper

import "github.com/lockstep-go/lockstep/target"

// Settle is the length of a settling stage: links heal, servers come back, and everything is read
// a few times.
const Settle = 9

// Targets is ZooKeeper.
var Targets = []target.Target{target.Of("zookeeper", "ZooKeeper, unmodified servers in processes, behind proxies", Cluster{}.filled(), Properties).
	Settled(Settle).Explored(usual).Guided(Scenarios...)}

// usual is the strategy of its runs unless told otherwise, guided or not: nobody sees its messages.
const usual = "uniform:period=2,isolations=4,rounds=6,by=restart"
