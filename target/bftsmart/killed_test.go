package bftsmart

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/outside"
	"github.com/lockstep-go/lockstep/strategy"
)

// killing is a cluster of which a process is killed behind the engine's back in the third step.
type killing struct {
	Cluster
	pid func(lockstep.Deployment) int
}

// Deploy deploys the cluster.
func (k killing) Deploy(ctx context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	d, err := k.Cluster.Deploy(ctx, p)
	return &killed{Deployment: d, pid: k.pid}, err
}

type killed struct {
	lockstep.Deployment
	pid   func(lockstep.Deployment) int
	steps int
}

// Do lets the step happen, after the killing.
func (k *killed) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if k.steps++; k.steps == 3 {
		if err := syscall.Kill(k.pid(k.Deployment), syscall.SIGKILL); err != nil {
			return err
		}
	}
	return k.Deployment.Do(ctx, s, out)
}

// The end of the client, or of a replica behind proxies, spoils the run: it is not taken for a mistake of
// BFT-SMaRt, and the reason tells what happened.
func TestKilled(t *testing.T) {
	outside.Programs(t, "java", "javac", "mvn")
	for name, k := range map[string]killing{
		"the client": {Cluster{Requests: 1}, func(d lockstep.Deployment) int { return d.(*deployment).client.Pid() }},
		"replica 2":  {Cluster{Requests: 1, Proxies: true}, func(d lockstep.Deployment) int { return d.(*proxied).programs[1].Pid() }},
	} {
		plan := lockstep.Plan{System: k, Spec: Promise, Strategy: strategy.Walk{Deliver: 1, Request: 1, Wait: 1, Steps: 20}, Settle: 20, Runs: 1, Workers: 1}
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for reason := range result.Reasons {
			text += reason
		}
		if result.Inconclusive != 1 || !strings.Contains(text, name+" ended: signal: killed") {
			t.Errorf("%s: %v, %q", name, result.Verdicts, text)
		}
	}
}
