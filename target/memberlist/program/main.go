// Command program is the lockstep command for hashicorp/memberlist alone. The lockstep command builds it on demand,
// with the overlay.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/memberlist"
)

func main() { cli.Main(memberlist.Target) }
