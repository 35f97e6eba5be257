// Command ratis is lockstep for Ratis alone, which lockstep builds on demand.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/ratis"
)

func main() { cli.Main(ratis.Targets...) }
