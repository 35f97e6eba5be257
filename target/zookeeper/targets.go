package zookeeper

import "github.com/lockstep-go/lockstep/target"

// Settle is the length of a settling stage: links heal, servers come back, and everything is read
// a few times.
const Settle = 9

// Targets is ZooKeeper.
var Targets = []target.Target{usual(target.Of("zookeeper", "ZooKeeper, unmodified servers in processes, behind proxies", Cluster{}.filled(), Properties)).Settled(Settle).Guided(Scenarios...)}

// usual is the target with the strategy that it has unless told otherwise.
func usual(t target.Target) target.Target {
	t.Strategy = "uniform:period=2,isolations=4,rounds=6,by=restart"
	return t
}
