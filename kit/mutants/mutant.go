// Package mutants plants known mistakes in a library under test, to measure what finds them.
// A mutant changes one expression or leaves out one statement of the library, and with it
// one sentence of the paper or page that says what it must do. A target keeps its list of them as
// a [Set].
//
// Nothing of the library is kept here. [Instrument] reads the files of the library's own
// module, looks every place up in the syntax tree and puts a switch there; [Set.Program] is
// the target that is built with the result as an overlay. One program carries all mutants.
// The environment variable LOCKSTEP_MUTANT names the one that is on, and without it the
// program does what the library does. A [Trial] lets strategies look for them.
package mutants

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/target"
)

// Variable is the environment variable that switches a mutant on.
const Variable = target.MutantVariable

// Set is the mutants of one library.
type Set struct {
	// Target is the name of the target that tests the library.
	Target string
	// Module is the path of the library that is changed, and Version the one that the mutants
	// are made for.
	Module, Version string
	// List is the mutants, area by area.
	List []Mutant
	// Strategies are the ones that a trial compares unless told otherwise.
	Strategies []string
	// Exact says that the program is built with the overlay of Go, as that of the target is.
	Exact bool
}

// Check reports what is missing in the set: a mutant that does not say all that the tables
// show, is neither a changed expression nor a statement left out, names no place for its rule,
// or has the name of another.
func (s Set) Check() error {
	var problems []error
	seen := map[string]bool{}
	for _, m := range s.List {
		wrong := func(text string) {
			problems = append(problems, fmt.Errorf("mutant %q of %s %s", m.Name, s.Target, text))
		}
		if slices.Contains([]string{m.Name, string(m.Area), m.File, m.Func, m.Does, m.Breaks, m.Load.Name, m.Load.Why}, "") {
			wrong("lacks its name, area, file, function, what it does, what it breaks or its workload")
		}
		if (m.Expr == "") == (m.Stmt == "") || (m.Expr == "") != (m.By == "") {
			wrong("must have either an expression with what stands in its place, or a statement")
		}
		if !strings.HasSuffix(m.Breaks, ")") {
			wrong("does not say, in brackets at the end, where the rule stands that it breaks")
		}
		if seen[m.Name] {
			wrong("is there twice")
		}
		seen[m.Name] = true
	}
	return errors.Join(problems...)
}

// Program is the target that carries mutants: its program, built with a changed library.
func (s Set) Program() target.Program {
	home := target.Root + "/target/" + s.Target
	return target.Program{Name: s.Target, Help: s.Target + " with mutants", Package: home + "/program", Module: home,
		Library: s.Module, Versions: []string{s.Version}, Changed: target.Mutants, Exact: s.Exact,
		Overlay: func(library fs.FS) (map[string][]byte, error) {
			if err := s.Check(); err != nil {
				return nil, err
			}
			files, err := Instrument(library, s.List)
			changed := map[string][]byte{}
			for _, f := range files {
				changed[f.Name] = f.Text
			}
			return changed, err
		}}
}

// Mutant is one mistake. Exactly one of Expr and Stmt is set; its text must occur exactly
// once in the function, or the library is not the one that the mutant was made for.
type Mutant struct {
	Name string `json:"name"`
	// Area is the part of the protocol that is broken.
	Area Area `json:"area"`
	// File and Func say where: a file of the module, and a function "name" or method
	// "type.name" in it.
	File string `json:"file"`
	Func string `json:"func"`
	// Expr is the expression in whose place By stands. Both are evaluated, so that neither
	// may have effects.
	Expr string `json:"expr,omitempty"`
	By   string `json:"by,omitempty"`
	// Stmt is the statement that is left out.
	Stmt string `json:"stmt,omitempty"`
	// Does says what goes wrong, and Breaks which rule that breaks and where the rule
	// stands.
	Does   string `json:"does"`
	Breaks string `json:"breaks"`
	// Needs says, of a mutant that is hardly ever killed, which kind of run it would take and
	// why the strategies do not make it.
	Needs string `json:"needs,omitempty"`
	// Load is the workload that reaches the place.
	Load Load `json:"load"`
}

// Area is a part of the protocol.
type Area string

// The areas of a Raft. Other protocols have their own.
const (
	Votes     Area = "votes"
	Terms     Area = "terms"
	Matching  Area = "log matching"
	Commits   Area = "commitment"
	Members   Area = "configuration changes"
	Reads     Area = "reads"
	Snapshots Area = "snapshots"
	Flow      Area = "flow control"
)

// Load is a workload: options of the target, and the settling stage.
type Load struct {
	Name string `json:"name"`
	// Set are options of the target, as on the command line.
	Set []string `json:"set,omitempty"`
	// Settle is the number of steps of the settling stage, which liveness needs.
	Settle int `json:"settle,omitempty"`
	// Why says what the options are for.
	Why string `json:"why"`
}

// String is the load as flags of the command line.
func (l Load) String() string {
	var words []string
	for _, s := range l.Set {
		words = append(words, "--set "+s)
	}
	if l.Settle > 0 {
		words = append(words, fmt.Sprintf("--settle %d", l.Settle))
	}
	return strings.Join(words, " ")
}

// Find looks mutants up by name; no name means all. The error lists the names there are.
func (s Set) Find(names ...string) ([]Mutant, error) {
	all := s.List
	if len(names) == 0 {
		return all, nil
	}
	var found []Mutant
	for _, name := range names {
		i := slices.IndexFunc(all, func(m Mutant) bool { return m.Name == name })
		if i < 0 {
			var known []string
			for _, m := range all {
				known = append(known, m.Name)
			}
			return nil, fmt.Errorf("unknown mutant %q: one of %s", name, strings.Join(known, ", "))
		}
		found = append(found, all[i])
	}
	return found, nil
}
