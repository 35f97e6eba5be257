// Command lockstep explores, replays, shrinks and explains runs of replicated systems.
package main

import "github.com/lockstep-go/lockstep/internal/command"

func main() { command.App(&command.FleetCommands{}).Main() }
