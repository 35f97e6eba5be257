package target

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Program is a target that is not linked into the command line, because its dependencies
// are heavy or conflict with those of others, or because it comes in several versions, or
// needs a build of its own. It is a main package of one line, which calls cli.Main with its
// targets; the command line builds it when it is asked for, keeps it in the user's cache and
// runs it in its own place.
//
// A program that has the tag "v3.6" gets it for every version v3.6.x of its library, so that
// one adapter can bind several. Where the dependencies of these exclude each other, the module
// has files of its own for them, versions/v3.6.mod and versions/v3.6.sum, which take the place of its
// go.mod and go.sum.
type Program struct {
	// Name is the target's name on the command line. A target of the same name may be linked
	// in: it is taken where no version is asked for.
	Name string
	// Help says in one line what it is.
	Help string
	// Package is the import path of the main package, or its folder where it begins with a
	// dot or a slash.
	Package string
	// Module is the module that the package is in, and Dir a folder where its source is found,
	// if not from the working directory. Without a module, the package is built as it is found
	// from there.
	Module, Dir string
	// Library is the path of the module that comes in versions, and Versions are those that
	// are known to work, the usual one first. Others may be asked for.
	Library  string
	Versions []string
	// Overlay, where it is set, changes files of the library: it gets the library's module and
	// returns the new texts by name.
	Overlay func(library fs.FS) (map[string][]byte, error)
	// Changed names what the overlay does, as part of the name of the build.
	Changed string
	// Exact says that the program is built with another overlay, that of Go which makes goroutine programs
	// deterministic and has their sockets in memory, as by "lockstep go build". A package outside of any Module
	// needs not say so: it gets that overlay where it imports package bubble.
	Exact bool
}

// Root is the path of Lockstep's root module. The modules below it are released together with it.
const Root = "github.com/lockstep-go/lockstep"

// VersionKey is the option with which a version is asked for: --set version=v3.6.0.
const VersionKey = "version"

// Build names the program built with a version of its library, as traces state it; empty
// means the usual version. A program without a library has only one build, which has no name.
func (p *Program) Build(version string) string {
	if p.Library == "" {
		return ""
	}
	name := p.Library + "@" + p.version(version)
	if p.Changed != "" {
		name += "~" + p.Changed
	}
	return name
}

func (p *Program) version(version string) string {
	if version == "" && len(p.Versions) > 0 {
		return p.Versions[0]
	}
	return version
}

// VersionOf is the version in the name of a build, and whether the name is one of this
// program's builds.
func (p *Program) VersionOf(build string) (string, bool) {
	version, ok := strings.CutPrefix(strings.TrimSuffix(build, "~"+p.Changed), p.Library+"@")
	return version, ok && p.Library != "" && !strings.Contains(version, "~") && p.Build(version) == build
}

// Check reports what is wrong with the description of a program.
func (p *Program) Check() error {
	switch {
	case p.Name == "" || p.Package == "":
		return fmt.Errorf("target: a program needs a name and a package, this has %q and %q", p.Name, p.Package)
	case slices.ContainsFunc([]string{p.Name, p.Package, p.Module, p.Library}, func(s string) bool { return strings.HasPrefix(s, "-") }):
		return fmt.Errorf("target: the program %q with the package %q, module %q and library %q: none of them may begin with -", p.Name, p.Package, p.Module, p.Library)
	case p.Library != "" && (p.Module == "" || len(p.Versions) == 0):
		return fmt.Errorf("target: the program %s has the library %s, so it needs a module and versions that are known to work", p.Name, p.Library)
	case p.Library == "" && (len(p.Versions) > 0 || p.Overlay != nil):
		return fmt.Errorf("target: the program %s has versions or an overlay, but names no library", p.Name)
	case (p.Overlay == nil) != (p.Changed == ""):
		return fmt.Errorf("target: the program %s must name what its overlay changes, and only then", p.Name)
	}
	return nil
}

// build is set by the linker in a program that was built on demand: the name of the build.
var build string

// key is set likewise: a hash over what the program was made of.
var key string

// Mutants is what the name of a build says of a library that carries mutants, and
// MutantVariable the environment variable that switches one on; see kit/mutants.
const (
	Mutants        = "mutants"
	MutantVariable = "LOCKSTEP_MUTANT"
)

// Mutant names the mutant of its library that is on in this program, and is empty where the
// library is as it is.
func Mutant() string {
	if !strings.HasSuffix(ThisBuild(), "~"+Mutants) {
		return ""
	}
	return os.Getenv(MutantVariable)
}

// CheckMutant reports that a system is about another mutant than the one that is on.
func CheckMutant(name string) error {
	if on := Mutant(); name != on {
		return fmt.Errorf("this is about the mutant %q, and the program has %q on; 'lockstep paper mutants build' makes a program that carries mutants", name, on)
	}
	return nil
}

// ThisBuild is the name of the build that this program is, where it was built on demand with
// a version of its library, and empty elsewhere.
func ThisBuild() string { return build }

// ThisKey is a hash over what this program was made of, where it was built on demand, and empty elsewhere. Unlike
// its file it does not depend on the folders in which it was built.
func ThisKey() string { return key }
