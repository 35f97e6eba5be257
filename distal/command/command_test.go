package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/internal/testkit/clitest"
	"github.com/lockstep-go/lockstep/target"
)

// The transcripts under testdata/script run the commands as a user does.
func TestMain(m *testing.M) {
	clitest.Main(m, cli.App{Commands: []any{&Commands{}}, Targets: []target.Target{
		target.Of("distal", "a protocol written in Distal", system.Program{}, system.Properties).
			Gathered("params"),
	}}.Main)
}

// examples are the programs of the documentation.
const examples = "../../examples/distal"

func TestScripts(t *testing.T) {
	dir, err := filepath.Abs(examples)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Run(t, map[string]string{"EXAMPLES": dir})
}

// The help names the default memory limit of a search.
func TestHelp(t *testing.T) {
	limits := 0
	for _, f := range clitest.Help(t, &Commands{}) {
		if f.Name == "memory" {
			limits++
			if want := fmt.Sprintf("0 is %d.", explore.DefaultMemory>>20); !strings.Contains(f.Help, want) {
				t.Errorf("--memory: help %q, the default is %s", f.Help, want)
			}
		}
	}
	if limits != 2 {
		t.Errorf("%d commands have a memory limit, not explore and test", limits)
	}
}

// An interrupted search says nothing about the properties of the program.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := program{File: filepath.Join(examples, "paxos_fixed.distal")}
	for _, c := range []struct {
		command interface{ Run(*cli.Env) error }
		says    []string
	}{
		{&exploreCmd{program: file},
			[]string{"UNKNOWN nothing was found", "interrupted: these are the states searched until then"}},
		{&exploreCmd{program: file, JSON: true}, []string{`"verdict":"unknown"`, `"interrupted":true`}},
		{&testCmd{program: file, Names: []string{"small"}},
			[]string{"???? small: unknown, expects pass", "interrupted: these are the tests searched until then"}},
		{
			&testCmd{program: file, Names: []string{"small"}, JSON: true},
			[]string{`"verdict":"unknown"`, `"interrupted":true`},
		},
	} {
		var out, errOut bytes.Buffer
		err := c.command.Run(&cli.Env{Ctx: ctx, Out: &out, Err: &errOut})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %v", c.command, err)
		}
		for _, text := range c.says {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%+v does not say %q:\n%s%s", c.command, text, out.String(), errOut.String())
			}
		}
	}
}
