package mutants_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lockstep-go/lockstep/kit/mutants"
)

const library = `package lib

// T counts.
type T struct{ n int }

func (t *T) Add(a, b int) bool {
	t.n++ // a comment
	if a < b && b > 0 {
		return true
	}
	t.n++
	return a < b
}

func Twice(a int) int { return 2 * a }
`

func instrument(list ...mutants.Mutant) ([]mutants.File, error) {
	return mutants.Instrument(fstest.MapFS{"lib.go": {Data: []byte(library)}}, list)
}

// TestNested inserts one mutant inside another, and two at the same position.
func TestNested(t *testing.T) {
	files, err := instrument(mutants.Mutant{Name: "inner", File: "lib.go", Func: "T.Add", Expr: "b > 0", By: "b < 0"},
		mutants.Mutant{Name: "outer", File: "lib.go", Func: "T.Add", Expr: "a < b && b > 0", By: "true"},
		mutants.Mutant{Name: "same", File: "lib.go", Func: "T.Add", Expr: "b > 0", By: "false"})
	if err != nil {
		t.Fatal(err)
	}
	want := "if lockstepMutated(lockstepMutant_outer, a < b && lockstepMutated(lockstepMutant_inner, " +
		"lockstepMutated(lockstepMutant_same, b > 0, false), b < 0), true) {"
	if got := string(files[0].Text); !strings.Contains(got, want) {
		t.Errorf("want %s in\n%s", want, got)
	}
	if lines := strings.Count(string(files[0].Text), "\n"); lines != strings.Count(library, "\n") {
		t.Errorf("%d lines, the file has %d", lines, strings.Count(library, "\n"))
	}
}

// TestOtherLibrary rejects a library that the mutants do not fit.
func TestOtherLibrary(t *testing.T) {
	for _, c := range []struct {
		mutant mutants.Mutant
		want   string
	}{
		{mutants.Mutant{Name: "m", File: "lib.go", Func: "T.Sub", Stmt: "t.n++"}, "lib.go has no function T.Sub"},
		{mutants.Mutant{Name: "m", File: "lib.go", Func: "T.Add", Stmt: "t.n++"},
			`"t.n++" is 2 times in T.Add of lib.go`},
		{mutants.Mutant{Name: "m", File: "lib.go", Func: "Twice", Expr: "3 * a", By: "a"},
			`"3 * a" is 0 times in Twice of lib.go`},
		{mutants.Mutant{Name: "m", File: "gone.go", Func: "Twice", Expr: "2 * a", By: "a"}, "gone.go"},
		{mutants.Mutant{Name: "m", File: "lib.go", Func: "Twice", Expr: "2 * a", By: "a +"}, "lib.go"},
	} {
		if _, err := instrument(c.mutant); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.mutant, err, c.want)
		}
	}
}

func ExampleInstrument() {
	files, err := instrument(
		mutants.Mutant{Name: "too-much", File: "lib.go", Func: "Twice", Expr: "2 * a", By: "3 * a"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Println("--", f.Name)
		for line := range strings.Lines(string(f.Text)) {
			if strings.Contains(line, "too_much") {
				fmt.Println(strings.TrimSpace(line))
			}
		}
	}
	// Output:
	// -- lib.go
	// func Twice(a int) int { return lockstepMutated(lockstepMutant_too_much, 2*a, 3*a) }
	// -- lockstep_mutants.go
	// lockstepMutant_too_much = lockstepMutant == "too-much"
}

var set = mutants.Set{
	Target: "lib",
	List:   []mutants.Mutant{{Name: "inner", Does: "compares the wrong way"}, {Name: "outer", Does: "adds nothing"}},
}

// TestCheck rejects a set of incomplete mutants and lists the problems of each.
func TestCheck(t *testing.T) {
	good := mutants.Mutant{
		Name:   "a",
		Area:   mutants.Votes,
		File:   "a.go",
		Func:   "f",
		Stmt:   "x()",
		Does:   "d",
		Breaks: "r (§1)",
		Load:   mutants.Load{Name: "l", Why: "w"},
	}
	twice, both, nowhere, nameless := good, good, good, good
	both.Name, both.Expr = "b", "y"
	nowhere.Name, nowhere.Breaks = "c", "a rule"
	nameless.Name = ""
	if err := (mutants.Set{Target: "t", List: []mutants.Mutant{good}}).Check(); err != nil {
		t.Error(err)
	}
	set := mutants.Set{Target: "t", List: []mutants.Mutant{good, twice, both, nowhere, nameless}}
	want := `mutant "a" of t is there twice
mutant "b" of t must have either an expression with what stands in its place, or a statement
mutant "c" of t does not say, in brackets at the end, where the rule stands that it breaks
mutant "" of t lacks its name, area, file, function, what it does, what it breaks or its workload`
	if err := set.Check(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := set.Program().Overlay(fstest.MapFS{}); err == nil || err.Error() != want {
		t.Errorf("it is built all the same: %v", err)
	}
}

func ExampleSet_Find() {
	list, err := set.Find("outer")
	fmt.Println(list[0].Does, err)
	_, err = set.Find("magic")
	fmt.Println(err)
	// Output:
	// adds nothing <nil>
	// unknown mutant "magic": one of inner, outer
}

func ExampleSet_Program() {
	fmt.Println(mutants.Set{Target: "lib", Module: "example.com/lib", Version: "v1.0.0"}.Program().Help)
	// Output: lib with mutants
}
