package mutants_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lockstep-go/lockstep/target/etcdraft/mutants"
)

// TestCatalog checks that every mutant says all that the documentation shows.
func TestCatalog(t *testing.T) {
	list := mutants.All()
	if len(list) < 24 {
		t.Errorf("%d mutants, want at least 24", len(list))
	}
	var names []string
	areas := map[mutants.Area]int{}
	for _, m := range list {
		names = append(names, m.Name)
		areas[m.Area]++
		if m.Name == "" || m.File == "" || m.Func == "" || m.Does == "" || m.Breaks == "" || m.Load.Name == "" || m.Load.Why == "" {
			t.Errorf("incomplete: %+v", m)
		}
		if (m.Expr == "") == (m.Stmt == "") || (m.Expr == "") != (m.By == "") {
			t.Errorf("%s: either an expression with what stands in its place, or a statement", m.Name)
		}
		if !strings.ContainsAny(m.Breaks, "§") && !strings.Contains(m.Breaks, "Fig.") {
			t.Errorf("%s: no place in the paper: %s", m.Name, m.Breaks)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(list) {
		t.Error("two mutants have the same name")
	}
	for _, a := range []mutants.Area{mutants.Votes, mutants.Terms, mutants.Matching, mutants.Commits, mutants.Members, mutants.Reads, mutants.Snapshots, mutants.Flow} {
		if areas[a] == 0 {
			t.Errorf("no mutant in the area %s", a)
		}
	}
}

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

// TestNested puts one mutant inside another, and two at the same place.
func TestNested(t *testing.T) {
	files, err := instrument(
		mutants.Mutant{Name: "inner", File: "lib.go", Func: "T.Add", Expr: "b > 0", By: "b < 0"},
		mutants.Mutant{Name: "outer", File: "lib.go", Func: "T.Add", Expr: "a < b && b > 0", By: "true"},
		mutants.Mutant{Name: "same", File: "lib.go", Func: "T.Add", Expr: "b > 0", By: "false"},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := "if lockstepMutated(lockstepMutant_outer, a < b && lockstepMutated(lockstepMutant_inner, lockstepMutated(lockstepMutant_same, b > 0, false), b < 0), true) {"
	if got := string(files[0].Text); !strings.Contains(got, want) {
		t.Errorf("want %s in\n%s", want, got)
	}
	if lines := strings.Count(string(files[0].Text), "\n"); lines != strings.Count(library, "\n") {
		t.Errorf("%d lines, the file has %d", lines, strings.Count(library, "\n"))
	}
}

// TestOtherLibrary refuses a library that the mutants were not made for.
func TestOtherLibrary(t *testing.T) {
	for _, c := range []struct {
		mutant mutants.Mutant
		want   string
	}{
		{mutants.Mutant{Name: "m", File: "lib.go", Func: "T.Sub", Stmt: "t.n++"}, "lib.go has no function T.Sub"},
		{mutants.Mutant{Name: "m", File: "lib.go", Func: "T.Add", Stmt: "t.n++"}, `"t.n++" is 2 times in T.Add of lib.go`},
		{mutants.Mutant{Name: "m", File: "lib.go", Func: "Twice", Expr: "3 * a", By: "a"}, `"3 * a" is 0 times in Twice of lib.go`},
		{mutants.Mutant{Name: "m", File: "gone.go", Func: "Twice", Expr: "2 * a", By: "a"}, "gone.go"},
		{mutants.Mutant{Name: "m", File: "lib.go", Func: "Twice", Expr: "2 * a", By: "a +"}, "lib.go"},
	} {
		if _, err := instrument(c.mutant); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.mutant, err, c.want)
		}
	}
}

func ExampleInstrument() {
	files, err := instrument(mutants.Mutant{Name: "too-much", File: "lib.go", Func: "Twice", Expr: "2 * a", By: "3 * a"})
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

func ExampleFind() {
	list, err := mutants.Find("vote-twice", "commit-old-term")
	for _, m := range list {
		fmt.Printf("%s: %s\n", m.Name, m.Does)
	}
	fmt.Println(err)
	_, err = mutants.Find("magic")
	fmt.Println(err.Error()[:41])
	// Output:
	// vote-twice: a node votes for whoever asks, whomever it voted for in this term
	// commit-old-term: a leader counts copies of entries of earlier terms
	// <nil>
	// unknown mutant "magic": one of vote-twice
}
