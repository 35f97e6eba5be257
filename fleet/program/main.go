// Command program is lockstep with the fleet's commands. The command lockstep builds it on demand.
package main

import (
	"github.com/lockstep-go/lockstep/fleet"
	"github.com/lockstep-go/lockstep/internal/command"
)

func main() {
	app := command.App(&fleet.Commands{})
	app.Fleet = fleet.Elsewhere
	app.Main()
}
