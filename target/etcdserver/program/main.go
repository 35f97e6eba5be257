// Command program is lockstep for etcd's servers alone, which lockstep builds on demand in the
// version asked for, with the overlay.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/etcdserver"
)

func main() { cli.Main(etcdserver.Targets...) }
