package main

import (
	"fmt"
	"io"

	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

type listCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// listed is a target or a strategy as list shows it.
type listed struct {
	Name    string          `json:"name"`
	Help    string          `json:"help"`
	Options []target.Option `json:"options"`
}

// Help implements kong's longer help.
func (listCmd) Help() string { return "Example:\n  lockstep list --json" }

// Run implements the command.
func (c *listCmd) Run(e *env) error {
	var all struct {
		Targets    []listed `json:"targets"`
		Strategies []listed `json:"strategies"`
	}
	for _, t := range targets {
		all.Targets = append(all.Targets, listed{t.Name, t.Help, t.Options()})
	}
	for _, k := range strategy.All() {
		all.Strategies = append(all.Strategies, listed{k.Name, k.Help, k.Options()})
	}
	if c.JSON {
		return writeJSON(e.out, all)
	}
	fmt.Fprintln(e.out, "Targets (lockstep run TARGET --set key=value):")
	writeListed(e.out, all.Targets)
	fmt.Fprintln(e.out, "\nStrategies (--strategy name:key=value,key=value):")
	writeListed(e.out, all.Strategies)
	return nil
}

func writeListed(w io.Writer, list []listed) {
	for _, l := range list {
		fmt.Fprintf(w, "  %-12s %s\n", l.Name, l.Help)
		for _, o := range l.Options {
			fmt.Fprintf(w, "      %-14s %s (%s)\n", o.Key, o.Help, o.Default)
		}
	}
}
