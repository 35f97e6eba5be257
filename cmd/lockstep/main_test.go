package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/clitest"
)

// The transcripts under testdata/script run the tool as a user does.
func TestMain(m *testing.M) { clitest.Main(m, main) }

func TestScripts(t *testing.T) { clitest.Run(t, nil) }
