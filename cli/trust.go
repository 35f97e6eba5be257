package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target"
)

// A trace, a plan or a finding of a fleet may come from anybody. It may therefore name registered targets, versions that
// are listed for them, and options that name no programs and no files. Everything else needs the user's own flag.

// Allow is what the user's command line lets a file name.
type Allow struct {
	// Programs are main packages that may be built and run.
	Programs []string
	// Set are options as key=value: a version that is not listed, programs to start, files to read.
	Set []string
}

// any reports whether the user allowed anything.
func (a Allow) any() bool { return len(a.Programs)+len(a.Set) > 0 }

// has reports whether the user allowed an option to have a value.
func (a Allow) has(key, value string) bool {
	return slices.ContainsFunc(a.Set, func(pair string) bool {
		k, v, ok := cutPair(pair)
		return ok && k == key && v == value
	})
}

// check reports the first option of a target that a file must not set to its value, unless the user allows it.
func (a Allow) check(t target.Target, named map[string]string) error {
	for _, o := range t.Options() {
		if value, set := named[o.Key]; set && !o.FromFile(value) && !a.has(o.Key, value) {
			return fmt.Errorf(
				"%s=%s %s, which a file must not choose: give --set %s to allow it",
				o.Key,
				value,
				o.Trust.Does(),
				quoted(o.Key+"="+value),
			)
		}
	}
	return nil
}

// CheckNamed reports what a file that names a target and its options must not name, unless the user allows it: a
// package, or a version that is not listed. The target's own options are checked where the target is known.
func (e *Env) CheckNamed(name string, set []string, allow Allow) error {
	if err := checkName("target", name); err != nil {
		return err
	}
	if isPackage(name) {
		pkg, _ := splitPackage(name)
		if !slices.Contains(allow.Programs, pkg) {
			return fmt.Errorf(
				"the target %q is a package, and a file may name only registered targets (%s): give --program %s to build and run it",
				name,
				strings.Join(e.app.names(), ", "),
				quoted(pkg),
			)
		}
		return nil
	}
	version, _ := takeVersion(set)
	p := e.app.program(name)
	if p == nil || p.Library == "" || version == "" || version == linked(p) || slices.Contains(p.Versions, version) ||
		allow.has(target.VersionKey, version) {
		return checkName(target.VersionKey, version)
	}
	return fmt.Errorf("%s of %s is not a listed version of %s (%s): give --set version=%s to download and build it",
		quoted(version), p.Library, name, strings.Join(p.Versions, ", "), quoted(version))
}

// checkOptions reports an option that the file, from which the campaign is, must not choose.
func (c *runCmd) checkOptions(at *place) error {
	if !c.FromFile {
		return nil
	}
	named := map[string]string{}
	for _, pair := range at.set {
		if key, value, ok := cutPair(pair); ok {
			named[key] = value
		}
	}
	return Allow{Set: c.Allow}.check(at.target, named)
}

// options are those of a trace, with the user's own in the place of those that a trace must not choose.
func (r *recorded) options(t target.Target, named map[string]string) (map[string]string, error) {
	mine := []string{target.VersionKey}
	for _, o := range t.Options() {
		if o.Guarded() && !slices.Contains(mine, o.Key) {
			mine = append(mine, o.Key)
		}
	}
	options := map[string]string{}
	maps.Copy(options, named)
	for _, pair := range r.Set {
		key, value, ok := cutPair(pair)
		if !ok || !slices.Contains(mine, key) {
			return nil, fmt.Errorf(
				"--set %s: allowed is key=value, for %s; the rest is as the trace says",
				pair,
				strings.Join(mine, ", "),
			)
		}
		if slices.ContainsFunc(
			t.Options(),
			func(o target.Option) bool { return o.Key == key },
		) { // a version may be the program's
			options[key] = value
		}
	}
	return options, r.allow().check(t, options)
}

// allowances are the values of --set that a replay of the plan's runs needs: the plan is the user's own.
func (e *Env) allowances(plan lockstep.Plan) []string {
	var set []string
	if version := unlisted(target.ThisBuild(), os.Getenv(versionsVariable)); version != "" {
		set = append(set, target.VersionKey+"="+version)
	}
	info, err := plan.System.Describe()
	if err != nil {
		return set
	}
	t, err := target.Find(e.app.Targets, info.Name)
	if err != nil {
		return set
	}
	for _, o := range t.Options() {
		if value, ok := info.Options[o.Key]; ok && !o.FromFile(value) {
			set = append(set, o.Key+"="+value)
		}
	}
	return set
}

// unlisted is the version of the library in a build, where it is not among the listed ones, and else empty.
func unlisted(build, listed string) string {
	words := strings.Fields(listed)
	if len(words) == 0 {
		return ""
	}
	version, ok := strings.CutPrefix(build, words[0]+"@")
	version, _, _ = strings.Cut(version, "~")
	if !ok || slices.Contains(words[1:], version) {
		return ""
	}
	return version
}

// setFlags are options as flags.
func setFlags(set []string) []string {
	var words []string
	for _, pair := range set {
		words = append(words, "--set", pair)
	}
	return words
}

// cutPair splits key=value as targets do.
func cutPair(pair string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(pair, "=")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}

// checkName refuses a name that another program would take for an option.
func checkName(what, name string) error {
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("the %s %q begins with -, which no %s does", what, name, what)
	}
	return nil
}
