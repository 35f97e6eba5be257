package cassandra

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	_ "embed" // the agent
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
)

// java is how a version's servers are started.
type java struct {
	program, jars string
	agent         string // a jar; empty: none
}

// prepare fetches a version and finds a JVM, and makes the agent where the version is to be changed.
func prepare(ctx context.Context, version string, change bool) (*java, error) {
	program, err := exec.LookPath("java")
	if err != nil {
		return nil, errors.New("cassandra: java is missing; `make setup` installs it")
	}
	artefacts := []string{"org.apache.cassandra:cassandra-all:" + version}
	if change {
		artefacts = append(artefacts, "net.bytebuddy:byte-buddy:1.18.16")
	}
	jars, err := process.Jars(ctx, artefacts...)
	if err != nil {
		return nil, fmt.Errorf("cassandra: version %s: %w", version, err)
	}
	j := &java{program: program, jars: strings.Join(jars, ":")}
	if change {
		if j.agent, err = j.compile(ctx); err != nil {
			return nil, fmt.Errorf("cassandra: the agent: %w", err)
		}
	}
	return j, nil
}

//go:embed Agent.java
var agent []byte

const manifest = "Manifest-Version: 1.0\nPremain-Class: Agent\n\n"

// compile compiles the agent and returns its jar.
func (j *java) compile(ctx context.Context) (string, error) {
	key := sha256.Sum256(append([]byte(j.jars), agent...))
	folder, err := process.Cached(fmt.Sprintf("cassandra-agent-%.6x", key), func(folder string) error {
		compiler, err := exec.LookPath("javac")
		if err != nil {
			return errors.New("javac is missing; `make setup` installs it")
		}
		source := filepath.Join(folder, "Agent.java")
		if err := os.WriteFile(source, agent, 0o644); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, compiler, "-proc:none", "-cp", j.jars, "-d", folder, source).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return pack(folder)
	})
	return filepath.Join(folder, "agent.jar"), err
}

// pack puts the classes of a folder into a jar there.
func pack(folder string) (err error) {
	classes, err := filepath.Glob(filepath.Join(folder, "*.class"))
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(folder, "agent.jar"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	jar := zip.NewWriter(file)
	add := func(name string, data []byte) {
		w, e := jar.Create(name)
		if e == nil {
			_, e = w.Write(data)
		}
		err = errors.Join(err, e)
	}
	add("META-INF/MANIFEST.MF", []byte(manifest))
	for _, class := range classes {
		data, e := os.ReadFile(class)
		err = errors.Join(err, e)
		add(filepath.Base(class), data)
	}
	return errors.Join(err, jar.Close())
}

// flags are those of a JVM. Cassandra 2.0 was written for Java 7: what later ones closed is opened.
func (j *java) flags() []string {
	flags := []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xms192m", "-Xmx256m", "-Xss512k", "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true",
		"-Dcassandra.config=file:cassandra.yaml", "-Dlog4j.configuration=file:log4j.properties", "-Dlog4j.defaultInitOverride=true", "-Dcassandra-foreground=yes",
		"-Dcassandra.ring_delay_ms=1000", "-Dcassandra.skip_wait_for_gossip_to_settle=0"}
	for _, p := range []string{"java.io", "java.nio", "java.lang", "sun.nio.ch"} {
		flags = append(flags, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	for _, p := range []string{"sun.nio.ch", "jdk.internal.ref"} {
		flags = append(flags, "--add-exports=java.base/"+p+"=ALL-UNNAMED")
	}
	if j.agent != "" {
		flags = append(flags, "-javaagent:"+j.agent)
	}
	return flags
}

// wire makes the links. Servers know each other by address alone, all at one port, so that a server has two addresses: one where it
// listens, and one where the others believe it to, which is its link's.
func (d *deployment) wire() error {
	d.Command, d.Telling = d.write, telling
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
	return exec.Command(d.java.program, append(d.java.flags(), "-cp", d.java.jars, "org.apache.cassandra.service.CassandraDaemon")...), nil
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
