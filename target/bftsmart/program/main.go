// Command program is lockstep for BFT-SMaRt alone, which lockstep builds on demand.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/bftsmart"
)

func main() { cli.Main(bftsmart.Target) }
