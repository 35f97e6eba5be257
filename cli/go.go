package cli

import (
	"fmt"
	"os"
	"slices"

	"github.com/lockstep-go/lockstep/bubble/overlay"
)

// goCmd runs the go command with the overlay of package bubble.
type goCmd struct {
	Args []string `arg:"" optional:"" help:"A verb of the go command and its arguments: build, test, run, vet or install."`
}

// Help returns the longer help.
func (goCmd) Help() string {
	return "Programs built with it that use package net in a bubble have their sockets in memory, and their runs " +
		"repeat exactly.\n\n" +
		"With -preempt PACKAGES, goroutines can be preempted in these packages.\n\n" +
		"Example:\n  lockstep go test ./..."
}

// Run replaces this program by the go command, whose exit status becomes the program's.
func (g *goCmd) Run(e *Env) error {
	if len(g.Args) > 0 && slices.Contains([]string{"--help", "-help", "-h", "help"}, g.Args[0]) {
		_, err := fmt.Fprintf(e.Out,
			"Usage: lockstep go build|test|run|vet|install [arguments of the go command]\n\n%s\n", g.Help())
		return err
	}
	e.status = overlay.Main(e.Ctx, g.Args, os.Stdin, e.Out, e.Err)
	return nil
}
