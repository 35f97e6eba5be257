package maelstrom

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep"
)

// checkEcho requires that an answer repeats its request.
func checkEcho(h *history) verdict {
	v := verdict{}
	for _, c := range h.answered() {
		var echo string
		v.checked++
		if err := c.get("echo", &echo); err != nil || echo != c.sent["echo"] {
			return broken(v.checked, fmt.Sprintf("%q was echoed as %s", c.sent["echo"], c.reply), c)
		}
	}
	return v
}

// checkUnique requires that no two answers are equal.
func checkUnique(h *history) verdict {
	v := verdict{}
	first := map[string]*call{}
	for _, c := range h.answered() {
		var id json.RawMessage
		if err := c.get("id", &id); err != nil {
			return broken(v.checked, err.Error(), c)
		}
		v.checked++
		if other := first[text(id)]; other != nil {
			return broken(v.checked, fmt.Sprintf("nodes %d and %d both generated %s", other.Node, c.Node, id), other, c)
		}
		first[text(id)] = c
	}
	return v
}

// checkSet requires that a read returns only values that a client added. After the system was quiescent for a while, it
// must return all acknowledged values.
func checkSet(add, field string) func(*history) verdict {
	return func(h *history) verdict {
		v := verdict{}
		for _, c := range h.answered() {
			if c.Kind != "read" {
				continue
			}
			var seen []int
			if err := c.get(field, &seen); err != nil {
				return broken(v.checked, err.Error(), c)
			}
			v.checked++
			for _, x := range seen {
				if !slices.ContainsFunc(h.calls,
					func(a *call) bool { return a.Kind == add && a.Value == x && a.called <= c.returned }) {
					return broken(v.checked, fmt.Sprintf("node %d shows %d, which no client added", c.Node, x), c)
				}
			}
		}
		if h.settled {
			return h.missing(v, add, field)
		}
		return v
	}
}

// final returns the last reads at the end of a run, in the order of nodes.
func (h *history) final() []*call {
	last := map[lockstep.Node]*call{}
	for _, c := range h.answered() {
		if c.Kind == "read" && c.Final {
			last[c.Node] = c
		}
	}
	var list []*call
	for _, n := range slices.Sorted(maps.Keys(last)) {
		list = append(list, last[n])
	}
	return list
}

// missing checks the last reads: they must contain all acknowledged values.
func (h *history) missing(v verdict, add, field string) verdict {
	for _, c := range h.final() {
		var seen []int
		if err := c.get(field, &seen); err != nil {
			return broken(v.checked, err.Error(), c)
		}
		for _, a := range h.answered() {
			if a.Kind == add && a.returned <= c.called && !slices.Contains(seen, a.Value) {
				return broken(
					v.checked,
					fmt.Sprintf(
						"%d was acknowledged by node %d, but node %d does not show it once all nodes are quiescent",
						a.Value, a.Node, c.Node),
					a,
					c,
				)
			}
		}
	}
	return v
}

// checkCounter requires that, after the system was quiescent for a while, a read returns the sum of the acknowledged
// values. Values without an answer may be included or not.
func checkCounter(h *history) verdict {
	v := verdict{}
	if !h.settled {
		return v
	}
	least, most := 0, 0
	for _, c := range h.calls {
		if c.Kind != "add" || c.returned >= 0 && c.failed() {
			continue
		}
		if c.returned >= 0 || c.Value < 0 {
			least += c.Value
		}
		if c.returned >= 0 || c.Value > 0 {
			most += c.Value
		}
	}
	for _, c := range h.final() {
		var value int
		if err := c.get("value", &value); err != nil {
			return broken(v.checked, err.Error(), c)
		}
		v.checked++
		if value < least || value > most {
			return broken(
				v.checked,
				fmt.Sprintf("node %d shows %d once all nodes are quiescent, but what was acknowledged makes %s", c.Node,
					value, between(least, most)),
				c,
			)
		}
	}
	return v
}

func between(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
