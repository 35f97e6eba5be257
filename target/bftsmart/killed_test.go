package bftsmart

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/strategy"
)

// killing is a cluster of which the test kills a process in the third step, without the engine.
type killing struct {
	Cluster
	deploy func(Cluster, context.Context, *lockstep.Env) (d lockstep.Deployment, pid func() int, err error)
}

// Deploy deploys the cluster.
func (k killing) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	if err := k.fill(); err != nil {
		return nil, err
	}
	d, pid, err := k.deploy(k.Cluster, ctx, p)
	return &killed{Deployment: d, pid: pid}, err
}

// deployAgented deploys a cluster whose client will be killed.
func deployAgented(c Cluster, ctx context.Context, place *lockstep.Env) (lockstep.Deployment, func() int, error) {
	p, err := c.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	d, err := newAgented(p, place)
	if err != nil {
		return nil, nil, err
	}
	deployed, err := c.agented(d).Deploy(ctx, place)
	return deployed, func() int { return d.client.spoken.Pid() }, err
}

// deployProxied deploys a cluster whose second replica will be killed.
func deployProxied(c Cluster, ctx context.Context, place *lockstep.Env) (lockstep.Deployment, func() int, error) {
	s, pid := c.proxied(), func() int { return 0 }
	s.New = func(ctx context.Context, servers *process.Deployment) (process.Driver, error) {
		pid = servers.Server(2).Pid
		return c.deploy(ctx, servers)
	}
	deployed, err := s.Deploy(ctx, place)
	return deployed, pid, err
}

type killed struct {
	lockstep.Deployment
	pid   func() int
	steps int
}

// Do performs the step, after the kill.
func (k *killed) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if k.steps++; k.steps == 3 {
		if err := syscall.Kill(k.pid(), syscall.SIGKILL); err != nil {
			return err
		}
	}
	return k.Deployment.Do(ctx, s, out)
}

// The end of the client, or of a replica behind proxies, makes the run inconclusive. It does not count as a bug of
// BFT-SMaRt, and the reason describes it.
func TestKilled(t *testing.T) {
	outside.JVM(t)
	for words, k := range map[string]killing{
		"the client": {Cluster{Requests: 1}, deployAgented},
		"node2":      {Cluster{Requests: 1, Proxies: true}, deployProxied},
	} {
		plan := lockstep.Plan{
			System:   k,
			Spec:     Promise,
			Strategy: strategy.Walk{Deliver: 1, Request: 1, Wait: 1, Steps: 20},
			Settle:   20,
			Runs:     1,
			Workers:  1,
		}
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for reason := range result.Reasons {
			text += reason
		}
		if result.Inconclusive != 1 || !strings.Contains(text, words) || !strings.Contains(text, "signal: killed") {
			t.Errorf("%s: %v, %q", words, result.Verdicts, text)
		}
	}
}
