package main

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/kit/mutants"
)

// Every fault fits the code as it is, and says what it does.
func TestFit(t *testing.T) {
	root := os.DirFS("../..")
	for _, m := range list {
		if _, err := mutants.Instrument(root, []mutants.Mutant{m}); err != nil {
			t.Errorf("adapt the fault to the code: %v", err)
		}
	}
	files, err := mutants.Instrument(root, list)
	if err != nil {
		t.FailNow()
	}
	switches := 0
	for _, f := range files {
		switches += strings.Count(string(f.Text), "if !lockstepMutant_") +
			strings.Count(string(f.Text), "lockstepMutated(lockstepMutant_")
	}
	if switches != len(list) {
		t.Errorf("%d switches for %d faults", switches, len(list))
	}
	for _, m := range list {
		if m.Does == "" || m.Name == "" {
			t.Errorf("%+v does not say what it does", m)
		}
		if !slices.Contains(packages, path.Dir(m.File)) {
			t.Errorf("the tests of %s are not built for the fault %s", path.Dir(m.File), m.Name)
		}
	}
	if n := len(list) - 1; n < 30 {
		t.Errorf("only %d faults", n)
	}
}

func TestChoose(t *testing.T) {
	if got, err := choose([]string{"fifo-overtakes"}); err != nil || len(got) != 1 || got[0].Name != "fifo-overtakes" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := choose([]string{control}); err == nil {
		t.Error("the control is no fault")
	}
	if got, err := choose(nil); err != nil || len(got) != len(list)-1 {
		t.Errorf("%d faults, %v", len(got), err)
	}
	if got := strings.Join(order(list[len(list)-1]), " "); got != "replay . strategy shrink trace" {
		t.Errorf("%q", got)
	}
}
