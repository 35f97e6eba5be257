package target

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	goversion "go/version"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Program is a target in a separate executable. Its dependencies are heavy or conflict with those of others, or it
// comes in several versions, or it needs a special build. It is a main package of one line, which calls cli.Main with
// its targets. The command line builds it on demand, keeps it in the user's cache and runs it.
//
// If a program has the build tag "v3.6", it is built with that tag for every version v3.6.x of its library. One
// adapter can thus bind several versions. If the dependencies of these versions exclude each other, the module has
// separate files for them. For example, versions/v3.6.mod and versions/v3.6.sum then replace its go.mod and go.sum.
type Program struct {
	// Name is the target's name on the command line. A target of the same name may be linked in: the command uses
	// that one if no version is requested.
	Name string
	// Help is a description in one line.
	Help string
	// Package is the import path of the main package, or its directory if it begins with a dot or a slash.
	Package string
	// Module is the module of the package. Dir is a directory from which its source is found, if that is not the
	// working directory. Without a module, the package is built as found from there.
	Module, Dir string
	// Library is the path of the versioned module, and Versions are those that are known to work, the default first.
	// Users may request others.
	Library  string
	Versions []string
	// Oldest is the oldest version of the library with which the program builds: older ones are refused by name. It is
	// empty if none is known to fail.
	Oldest string
	// Overlay, if set, changes files of the library: it receives the library's module and returns the new texts by
	// name.
	Overlay func(library fs.FS) (map[string][]byte, error)
	// Changed describes the overlay, as part of the name of the build.
	Changed string
	// Border is the import path of a package of the Module that binds the Library by a type Release, whose methods have
	// types of the standard library only. If it is set, the program links several versions, named as in
	// v3.5.16+v3.6.16: each with a copy of the border and of all that it imports. The Package is then no main package,
	// but has a function Main(name string, releases ...R), where every Release implements the interface R.
	Border string
	// Counted are the patterns of the packages whose statements are counted if code coverage is measured, and in which
	// goroutines can be preempted. Without patterns they are those of the Library. A program without either has no Go
	// code under test of its own.
	Counted []string
	// Exact means that the program is built with Lockstep's overlay of Go, like "lockstep go build". The overlay
	// makes goroutine programs deterministic and keeps their sockets in memory. A package outside of any Module does
	// not need Exact: it gets the overlay if it imports package bubble.
	Exact bool
}

// Root is the path of Lockstep's root module. The modules below it are released together with it.
const Root = "github.com/lockstep-go/lockstep"

// VersionKey is the option that selects a version: --set version=v3.6.0.
const VersionKey = "version"

// CountedKey is the option that selects a build whose statements have counters. Its value is a list of patterns of
// packages, separated by commas; if it is empty, [Program.Counts] lists them. The command line sets it.
const CountedKey = "counted-packages"

// PreemptKey is the option of targets for the share of points at which goroutines are preempted; see package bubble.
// With a share, the command line builds a program that has such points.
const PreemptKey = "preempt"

// Build names the program built with a version of its library, as in traces; empty means the default version. A
// program without a library has only one build, which has no name.
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

// versionForm matches a version without build metadata.
var versionForm = regexp.MustCompile(`^v[0-9][0-9A-Za-z.-]*$`)

// MixedVersions splits the versions of a program with a Border, as in v3.5.16+v3.6.16. The order is that of the
// upgrades. One version is a cluster without upgrades.
func MixedVersions(text string) ([]string, error) {
	list := strings.Split(text, "+v") // a version may end with +incompatible
	for i, v := range list {
		if i > 0 {
			list[i] = "v" + v
		}
		bare := strings.TrimSuffix(list[i], "+incompatible")
		if !versionForm.MatchString(bare) || slices.Contains(list[:i], list[i]) {
			return nil, fmt.Errorf("the versions %q must be different ones separated by +, as in v1.2.3+v1.3.0", text)
		}
	}
	return list, nil
}

func (p *Program) version(version string) string {
	if version == "" && len(p.Versions) > 0 {
		return p.Versions[0]
	}
	return version
}

// VersionOf is the version in the name of a build, and whether the name is one of this program's builds.
func (p *Program) VersionOf(build string) (string, bool) {
	version, ok := strings.CutPrefix(strings.TrimSuffix(build, "~"+p.Changed), p.Library+"@")
	return version, ok && p.Library != "" && !strings.Contains(version, "~") && p.Build(version) == build
}

