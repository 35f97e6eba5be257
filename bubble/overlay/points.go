package overlay

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// PointsTag is the build tag of programs whose goroutines can be preempted, besides [Tag].
const PointsTag = "lockstep_points"

// pointsFlags make the compiler call functions of the runtime where a function begins and before accesses to memory.
// These calls are those of the race detector, and the overlay has other functions of these names.
const pointsFlags = "-race -d=checkptr=0"

// points are the edits for programs whose goroutines can be preempted. They belong to an overlay of their own, so that
// other programs stay as they are. The compiler inlines no function of sync and sync/atomic into the chosen packages.
var points = map[string]func(*source){
	"sync/mutex.go": point("(*Mutex).Lock", "(*Mutex).TryLock"),
	"sync/rwmutex.go": point(
		"(*RWMutex).Lock", "(*RWMutex).TryLock", "(*RWMutex).RLock", "(*RWMutex).TryRLock"),
	"sync/hashtriemap.go|sync/map.go": exportedPoints, // the first name is that of Go 1.25
	"sync/atomic/type.go":             exportedPoints,
	"sync/atomic/value.go": point(
		"(*Value).Load", "(*Value).Store", "(*Value).Swap", "(*Value).CompareAndSwap"),
	"sync/atomic/doc.go":    atomicPoints,
	"sync/atomic/doc_64.go": atomicPoints,
	"runtime/chan.go": runtimePoint(
		"chansend1", "chanrecv1", "chanrecv2", "closechan", "selectnbsend", "selectnbrecv"),
	"runtime/select.go": runtimePoint("selectgo"),
	// Goroutines have names that do not depend on preemptions.
	"runtime/runtime2.go": func(s *source) { s.field("g", "lockstepCount LockstepCount") },
	"runtime/proc.go": func(s *source) {
		s.after("newproc1", "newg.bubble = callergp.bubble", "newg.lockstepCount = lockstepBorn(callergp)")
	},
	"runtime/time.go": func(s *source) {
		s.field("timer", "lockstepCount LockstepCount")
		s.before("newTimer", "t.modify(when", "t.lockstepCount = lockstepBorn(getg())")
		s.after("(*timer).unlockAndRun", "gp.bubble = bubble", "gp.lockstepCount = t.lockstepCount")
	},
}

// point makes the beginning of functions a point at which the caller may be preempted.
func point(functions ...string) func(*source) {
	return func(s *source) {
		s.imports("internal/runtime/sys")
		runtimePoint(functions...)(s)
	}
}

// runtimePoint does so in package runtime, which has the import.
func runtimePoint(functions ...string) func(*source) {
	return func(s *source) {
		for _, f := range functions {
			s.begin(f, "lockstepPoint(sys.GetCallerPC())")
		}
	}
}

// exportedPoints does so with all exported methods of a file.
func exportedPoints(s *source) {
	var methods []string
	for _, d := range s.tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.IsExported() {
			methods = append(methods, s.nameOf(f))
		}
	}
	point(methods...)(s)
}

// atomicPoints gives a body to the functions of sync/atomic that are declared without one. The compiler replaces the
// call in the body by the operation itself. Those with pointers are functions of package runtime. They call those with
// uintptr, as the second half of a write of a pointer that nothing may interrupt.
func atomicPoints(s *source) {
	s.imports("internal/runtime/sys")
	for _, d := range s.tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body != nil || strings.HasSuffix(f.Name.Name, "Pointer") && f.Name.Name != "LoadPointer" {
			continue
		}
		directive, at := "//", "lockstepPoint(sys.GetCallerPC())\n\t"
		if strings.HasSuffix(f.Name.Name, "Uintptr") {
			directive, at = "//go:nosplit\n//go:linkname "+f.Name.Name, ""
		}
		for _, c := range f.Doc.List {
			if c.Text == "//go:noescape" { // not allowed with a body
				s.edits = append(s.edits, edit{s.offset(c.Pos()), s.offset(c.End()), directive})
			}
		}
		if f.Type.Results != nil {
			at += "return "
		}
		s.insert(s.offset(f.End()), fmt.Sprintf(" {\n\t%s%s(%s)\n}", at, f.Name.Name, strings.Join(parameters(f), ", ")))
	}
}

