package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target"
)

// A trace, a plan or a finding of a fleet may come from anybody. It may therefore name registered targets, versions that
// are listed for them, and options that name no programs and no files. Everything else needs the user's own flag: that is
// what Allow holds.

// unlistedVariable tells a program that was built on demand that its version is not a listed one, so that the commands
// it prints allow that version.
const unlistedVariable = "LOCKSTEP_UNLISTED"

// Allow is what the user's command line lets a file name.
type Allow struct {
	// Programs are main packages that may be built and run.
	Programs []string
	// Set are options as key=value: a version that is not listed, programs to start, files to read.
	Set []string
}

// option is the value that the user gave for a key.
func (a Allow) option(key string) (value string, ok bool) {
	for _, pair := range a.Set {
		if k, v, found := strings.Cut(pair, "="); found && strings.TrimSpace(k) == key {
			value, ok = strings.TrimSpace(v), true
		}
	}
	return value, ok
}

// any reports whether the user allowed anything.
func (a Allow) any() bool { return len(a.Programs)+len(a.Set) > 0 }

// CheckNamed reports what a file that names a target and its options must not name, unless the user allows it. Options
// that are the target's own are checked where the target is known, by [Allow.options].
func (e *Env) CheckNamed(name string, set []string, allow Allow) error {
	if err := checkName("target", name); err != nil {
		return err
	}
	if isPackage(name) {
		pkg, _ := splitPackage(name)
		if !slices.Contains(allow.Programs, pkg) {
			return fmt.Errorf("the target %q is a package, and a file may name only registered targets (%s): give --program %s to build and run it",
				name, strings.Join(e.app.names(), ", "), quoted(pkg))
		}
		return nil
	}
	version, _ := takeVersion(set)
	return e.checkVersion(name, version, allow)
}

// checkVersion reports that a version of a target's library is neither listed nor allowed.
func (e *Env) checkVersion(name, version string, allow Allow) error {
	p := e.app.program(name)
	if p == nil || p.Library == "" || version == "" || version == linked(p) || slices.Contains(p.Versions, version) {
		return nil
	}
	if allowed, _ := allow.option(target.VersionKey); allowed == version {
		return nil
	}
	return fmt.Errorf("%s of %s is not a listed version of %s (%s): give --set version=%s to download and build it",
		quoted(version), p.Library, name, strings.Join(p.Versions, ", "), quoted(version))
}

// options are the options that a file sets, with what the user allows in the place of those that a file must not choose.
func (a Allow) options(t target.Target, named map[string]string) (map[string]string, error) {
	options := maps.Clone(named)
	if options == nil {
		options = map[string]string{}
	}
	marked := map[string]bool{target.VersionKey: true}
	for _, o := range t.Options() {
		value, set := named[o.Key]
		mine, allowed := a.option(o.Key)
		switch {
		case !o.Guarded() && allowed && o.Key != target.VersionKey:
			return nil, fmt.Errorf("--set %s: it is the file's own setting; allowed are %s", o.Key, strings.Join(settable(t), ", "))
		case o.Guarded() && allowed:
			options[o.Key] = mine
			marked[o.Key] = true
		case set && !o.FromFile(value):
			return nil, refuse(o, value)
		}
	}
	for _, pair := range a.Set {
		key, _, ok := strings.Cut(pair, "=")
		if key = strings.TrimSpace(key); !ok || !marked[key] {
			return nil, fmt.Errorf("--set %s: allowed are %s, as key=value", pair, strings.Join(settable(t), ", "))
		}
	}
	return options, nil
}

// settable are the options that --set takes beside a file.
func settable(t target.Target) []string {
	keys := []string{target.VersionKey}
	for _, o := range t.Options() {
		if o.Guarded() && !slices.Contains(keys, o.Key) {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// allowances are the values of --set that a replay of the plan's runs needs: the plan is the user's own.
func (e *Env) allowances(plan lockstep.Plan) []string {
	var pairs []string
	if e.unlisted != "" {
		pairs = append(pairs, target.VersionKey+"="+e.unlisted)
	}
	info, err := plan.System.Describe()
	if err != nil {
		return pairs
	}
	t, err := target.Find(e.app.Targets, info.Name)
	if err != nil {
		return pairs
	}
	for _, o := range t.Options() {
		if value, ok := info.Options[o.Key]; ok && !o.FromFile(value) {
			pairs = append(pairs, o.Key+"="+value)
		}
	}
	return pairs
}

// setFlags are pairs as flags.
func setFlags(pairs []string) []string {
	var words []string
	for _, pair := range pairs {
		words = append(words, "--set", pair)
	}
	return words
}

// checkName refuses a name that another program would take for an option.
func checkName(what, name string) error {
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("the %s %q begins with -, which no %s does", what, name, what)
	}
	return nil
}

// checkOptions reports an option that the file, from which the campaign is, must not choose.
func (c *runCmd) checkOptions(at *place) error {
	if !c.FromFile {
		return nil
	}
	named := map[string]string{}
	for _, pair := range at.set {
		if key, value, ok := strings.Cut(pair, "="); ok {
			named[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	for _, o := range at.target.Options() {
		value, set := named[o.Key]
		if allowed, ok := (Allow{Set: c.Allow}).option(o.Key); set && !o.FromFile(value) && !(ok && allowed == value) {
			return refuse(o, value)
		}
	}
	return nil
}

// refuse says which flag allows an option that a file must not choose.
func refuse(o target.Option, value string) error {
	return fmt.Errorf("%s=%s %s, which a file must not choose: give --set %s to allow it", o.Key, value, o.Trust.Does(), quoted(o.Key+"="+value))
}
