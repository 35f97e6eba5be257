package cassandra

import (
	"context"
	"embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process/jvm"
)

//go:embed Agent.java
var agent embed.FS

// prepare fetches a version and finds a JVM, with an agent where the version is to be changed. Cassandra 2.0 was written for Java 7: what later
// ones closed is opened.
func prepare(ctx context.Context, version string, change bool) (*jvm.JVM, error) {
	artefacts := []string{"org.apache.cassandra:cassandra-all:" + version}
	if change {
		artefacts = append(artefacts, "net.bytebuddy:byte-buddy:1.18.16")
	}
	java, err := jvm.Find(ctx, artefacts...)
	if err != nil {
		return nil, fmt.Errorf("cassandra: version %s: %w", version, err)
	}
	java.Flags = []string{"-Xms192m", "-Xmx256m", "-Dcassandra.config=file:cassandra.yaml", "-Dlog4j.configuration=file:log4j.properties", "-Dlog4j.defaultInitOverride=true",
		"-Dcassandra-foreground=yes", "-Dcassandra.ring_delay_ms=1000", "-Dcassandra.skip_wait_for_gossip_to_settle=0"}
	for _, p := range []string{"java.io", "java.nio", "java.lang", "sun.nio.ch"} {
		java.Flags = append(java.Flags, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	for _, p := range []string{"sun.nio.ch", "jdk.internal.ref"} {
		java.Flags = append(java.Flags, "--add-exports=java.base/"+p+"=ALL-UNNAMED")
	}
	if change {
		jar, err := java.Compile(ctx, "cassandra-agent", "Agent", agent)
		if err != nil {
			return nil, fmt.Errorf("cassandra: %w", err)
		}
		java.Flags = append(java.Flags, "-javaagent:"+jar)
	}
	return java, nil
}

// wire makes the links. Servers know each other by address alone, all at one port, so that a server has two addresses: one where it
// listens, and one where the others believe it to, which is its link's.
func (d *deployment) wire() error {
	d.Command, d.Telling, d.Patience = d.write, telling, d.options.Patience
	_, d.storage, _ = net.SplitHostPort(d.Port())
	_, d.native, _ = net.SplitHostPort(d.Port())
	for n := range nodes {
		at, err := d.Another()
		if err != nil {
			return err
		}
		via, err := d.Another()
		if err != nil {
			return err
		}
		d.at, d.via = append(d.at, at), append(d.via, via)
		link, err := d.Network.Link(0, lockstep.Node(n+1), net.JoinHostPort(via, d.storage), net.JoinHostPort(at, d.storage), nil)
		if err != nil {
			return err
		}
		link.Decode(d.book.protocol(via))
		link.Loose()
		d.clients = append(d.clients, &client{address: net.JoinHostPort(at, d.native)})
	}
	return nil
}

// write writes the settings of a node into its folder, and returns the command that starts it.
func (d *deployment) write(n lockstep.Node) (*exec.Cmd, error) {
	folder := d.Server(n).Folder
	for name, text := range map[string]string{"cassandra.yaml": d.settings(n), "log4j.properties": log4j} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return d.java.Command("org.apache.cassandra.service.CassandraDaemon"), nil
}

// contention is how many timeouts a transaction may take in all.
const contention = 5

// settings are those of a node. Everything is small and quick.
func (d *deployment) settings(n lockstep.Node) string {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s: %v\n", key, value) }
	set("initial_token", fmt.Sprintf("'%02x'", n)) // before all names of rows, so that server 1 has the first copy of each
	set("listen_address", d.at[n-1])
	set("rpc_address", d.at[n-1])
	set("broadcast_address", d.via[n-1])
	set("seed_provider", fmt.Sprintf("[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: %q}]}]", d.via[0]))
	set("storage_port", d.storage)
	set("native_transport_port", d.native)
	set("write_request_timeout_in_ms", d.options.Timeout.Milliseconds())
	set("cas_contention_timeout_in_ms", contention*d.options.Timeout.Milliseconds())
	b.WriteString(common)
	return b.String()
}

// common is what all nodes have.
const common = `cluster_name: lockstep
num_tokens: 1
partitioner: org.apache.cassandra.dht.ByteOrderedPartitioner
data_file_directories: [data]
commitlog_directory: commitlog
saved_caches_directory: caches
commitlog_sync: periodic
commitlog_sync_period_in_ms: 10000
commitlog_segment_size_in_mb: 8
commitlog_total_space_in_mb: 64
disk_failure_policy: stop
concurrent_reads: 4
concurrent_writes: 4
memtable_total_space_in_mb: 32
start_native_transport: true
start_rpc: false
rpc_server_type: sync
ssl_storage_port: 7001
endpoint_snitch: SimpleSnitch
dynamic_snitch: false
auto_snapshot: false
auto_bootstrap: false
hinted_handoff_enabled: false
internode_compression: none
authenticator: AllowAllAuthenticator
authorizer: AllowAllAuthorizer
key_cache_size_in_mb: 1
column_index_size_in_kb: 64
in_memory_compaction_limit_in_mb: 8
compaction_throughput_mb_per_sec: 16
request_timeout_in_ms: 10000
read_request_timeout_in_ms: 5000
`

// What is logged goes to the standard output.
const log4j = `log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1}: %m%n
log4j.logger.org.apache.cassandra.gms.Gossiper=INFO
`

// telling picks the lines of a log that tell who is there.
func telling(line string) bool {
	for _, words := range []string{"ERROR", "is now DOWN", "is now UP"} {
		if strings.Contains(line, words) {
			return true
		}
	}
	return false
}
