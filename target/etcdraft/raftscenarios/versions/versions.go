// Package versions lists the versions of etcd's raft that the scenarios run on. It is separate from the scenarios
// because a program built for another version cannot link all of these.
package versions

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
)

// All are the version of the Netrix paper, and the newest version.
var All = []raftscenarios.Version{
	{Name: "v3.5.2", On: func(c etcdraft.Cluster) lockstep.System { return v35.Cluster(c) }},
	{Name: "v3.7", On: func(c etcdraft.Cluster) lockstep.System { return c }},
}
