// Command program is lockstep for clusters of NATS servers alone, which lockstep builds on demand
// in the version asked for, with the overlay.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/nats"
)

func main() { cli.Main(nats.Targets...) }
