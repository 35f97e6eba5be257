package strategy

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
)

// Kind describes one strategy of this package.
type Kind struct {
	Name string
	// Help says in one line what it does.
	Help string
	// Default is the strategy with the options it has unless told otherwise.
	Default lockstep.Strategy
	// fresh makes a pointer to a copy of the default, for options to be set on.
	fresh func() any
	// value is the strategy behind such a pointer.
	value func(any) lockstep.Strategy
}

// kindOf makes the Kind of a strategy type from its default.
func kindOf[S lockstep.Strategy](name, help string, def S) Kind {
	return Kind{Name: name, Help: help, Default: def,
		fresh: func() any { s := def; return &s },
		value: func(p any) lockstep.Strategy { return *p.(*S) }}
}

// All lists the strategies in the order in which they are worth reading about.
func All() []Kind {
	return []Kind{
		kindOf("uniform", "lock-step rounds in which a bounded number of nodes is isolated (Algorithm 1)", DefaultUniform),
		kindOf("lossy", "lock-step rounds in which any set of messages is lost", DefaultLossy),
		kindOf("partition", "partitions of the nodes between and under operations, by families that cover every goal", DefaultPartition),
		kindOf("pctcp", "orders events by random priorities of causal chains, with change points", DefaultPCTCP),
		kindOf("pos", "orders events by random priorities, drawn anew where events race", DefaultPOS),
		kindOf("shadow", "links with a network and an inbox, on which messages are committed, dropped, swapped and duplicated", DefaultShadow),
		kindOf("delay", "a network in virtual time: latencies, cuts, flapping links, crashes and restarts", DefaultDelay),
		kindOf("systematic", "tries all choices up to its bounds, depth first", DefaultSystematic),
		kindOf("guided", "keeps the schedules of another strategy that reached something new, and mutates them", DefaultGuided),
		kindOf("walk", "random choice with weights by kind of step", DefaultWalk),
		kindOf("baseline", "random order of delivery, each message dropped with a fixed probability", DefaultBaseline),
	}
}

// Options lists the options of a kind with their defaults.
func (k Kind) Options() []option.Option { return option.List(k.fresh()) }

// Parse reads "name" or "name:key=value,key=value". Keys that are not given keep the
// default of the kind.
func Parse(text string) (lockstep.Strategy, error) {
	name, options, _ := strings.Cut(text, ":")
	var names []string
	for _, k := range All() {
		if k.Name != name {
			names = append(names, k.Name)
			continue
		}
		p := k.fresh()
		if options != "" {
			if err := option.SetAll(p, strings.Split(options, ",")); err != nil {
				return nil, fmt.Errorf("strategy %s: %w", name, err)
			}
		}
		return k.value(p), nil
	}
	return nil, fmt.Errorf("unknown strategy %q: one of %s", name, strings.Join(names, ", "))
}

// write is the command-line form of a strategy, which Parse reads back.
func write(name string, s lockstep.Strategy) string {
	var def any
	for _, k := range All() {
		if k.Name == name {
			def = k.Default
		}
	}
	if options := option.Text(s, def); options != "" {
		return name + ":" + options
	}
	return name
}
