// Command program is lockstep for Tendermint or CometBFT alone, which lockstep builds on demand
// in the version asked for.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/target/tendermint/bftscenarios"
)

func main() { cli.Main(bftscenarios.Guided(tendermint.Targets)...) }
