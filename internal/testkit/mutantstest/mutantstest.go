// Package mutantstest has helpers for the tests of mutant sets. They build a set's program, run a campaign with an
// enabled mutant, and compare the page that describes the mutants with the set.
package mutantstest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/build"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/kit/mutants"
	"github.com/lockstep-go/lockstep/target"
)

// Build builds the program of a target, or skips the test if there is no go tool.
func Build(t *testing.T, p target.Program) string {
	t.Helper()
	outside.Program(t, "go")
	b := build.Builder{Cache: t.TempDir()}
	program, err := b.Program(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Run runs a program with an enabled mutant and returns its standard output and standard error.
func Run(program, mutant string, args ...string) (out, errors string, err error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), mutants.Variable+"="+mutant)
	var to [2]bytes.Buffer
	cmd.Stdout, cmd.Stderr = &to[0], &to[1]
	err = cmd.Run()
	return to[0].String(), to[1].String(), err
}

// Page checks that a page has the tables that are generated from the set. Each mutant must have a row that describes it
// and one with results.
func Page(t *testing.T, s mutants.Set, file string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list, loads strings.Builder
	if err := mutants.WriteList(&list, s.List); err != nil {
		t.Fatal(err)
	}
	if err := mutants.WriteLoads(&loads, s.List); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{list.String(), loads.String()} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%s lacks a table of lockstep paper mutants list --of %s --markdown:\n%s", file, s.Target, want)
		}
	}
	for _, m := range s.List {
		if n := strings.Count(string(page), "\n| "+m.Name+" |"); n != 2 {
			t.Errorf("%s has %d rows for %s, want one that describes it and one with results", file, n, m.Name)
		}
	}
}
