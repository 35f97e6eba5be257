package strategy

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
)

// Description describes one strategy of this package, for help texts and the parser.
type Description struct {
	Name string
	// Help describes the strategy in one line.
	Help string
	// Default is the strategy with its default options.
	Default lockstep.Strategy
}

// All lists the strategies in a suitable reading order.
func All() []Description {
	return []Description{
		{"uniform", "lock-step rounds in which a bounded number of nodes is isolated (Algorithm 1)", DefaultUniform},
		{"lossy", "lock-step rounds in which any set of messages is lost", DefaultLossy},
		{
			"partition",
			"partitions of the nodes between and under operations, by families that cover every goal",
			DefaultPartition,
		},
		{"pctcp", "orders events by random priorities of causal chains, with change points", DefaultPCTCP},
		{"pos", "orders events by random priorities, drawn again where events race", DefaultPOS},
		{
			"queues",
			"links with a network and an inbox, on which messages are committed, dropped, swapped and duplicated",
			DefaultQueues,
		},
		{"delay", "a network in virtual time: latencies, cuts, flapping links, crashes and restarts", DefaultDelay},
		{"systematic", "explores all choices up to its bounds, depth first", DefaultSystematic},
		{
			"guided",
			"keeps the schedules of another strategy that reached something new, and mutates them",
			DefaultGuided,
		},
		{"walk", "random choice with weights by kind of step", DefaultWalk},
		{"baseline", "random order of delivery, each message dropped with a fixed probability", DefaultBaseline},
	}
}

// Options lists the options of the strategy with their defaults.
func (d Description) Options() []option.Option { return option.List(d.Default) }

// Parse reads "name" or "name:key=value,key=value". Omitted keys have the default value of the strategy.
func Parse(text string) (lockstep.Strategy, error) {
	name, options, _ := strings.Cut(text, ":")
	var names []string
	for _, k := range All() {
		if k.Name != name {
			names = append(names, k.Name)
			continue
		}
		var pairs []string
		if options != "" {
			pairs = strings.Split(options, ",")
		}
		s, err := option.With(k.Default, pairs)
		if err != nil {
			return nil, fmt.Errorf("strategy %s: %w", name, err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("unknown strategy %q: one of %s", name, strings.Join(names, ", "))
}

// write returns the command-line form of a strategy, which Parse reads back.
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
