package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Cluster is a deployment of Kafka: a [lockstep.System].
type Cluster struct {
	// Version is the version of the servers.
	Version string `help:"version of Kafka: 3.9.2 and 4.3.1 are known to work" zero:"4.3.1" trust:"fetches" known:"3.9.2 4.3.1"`
	// Brokers and Controllers are the servers: the brokers are the nodes 1, 2, ..., and the controllers those after
	// them. Without separate controllers all brokers are also controllers.
	Brokers     int `help:"servers that store the records" zero:"3" range:"1..5"`
	Controllers int `help:"separate controllers; 0: all brokers are controllers, too" range:"0..3"`
	// Clients, Requests and Partitions bound the workload of producers.
	Clients    int `help:"producers, each with one record at a time" zero:"2" range:"1..16"`
	Requests   int `help:"records of each producer" zero:"6" range:"1..1000"`
	Partitions int `help:"partitions of the topic" zero:"1" range:"1..8"`
	// Producers selects which producers are idempotent.
	Producers string `help:"idempotent, plain, or both: every other one is idempotent" zero:"both" oneof:"both idempotent plain"`
	// Acks selects the replicas that must have a record before it is acknowledged.
	Acks string `help:"replicas that must have a record before it is acknowledged: all (that are in sync), or leader" zero:"all" oneof:"all leader"`
	// Insync is the number of replicas that must be in sync to accept a record with acks=all.
	Insync int `help:"replicas that must be in sync to accept a record (min.insync.replicas)" zero:"2" range:"1..5"`
	// Unclean allows a leader that is not in sync.
	Unclean bool `help:"a replica that is not in sync may lead (unclean.leader.election.enable)"`
	// Session is how long a broker may be silent before a controller fences it.
	Session time.Duration `help:"how long a broker may be silent before a controller fences it" zero:"2s" range:"100ms.."`
	// Pace is the minimum duration of a step in which time passes, and the timeout of a producer.
	Pace time.Duration `help:"duration of a step in which time passes, and of a producer's timeout" zero:"300ms" range:"1ms.."`
	// StartTimeout limits the time in which servers must start and agree.
	StartTimeout time.Duration `help:"how long servers may take to start and to agree" zero:"2m" range:"1ms.."`
	// Stall makes a cut stall connections instead of closing them.
	Stall bool `help:"a cut stalls connections instead of closing them"`
}

func (c Cluster) nodes() int { return c.Brokers + c.Controllers }

// brokers returns the nodes that store records.
func (c Cluster) brokers() lockstep.Nodes { return trace.AllNodes(c.Brokers) }

func (c Cluster) controllers() lockstep.Nodes {
	if c.Controllers == 0 {
		return c.brokers()
	}
	return trace.AllNodes(c.nodes()) &^ c.brokers()
}

// Describe returns the properties and capabilities of the system.
func (c Cluster) Describe() (lockstep.Info, error) { return target.Fill(c).system().Describe() }

// Deploy creates a deployment; servers start with its first run.
func (c Cluster) Deploy(ctx context.Context, place *lockstep.Env) (lockstep.Deployment, error) {
	return target.Fill(c).system().Deploy(ctx, place)
}

// system returns the cluster as servers in processes.
func (c Cluster) system() process.System {
	return process.System{
		Name:         "kafka",
		Options:      target.Changed(c, target.Fill(Cluster{}), "version"),
		Nodes:        c.nodes(),
		Check:        c.check,
		New:          c.deploy,
		Reuse:        true,
		Breakage:     process.StallsIf(c.Stall),
		Pace:         c.Pace,
		StartTimeout: c.StartTimeout,
		Events:       []string{EventSend, EventAck, EventRecords},
		Roles:        []string{roleLeader, roleController, roleFollower},
	}
}

// check validates the settings.
func (c Cluster) check() error {
	if err := target.Check("kafka", c); err != nil {
		return err
	}
	switch {
	case c.Insync > c.Brokers:
		return fmt.Errorf("kafka: insync is %d, at most the number of brokers, %d, is allowed", c.Insync, c.Brokers)
	case c.Acks != "all" && c.Producers != "plain":
		return fmt.Errorf("kafka: acks is %s, and idempotent producers need acks=all: set acks=all or producers=plain",
			c.Acks)
	}
	return nil
}
