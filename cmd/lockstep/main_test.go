package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/cli/clitest"
)

// The transcripts under testdata/script run the tool as a user would.
func TestMain(m *testing.M) { clitest.Main(m, main) }

func TestScripts(t *testing.T) { clitest.Run(t, nil) }

// The programs are described without mistakes.
func TestPrograms(t *testing.T) {
	for _, p := range app.Programs {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
}