// CheckVersion reports that a version of the library is older than all with which the program builds.
func (p *Program) CheckVersion(version string) error {
	if p.Oldest == "" || version == "" || goversion.Compare(number(version), number(p.Oldest)) >= 0 {
		return nil
	}
	return fmt.Errorf("%s is too old for the target %s, which builds with %s %s and later; versions known to work: %s",
		version, p.Name, p.Library, p.Oldest, strings.Join(p.Versions, ", "))
}

// number is a version as package version of the standard library compares it, which knows the versions of Go.
func number(version string) string { return "go" + strings.TrimPrefix(version, "v") }

// Counts lists the patterns of the packages under test. Their statements are counted if code coverage is measured, and
// goroutines can be preempted in them.
func (p *Program) Counts() []string {
	if len(p.Counted) == 0 && p.Library != "" {
		return []string{p.Library + "/..."}
	}
	return p.Counted
}

// Check reports errors in the description of a program.
func (p *Program) Check() error {
	switch {
	case p.Name == "" || p.Package == "":
		return fmt.Errorf("target: a program needs a name and a package, and has %q and %q", p.Name, p.Package)
	case slices.ContainsFunc([]string{p.Name, p.Package, p.Module, p.Library},
		func(s string) bool { return strings.HasPrefix(s, "-") }):
		return fmt.Errorf(
			"target: the program %q with the package %q, module %q and library %q: none of them may begin with -",
			p.Name, p.Package, p.Module, p.Library)
	case p.Library != "" && (p.Module == "" || len(p.Versions) == 0):
		return fmt.Errorf(
			"target: the program %s has the library %s, so it needs a module and versions that are known to work",
			p.Name, p.Library)
	case p.Library == "" && (len(p.Versions) > 0 || p.Overlay != nil):
		return fmt.Errorf("target: the program %s has versions or an overlay, but names no library", p.Name)
	case p.Border != "" && (p.Library == "" || p.Overlay != nil || !strings.HasPrefix(p.Border, p.Module+"/")):
		return fmt.Errorf("target: the program %s has the border %s, so it needs a library, no overlay, and a border "+
			"in its module %s", p.Name, p.Border, p.Module)
	case p.Oldest != "" && (p.Library == "" || !goversion.IsValid(number(p.Oldest))):
		return fmt.Errorf("target: the oldest version %q of the program %s is none, allowed are versions of a library",
			p.Oldest, p.Name)
	case (p.Overlay == nil) != (p.Changed == ""):
		return fmt.Errorf("target: the program %s must name what its overlay changes, and only then", p.Name)
	}
	return nil
}

// build is set by the linker in a program that was built on demand: the name of the build.
var build string

// key is set by the linker, too: a hash over the inputs of the build.
var key string

// sources is set by the linker in a program whose statements have counters: the directories of modules, encoded.
var sources string

// Sources returns the directories of the modules whose statements this program counts, by module path. It is nil if
// the program has no counters.
func Sources() map[string]string {
	text, err := base64.RawURLEncoding.DecodeString(sources)
	var list map[string]string
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	return list
}

// Mutants marks the name of a build whose library carries mutants. MutantVariable is the environment variable that
// activates one; see kit/mutants.
const (
	Mutants        = "mutants"
	MutantVariable = "LOCKSTEP_MUTANT"
)

// Mutant names the active mutant of this program's library, and is empty for the unmodified library.
func Mutant() string {
	if !strings.HasSuffix(ThisBuild(), "~"+Mutants) {
		return ""
	}
	return os.Getenv(MutantVariable)
}

// CheckMutant returns an error if a system requires a mutant other than the active one.
func CheckMutant(name string) error {
	if on := Mutant(); name != on {
		return fmt.Errorf(
			"the plan or trace is about the mutant %q, and the active mutant of this program is %q; "+
				"'lockstep paper mutants build' makes a program that contains mutants",
			name,
			on,
		)
	}
	return nil
}

// ThisBuild is the name of this program's build, if it was built on demand with a version of its library. Otherwise
// it is empty.
func ThisBuild() string { return build }

// ThisKey is a hash over the inputs of this program's build, if it was built on demand. Otherwise it is empty. Unlike
// the executable, it does not depend on the directories of the build.
func ThisKey() string { return key }
