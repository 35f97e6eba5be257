package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

type listCmd struct {
	Name string `arg:"" optional:"" help:"Only this target or strategy."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// lists is what the command list prints as JSON.
type lists struct {
	Targets    []listed `json:"targets"`
	Strategies []listed `json:"strategies"`
}

// listed is a target or a strategy as the command list prints it.
type listed struct {
	Name     string          `json:"name"`
	Help     string          `json:"help"`
	Options  []target.Option `json:"options"`
	Linked   bool            `json:"linked"`             // part of this program; otherwise it is built on demand
	Library  string          `json:"library,omitempty"`  // the library that has versions
	Versions []string        `json:"versions,omitempty"` // known to work
	Strategy string          `json:"strategy,omitempty"` // the default strategy of the target
	Campaign []string        `json:"campaign,omitempty"` // the options of a campaign without options
	// Sometimes is what a campaign usually reaches.
	Sometimes []string `json:"sometimes,omitempty"`
	// Properties are what the target's spec checks, Scenarios are the values of --scenario, Seen is what scenarios and
	// specs see of a run, Shapes describes the rounds, and Example is a command. All are set only if the user asks for a
	// single target.
	Properties []string    `json:"properties,omitempty"`
	Scenarios  []guideline `json:"scenarios,omitempty"`
	Seen       *view       `json:"seen,omitempty"`
	Shapes     *shapes     `json:"shapes,omitempty"`
	Example    string      `json:"example,omitempty"`
}

// guideline is a scenario as the command list prints it.
type guideline struct {
	Name string   `json:"name"`
	Help string   `json:"help"`
	Set  []string `json:"set,omitempty"`
}

// Help returns the longer help.
func (listCmd) Help() string {
	return `Without a name: targets and strategies, one line each. With a name: its options, and for a target its
properties, its scenarios, what they can see of a run, and an example.

Example:
  lockstep list
  lockstep list etcdraft
  lockstep list uniform --json`
}

// Run prints the list.
func (l *listCmd) Run(e *Env) error {
	var all lists
	all.Targets = e.app.list()
	for _, k := range strategy.All() {
		all.Strategies = append(all.Strategies, listed{Name: k.Name, Help: k.Help, Options: k.Options(), Linked: true})
	}
	if l.Name != "" {
		all.Targets, all.Strategies = only(all.Targets, l.Name), only(all.Strategies, l.Name)
		if len(all.Targets)+len(all.Strategies) == 0 {
			at, err := e.locate(l.Name, nil)
			if err == nil && at.program != nil {
				err = e.handOver(at)
			}
			if err != nil {
				return err
			}
			all.Targets = only(e.app.list(), at.target.Name)
		} else if t := all.Targets; len(t) == 1 && !t[0].Linked {
			return e.handOver(place{program: e.app.program(l.Name)})
		}
	}
	if l.Name != "" && len(all.Targets) == 1 {
		if err := e.detail(&all.Targets[0]); err != nil {
			return err
		}
	}
	if l.JSON {
		return e.JSON(all)
	}
	all.write(e.Out, l.Name == "")
	return nil
}

// write prints targets and strategies, briefly in one line each.
func (l lists) write(w io.Writer, brief bool) {
	write := writeListed
	if brief {
		write = writeBriefly
	}
	if len(l.Targets) > 0 {
		fmt.Fprintln(w, "Targets (lockstep run TARGET --set key=value):")
		write(w, l.Targets)
	}
	if brief {
		fmt.Fprintln(w)
	}
	if len(l.Strategies) > 0 {
		fmt.Fprintln(w, "Strategies (--strategy name:key=value,key=value):")
		write(w, l.Strategies)
	}
	if brief {
		fmt.Fprintln(w, "\n* is built when it is first used. lockstep list NAME prints options, properties and scenarios.")
	}
}

// list returns the targets; linked ones come first.
func (a *App) list() []listed {
	var all []listed
	for _, t := range a.Targets {
		l := listed{
			Name:      t.Name,
			Help:      t.Help,
			Options:   t.Options(),
			Linked:    true,
			Strategy:  cmp.Or(t.Strategy, usualStrategy),
			Campaign:  t.Campaign,
			Sometimes: t.Sometimes,
		}
		if p := a.program(t.Name); p != nil {
			l.Library, l.Versions = p.Library, p.Versions
		}
		if words := strings.Fields(os.Getenv(versionsVariable)); len(words) > 1 {
			l.Library, l.Versions = words[0], words[1:]
		}
		all = append(all, l)
	}
	for _, p := range a.Programs {
		if len(only(all, p.Name)) == 0 {
			all = append(all, listed{Name: p.Name, Help: p.Help, Library: p.Library, Versions: p.Versions})
		}
	}
	return all
}

func only(list []listed, name string) []listed {
	return slices.DeleteFunc(slices.Clone(list), func(l listed) bool { return l.Name != name })
}

// writeBriefly writes one line for each entry.
func writeBriefly(w io.Writer, list []listed) {
	width := 0
	for _, l := range list {
		width = max(width, len(l.Name))
	}
	for _, l := range list {
		mark := " "
		if !l.Linked {
			mark = "*"
		}
		fmt.Fprintf(w, "%s %-*s  %s\n", mark, width, l.Name, l.Help)
	}
}

// writeListed writes all that is known of each entry.
func writeListed(w io.Writer, list []listed) {
	for _, l := range list {
		fmt.Fprintf(w, "  %-13s %s\n", l.Name, l.Help)
		if len(l.Versions) > 0 {
			fmt.Fprintf(w, "      %-14s of %s, built on demand: %s\n", target.VersionKey, l.Library,
				strings.Join(l.Versions, ", "))
		}
		for _, o := range l.Options {
			fmt.Fprintf(w, "      %-14s %s (%s)\n", o.Key, o.Help, o.Default)
		}
		if len(l.Campaign) > 0 {
			fmt.Fprintf(w, "      %-14s without any: %s\n", "--set", strings.Join(l.Campaign, " "))
		}
		if len(l.Sometimes) > 0 {
			fmt.Fprintf(w, "      %-14s usual: %s\n", "--sometimes", strings.Join(l.Sometimes, ","))
		}
		if l.Strategy != "" {
			fmt.Fprintf(w, "      %-14s by default %s\n", "--strategy", l.Strategy)
		}
		l.writeDetail(w)
	}
}
