package kafka

import (
	"time"

	"github.com/lockstep-go/lockstep/target"
)

// Settle is the length of a settling stage: links heal, servers come back, pending operations end, and the log is read
// a few times.
const Settle = 12

// Targets is Kafka.
var Targets = []target.Target{
	target.Of("kafka", "Kafka, unmodified servers in processes, behind proxies", target.Fill(Cluster{}), Properties).
		Explored("walk:request=4,cut=1,heal=1,crash=1,restart=2,wait=2,deliver=0,drop=0,timer=0,steps=30").
		Settled(Settle).WithStepTimeout(10 * time.Minute).Guided(Scenarios...),
}
