package toy

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
)

// Troubled is the toy system with problems, each kind of them a function of the seed of a run.
type Troubled struct {
	// Recheck is the value of the system's description. Diverges makes every rerun of a seed emit an event that the
	// first run did not emit.
	Recheck  int
	Diverges bool
	// Inconclusive makes one of this many runs inconclusive; 0 makes none inconclusive.
	Inconclusive uint64
	// Nondeterminism are the sources that the deployment lists after each run.
	Nondeterminism []string
}

// Describe describes the system.
func (t Troubled) Describe() (lockstep.Info, error) {
	info, err := Cluster(nil).Describe()
	info.Recheck = t.Recheck
	return info, err
}

// Deploy deploys the system.
func (t Troubled) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	d, err := Cluster(nil).Deploy(ctx, p)
	return &troubled{Deployment: d, by: t}, err
}

type troubled struct {
	lockstep.Deployment
	by   Troubled
	last uint64 // the seed of the previous run
}

// Reset begins a run.
func (t *troubled) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	again := seed == t.last
	t.last = seed
	if n := t.by.Inconclusive; n > 0 && seed%n == 0 {
		return &lockstep.Inconclusive{Reason: fmt.Sprintf("process %d died", 1+seed/n%3)}
	}
	if err := t.Deployment.Reset(ctx, seed, out); err != nil {
		return err
	}
	if again && t.by.Diverges {
		out.Event(lockstep.Event{Node: 1, Type: "rerun"})
	}
	return nil
}

// Abilities adds the sources of nondeterminism.
func (t *troubled) Capabilities() lockstep.Capabilities {
	a := t.Deployment.Capabilities()
	if t.by.Nondeterminism != nil {
		a.Nondeterminism = func() []string { return t.by.Nondeterminism }
	}
	return a
}
