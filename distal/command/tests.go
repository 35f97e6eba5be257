package command

import (
	"fmt"
	"runtime"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
)

// testCmd runs the tests of a file.
type testCmd struct {
	program
	Names  []string `arg:"" optional:"" help:"Tests to run; all of the file unless given."`
	Memory int64    `placeholder:"MB" help:"Memory limit of each in megabytes; 0 is 4096."`
	JSON   bool     `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (testCmd) Help() string {
	return "Exit status 1: a test does not end as it expects.\n\nExample:\n" +
		"  lockstep distal test examples/distal/benor_fixed.distal"
}

// Run runs the command.
func (t *testCmd) Run(e *cli.Env) error {
	text, err := t.read()
	if err != nil {
		return err
	}
	o := distal.ExploreOptions{Memory: t.Memory << 20, Workers: runtime.GOMAXPROCS(0),
		Progress: func(explore.Progress) bool { return e.Ctx.Err() == nil }}
	results, remarks := distal.Tests(text, o, t.Names...)
	if err := t.report(e, remarks); err != nil {
		return err
	}
	for _, r := range results {
		if !r.OK && !cut(e, r) {
			e.Found()
		}
	}
	if t.JSON {
		return e.JSON(tested{results, e.Interrupted()})
	}
	for _, r := range results {
		word := "ok  "
		switch {
		case !r.OK && cut(e, r):
			word = "????"
		case !r.OK:
			word = "FAIL"
		}
		expect := r.Expect
		if expect == "" {
			expect = "nothing"
		}
		fmt.Fprintf(e.Out, "%s %s: %s, expects %s; %d states, %s%s\n",
			word, r.Test, r.Verdict, expect, r.States, r.Complete(), t.why(r.ExploreResult))
	}
	if len(results) == 0 {
		fmt.Fprintf(e.Out, "%s has no tests\n", t.File)
	}
	e.Partial("tests searched")
	return nil
}

// why describes the violation, or what a verdict leaves open.
func (t *testCmd) why(r distal.ExploreResult) string {
	switch v := r.Violation; {
	case v != nil:
		return fmt.Sprintf("; %s is broken in phase %d, round %s (%s:%s)", v.Property, v.Phase, v.RoundName, t.File,
			v.Pos)
	case r.Reason != "":
		return "; " + r.Reason
	case r.Verdict == explore.Pass && len(r.Claims.Watched) > 0:
		return "; " + several(len(r.Claims.Watched), "condition") + " only watched"
	}
	return ""
}

// cut reports whether an interrupt ended a test early: its result is then meaningless.
func cut(e *cli.Env, r distal.TestResult) bool {
	return e.Interrupted() && r.Verdict == explore.Unknown
}

// tested is what the command test prints as JSON.
type tested struct {
	Tests       []distal.TestResult `json:"tests"`
	Interrupted bool                `json:"interrupted"`
}
