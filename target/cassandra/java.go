package cassandra

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process/jvm"
)

//go:embed Agent.java
var agent embed.FS

// jars has the SHA-256 of every jar of the supported versions: see process/jvm/sums.
//
//go:embed jars.sha256
var jars string

// prepare fetches a version and finds a JVM, with an agent if the version is to be changed.
func prepare(ctx context.Context, c Cluster) (*jvm.JVM, error) {
	artifacts := []string{"org.apache.cassandra:cassandra-all:" + c.Version}
	if c.Change5985 {
		artifacts = append(artifacts, "net.bytebuddy:byte-buddy:1.18.16")
	}
	java, err := jvm.Find(ctx, jars, artifacts...)
	if err != nil {
		return nil, fmt.Errorf("cassandra: version %s: %w", c.Version, err)
	}
	java.Flags = []string{
		"-Dcassandra.config=file:cassandra.yaml",
		"-Dcassandra-foreground=yes",
		"-Dcassandra.skip_wait_for_gossip_to_settle=0",
	}
	if c.modern() {
		java.Flags = append(java.Flags, modernFlags(java)...)
	} else {
		java.Flags = append(java.Flags, earlyFlags()...)
	}
	if c.Change5985 {
		jar, err := java.Compile(ctx, "cassandra-agent", "Agent", agent)
		if err != nil {
			return nil, fmt.Errorf("cassandra: %w", err)
		}
		java.Flags = append(java.Flags, "-javaagent:"+jar)
	}
	return java, nil
}

// earlyFlags returns the JVM flags of 2.0, which was written for Java 7: they open what later Java versions closed.
func earlyFlags() []string {
	flags := []string{
		"-Xms192m",
		"-Xmx256m",
		"-Dlog4j.configuration=file:log4j.properties",
		"-Dlog4j.defaultInitOverride=true",
		"-Dcassandra.ring_delay_ms=1000",
	}
	flags = append(flags, opened("opens", "java.base", "java.io", "java.nio", "java.lang", "sun.nio.ch")...)
	return append(flags, opened("exports", "java.base", "sun.nio.ch", "jdk.internal.ref")...)
}

// opened returns the flags that open packages of a Java module, or only export them.
func opened(how, module string, packages ...string) (flags []string) {
	for _, p := range packages {
		flags = append(flags, fmt.Sprintf("--add-%s=%s/%s=ALL-UNNAMED", how, module, p))
	}
	return flags
}

// wire creates the links. Servers identify each other by address alone, all at one port. A server therefore has two
// addresses: one where it listens, and that of its link, where the others reach it.
func (d *deployment) wire() error {
	_, d.storage, _ = net.SplitHostPort(d.Port())
	_, d.native, _ = net.SplitHostPort(d.Port())
	for n := range nodes {
		at, err := d.AnotherAddress()
		if err != nil {
			return err
		}
		via, err := d.AnotherAddress()
		if err != nil {
			return err
		}
		d.at, d.via = append(d.at, at), append(d.via, via)
		link, err := d.Network.Link(0, lockstep.Node(n+1), net.JoinHostPort(via, d.storage),
			net.JoinHostPort(at, d.storage), nil)
		if err != nil {
			return err
		}
		if !d.options.timed() {
			link.Decode(d.tracker.protocol(via))
			link.SetUnordered()
		}
		speaker := &client{address: net.JoinHostPort(at, d.native), protocol: early}
		if d.options.modern() {
			speaker.protocol = late
		}
		d.clients = append(d.clients, speaker)
	}
	return nil
}

// write writes the settings of a node into its directory, and returns the command that starts it.
func (d *deployment) write(n lockstep.Node) (*exec.Cmd, error) {
	dir := d.Server(n).Dir
	for name, text := range map[string]string{
		"cassandra.yaml":   d.settings(n),
		"log4j.properties": log4j,
		"logback.xml":      logback,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return d.java.In(dir).Command("org.apache.cassandra.service.CassandraDaemon"), nil
}

// contention is the total time limit of a transaction, in timeouts.
const contention = 5

// settings returns the settings of a node. Sizes are small and intervals short.
func (d *deployment) settings(n lockstep.Node) string {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s: %v\n", key, value) }
	// before all row keys, so that server 1 has the first replica of each
	set("initial_token", fmt.Sprintf("'%02x'", n))
	set("listen_address", d.at[n-1])
	set("rpc_address", d.at[n-1])
	set("broadcast_address", d.via[n-1])
	set(
		"seed_provider",
		fmt.Sprintf("[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: %q}]}]",
			d.via[0]),
	)
	set("storage_port", d.storage)
	set("native_transport_port", d.native)
	waits := d.options.waits()
	for _, name := range slices.Sorted(maps.Keys(waits)) {
		if wait := waits[name].Milliseconds(); d.options.modern() {
			set(name, fmt.Sprint(wait, "ms"))
		} else {
			set(name+"_in_ms", wait)
		}
	}
	if d.options.modern() {
		return b.String() + common + modern
	}
	return b.String() + common + before4
}

// waits returns the timeouts of a server, by the names of settings.
func (c Cluster) waits() map[string]time.Duration {
	waits := map[string]time.Duration{
		"write_request_timeout":  c.Timeout,
		"cas_contention_timeout": contention * c.Timeout,
		"request_timeout":        10 * time.Second,
		"read_request_timeout":   5 * time.Second,
	}
	if c.timed() {
		waits["read_request_timeout"] = c.Timeout // reads are cut, too
	}
	return waits
}

// common are the settings of all nodes, and before4 those of 2.0 alone.
const (
	common = `cluster_name: lockstep
num_tokens: 1
partitioner: org.apache.cassandra.dht.ByteOrderedPartitioner
data_file_directories: [data]
commitlog_directory: commitlog
saved_caches_directory: caches
commitlog_sync: periodic
disk_failure_policy: stop
concurrent_reads: 4
concurrent_writes: 4
start_native_transport: true
ssl_storage_port: 7001
endpoint_snitch: SimpleSnitch
dynamic_snitch: false
auto_snapshot: false
auto_bootstrap: false
hinted_handoff_enabled: false
internode_compression: none
authenticator: AllowAllAuthenticator
authorizer: AllowAllAuthorizer
`
	before4 = `commitlog_sync_period_in_ms: 10000
commitlog_segment_size_in_mb: 8
commitlog_total_space_in_mb: 64
memtable_total_space_in_mb: 32
start_rpc: false
rpc_server_type: sync
key_cache_size_in_mb: 1
column_index_size_in_kb: 64
in_memory_compaction_limit_in_mb: 8
compaction_throughput_mb_per_sec: 16
`
)

// The log goes to the standard output.
const log4j = `log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1}: %m%n
log4j.logger.org.apache.cassandra.gms.Gossiper=INFO
`

// relevant selects the log lines about membership.
func relevant(line string) bool {
	for _, words := range []string{"ERROR", "is now DOWN", "is now UP"} {
		if strings.Contains(line, words) {
			return true
		}
	}
	return false
}
