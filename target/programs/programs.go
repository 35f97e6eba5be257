// Package programs describes the targets that the lockstep command builds on demand. Each is a main package
// target/NAME/program, most in separate modules. The descriptions are here, in the root module, so that the command
// knows every target without linking its dependencies.
package programs

import (
	"github.com/lockstep-go/lockstep/kit/failpoint"
	"github.com/lockstep-go/lockstep/target"
)

// All lists the programs in the order in which the command lists them.
var All = []target.Program{
	in(
		"etcdraft",
		target.Program{Help: "etcd's raft, unmodified, with a replicated map and its clients",
			Library: "go.etcd.io/raft/v3", Versions: []string{"v3.7.0", "v3.6.0"}},
	),
	in("etcdraft", target.Program{Name: "etcdraft35", Help: "etcd's raft v3.5.2, unmodified",
		Counted: []string{"go.etcd.io/etcd/raft/v3/..."}}),
	in("bftsmart",
		target.Program{Help: "BFT-SMaRt without TLS (JD's fork), unmodified, four JVMs and a client"}),
	in("hashicorpraft", target.Program{Help: "hashicorp/raft, unmodified, with its goroutines, in virtual time",
		Library: "github.com/hashicorp/raft", Versions: []string{"v1.7.3", "v1.8.0", "v1.7.1", "v1.7.0", "v1.3.11",
			"v1.3.10"},
		Oldest: "v1.3.7", Exact: true}),
	in("memberlist", target.Program{Help: "hashicorp/memberlist, unmodified, over UDP and TCP in memory", Exact: true,
		Counted: []string{"github.com/hashicorp/memberlist/..."}}),
	in("etcdserver", target.Program{Help: "clusters of the real etcd server, unmodified, in virtual time", Exact: true,
		Library: "go.etcd.io/etcd/server/v3",
		Counted: etcdPackages,
		Versions: []string{
			"v3.6.16",
			"v3.7.3",
			"v3.5.35",
			"v3.5.16",
			"v3.5.15",
			"v3.5.13",
			"v3.5.7",
			"v3.5.5",
			"v3.5.4",
			"v3.5.2",
		}}),
	in("etcdserver", target.Program{Name: "etcdserver-3.4",
		Help:  "etcdserver for releases 3.4, whose modules have other names and versions",
		Exact: true, Library: "go.etcd.io/etcd",
		Counted: []string{"go.etcd.io/etcd/...", "go.etcd.io/bbolt/..."},
		Versions: []string{
			"v0.5.0-alpha.5.0.20210428180535-15715dcf1ace",
			"v0.5.0-alpha.5.0.20200910180754-dd1b699fc489",
		}}),
	in(
		"etcdserver",
		target.Program{
			Name:     "etcdserver-failpoints",
			Help:     "etcdserver with the server's failpoints, where the strategy can pause and crash it",
			Exact:    true,
			Library:  "go.etcd.io/etcd/server/v3",
			Counted:  etcdPackages,
			Versions: []string{"v3.6.16", "v3.7.3", "v3.5.35"},
			Overlay:  failpoint.Instrument,
			Changed:  "failpoints",
		},
	),
	in(
		"etcdserver",
		target.Program{
			Name:     "etcdserver-unchecked",
			Help:     "etcdserver without CheckQuorum: a leader stays leader in a minority, as in etcd of 2014",
			Exact:    true,
			Library:  "go.etcd.io/etcd/server/v3",
			Versions: []string{"v3.6.16", "v3.7.3"},
			Overlay:  withoutCheckQuorum,
			Changed:  "unchecked",
		},
	),
	in(
		"nats",
		target.Program{
			Help:     "clusters of the real NATS server with JetStream, unmodified, in virtual time",
			Exact:    true,
			Library:  "github.com/nats-io/nats-server/v2",
			Versions: []string{"v2.15.2", "v2.12.1"},
			Oldest:   "v2.11.4",
		},
	),
	upgrade("etcdserver", target.Program{
		Help:     "clusters of the real etcd server that are upgraded member by member, in virtual time",
		Library:  "go.etcd.io/etcd/server/v3",
		Versions: []string{"v3.5.35+v3.6.16", "v3.5.16+v3.6.16", "v3.6.16+v3.7.3"},
	}),
	light("netrix", "a program instrumented for Netrix, in any language (--set bin='./replica {id} {server} {self}')"),
	light("etcd", "etcd, unmodified servers in processes, behind proxies"),
	in("zookeeper", target.Program{Help: "ZooKeeper, unmodified servers in processes, behind proxies"}),
	in("kafka", target.Program{Help: "Kafka, unmodified servers in processes, behind proxies"}),
	in(
		"tendermint",
		target.Program{
			Name:     "cometbft",
			Help:     "the consensus of CometBFT, unmodified, with its goroutines, in virtual time",
			Exact:    true,
			Library:  "github.com/cometbft/cometbft",
			Versions: []string{"v0.38.26", "v1.0.1", "v0.38.17", "v0.38.16"},
		},
	),
	in("tendermint", target.Program{
		Help:     "the consensus of Tendermint, unmodified, with its goroutines, in virtual time",
		Exact:    true,
		Library:  "github.com/tendermint/tendermint",
		Versions: []string{"v0.34.3", "v0.30.1", "v0.30.0"},
	}),
}

// etcdPackages are the packages of etcd's server: its own, its raft, which was part of it before 3.6, and its storage.
var etcdPackages = []string{"go.etcd.io/etcd/server/v3/...", "go.etcd.io/etcd/raft/v3/...", "go.etcd.io/raft/v3/...",
	"go.etcd.io/bbolt/..."}

// upgrade describes a program NAME-upgrade that links several versions of a server, each by a copy of the package
// target/NAME/release.
func upgrade(name string, p target.Program) target.Program {
	p.Name, p.Exact = name+"-upgrade", true
	p.Module = target.Root + "/target/" + name
	p.Border = p.Module + "/release"
	p.Package = target.Root + "/target/upgrade"
	return p
}

// light describes a program target/NAME/program of the root module, whose dependencies are light. It is not linked into
// the command, because it would bring net/http along, and the command is quick to install.
func light(name, help string) target.Program {
	return target.Program{Name: name, Help: help, Module: target.Root,
		Package: target.Root + "/target/" + name + "/program"}
}

// in completes the description of a program in the module target/DIR; its name is DIR unless it has one.
func in(dir string, p target.Program) target.Program {
	if p.Name == "" {
		p.Name = dir
	}
	p.Module = target.Root + "/target/" + dir
	p.Package = p.Module + "/program"
	return p
}
