// Command program is the lockstep command for Tendermint or CometBFT alone. The lockstep command builds it on demand
// in the requested version.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/target/tendermint/bftscenarios"
)

func main() {
	cli.App{Targets: bftscenarios.Guided(tendermint.Targets), Commands: []any{&bftscenarios.Commands{}}}.Main()
}
