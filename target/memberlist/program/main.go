// Command program is lockstep for hashicorp/memberlist alone, which lockstep builds on demand, with the
// overlay.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/memberlist"
)

func main() { cli.Main(memberlist.Target) }
