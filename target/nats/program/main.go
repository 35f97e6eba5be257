// Command program is the lockstep command for clusters of NATS servers alone. The lockstep command builds it on
// demand in the requested version, with the overlay.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/nats"
)

func main() { cli.Main(nats.Targets...) }
