package etcdserver

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/kit/failpoint"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a cluster of etcd servers: a [lockstep.System]. Its zero value has three members and two clients with
// six operations each, and the server's defaults.
type Cluster struct {
	// Nodes is the number of members; 0 means 3.
	Nodes int `help:"number of members, 1 to 7; 0: 3" zero:"3" range:"1..7"`
	// Power is the share of crashes with a power failure.
	Power float64 `help:"share of crashes with a power failure, 0 to 1" range:"0..1"`
	// Sync is the maximum duration of a file sync; 0 means 10ms.
	Sync time.Duration `help:"maximum duration of a file sync; 0: 10ms" zero:"10ms" range:"0s.."`
	// Snapshots is the server's SnapshotCount; 0 means its default.
	Snapshots int `help:"entries after which a member takes a snapshot; 0: the server's default" range:"0..1000000"`
	// Split is the share of writes on connections that travel in two parts.
	Split float64 `help:"share of writes on connections that travel in two parts, 0 to 1"`

	// Clients is the number of clients, each with one request at a time; 0 means 2.
	Clients int `help:"number of clients; 0: 2" zero:"2" range:"1..16"`
	// Requests is the number of operations of each client; 0 means 6.
	Requests int `help:"operations of each client; 0: 6" zero:"6" range:"1..1000"`
	// Keys is the number of keys that clients use; 0 means 2.
	Keys int `help:"number of keys, 1 to 8; 0: 2" zero:"2" range:"1..8"`
	// Mix is the mix of operations that clients draw from.
	Mix kv.Mix `help:"mixed (put, get, cas, every value new), binary (read, write 0, write 1 alike) or weights like put:2,get:3,cas:1,delete:1,txn:1"`
	// Serializable makes reads serializable: members answer from their own replica, which may be stale.
	Serializable bool `help:"reads are serializable: a member answers from its own replica"`
	// Redirected makes members redirect reads to the leader that they know, which answers from its own replica: the
	// mode "consistent" of etcd's first API, see Fig. 1 (right) of "Why Is Random Testing Effective for Partition
	// Tolerance Bugs?".
	Redirected bool `help:"a member redirects a read to the leader that it knows, which answers from its own replica"`

	// Watchers is the number of clients that watch, every second one all keys. They reopen a watch that ends. The
	// strategy chooses the member of each watch.
	Watchers int `help:"number of clients that watch" range:"0..16"`
	// NoProgressRequests makes watchers rely on the members' own progress notifications instead of requesting progress.
	NoProgressRequests bool `help:"watchers do not request progress; members send progress notifications on their own"`
	// Compactions is the number of times that the operator compacts the history.
	Compactions int `help:"number of compactions of the history" range:"0..1000"`
	// Batch is the number of revisions that a member compacts at once; 0 means its default.
	Batch int `help:"revisions that a member compacts at once; 0: the server's default" range:"0..10000"`
	// Empty makes the spec compare stores without keys, too.
	Empty bool `help:"compare stores without keys, too; their hash in the server depends on the progress of a compaction"`
	// Defragmentations is the number of times that the operator defragments a member's file.
	Defragmentations int `help:"number of defragmentations of a member's file" range:"0..1000"`
	// Backups is the number of times that the operator requests a member's whole store.
	Backups int `help:"number of backups, in which a member sends its whole store" range:"0..1000"`
	// Leases is the number of times that the operator puts a key with a lease.
	Leases int `help:"number of keys that are put with a lease" range:"0..1000"`
	// Rewrites is the number of times that the operator deletes a key and puts it again in one transaction.
	Rewrites int `help:"number of transactions that delete a key and put it again" range:"0..1000"`
	// EarlierReads is the number of times that the operator reads a key at an earlier revision and puts another key, in
	// one transaction.
	EarlierReads int `help:"number of transactions that read a key at an earlier revision and put another key" range:"0..1000"`
	// Learners is the number of times that the operator adds a non-voting member, or removes it the next time.
	Learners int `help:"number of times that a learner is added, or removed again" range:"0..1000"`
	// Transfers is the number of leadership transfers.
	Transfers int `help:"number of leadership transfers" range:"0..1000"`
	// Spares is the number of nodes that are no members at first.
	Spares int `help:"nodes that are no members at first: see changes" range:"0..4"`
	// Changes is the number of times that the operator adds, promotes or removes a member. The number of voters stays
	// between Nodes and Nodes+Spares.
	Changes int `help:"number of times that a member is added, promoted or removed; the number of voters stays between nodes and nodes+spares" range:"0..1000"`
	// Failover is the number of nodes without a member. Their clients know all members and turn to another when one
	// fails.
	Failover int `help:"nodes without a member; their clients know all members and fail over to another one" range:"0..4"`
	// Holders is the number of clients that put keys with leases. They keep each lease alive for a while, and then
	// revoke it or let it expire.
	Holders int `help:"clients that put keys with leases, keep them alive for a while, and revoke them or let them expire" range:"0..8"`
	// Users is the number of users whose rights the operator grants and revokes. If it is not 0, authentication is
	// enabled.
	Users int `help:"users whose rights the operator grants and revokes; if not 0, authentication is enabled" range:"0..8"`
	// Readers is the number of clients that read several keys at once, now or at an earlier revision.
	Readers int `help:"clients that read several keys at once, now or at an earlier revision" range:"0..8"`
	// Transactors is the number of clients with transactions over several keys. Half of the transactions are one
	// request. The others first read, and then write if the keys that they read are unchanged.
	Transactors int `help:"clients with transactions over several keys" range:"0..8"`
	// Previous makes watches deliver the value of a key before each change.
	Previous bool `help:"watches deliver the value of a key before each change"`
	// Fragments makes members split watch responses that do not fit into a short answer.
	Fragments bool `help:"members split watch responses over the request limit, which is then 512 bytes, or 4608 with a quota"`
	// Quota is the space quota of a member's file. If it is not 0, clients fill the store and the operator frees
	// space.
	Quota int `help:"space quota of a member's file in kilobytes; if not 0, clients fill the store and the operator frees space" range:"0..1000000"`
	// Checks is the interval of the server's own corruption check, in which members compare their stores.
	Checks time.Duration `help:"interval of the server's own corruption check, in which members compare their stores; 0: never" range:"0s.."`
	// Failpoints are places in the server where goroutines sometimes pause and nodes crash; only the target
	// etcdserver-failpoints has any.
	Failpoints string `help:"failpoints where the server sometimes pauses, like raftBeforeSave:0.1,walBeforeSync:0.01 or any:0.01; only in the target etcdserver-failpoints"`

	bubble.FaultOptions
}

