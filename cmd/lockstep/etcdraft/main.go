// Command etcdraft is lockstep for etcd's raft alone, which lockstep builds on demand in the
// version asked for.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
)

func main() { cli.Main(raftscenarios.Guided(etcdraft.Targets)...) }
