package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/build"
	"github.com/lockstep-go/lockstep/target"
)

// programVariable passes a program that was built on demand the name by which the user asked for it. The program then
// accepts this name as its own.
const programVariable = "LOCKSTEP_PROGRAM"

// versionsVariable passes such a program the path of its library and the versions known to work, for its list.
const versionsVariable = "LOCKSTEP_VERSIONS"

// place is the location of a target: linked in, or in a program that is not built yet.
type place struct {
	target target.Target
	build  string // the build of this program, for this target
	set    []string

	program *target.Program // nil: the target is in this program
	version string
	counted *string // the statements of these packages have counters; nil: none
}

// locate finds a target by its name and the version in its options. A name with a slash is the path of a main package.
func (e *Env) locate(name string, set []string) (place, error) {
	counted, set := takeOption(set, target.CountedKey)
	version, rest := takeVersion(set)
	if err := errors.Join(checkName("target", name), checkName(target.VersionKey, version)); err != nil {
		return place{}, err
	}
	if isPackage(name) {
		at, err := e.locatePackage(name, set)
		at.counted = counted
		return at, err
	}
	p := e.app.program(name)
	t, unknown := target.Find(e.app.Targets, name)
	switch {
	case p != nil && (counted != nil || preempts(set)):
		return place{program: p, version: version, set: rest, counted: counted}, nil
	case p != nil && unknown == nil && (version == "" || version == linked(p)):
		at := place{target: t, set: rest}
		if v := linked(p); v != "" {
			at.build = p.Build(v)
		}
		return at, nil
	case p != nil:
		return place{program: p, version: version, set: rest}, nil
	case unknown != nil:
		return place{}, fmt.Errorf("unknown target %q: one of %s, or the directory or import path of a main package",
			name, strings.Join(e.app.names(), ", "))
	case version == "" || target.ThisBuild() == "":
		return place{target: t, build: target.ThisBuild(), set: set}, nil
	case !strings.Contains(target.ThisBuild()+"~", "@"+version+"~"):
		return place{}, fmt.Errorf("version %s of %s is not in this program, which is built with %s", version, name,
			target.ThisBuild())
	default:
		return place{target: t, build: target.ThisBuild(), set: rest}, nil
	}
}

// locatePackage finds the target of a main package. It returns this program if it was built from that package.
func (e *Env) locatePackage(name string, set []string) (place, error) {
	pkg, of := splitPackage(name)
	if e.asked != pkg {
		return place{program: &target.Program{Name: pkg, Package: pkg}, set: set}, nil
	}
	if of == "" {
		if len(e.app.Targets) != 1 {
			names := e.app.names()
			return place{}, fmt.Errorf("%s has %d targets: %s; write %s:NAME for one of them", pkg, len(names),
				strings.Join(names, ", "), pkg)
		}
		of = e.app.Targets[0].Name
	}
	t, err := target.Find(e.app.Targets, of)
	return place{target: t, set: set, build: target.ThisBuild()}, err
}

// splitPackage splits PACKAGE:NAME into the package and the name of its target, which may be empty.
func splitPackage(name string) (pkg, of string) {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// isPackage reports whether a name denotes a package instead of a target.
func isPackage(name string) bool { return strings.Contains(name, "/") || strings.HasPrefix(name, ".") }

// names returns the names of all targets.
func (a *App) names() []string {
	var names []string
	for _, t := range a.Targets {
		names = append(names, t.Name)
	}
	for _, p := range a.Programs {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// program returns the program of that name, or nil.
func (a *App) program(name string) *target.Program {
	for i := range a.Programs {
		if a.Programs[i].Name == name {
			return &a.Programs[i]
		}
	}
	return nil
}

// takeVersion removes the version from the options of a target.
func takeVersion(set []string) (version string, rest []string) {
	v, rest := takeOption(set, target.VersionKey)
	if v != nil {
		version = *v
	}
	return version, rest
}

// takeOption removes an option of the build from the options of a target. It returns nil if the option is not set.
func takeOption(set []string, key string) (value *string, rest []string) {
	for _, pair := range set {
		if v, ok := strings.CutPrefix(pair, key+"="); ok {
			value = &v
		} else {
			rest = append(rest, pair)
		}
	}
	return value, rest
}

// linked returns the version of a program's library that is linked into this program, or the empty string.
func linked(p *target.Program) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return versionIn(info, p.Library)
}

// versionIn returns the version of a module in a program. It is empty if there is none: a module in a directory has
// none.
func versionIn(info *debug.BuildInfo, path string) string {
	for _, m := range info.Deps {
		if m.Path != path {
			continue
		}
		for m.Replace != nil {
			m = m.Replace
		}
		if m.Path != path || m.Version == "(devel)" {
			return ""
		}
		return m.Version
	}
	return ""
}

// system returns the system of a target that is linked in.
func (p *place) system(pairs []string) (lockstep.System, error) {
	s, err := p.target.Build(pairs)
	if err != nil || p.build == "" {
		return s, err
	}
	return named{s, p.build}, nil
}

// named is a system that reports the build which it is part of.
type named struct {
	lockstep.System
	build string
}

// Describe returns the description of the system with the build. The build identifies the program, which the version in
// a system's own description may not.
func (n named) Describe() (lockstep.Info, error) {
	info, err := n.System.Describe()
	info.Build = n.build
	return info, err
}

// handOver builds a program, which takes over with the same arguments, files and signals. handOver returns only if that
// was not possible.
func (e *Env) handOver(at place, variables ...string) error {
	file, env, err := e.built(at)
	if err != nil {
		return err
	}
	return e.become(file, slices.Concat(os.Environ(), env, variables))
}

// Become builds a program, which takes over with the same arguments, files and signals. Become returns only if that was
// not possible.
func (e *Env) Become(p *target.Program) error { return e.handOver(place{program: p}) }

// built builds a program. The variables are the environment variables that it needs.
func (e *Env) built(at place) (file string, variables []string, err error) {
	p := at.program
	if e.asked == p.Name {
		return "", nil, fmt.Errorf(
			"%s was built for this and does not know it: its main package must call cli.Main with its targets", p.Name)
	}
	b := build.Builder{BestEffort: e.bestEffort, Log: func(line string) { fmt.Fprintln(e.Err, "lockstep:", line) }}
	if at.counted != nil {
		b.Counters = true
		if b.Counted, err = countedPackages(p, *at.counted); err != nil {
			return "", nil, err
		}
	}
	if preempts(at.set) {
		b.Preempt = true
		if b.Preempted, err = preemptedPackages(p); err != nil {
			return "", nil, err
		}
	}
	file, err = b.Program(e.Ctx, *p, at.version)
	versions := strings.Join(append([]string{p.Library}, p.Versions...), " ")
	return file, []string{programVariable + "=" + p.Name, versionsVariable + "=" + versions}, err
}

// ProgramOf returns the program that has a target, with the environment variables that it needs: this program, or one
// that ProgramOf builds.
func (e *Env) ProgramOf(name string, set []string) (file string, variables []string, err error) {
	at, err := e.locate(name, set)
	if err != nil {
		return "", nil, err
	}
	if at.program != nil {
		return e.built(at)
	}
	file, err = os.Executable()
	return file, nil, err
}
