// Command lint is the analyzers of "go vet" and one of our own. That one checks that the packages that execute runs are
// deterministic: no wall clock, no global random source, no goroutine, no dependence on map order.
//
//	make vet
//
// runs it over all modules. In packages whose goroutines run in a bubble, goroutines and the clock are allowed: time is
// virtual there.
//
// A range over a map is allowed if its order has no effect. A comment at the end of its line or in the line before it
// must state the reason: //lockstep:unordered the results are summed up.
package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
)

func main() { multichecker.Main(append(vet, determinism)...) }

const module = "github.com/lockstep-go/lockstep"

// packages are the packages that are checked, with all packages below them. The root package is checked as well, but
// not the packages below it.
var packages = []string{
	"trace",
	"rounds",
	"strategy",
	"scenario",
	"gen",
	"sim",
	"bubble",
	"distal",
	"cover",
	"coverage",
	"spec",
	"isolation",
	"lockstepform",
	"shrink",
	"replay",
	"kit",
	"target",
}

// realTime are the packages among them with real time: they run processes, or they report how long a search
// or a campaign takes.
var realTime = []string{
	"distal/command",
	"kit/published",
	"target/bftsmart",
	"target/cassandra",
	"target/etcd",
	"target/kafka",
	"target/maelstrom",
	"target/netrix",
	"target/ratis",
	"target/zookeeper",
}

// bubbled are the packages among them whose goroutines run in a bubble: time is virtual there, and the overlay orders
// goroutines.
var bubbled = []string{
	"bubble",
	"target/etcdserver",
	"target/hashicorpraft",
	"target/memberlist",
	"target/nats",
	"target/tendermint",
	"target/upgrade",
}

var determinism = &analysis.Analyzer{
	Name: "determinism",
	Doc:  "forbids the wall clock, global random sources, goroutines and ranges over maps where runs happen",
	Run:  run,
}

// forbidden are the forbidden functions of each package. An empty list forbids all functions but the allowed ones.
var forbidden = map[string][]string{
	"time":         {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"},
	"math/rand":    nil,
	"math/rand/v2": nil,
	"crypto/rand":  nil,
}

// allowed are the constructors with an explicit seed or source, and the function that seeds a library's source.
var allowed = []string{"Seed", "New", "NewPCG", "NewChaCha8", "NewSource", "NewZipf"}

func checked(path string) bool {
	if path == module || path == "a" { // "a" is the analyzer's own test
		return true
	}
	return within(path, packages) && !within(path, realTime)
}

// within reports whether a package is one of those in a list, or below one.
func within(path string, list []string) bool {
	name, ok := strings.CutPrefix(path, module+"/")
	return ok && slices.ContainsFunc(list, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

func run(pass *analysis.Pass) (any, error) {
	if !checked(pass.Pkg.Path()) || pass.Pkg.Name() == "main" { // a command may have a clock
		return nil, nil
	}
	inBubble := within(pass.Pkg.Path(), bubbled)
	for _, file := range pass.Files {
		if strings.HasSuffix(pass.Fset.Position(file.Pos()).Filename, "_test.go") {
			continue
		}
		excused := excuses(pass, file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				if inBubble {
					return true
				}
				pass.Reportf(n.Pos(),
					"goroutine in a package where runs happen: whole runs are spread by internal/pool")
			case *ast.SelectorExpr:
				checkUse(pass, n, inBubble)
			case *ast.RangeStmt:
				if overMap(pass, n.X) && !excused[pass.Fset.Position(n.Pos()).Line] {
					pass.Reportf(n.Pos(),
						"range over a map: sort the keys, or say in a comment //lockstep:unordered why the order cannot show")
				}
			}
			return true
		})
	}
	return nil, nil
}

// excuses returns the lines whose range over a map is excused, by a comment at their end or in the line before.
func excuses(pass *analysis.Pass, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if why, ok := strings.CutPrefix(c.Text, "//lockstep:unordered"); ok && strings.TrimSpace(why) != "" {
				lines[pass.Fset.Position(c.Pos()).Line] = true
				lines[pass.Fset.Position(group.End()).Line+1] = true
			}
		}
	}
	return lines
}

func checkUse(pass *analysis.Pass, sel *ast.SelectorExpr, inBubble bool) {
	f, ok := pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Signature().Recv() != nil || inBubble && f.Pkg().Path() == "time" {
		return
	}
	names, ok := forbidden[f.Pkg().Path()]
	if !ok || len(names) > 0 && !slices.Contains(names, f.Name()) ||
		len(names) == 0 && slices.Contains(allowed, f.Name()) {
		return
	}
	pass.Reportf(sel.Pos(), "%s.%s in a package where runs happen: time is virtual and every source is seeded",
		f.Pkg().Name(), f.Name())
}

// overMap reports whether a range iterates over a map, or over its keys or values unsorted.
func overMap(pass *analysis.Pass, x ast.Expr) bool {
	if t := pass.TypesInfo.TypeOf(x); t != nil {
		if _, ok := t.Underlying().(*types.Map); ok {
			return true
		}
	}
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "maps" && token.IsExported(f.Name())
}
