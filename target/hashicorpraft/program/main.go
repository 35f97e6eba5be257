// Command program is lockstep for hashicorp/raft alone, which lockstep builds on demand in
// the version asked for.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/hashicorpraft"
)

func main() { cli.Main(hashicorpraft.Targets...) }
