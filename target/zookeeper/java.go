package zookeeper

import (
	"context"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/process/jvm"
	"github.com/lockstep-go/lockstep/target"
)

// hostClass is a class that starts and ends servers inside a JVM.
//
//go:embed Host.java
var hostClass embed.FS

// jars has the SHA-256 of every jar of the supported versions: see process/jvm/sums.
//
//go:embed jars.sha256
var jars string

// prepare fetches a version and finds a JVM, which hosts servers if warm is set.
func prepare(ctx context.Context, version string, warm bool) (*jvm.JVM, error) {
	java, err := jvm.Find(
		ctx,
		jars,
		append([]string{"org.apache.zookeeper:zookeeper:" + version}, known[version]...)...)
	if err != nil {
		return nil, fmt.Errorf("zookeeper: version %s: %w", version, err)
	}
	java.Flags = []string{
		"-Dzookeeper.admin.enableServer=false",
		"-Dzookeeper.forceSync=no",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dlog4j.configuration=file:log4j.properties",
		"-Dlogback.configurationFile=logback.xml",
	}
	name := "zookeeper-" + version
	if !warm {
		// without it servers start more slowly
		_ = java.Archive(name, func(training *jvm.JVM) error { return train(ctx, training, version) })
		return java, ctx.Err()
	}
	if _, err := java.Compile(ctx, name+"-host", "", hostClass); err != nil {
		return nil, fmt.Errorf("zookeeper: a JVM that hosts version %s: %w", version, err)
	}
	return java, nil
}

// train starts servers until they serve, and ends one of them gracefully.
func train(ctx context.Context, java *jvm.JVM, version string) error {
	c := target.Fill(Cluster{Version: version})
	s := c.system()
	s.New = func(_ context.Context, servers *process.Deployment) (process.Driver, error) {
		return c.deploy(servers, java)
	}
	return s.Once(ctx, func(servers *process.Deployment) error {
		limited, cancel := context.WithTimeout(ctx, c.StartTimeout)
		defer cancel()
		servers.Server(1).Stop(limited)
		return nil
	})
}

// The log goes to the standard output, configured in the two formats of different versions.
const (
	log4j = `log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1}: %m%n
`
	logback = `<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%p %logger{0}: %m%n</pattern></encoder></appender><root level="INFO"><appender-ref ref="out"/></root></configuration>
`
)

// matching matches log lines about consensus between servers. redundant matches those that add nothing: the
// shutdown of a server part by part, and duplicates.
var (
	matching = regexp.MustCompile(
		`LOOKING| - LEADING|: LEADING|: FOLLOWING|Sending (DIFF|TRUNC|SNAP|snapshot)|Synchronizing with|Getting a (diff|snapshot)|Truncating|Snapshotting|ERROR`,
	)
	redundant = regexp.MustCompile(`Notification|PeerState|ELECTION TOOK|sock still open`)
)

// relevant selects the log lines about consensus between servers.
func relevant(line string) bool { return matching.MatchString(line) && !redundant.MatchString(line) }

// write writes the settings of a node into its directory, and returns the command that starts it.
func (d *deployment) write(n lockstep.Node) (*exec.Cmd, error) {
	dir := d.Server(n).Dir
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	var b strings.Builder
	host, port, _ := strings.Cut(d.client[n-1], ":")
	fmt.Fprintf(&b, "tickTime=%d\ninitLimit=20\nsyncLimit=10\ndataDir=%s\nclientPort=%s\nclientPortAddress=%s\n",
		d.options.Tick.Milliseconds(), data, port, host)
	b.WriteString("4lw.commands.whitelist=*\nadmin.enableServer=false\nmaxClientCnxns=0\nmaxSessionTimeout=600000\n")
	for m := range d.options.Nodes {
		quorum, election := d.quorum[n-1][m], d.election[n-1][m]
		_, election, _ = strings.Cut(election, ":")
		fmt.Fprintf(&b, "server.%d=%s:%s\n", m+1, quorum, election)
	}
	for name, text := range map[string]string{
		"zoo.cfg":          b.String(),
		"data/myid":        fmt.Sprintln(n),
		"log4j.properties": log4j,
		"logback.xml":      logback,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if !d.options.Warm {
		return d.java.In(dir).Command("org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"), nil
	}
	orders, port, _ := strings.Cut(d.Server(n).ControlAddress, ":")
	return d.java.In(dir).Command("Host", orders, port, "zoo.cfg"), nil
}

// leading is how long an elected leader may take to listen at its quorum port.
const leading = time.Second

// wire creates the links: each server reaches the others through its own proxies.
func (d *deployment) wire() error {
	nodes := d.options.Nodes
	var quorum, election []string
	for i := range nodes {
		if d.options.Warm {
			d.Server(lockstep.Node(i + 1)).ControlAddress = d.Port()
		}
		d.client = append(d.client, d.Port())
		quorum, election = append(quorum, d.Port()), append(election, d.Port())
	}
	for i := range nodes {
		d.quorum, d.election = append(d.quorum, make([]string, nodes)), append(d.election, make([]string, nodes))
		for j := range nodes {
			d.quorum[i][j], d.election[i][j] = quorum[j], election[j]
			if i == j {
				continue
			}
			from, to := lockstep.Node(i+1), lockstep.Node(j+1)
			d.quorum[i][j], d.election[i][j] = d.Port(), d.Port()
			zab, err := d.Network.Link(from, to, d.quorum[i][j], quorum[j], nil)
			if err != nil {
				return err
			}
			if err := zab.AcceptEarly(election[j], leading); err != nil { // a refused follower pauses for a second
				return err
			}
			votes, err := d.Network.Link(from, to, d.election[i][j], election[j],
				func(near, far io.ReadWriter) error { return introduce(near, far) })
			if err != nil {
				return err
			}
			if d.options.Light {
				zab.Decode(Quorum)
				votes.Decode(Election)
			}
		}
	}
	return nil
}

// introduce carries the beginning of a connection to an election port. Since 3.5 a server sends a version, its number
// and its address. A receiver with a larger number dials back to that address, past the proxy. introduce therefore
// sends the older greeting, which is the number alone. All versions accept it, and the other server then dials the
// address in its configuration.
func introduce(from io.Reader, to io.Writer) error {
	var first [8]byte
	if _, err := io.ReadFull(from, first[:]); err != nil {
		return err
	}
	if int64(binary.BigEndian.Uint64(first[:])) >= 0 {
		_, err := to.Write(first[:])
		return err
	}
	var rest [12]byte // the number and the length of the address
	if _, err := io.ReadFull(from, rest[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(rest[8:])
	if length > 4096 {
		return fmt.Errorf("zookeeper: a greeting with an address of %d bytes", length)
	}
	if _, err := io.CopyN(io.Discard, from, int64(length)); err != nil {
		return err
	}
	_, err := to.Write(rest[:8])
	return err
}
