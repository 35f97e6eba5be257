package ratis

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process/jvm"
)

//go:embed java
var sources embed.FS

// jars has the SHA-256 of every jar of the supported versions: see process/jvm/sums.
//
//go:embed jars.sha256
var jars string

// prepare fetches a version, finds a JVM, and compiles the server launcher. A server of an early version listens on the
// wildcard address, unless the JVM substitutes another.
func prepare(ctx context.Context, version string) (*jvm.JVM, error) {
	java, err := jvm.Find(ctx, jars, "org.apache.ratis:ratis-examples:"+version, "-*:*")
	if err != nil {
		return nil, fmt.Errorf("ratis: version %s: %w", version, err)
	}
	java.Flags = []string{
		"-Xmx192m",
		"--add-opens=java.base/java.net=ALL-UNNAMED",
		"-Dlog4j.configuration=file:log4j.properties",
	}
	api := "java/v3" // the parts that differ between versions
	if strings.HasPrefix(version, "1.") {
		api = "java/v1"
	}
	var dirs []fs.FS
	for _, name := range []string{"java/node", api} {
		dir, err := fs.Sub(sources, name)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	if _, err := java.Compile(ctx, "ratis-node", "", dirs...); err != nil {
		return nil, fmt.Errorf("ratis: version %s: %w", version, err)
	}
	return java, nil
}

const log4j = `log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1}: %m%n
log4j.logger.org.apache.ratis.conf=WARN
`

// wire creates the links. All servers and the client use the same address of a server, and the server's log contains
// it, too. There is therefore one link for each server.
func (d *deployment) wire() error {
	protocol := GRPC
	if d.options.Transport == netty {
		protocol = Netty
	}
	var peers []string
	for n := range d.options.Nodes {
		at, via, orders := d.Port(), d.Port(), d.Port()
		link, err := d.Network.Link(0, lockstep.Node(n+1), via, at, nil)
		if err != nil {
			return err
		}
		if d.options.Control != byTime {
			link.Decode(protocol)
		}
		if d.options.Warm {
			d.Server(lockstep.Node(n + 1)).ControlAddress = orders
		}
		d.at, d.orders = append(d.at, at), append(d.orders, orders)
		peers = append(peers, fmt.Sprintf("n%d=%s", n+1, via))
	}
	d.peers = strings.Join(peers, ",")
	client, err := d.Supervisor.Server("client")
	d.client = client
	if err == nil {
		client.ControlAddress = d.Port()
	}
	return err
}

// write writes the settings of a node into its directory, and returns the command that starts it.
func (d *deployment) write(n lockstep.Node) (*exec.Cmd, error) {
	return d.command(d.Server(n).Dir, fmt.Sprintf("n%d", n), d.orders[n-1], d.at[n-1])
}

// command returns the command of a server, or of the client, which does not listen.
func (d *deployment) command(dir, name, orders, at string) (*exec.Cmd, error) {
	for file, text := range map[string]string{"ratis.properties": d.settings(dir, at), "log4j.properties": log4j} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	host, port, _ := strings.Cut(orders, ":")
	return d.java.In(dir).Command("Node", host, port, name, "ratis.properties", d.peers), nil
}

// settings returns the settings of a server at an address.
func (d *deployment) settings(dir, at string) string {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\n", key, value) }
	set("raft.rpc.type", strings.ToUpper(d.options.Transport))
	if host, port, ok := strings.Cut(at, ":"); ok {
		set("raft."+d.options.Transport+".server.host", host) // unknown to versions before 2.5
		set("raft."+d.options.Transport+".server.port", port)
	}
	set("raft.server.storage.dir", filepath.Join(dir, "data"))
	set("raft.server.rpc.timeout.min", fmt.Sprintf("%dms", d.options.Timeout.Milliseconds()))
	set("raft.server.rpc.timeout.max", fmt.Sprintf("%dms", 2*d.options.Timeout.Milliseconds()))
	set("lockstep.clients.each", d.options.Each) // known only to our launcher
	set("raft.server.log.preallocated.size", "64KB")
	set("raft.server.log.segment.size.max", "1MB")
	return b.String()
}

// relevant selects the log lines about leaders and log reconciliation.
func relevant(line string) bool {
	for _, words := range []string{
		"changes role from", "change Leader from", "inconsistency", "INCONSISTENCY", "Failed appendEntries",
		"runAsCandidate", "submit vote", "ELECTION", "ERROR", "truncate", "Truncat", "nextIndex: updateUnconditionally",
		"nextIndex: setUnconditionally",
	} {
		if strings.Contains(line, words) {
			return true
		}
	}
	return false
}
