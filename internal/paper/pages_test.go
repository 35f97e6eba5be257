package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/reference"
)

// Every command line of the tables on the pages is one that the program accepts.
func TestCommandLinesOfPages(t *testing.T) {
	c := reference.Checker{App: cli.App{Commands: []any{&commands{}}}}
	number, err := c.CheckPages("../..", "paper")
	if err != nil {
		t.Error(err)
	}
	if number < 40 {
		t.Errorf("only %d command lines", number)
	}
}
