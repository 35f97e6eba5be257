package upgrade

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a cluster of servers that are upgraded: a [lockstep.System]. The option reconfigure is the share of
// restarts with another version.
type Cluster struct {
	// Nodes is the number of initial members; 0 means 3.
	Nodes int `help:"number of initial members; 0: 3" zero:"3" range:"1..5"`
	// Power is the share of crashes with a power failure.
	Power float64 `help:"share of crashes with a power failure, 0 to 1" range:"0..1"`
	// Sync is the maximum duration of a file sync; 0 means 10ms.
	Sync time.Duration `help:"maximum duration of a file sync; 0: 10ms" zero:"10ms" range:"0s.."`
	// Snapshots is the number of entries after which a member takes a snapshot; 0 means the server's default.
	Snapshots int `help:"entries after which a member takes a snapshot; 0: the server's default" range:"0..1000000"`
	// Clients is the number of clients; 0 means 3. Clients are of the versions in turn.
	Clients int `help:"number of clients, of the versions in turn; 0: 3" zero:"3" range:"1..16"`
	// Requests is the number of operations of each client; 0 means 15.
	Requests int `help:"operations of each client; 0: 15" zero:"15" range:"1..1000"`
	// Keys is the number of keys; 0 means 2.
	Keys int `help:"number of keys; 0: 2" zero:"2" range:"1..8"`
	// Changes is the number of steps of membership changes: a node joins without a vote, is promoted, and replaces
	// another one, which is removed.
	Changes int `help:"steps of membership changes: a node joins as learner, is promoted, and replaces another one" range:"0..1000"`
	// Rollbacks allows restarts with the version before, as long as another member still runs it.
	Rollbacks bool `help:"restarts may go back to the version before while another member still runs it"`
	// Downgrade lets the operator downgrade the cluster by one version, once all members run the newest one.
	Downgrade bool `help:"the operator downgrades the cluster by one version, once all members run the newest one"`
	// After is the time of the run before which no member is upgraded.
	After time.Duration `help:"time of the run before which no member is upgraded" range:"0s.."`

	bubble.FaultOptions

	name     string
	releases []Release
}

// The roles of members.
const (
	leader   = "leader"
	follower = "follower"
)

// calm is the time without faults after which members must agree on the version that all of them have.
const calm = 40 * time.Second

// look is the interval at which a member reports what it has.
const look = 5 * time.Second

// Settle is the length of a settling stage that lasts longer than calm, for four members.
const Settle = 8000

// Usual is the default strategy: members crash about fifteen times a run, one at a time.
const Usual = "walk:deliver=600,wait=120,request=80,cut=1,heal=3,crash=2,restart=10,down=1,steps=6000"

// Spec has all specs of an upgrade.
var Spec = spec.All(kv.Linearizable, kv.Revisions, Equal, Agreed, spec.OptionalUnless(Stay, "changes"))

// Target is the target with a cluster in the given versions, in the order of upgrades.
func Target(name string, releases ...Release) target.Target {
	return target.Of(name, "clusters of "+strings.TrimSuffix(name, "-upgrade")+" that are upgraded member by member",
		Cluster{name: name, releases: releases}, Spec).
		Settled(Settle).Explored(Usual).
		WithCampaign("reconfigure=1", "power=0.5", "snapshots=20", "changes=40")
}

// Describe describes the cluster and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := c.check(); err != nil {
		return lockstep.Info{}, err
	}
	return c.system().Describe()
}

// check validates the options.
func (c Cluster) check() error {
	if len(c.releases) == 0 {
		return fmt.Errorf("upgrade: the cluster needs at least one release")
	}
	if len(c.releases) == 1 && c.Reconfigure > 0 {
		return fmt.Errorf("%s: reconfigure is %v, but the program has only version %s", c.name, c.Reconfigure,
			c.releases[0].Version())
	}
	if err := c.checkDowngrade(); err != nil {
		return err
	}
	return target.Check(c.name, target.Fill(c))
}

// checkDowngrade refuses a downgrade by anything but one minor version.
func (c Cluster) checkDowngrade() error {
	if !c.Downgrade {
		return nil
	}
	if len(c.releases) == 1 {
		return fmt.Errorf("%s: downgrade is true, but the program has only version %s", c.name, c.releases[0].Version())
	}
	from, to := c.newest().Version(), c.before().Version()
	if x, y := numbers(from), numbers(to); x[0] != y[0] || x[1] != y[1]+1 {
		return fmt.Errorf("%s: downgrade is true, but from %s to %s is not one minor version", c.name, from, to)
	}
	return nil
}

// newest is the newest release.
func (c Cluster) newest() Release { return c.releases[len(c.releases)-1] }

// before is the release before the newest one, to which the cluster is downgraded.
func (c Cluster) before() Release { return c.releases[len(c.releases)-2] }

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return c.system().Deploy(ctx, p)
}

// system is the cluster in a bubble, for a warmed-up process.
func (c Cluster) system() bubble.Cluster {
	full := target.Fill(c)
	b := full.bubble(c)
	b.Process.Warm = []*bubble.Warming{{Plans: full.warming}}
	return b
}

// bubble is the cluster as package bubble defines it.
func (c Cluster) bubble(given Cluster) bubble.Cluster {
	return bubble.Cluster{
		Name: c.name, Build: strings.Join(c.names(), "+"), Options: target.Changed(given, Cluster{}), Nodes: c.all(),
		Begin:   func(w *bubble.World) { w.Value = begin(c, w) },
		Start:   func(n *bubble.Node) error { return n.World().Value.(*run).start(n) },
		Network: bubble.Sockets{},
		Freeze: &bubble.Freeze{
			Grace: 50 * time.Millisecond, // copies have locks that nodes of one version share
			Files: &bubble.Files{DiskLevel: disk.Ext4, PowerFailures: c.Power, SyncTime: c.Sync},
		},
		FaultOptions: c.FaultOptions, OtherConfigurations: len(c.releases) - 1, ConfigurationNames: c.names(),
		NextConfigurations: func(w *bubble.World, n lockstep.Node, now int) []int {
			if w.Now() < c.After {
				return nil
			}
			return w.Value.(*run).next(n, now)
		},
		Process: bubble.Process{Serial: true},
		Roles:   []string{leader, follower}, Timeout: time.Minute,
	}
}

// all is the number of nodes.
func (c Cluster) all() int {
	if c.Changes > 0 {
		return c.Nodes + 1
	}
	return c.Nodes
}

// names are the versions of the releases.
func (c Cluster) names() (list []string) {
	for _, r := range c.releases {
		list = append(list, r.Version())
	}
	return list
}

// warming is the warm-up of a process before its first run: every version initializes many things lazily.
func (c Cluster) warming() []lockstep.Plan {
	usual := target.Fill(Cluster{Power: 0.5, Snapshots: 20, Changes: 40, Rollbacks: true, Downgrade: c.Downgrade,
		name: c.name, releases: c.releases})
	if len(c.releases) > 1 {
		usual.Reconfigure = 1
	}
	return []lockstep.Plan{{
		System: usual.bubble(usual), // Cluster.system would include the warm-up
		Strategy: strategy.Walk{Deliver: 600, Wait: 120, Request: 40, Cut: 1, Heal: 3, Crash: 4, Restart: 8, Down: 1,
			Steps: 3000},
		Runs: 4, Seed: 1, Settle: 1000,
	}}
}
