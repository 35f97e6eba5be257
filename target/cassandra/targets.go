package cassandra

import (
	"time"

	"github.com/lockstep-go/lockstep/target"
)

// Settle is the length of a settling stage: messages in transit arrive, pending operations end, and the row is read.
const Settle = 8

// Targets is Cassandra.
var Targets = []target.Target{
	target.Of("cassandra", "Cassandra's Paxos, unmodified servers in processes, behind proxies", target.Fill(Cluster{}),
		Properties).
		Explored("uniform:period=6,isolations=6,rounds=24").
		Settled(Settle).
		WithStepTimeout(10 * time.Minute).
		Guided(Scenarios...),
}
