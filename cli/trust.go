package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/target"
)

// A trace, a plan or a finding of a fleet is untrusted input. It may therefore name registered targets, the versions
// listed for them, and options that name neither programs nor files. Everything else needs the user's own flag.

// Allow is what the user's command line permits a file to name.
type Allow struct {
	// Programs are main packages that the command may build and run.
	Programs []string
	// Set are options as key=value: a version that is not listed, programs to start, files to read.
	Set []string
}

// any reports whether the user allowed anything.
func (a Allow) any() bool { return len(a.Programs)+len(a.Set) > 0 }

// has reports whether the user allowed this value of an option.
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
			return fmt.Errorf("%s=%s %s, which a trace or plan must not choose: give --set %s to allow it", o.Key, value,
				o.Trust.Does(), words.Quoted(o.Key+"="+value))
		}
	}
	return nil
}

// CheckNamed checks the target and the options that a file names. It reports a package, or a version that is not
// listed, unless the user allows it. The target's own options are checked where the target is known.
func (e *Env) CheckNamed(name string, set []string, allow Allow) error {
	if err := checkName("target", name); err != nil {
		return err
	}
	if isPackage(name) {
		pkg, _ := splitPackage(name)
		if !slices.Contains(allow.Programs, pkg) {
			return fmt.Errorf(
				"the target %q is a package, and a file may name only registered targets (%s): give --program %s to build "+
					"and run it",
				name,
				strings.Join(e.app.names(), ", "),
				words.Quoted(pkg),
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
		words.Quoted(version), p.Library, name, strings.Join(p.Versions, ", "), words.Quoted(version))
}

// checkOptions reports an option that the file with the campaign must not set.
func (c *runCmd) checkOptions(at *place) error {
	if !c.FromFile {
		return nil
	}
	if c.Conform != "" {
		return errors.New("--conform names a file to read, which a trace or plan must not choose")
	}
	named := map[string]string{}
	for _, pair := range at.set {
		if key, value, ok := cutPair(pair); ok {
			named[key] = value
		}
	}
	return Allow{Set: c.Allow}.check(at.target, named)
}

// options returns the options of a trace. The user's own values replace those that a trace must not set.
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
			return nil, fmt.Errorf("--set %s: allowed is key=value, for %s; the rest is as the trace says", pair,
				strings.Join(mine, ", "))
		}
		if slices.ContainsFunc(
			t.Options(),
			func(o target.Option) bool { return o.Key == key },
		) { // a version may belong to the program instead of the target
			options[key] = value
		}
	}
	return options, r.allow().check(t, options)
}

// allowances returns the values of --set that a replay of the plan's runs needs. The plan is the user's own, so they
// are trusted.
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

// unlisted returns the version of the library in a build, if it is not a listed one, and else the empty string.
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

// setFlags returns options as flags.
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

// checkName refuses a name that another program would parse as an option.
func checkName(what, name string) error {
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("the %s %q begins with -, which no %s does", what, name, what)
	}
	return nil
}