// parameters are the names of a function's parameters.
func parameters(f *ast.FuncDecl) (names []string) {
	for _, p := range f.Type.Params.List {
		for _, n := range p.Names {
			names = append(names, n.Name)
		}
	}
	return names
}

// imports adds an import.
func (s *source) imports(path string) {
	s.insert(s.offset(s.tree.Name.End()), fmt.Sprintf("\n\nimport %q", path))
}

// GeneratePoints writes the overlay for programs whose goroutines can be preempted in some packages, given by their
// import paths, as Generate does.
func GeneratePoints(goroot, version, cache string, packages []string) (string, error) {
	return generate(goroot, version, cache, func(goroot string) (map[string]string, error) {
		edits := maps.Clone(points)
		if _, err := os.Stat(filepath.Join(goroot, "src", "sync", "atomic", "doc_64.go")); err != nil {
			delete(edits, "sync/atomic/doc_64.go") // its functions are in doc.go
		}
		all, err := editedTexts(goroot, edited, process, edits)
		err = errors.Join(err, addFiles(all, "std"), addFiles(all, "points"))
		all["sync/atomic/asm.s"] = "// The functions of the package have bodies in Go.\n"
		all["runtime/metrics/lockstep.go"] = packageList(packages)
		return all, err
	})
}

// packageList is a file with the chosen packages, as they are in the names of functions. It is in a package that few
// import. In package runtime, the list would make the go command compile all packages again for each choice.
func packageList(packages []string) string {
	var b strings.Builder
	b.WriteString("package metrics\n\n// LockstepPackages are the packages in which goroutines can be preempted.\n" +
		"var LockstepPackages = []string{\n")
	for _, p := range packages {
		dir, last := path.Split(p)
		fmt.Fprintf(&b, "\t%q,\n", dir+strings.ReplaceAll(last, ".", "%2e"))
	}
	b.WriteString("}\n")
	return b.String()
}

// Points are the parts of a build whose goroutines can be preempted.
type Points struct {
	Index string   // the index of the overlay for the go command
	Flags []string // of the go command
}

// GeneratePoints writes the overlay for programs whose goroutines can be preempted in the packages that match one of
// the patterns, like [Toolchain.Generate]. A pattern may match none, as those of another version do. list returns what
// "go list" prints with these arguments.
func (t *Toolchain) GeneratePoints(patterns []string, list func(args ...string) (string, error)) (p Points, err error) {
	if err := t.supported(); err != nil {
		return p, err
	}
	var packages []string
	for _, pattern := range patterns {
		found, err := matching(pattern, list)
		if err != nil {
			return p, err
		}
		packages = append(packages, found...)
		p.Flags = append(p.Flags, "-gcflags="+pattern+"="+pointsFlags)
	}
	if len(packages) == 0 {
		return p, fmt.Errorf("no package matches one of the patterns %q", patterns)
	}
	slices.Sort(packages)
	dir, err := cache("overlay")
	if err != nil {
		return p, err
	}
	p.Index, err = GeneratePoints(t.Root, t.Version, dir, slices.Compact(packages))
	return p, err
}

// engine are the packages that preempt goroutines. Nothing preempts a goroutine in them: it may hold a lock that they
// need.
var engine = []string{"github.com/lockstep-go/lockstep", "github.com/lockstep-go/lockstep/bubble"}

// matching returns the packages that match a pattern, as they are in the names of functions.
func matching(pattern string, list func(args ...string) (string, error)) (packages []string, err error) {
	if pattern == "" || strings.HasPrefix(pattern, "-") || strings.ContainsAny(pattern, "=, \t\n\"'") {
		return nil, fmt.Errorf("%q is no pattern of packages: write ./... or import paths, with commas between them",
			pattern)
	}
	out, err := list("-f", "{{.Standard}} {{.Name}} {{.ImportPath}}", "--", pattern)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(strings.TrimSpace(out)) {
		standard, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, path, _ := strings.Cut(rest, " ")
		switch {
		case standard == "true":
			return nil, fmt.Errorf(
				"goroutines cannot be preempted in package %s of the standard library: name packages of the system under test",
				path)
		case slices.Contains(engine, path):
			return nil, fmt.Errorf(
				"goroutines cannot be preempted in package %s, which preempts them: name packages of the system under test",
				path)
		case name == "main":
			path = name
		}
		packages = append(packages, path)
	}
	return packages, nil
}
