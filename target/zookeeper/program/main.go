// Command program is lockstep for ZooKeeper alone, which lockstep builds on demand.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/zookeeper"
)

func main() { cli.Main(zookeeper.Targets...) }
