package bftsmart

import (
	"context"
	"embed"
	"fmt"

	client "github.com/lockstep-go/lockstep/clients/java"
	"github.com/lockstep-go/lockstep/process/jvm"
)

// agentSource is a replica, a client and the agent.
//
//go:embed agent
var agentSource embed.FS

// jars has the SHA-256 of every jar of the versions that can be used: see process/jvm/sums.
//
//go:embed jars.sha256
var jars string

// artefacts are JD's fork of the line before TLS, the only one that is published, without a benchmark that is not; and what the
// agent needs.
var artefacts = []string{"com.jd.blockchain:bft-smart:0.0.8.RELEASE", "-com.yahoo.ycsb:core", "org.slf4j:slf4j-jdk14:1.5.8", "net.bytebuddy:byte-buddy:1.18.16"}

// prepare finds a JVM, fetches BFT-SMaRt and compiles the agent, of which it returns the jar.
func prepare(ctx context.Context) (java *jvm.JVM, agent string, err error) {
	if java, err = jvm.Find(ctx, jars, artefacts...); err == nil {
		agent, err = java.Compile(ctx, "bftsmart-agent", "io.github.lockstepgo.bftsmart.Agent", client.Source, agentSource)
	}
	if err != nil {
		return nil, "", fmt.Errorf("bftsmart: %w", err)
	}
	return java, agent, nil
}
