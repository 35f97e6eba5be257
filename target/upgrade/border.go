// Package upgrade is a cluster of servers in several versions that its operator upgrades in a rolling restart: each
// node's files stay, and after a crash the node comes back with another version. All versions are in one program, each
// as a copy of its packages (see "lockstep copy"), so that a whole upgrade is deterministic, in virtual time.
//
// A version is a [Release]: an interface whose methods have types of the standard library only. The versions have no
// other types in common. The command builds the program for the versions that a user asks for.
package upgrade

import (
	"context"

	"github.com/lockstep-go/lockstep/cli"
)

// Release is one version of the server. Copies of a package implement it, so it has types of the standard library only.
type Release interface {
	// Version is the version, such as 3.6.16.
	Version() string
	// Start starts a member with files in dir. The cluster lists names and addresses of the initial members, or of
	// all members if the member joins. A snapshot is taken after so many entries; 0: the server's default. The server
	// gives its log a level and a line; for an empty line the log reports whether it keeps any. The result is a
	// [Server].
	Start(name, dir, client, peer, cluster string, joins bool, snapshots int,
		log func(level, line string) bool) (any, error)
	// Connect makes a client of the version; the result is a [Client].
	Connect(endpoints ...string) (any, error)
}

// Server is a member.
type Server interface {
	Ready() <-chan struct{}   // closed when it serves clients
	Stopped() <-chan struct{} // closed when it has stopped on its own
	Failed() <-chan error
	Stop()
	Leads() bool
	State() string
	ClusterVersion() string // on which the cluster has agreed, such as 3.5.0; empty if unknown
}

// Client is a client of a version. Revisions count the changes of the store.
type Client interface {
	Put(ctx context.Context, key, value string) (revision int64, err error)
	Get(ctx context.Context, key string) (value string, revision int64, err error)
	Swap(ctx context.Context, key, old, value string) (is string, swapped bool, revision int64, err error)
	Hash(ctx context.Context, endpoint string) (hash uint32, revision, compacted int64, err error)
	// Members lists the members by their peer addresses, and those that do not vote.
	Members(ctx context.Context) (ids map[string]uint64, learners map[string]bool, err error)
	Add(ctx context.Context, peer string) error // as a member that does not vote
	Promote(ctx context.Context, id uint64) error
	Remove(ctx context.Context, id uint64) error
	// Storage is the version of the format of the member's files; empty if the version does not report it.
	Storage(ctx context.Context) (version string, err error)
	Downgrade(ctx context.Context, to string) error // lets the cluster go back to a version such as 3.5.0
	Close() error
}

// Main is the command line of a program with a cluster in the given versions, in the order of upgrades.
func Main(name string, releases ...Release) { cli.Main(Target(name, releases...)) }
