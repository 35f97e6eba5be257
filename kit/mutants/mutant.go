// Package mutants plants known bugs in a library under test, to measure which strategies find them. A mutant changes
// one expression or omits one statement of the library. It thereby breaks one sentence of the paper or page that
// specifies the library. A target declares its mutants as a [Set].
//
// The package contains no code of the library. [Instrument] reads the files of the library's own module, looks up
// every position in the syntax tree and inserts a switch there. [Set.Program] is the target, built with the result as
// an overlay. One program carries all mutants. The environment variable LOCKSTEP_MUTANT names the active mutant;
// without it the program behaves like the library. A [Trial] lets strategies look for the mutants.
package mutants

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/target"
)

// Variable is the environment variable that activates a mutant.
const Variable = target.MutantVariable

// Set is the mutants of one library.
type Set struct {
	// Target is the name of the target that tests the library.
	Target string
	// Module is the path of the changed library, and Version the version that the mutants fit.
	Module, Version string
	// List is the mutants, grouped by area.
	List []Mutant
	// Strategies are the strategies that a trial compares by default.
	Strategies []string
	// Exact reports whether the program is built with Lockstep's overlay of Go, like the program of the target.
	Exact bool
}

// Check reports the problems of the set. A mutant has a problem if it lacks a field that the tables show, or neither
// changes an expression nor omits a statement. It also has one if it cites no source for its rule or shares its name
// with another mutant.
func (s Set) Check() error {
	var problems []error
	seen := map[string]bool{}
	for _, m := range s.List {
		wrong := func(text string) {
			problems = append(problems, fmt.Errorf("mutant %q of %s %s", m.Name, s.Target, text))
		}
		if slices.Contains([]string{m.Name, string(m.Area), m.File, m.Func, m.Does, m.Breaks, m.Load.Name, m.Load.Why},
			"") {
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

// Program is the target that carries mutants: its program, built with the changed library.
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

// Mutant is one bug. Exactly one of Expr and Stmt is set. Its text must occur exactly once in the function; otherwise
// the mutant does not fit the library.
type Mutant struct {
	Name string `json:"name"`
	// Area is the part of the protocol that is broken.
	Area Area `json:"area"`
	// File and Func are the position: a file of the module, and a function "name" or method "type.name" in it.
	File string `json:"file"`
	Func string `json:"func"`
	// Expr is the expression that By replaces. The program evaluates both, so neither may have side effects.
	Expr string `json:"expr,omitempty"`
	By   string `json:"by,omitempty"`
	// Stmt is the omitted statement.
	Stmt string `json:"stmt,omitempty"`
	// Does describes the effect, and Breaks the violated rule with its source.
	Does   string `json:"does"`
	Breaks string `json:"breaks"`
	// Needs applies to a mutant that strategies hardly ever kill. It describes the kind of run that a kill would
	// take, and why the strategies do not produce it.
	Needs string `json:"needs,omitempty"`
	// Load is the workload that reaches the mutant.
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
	// Set is the list of the target's options, as on the command line.
	Set []string `json:"set,omitempty"`
	// Settle is the number of steps of the settling stage, which liveness needs.
	Settle int `json:"settle,omitempty"`
	// Why is the reason for the options.
	Why string `json:"why"`
}

// String is the load as command-line flags.
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

// Find looks up mutants by name; no name means all. The error lists the known names.
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
