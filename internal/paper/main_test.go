package main

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/clitest"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/programs"
)

// The transcripts under testdata/script run the program as lockstep does.
func TestMain(m *testing.M) { clitest.Main(m, main) }

// A mutant of a library is built with the overlay of Go if the target itself is.
func TestMutantsGetTheOverlay(t *testing.T) {
	for _, name := range []string{"etcdraft", "hashicorpraft"} {
		i := slices.IndexFunc(programs.All, func(p target.Program) bool { return p.Name == name })
		if got := (of{name}).set().Program().Exact; got != programs.All[i].Exact {
			t.Errorf("%s: with the overlay %t, the target %t", name, got, programs.All[i].Exact)
		}
	}
}

func TestScripts(t *testing.T) { clitest.Run(t, nil) }
