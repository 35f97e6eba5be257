// Command program is the lockstep command for hashicorp/raft alone. The lockstep command builds it on demand in the
// requested version.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/distal/command"
	"github.com/lockstep-go/lockstep/target/hashicorpraft"
)

func main() {
	cli.App{Targets: hashicorpraft.Targets, Conform: command.Conform, Suite: command.Suite}.Main()
}