// root is the name of clients that may do everything, with authentication enabled.
func (c Cluster) root() string {
	if c.Users == 0 {
		return ""
	}
	return root
}

// all is the number of nodes.
func (c Cluster) all() int { return c.Nodes + c.Spares + c.Failover }

// check validates the options.
func (c Cluster) check() error {
	if err := target.Check("etcdserver", c); err != nil {
		return err
	}
	if c.Mix.Append > 0 {
		return fmt.Errorf("etcdserver: mix is %s, allowed are put, get, cas, delete and txn", c.Mix)
	}
	if _, err := failpoints(c.Failpoints, failpoint.Names()); err != nil {
		return err
	}
	if c.Redirected && (c.Serializable || c.Changes > 0 || c.Failover > 0) {
		return fmt.Errorf("etcdserver: redirected needs members that stay, and excludes serializable, changes and failover")
	}
	if (c.Spares > 0) != (c.Changes > 0) {
		return fmt.Errorf("etcdserver: spares is %d and changes %d, which are of use together alone: give both",
			c.Spares, c.Changes)
	}
	return nil
}

// Describe describes the cluster and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	if err := target.Fill(c).check(); err != nil {
		return lockstep.Info{}, err
	}
	return c.system().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return c.system().Deploy(ctx, p)
}

// system is the cluster in a bubble, for a warmed-up process.
func (c Cluster) system() bubble.Cluster {
	full := target.Fill(c)
	b := full.bubble(c)
	b.Process.Warm = full.warming()
	return b
}

// bubble is the cluster as package bubble defines it.
func (c Cluster) bubble(given Cluster) bubble.Cluster {
	return bubble.Cluster{
		Name: title(), Build: Version(), Options: target.Changed(given, Cluster{}), Nodes: c.all(),
		Begin: func(w *bubble.World) {
			shares, _ := failpoints(c.Failpoints, failpoint.Names()) // checked before
			pauseAtFailpoints(w, shares)
			w.Value = newClients(c, w)
		},
		Start:   func(n *bubble.Node) error { return start(n, c) },
		Network: bubble.Sockets{Split: c.Split},
		Freeze: &bubble.Freeze{
			Grace: grace,
			Files: &bubble.Files{DiskLevel: disk.Ext4, PowerFailures: c.Power, SyncTime: c.Sync},
		},
		FaultOptions: c.FaultOptions, AllowDiskExit: mayStop, OtherConfigurations: settings,
		Process: bubble.Process{Serial: true},
		Roles:   []string{leader, follower}, Timeout: time.Minute,
	}
}

// mayStop states how a member may stop because of its disk: with an error or by a panic of its own. After damage at
// rest it may stop in any way, because the pages of its store have no checksums. Where a call fails and the server then
// uses what the call did not return, as in etcd-io/etcd#18810, that is a finding.
func mayStop(e bubble.DiskExit) bool { return e.Damaged || !e.Runtime }

// grace is the time in which the goroutines of a crashed member return resources that members share: the server's
// packages have global locks and pools.
const grace = 50 * time.Millisecond

// Version is the version of the server in this build. It comes from the directory of the source, because test
// programs lack module information. Releases of 3.4 are modules with versions like
// v0.5.0-alpha.5.0.20200910180754-dd1b699fc489.
func Version() string {
	at := reflect.ValueOf(embed.StartEtcd).Pointer()
	file, _ := runtime.FuncForPC(at).FileLine(at)
	_, version, found := strings.Cut(file, "v3@")
	if !found {
		_, version, _ = strings.Cut(file, "etcd@")
	}
	version, _, _ = strings.Cut(version, "/")
	return cmp.Or(version, "unknown")
}

// lineage orders releases: it is the number of a release of 3.5, 0 for those of 3.4, and a large one for later lines.
func lineage(version string) (release int) {
	if n, _ := fmt.Sscanf(version, "v3.5.%d", &release); n == 1 || strings.HasPrefix(version, "v0.5.") {
		return release
	}
	if strings.HasPrefix(version, "v3.6.") {
		return line36
	}
	return line37
}

// The lines after 3.5 in the order of releases.
const (
	line36 = 1 << 20
	line37 = 1 << 21
)

// title is the name of this build's target.
func title() string {
	switch {
	case len(failpoint.Names()) > 0:
		return "etcdserver-failpoints"
	case strings.HasSuffix(target.ThisBuild(), "~unchecked"):
		return "etcdserver-unchecked"
	case strings.HasPrefix(Version(), "v0.5"):
		return "etcdserver-3.4"
	}
	return "etcdserver"
}
