package fleet_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/fleet"
	"github.com/lockstep-go/lockstep/internal/reference"
)

// Every command and flag of a fleet is on the page about the command line.
func TestReference(t *testing.T) {
	model, err := cli.App{Commands: []any{&fleet.Commands{}}}.Model()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range model.Children {
		if c.Name != "fleet" {
			continue
		}
		err := reference.Check("../docs/reference/command-line.md", "fleet commands", reference.Commands(c, nil))
		if err != nil {
			t.Error(err)
		}
		return
	}
	t.Error("there is no command fleet")
}

// Every command line of a fleet on the pages is one that the program accepts.
func TestCommandLinesOfPages(t *testing.T) {
	t.Setenv("LOCKSTEP_FLEET", "nats://127.0.0.1:4222") // as a page does
	c := reference.Checker{App: cli.App{Commands: []any{&fleet.Commands{}}}}
	number, err := c.CheckPages("..", "fleet")
	if err != nil {
		t.Error(err)
	}
	if number < 10 {
		t.Errorf("only %d command lines", number)
	}
}
