package bftsmart

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	javaclient "github.com/lockstep-go/lockstep/clients/java"
	"github.com/lockstep-go/lockstep/process/jvm"
)

// agentSource is a replica, a client and the agent.
//
//go:embed agent
var agentSource embed.FS

// jars has the SHA-256 of every jar of the supported versions: see process/jvm/sums.
//
//go:embed jars.sha256
var jars string

// artifacts are JD's fork of the version before TLS, the only published one, without an unpublished benchmark; and the
// dependencies of the agent.
var artifacts = []string{
	"com.jd.blockchain:bft-smart:0.0.8.RELEASE",
	"-com.yahoo.ycsb:core",
	"org.slf4j:slf4j-jdk14:1.5.8",
	"net.bytebuddy:byte-buddy:1.18.16",
}

// programs starts replicas and clients.
type programs struct {
	cluster Cluster
	java    *jvm.JVM
	agent   string // its jar
}

// prepare finds a JVM, fetches BFT-SMaRt and compiles the agent.
func (c Cluster) prepare(ctx context.Context) (p programs, err error) {
	p.cluster = c
	if p.java, err = jvm.Find(ctx, jars, artifacts...); err == nil {
		p.agent, err = p.java.Compile(ctx, "bftsmart-agent", "io.github.lockstepgo.bftsmart.Agent", javaclient.Source,
			agentSource)
	}
	if err != nil {
		return p, fmt.Errorf("bftsmart: %w", err)
	}
	return p, nil
}

// The modes of the agent: it intercepts every message, or it makes the replica listen on the loopback alone.
const hooks, loopback = "hooks", "loopback"

// run returns the command of a JVM in a directory, configured with the ports of the other processes.
func (p *programs) run(dir, agent string, ports [replicas]int, arguments ...string) (*exec.Cmd, error) {
	java := p.java.In(dir)
	if agent != "" {
		java.Flags = []string{
			"-javaagent:" + p.agent + "=" + agent,
			fmt.Sprintf("-Dlockstep.silence=%d", p.cluster.Silence.Milliseconds()),
		}
	}
	cmd := java.Command("io.github.lockstepgo.bftsmart.Replica", arguments...)
	cmd.Dir = dir
	return cmd, p.configure(dir, ports)
}

// configure writes the configuration of a process.
func (p *programs) configure(dir string, ports [replicas]int) error {
	config := filepath.Join(dir, "config")
	if err := os.MkdirAll(config, 0o755); err != nil {
		return err
	}
	hosts := ""
	for i, port := range ports {
		hosts += fmt.Sprintf("%d 127.0.0.1 %d\n", i, port)
	}
	settings := settings + fmt.Sprintf("system.totalordermulticast.timeout = %d\n", p.cluster.Timeout.Milliseconds())
	return errors.Join(os.WriteFile(filepath.Join(config, "hosts.config"), []byte(hosts), 0o644),
		os.WriteFile(filepath.Join(config, "system.config"), []byte(settings), 0o644))
}
