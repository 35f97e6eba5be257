package kafka

import (
	"time"

	"github.com/lockstep-go/lockstep/target"
)

// Settle is the length of a settling stage: links heal, servers come back, what is under way ends, and the log is read a few
// times.
const Settle = 12

// Targets is Kafka.
var Targets = []target.Target{usual(target.Of("kafka", "Kafka, unmodified servers in processes, behind proxies", Cluster{}.filled(), Properties)).Settled(Settle).Guided(Scenarios...)}

// usual is the target with the strategy that it has unless told otherwise.
func usual(t target.Target) target.Target {
	t.Patience = 10 * time.Minute
	t.Strategy = "walk:request=4,cut=1,heal=1,crash=1,restart=2,wait=2,deliver=0,drop=0,alarm=0,steps=30"
	return t
}
