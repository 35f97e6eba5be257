package kafka

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process/jvm"
)

// jars has the SHA-256 of every jar of the supported versions: see process/jvm/sums.
//
//go:embed jars.sha256
var jars string

// prepare fetches a version and finds a JVM. The log contains only warnings and role changes.
func prepare(ctx context.Context, version string) (*jvm.JVM, error) {
	java, err := jvm.Find(ctx, jars, "org.apache.kafka:kafka_2.13:"+version, "org.slf4j:slf4j-simple:1.7.36")
	if err != nil {
		return nil, fmt.Errorf("kafka: version %s: %w", version, err)
	}
	java.Flags = []string{
		"-Xms64m",
		"-Xmx256m",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dorg.slf4j.simpleLogger.showThreadName=false",
	}
	for _, logger := range []string{
		"state.change.logger",
		"kafka.cluster.Partition",
		"org.apache.kafka.controller.ReplicationControlManager",
	} {
		java.Flags = append(java.Flags, "-Dorg.slf4j.simpleLogger.log."+logger+"=info")
	}
	return java, nil
}

// The listeners of a server: for clients, for other brokers, and for servers that follow the controllers.
const (
	forClients = iota
	forBrokers
	forControllers
	listeners
)

// wire creates the links. All servers receive the same addresses of a server, so that there is one link for each
// destination and listener; clients use the direct addresses.
func (d *deployment) wire() error {
	for n := range d.options.nodes() {
		var at, via [listeners]string
		for l := range listeners {
			at[l] = d.Port()
			via[l] = at[l]
			if l == forClients {
				continue
			}
			via[l] = d.Port()
			if _, err := d.Network.Link(0, lockstep.Node(n+1), via[l], at[l], nil); err != nil {
				return err
			}
		}
		d.at, d.via = append(d.at, at), append(d.via, via)
	}
	return d.connect()
}

// clusterID is the cluster ID of all deployments: deployments do not reach each other.
const clusterID = "bG9ja3N0ZXAtbG9ja3N0ZQ"

// write writes the settings of a node into its directory, and returns the command that starts it. A server without data
// formats its directory first.
func (d *deployment) write(n lockstep.Node) (*exec.Cmd, error) {
	dir := d.Server(n).Dir
	if err := os.WriteFile(filepath.Join(dir, "server.properties"), []byte(d.settings(n)), 0o644); err != nil {
		return nil, err
	}
	const script = `if [ ! -e data/meta.properties ]; then "$@" kafka.tools.StorageTool format -t "$0" -c server.properties >/dev/null || exit 1; fi
exec "$@" kafka.Kafka server.properties`
	return exec.Command("/bin/sh", append([]string{"-c", script, clusterID}, d.java.In(dir).Line()...)...), nil
}

// settings returns the settings of a node. Sizes are small and intervals short; data must survive the process, but not
// the machine.
func (d *deployment) settings(n lockstep.Node) string {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\n", key, value) }
	var voters, roles, listen, advertise []string
	for k := range d.options.controllers().All() {
		voters = append(voters, fmt.Sprintf("%d@%s", k, d.via[k-1][forControllers]))
	}
	serve := func(name string, listener int) {
		listen = append(listen, name+"://"+d.at[n-1][listener])
		advertise = append(advertise, name+"://"+d.via[n-1][listener])
	}
	if d.options.brokers().Has(n) {
		roles = append(roles, "broker")
		serve("CLIENT", forClients)
		serve("BROKER", forBrokers)
		set("inter.broker.listener.name", "BROKER")
	}
	if d.options.controllers().Has(n) {
		roles = append(roles, "controller")
		serve("CONTROLLER", forControllers)
	}
	set("process.roles", strings.Join(roles, ","))
	set("node.id", n)
	set("listeners", strings.Join(listen, ","))
	set("advertised.listeners", strings.Join(advertise, ","))
	set("controller.quorum.voters", strings.Join(voters, ","))
	set("broker.session.timeout.ms", d.options.Session.Milliseconds())
	set("broker.heartbeat.interval.ms", max(d.options.Session.Milliseconds()/8, 1))
	set("replica.lag.time.max.ms", d.options.Session.Milliseconds())
	b.WriteString(common)
	return b.String()
}

// common are the settings of all nodes. Retention by age is off: records have no timestamps.
const common = `controller.listener.names=CONTROLLER
listener.security.protocol.map=CLIENT:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=data
num.network.threads=1
num.io.threads=2
background.threads=2
num.replica.fetchers=1
num.recovery.threads.per.data.dir=1
replica.fetch.wait.max.ms=100
replica.fetch.backoff.ms=100
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.num.partitions=1
auto.create.topics.enable=false
controlled.shutdown.enable=false
auto.leader.rebalance.enable=false
controller.quorum.election.timeout.ms=1000
controller.quorum.fetch.timeout.ms=2000
controller.quorum.retry.backoff.ms=50
log.cleaner.enable=false
log.cleaner.dedupe.buffer.size=2097152
log.index.size.max.bytes=65536
log.retention.ms=-1
log.retention.bytes=-1
file.delete.delay.ms=1000
metadata.log.segment.bytes=8388608
`

// relevant selects the log lines about roles.
func relevant(line string) bool {
	for _, words := range []string{
		"ERROR", "FATAL", "Fencing", "unfenced", "UNCLEAN", "Shrinking ISR", "Expanding ISR", "ISR updated",
		"starts at leader epoch", "Leader with topic", "Follower ",
	} {
		if strings.Contains(line, words) {
			return !strings.Contains(line, "__")
		}
	}
	return false
}
