// Package mutants plants known mistakes in etcd's raft library, to measure what finds
// them. A mutant changes one expression or leaves out one statement of the library, and
// with it one sentence of the Raft paper.
//
// Nothing of the library is kept here. [Instrument] reads the files of the library's own
// module, looks every place up in the syntax tree and puts a switch there; [Program] is the
// target that is built with the result as an overlay.
// One program carries all mutants. The environment variable LOCKSTEP_MUTANT names the
// one that is on, and without it the program does what the library does.
package mutants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// Module is the path of the library that is changed.
const Module = "go.etcd.io/raft/v3"

// Version is the version of the library that the mutants are made for.
const Version = "v3.7.0"

// Variable is the environment variable that switches a mutant on.
const Variable = raftlib.MutantVariable

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

// The areas.
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
	// Set are options of the target etcdraft, as on the command line.
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

// All lists the mutants, area by area.
func All() []Mutant {
	return slices.Concat(votes(), terms(), matching(), commits(), members(), reads(), snapshots(), flow())
}

// Find looks mutants up by name; no name means all. The error lists the names there are.
func Find(names ...string) ([]Mutant, error) {
	all := All()
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
