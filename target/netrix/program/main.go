// Command program is lockstep for programs that were instrumented for Netrix, which lockstep builds on demand.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/netrix"
)

func main() { cli.Main(netrix.Target) }
