// Command program is lockstep for etcd's servers in processes, which lockstep builds on demand.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/etcd"
)

func main() { cli.Main(etcd.Target) }
