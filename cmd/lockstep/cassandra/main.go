// Command cassandra is lockstep for Cassandra alone, which lockstep builds on demand.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/cassandra"
)

func main() { cli.Main(cassandra.Targets...) }
