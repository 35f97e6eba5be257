// Command lockstep explores, replays, shrinks and explains runs of replicated systems.
package main

import (
	"path/filepath"
	"runtime"
	"slices"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/fleet"
	"github.com/lockstep-go/lockstep/kit/failpoint"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/backup"
	"github.com/lockstep-go/lockstep/target/etcd"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
	v35 "github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/target/maelstrom"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
)

// app is the command line.
var app = cli.App{
	Targets: slices.Concat(smr.Targets, raftscenarios.Guided(etcdraft.Targets), raftscenarios.Guided(v35.Targets), raft.Targets, pbft.Targets, backup.Targets, []target.Target{
		register.Target,
		maelstrom.Target,
		etcd.Target,
		target.Of("distal", "a protocol written in Distal, message by message (--set file=...)", system.Program{}, system.Properties),
	}),
	Programs: []target.Program{
		{Name: "etcdraft", Help: "etcd's raft, unmodified, in the version asked for", Package: module + "/etcdraft", Module: module, Dir: source(),
			Library: "go.etcd.io/raft/v3", Versions: []string{"v3.7.0", "v3.6.0"}},
		{Name: "bftsmart", Help: "BFT-SMaRt: JD's fork of the line before TLS, unmodified, four JVMs and a client", Package: module + "/bftsmart", Module: module, Dir: source()},
		{Name: "hashicorpraft", Help: "hashicorp/raft, unmodified, goroutines and all, in virtual time", Package: module + "/hashicorpraft", Module: module, Dir: source(),
			Library: "github.com/hashicorp/raft", Versions: []string{"v1.7.3", "v1.8.0", "v1.7.1", "v1.7.0", "v1.3.11", "v1.3.10"},
			Exact: func(options []string) bool { return slices.Contains(options, "tcp=true") }},
		{Name: "memberlist", Help: "hashicorp/memberlist, unmodified, over UDP and TCP in memory", Package: memberlist + "/lockstep", Module: memberlist,
			Dir: source("..", "..", "target", "memberlist"), Exact: func([]string) bool { return true }},
		{Name: "etcdserver", Help: "clusters of the real etcd server, unmodified, in virtual time", Package: etcdserver + "/program", Module: etcdserver,
			Dir: source("..", "..", "target", "etcdserver"), Exact: func([]string) bool { return true },
			Library: "go.etcd.io/etcd/server/v3", Versions: []string{"v3.6.16", "v3.7.3", "v3.5.35", "v3.5.16", "v3.5.15", "v3.5.13", "v3.5.7", "v3.5.5", "v3.5.4", "v3.5.2"}},
		{Name: "etcdserver-3.4", Help: "the same, of releases of 3.4, whose modules have other names and versions", Package: etcdserver + "/program", Module: etcdserver,
			Dir: source("..", "..", "target", "etcdserver"), Exact: func([]string) bool { return true },
			Library: "go.etcd.io/etcd", Versions: []string{"v0.5.0-alpha.5.0.20210428180535-15715dcf1ace", "v0.5.0-alpha.5.0.20200910180754-dd1b699fc489"}},
		{Name: "etcdserver-failpoints", Help: "the same, with the server's failpoints, where it can be stopped", Package: etcdserver + "/program", Module: etcdserver,
			Dir: source("..", "..", "target", "etcdserver"), Exact: func([]string) bool { return true },
			Library: "go.etcd.io/etcd/server/v3", Versions: []string{"v3.6.16", "v3.7.3", "v3.5.35"}, Overlay: failpoint.Instrument, Changed: "failpoints"},
		{Name: "nats", Help: "clusters of the real NATS server with JetStream, unmodified, in virtual time", Package: nats + "/program", Module: nats,
			Dir: source("..", "..", "target", "nats"), Exact: func([]string) bool { return true },
			Library: "github.com/nats-io/nats-server/v2", Versions: []string{"v2.15.2", "v2.12.1"}},
		{Name: "zookeeper", Help: "ZooKeeper, unmodified servers in processes, behind proxies", Package: module + "/zookeeper", Module: module, Dir: source()},
		{Name: "kafka", Help: "Kafka, unmodified servers in processes, behind proxies", Package: module + "/kafka", Module: module, Dir: source()},
		{Name: "cassandra", Help: "Cassandra's Paxos, unmodified servers in processes, behind proxies", Package: module + "/cassandra", Module: module, Dir: source()},
		{Name: "ratis", Help: "Ratis, unmodified servers in processes, behind proxies", Package: module + "/ratis", Module: module, Dir: source()},
		{Name: "cometbft", Help: "the consensus of CometBFT, unmodified, goroutines and all, in virtual time", Package: tendermint + "/program", Module: tendermint,
			Dir: source("..", "..", "target", "tendermint"), Exact: func([]string) bool { return true },
			Library: "github.com/cometbft/cometbft", Versions: []string{"v0.38.26", "v1.0.1", "v0.38.17", "v0.38.16"}},
		{Name: "tendermint", Help: "the consensus of Tendermint, likewise", Package: tendermint + "/program", Module: tendermint,
			Dir: source("..", "..", "target", "tendermint"), Exact: func([]string) bool { return true },
			Library: "github.com/tendermint/tendermint", Versions: []string{"v0.34.3", "v0.30.1", "v0.30.0"}},
	},
	Commands: []any{&commands{}, &fleet.Commands{}},
	Fleet:    fleet.Elsewhere,
	Examples: []string{"lockstep demo", "lockstep run smr-bug --runs 10000 --seed 7", "lockstep run etcdraft --set version=v3.6.0"},
}

// commands are those that are not about any targets.
type commands struct {
	Demo  demoCmd  `cmd:"" help:"Find, shrink, explain and draw the papers' bug."`
	Paper paperCmd `cmd:"" help:"Make the tables of the papers and of the documentation again."`
}

// module is the one that this program and those built on demand are in.
const (
	module     = "github.com/lockstep-go/lockstep/cmd/lockstep"
	etcdserver = "github.com/lockstep-go/lockstep/target/etcdserver"
	memberlist = "github.com/lockstep-go/lockstep/target/memberlist"
	nats       = "github.com/lockstep-go/lockstep/target/nats"
	tendermint = "github.com/lockstep-go/lockstep/target/tendermint"
)

// source is the folder that this program was built from, or one by the way from there. It may be gone.
func source(way ...string) string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) { // built with -trimpath
		return ""
	}
	return filepath.Join(append([]string{filepath.Dir(file)}, way...)...)
}

func main() { app.Main() }
