package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// Strategies describes all strategies with their options.
func Strategies() string {
	var b strings.Builder
	for _, k := range strategy.All() {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", k.Name, sentence(k.Help))
		options(&b, k.Options())
	}
	return b.String()
}

// Target describes a target: its default strategy, options and scenarios. The options of the struct faults, if there is
// one, are described by Faults; one with another default or text is the target's own.
func Target(t target.Target, faults ...any) string {
	var b strings.Builder
	if t.Strategy != "" {
		fmt.Fprintf(&b, "\nDefault strategy:\n\n    %s\n", t.Strategy)
	}
	if len(t.Campaign) > 0 {
		fmt.Fprintf(&b, "\nOptions of a campaign for which the user sets none:\n\n    %s\n",
			strings.Join(t.Campaign, "\n    "))
	}
	own := slices.DeleteFunc(t.Options(), func(o target.Option) bool { return isFault(o, faults) })
	options(&b, own)
	if len(own) < len(t.Options()) {
		fmt.Fprintf(&b, "\nIt also has the [options of faults](%s).\n", sharedOptions)
	}
	if len(t.Scenarios) > 0 {
		fmt.Fprintf(&b, "\n| scenario | what it guides to |\n|---|---|\n")
		for _, s := range t.Scenarios {
			fmt.Fprintf(&b, "| %s | %s |\n", code(s.Name), cell(s.Help))
		}
	}
	return b.String()
}

// sharedOptions is the part of a page that Faults describes, as seen from a page about targets.
const sharedOptions = "../targets.md#options-of-faults"

// Faults describes the options of faults that several targets share.
func Faults(faults any) string {
	var b strings.Builder
	options(&b, option.List(faults))
	return b.String()
}

func isFault(o target.Option, faults []any) bool {
	return slices.ContainsFunc(faults, func(of any) bool {
		return slices.ContainsFunc(option.List(of), func(f target.Option) bool {
			return f.Key == o.Key && f.Default == o.Default && f.Help == o.Help
		})
	})
}

// options writes a table of options.
func options(b *strings.Builder, list []target.Option) {
	if len(list) == 0 {
		b.WriteString("\nIt has no options.\n")
		return
	}
	b.WriteString("\n| option | default | meaning |\n|---|---|---|\n")
	for _, o := range list {
		help, def := cell(o.Help), ""
		if o.Default != "" {
			def = code(o.Default)
		}
		if o.Guarded() {
			help += fmt.Sprintf(" (%s: only [your own flag](%s) sets it", o.Trust.Does(), security)
			if len(o.Known) > 0 {
				help += " to a value other than " + strings.Join(o.Known, ", ")
			}
			help += ")"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", code(o.Key), def, help)
	}
}

// security is the page that explains options that need a flag, as seen from a page about targets.
const security = "../../concepts/security.md#options-that-need-your-flag"

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Targets lists the targets of a command line: those that it links, and those that it builds on demand with the
// versions that are known to work. The name of a target that has a page links to it.
func Targets(app cli.App, hasPage func(target string) bool) string {
	link := func(name string) string {
		if !hasPage(name) {
			return code(name)
		}
		return fmt.Sprintf("[%s](targets/%s.md)", code(name), name)
	}
	var b strings.Builder
	b.WriteString("| target | what it is | versions |\n|---|---|---|\n")
	listed := map[string]bool{}
	for _, t := range app.Targets {
		listed[t.Name] = true
		fmt.Fprintf(&b, "| %s | %s | |\n", link(t.Name), cell(t.Help))
	}
	for _, p := range app.Programs {
		if listed[p.Name] {
			continue
		}
		versions := "built on demand"
		if len(p.Versions) > 0 {
			versions += fmt.Sprintf(", of %s: %s", code(p.Library), strings.Join(p.Versions, ", "))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", link(p.Name), cell(p.Help), versions)
	}
	return b.String()
}
