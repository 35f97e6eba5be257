package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// compiler turns a scenario into a director and collects its errors on the way.
type compiler struct {
	scenario *Scenario
	info     lockstep.Info
	director *director
	where    string // the part being compiled
	problems []error
	counters names
	keyed    map[string]string
	sets     names
	held     names // set names as well: Store asks for them, actions that empty a set give them
	marks    names
	vars     names
}

// names numbers the names of one kind. It also records which names receive a value and which names are used.
type names struct {
	list  []string
	given []bool
	asked []string // where it is first used; empty: nowhere
}

func (n *names) number(name, where string, gives bool) int {
	at := slices.Index(n.list, name)
	if at < 0 {
		at = len(n.list)
		n.list, n.given, n.asked = append(n.list, name), append(n.given, false), append(n.asked, "")
	}
	if gives {
		n.given[at] = true
	} else if n.asked[at] == "" {
		n.asked[at] = where
	}
	return at
}

func newCompiler(s *Scenario, info lockstep.Info) *compiler {
	return &compiler{scenario: s, info: info, keyed: map[string]string{},
		director: &director{
			name:     s.name,
			info:     info,
			must:     s.must,
			draws:    s.groups,
			reserved: s.reserved,
			watch:    s.watch,
			observe:  s.observe,
			omits:    len(s.omit) > 0,
		}}
}

func (c *compiler) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s: %s", c.where, fmt.Sprintf(format, args...)))
}

// compile compiles every part. It also compiles filters that are left out, so that the names that they fill count as
// filled.
func (c *compiler) compile() *director {
	s, d := c.scenario, c.director
	c.where = "scenario"
	if s.name == "" {
		c.problem("it has no name")
	}
	if len(s.filters) == 0 && len(s.machines) == 0 {
		c.problem("it has neither a filter nor a machine")
	}
	for _, number := range s.omit {
		if number < 1 || number > len(s.filters) {
			c.problem("filter %d cannot be left out, there are %d", number, len(s.filters))
		}
	}
	for _, g := range s.groups {
		g.check(c)
		d.drawn = append(d.drawn, make([]lockstep.Nodes, len(g.parts))...)
	}
	for i, m := range s.machines {
		if slices.ContainsFunc(s.machines[:i], func(o *Machine) bool { return o.name == m.name }) {
			c.where = "scenario"
			c.problem("two machines are called %q: give them different names", m.name)
		}
		d.machines = append(d.machines, c.machine(m))
	}
	for _, f := range s.filters {
		ready := c.filter(f)
		ready.omitted = s.omits(f)
		d.filters = append(d.filters, ready)
		c.shadowed(&d.filters[len(d.filters)-1])
	}
	c.unfilled()
	c.where = "scenario"
	if s.must && !slices.ContainsFunc(d.machines, func(m readyMachine) bool { return m.succeeds }) {
		c.problem(
			"MustSucceed, but no state is one of success: no run could succeed; use MarkSuccess on a state of a machine",
		)
	}
	for _, w := range s.reserved {
		c.offered(w)
	}
	d.counters = make([]tally, len(c.counters.list))
	d.sets = make([][]member, len(c.sets.list))
	d.marks = make([]lockstep.Nodes, len(c.marks.list))
	d.states, d.entered = make([]int, len(d.machines)), make([]trace.Time, len(d.machines))
	d.vars = make([]any, len(c.vars.list))
	return d
}

// unfilled reports names that are used but never filled.
func (c *compiler) unfilled() {
	for _, k := range []struct {
		names names
		what  string
	}{
		{c.counters, "counter %q is never changed: nothing does Incr on it"},
		{c.sets, "set %q is never filled: nothing does Store or Record in it"},
		{
			c.held,
			"what is stored in set %q is never released: use ReleaseAll, DeliverAll or DropAll on it, or Drop instead of " +
				"Store to lose messages",
		},
		{c.vars, "variable %q is never set: nothing does Set on it"},
		{c.marks, "no node is ever marked %q: nothing does Mark"},
	} {
		for i, name := range k.names.list {
			if k.names.asked[i] != "" && !k.names.given[i] {
				c.where = k.names.asked[i]
				c.problem(k.what, name)
			}
		}
	}
}

func (c *compiler) filter(f *Filter) readyFilter {
	c.where = f.title()
	r := readyFilter{Filter: f, when: c.test(f.when)}
	if why := f.when.facts.impossible(); why != "" {
		c.problem("its condition can never hold: %s", why)
	}
	if !f.then || len(f.actions) == 0 {
		c.problem("it has no Then, so it does nothing")
	}
	if f.limited && f.limit < 1 {
		c.problem("First(%d), it must be at least 1", f.limit)
	}
	if f.per.of != nil && !f.limited {
		c.problem("Per needs a First or Once to count for each %s", f.per.text)
	}
	var decided []string
	for _, a := range f.actions {
		if a.compile == nil {
			c.problem("an action is empty: use the functions of this package")
			continue
		}
		r.actions = append(r.actions, a.compile(c))
		r.needs = r.needs || a.on == touches || a.on == decides
		c.fits(f, a)
		r.continues = r.continues || a.continues
		if a.on == decides {
			decided = append(decided, a.text)
		} else if a.on == touches && len(decided) > 0 {
			c.problem("%q comes after %q, when the message is gone already", a.text, decided[0])
		}
	}
	if len(decided) > 1 {
		c.problem("it decides more than once over the message: %s", strings.Join(decided, ", "))
	}
	if len(decided) > 0 && r.continues {
		c.problem("it decides over the message (%s) and cannot let the cascade continue", decided[0])
	}
	return r
}

// fits reports an action on a message if the filter matches only moments without such a message.
func (c *compiler) fits(f *Filter, a Action) {
	kinds := f.when.facts.kinds()
	if len(kinds) == 0 { // already reported
		return
	}
	switch {
	case (a.on == touches || a.on == decides) && !slices.Contains(kinds, aSend):
		c.problem(
			"%q acts on a message that was just sent, but the condition holds only at %s: allowed there are actions on "+
				"nodes, links, sets and memory",
			a.text,
			orWords(kinds),
		)
	case a.on == notes && slices.Equal(kinds, []string{anEvent}):
		c.problem("%q needs a message, but the condition holds only at an event", a.text)
	}
}

// shadowed reports a filter that is never reached, because an earlier one takes all of its matches.
func (c *compiler) shadowed(f *readyFilter) {
	if f.omitted {
		return
	}
	for i := range c.director.filters[:f.number-1] {
		e := &c.director.filters[i]
		changes := e.Filter.when.facts.memory() &&
			slices.ContainsFunc(c.director.filters[i+1:f.number-1], func(b readyFilter) bool { return b.continues })
		if e.omitted || e.limited || e.continues || e.needs && !f.needs || changes ||
			!f.Filter.when.facts.implies(e.Filter.when.facts) {
			continue
		}
		c.where = f.title()
		c.problem("it never matches: %s takes all that it would; put it before that one, or let that one Continue",
			e.title())
		return
	}
}

func (c *compiler) machine(m *Machine) readyMachine {
	c.where = "machine " + m.name
	r := readyMachine{Machine: m}
	reached := map[*State]bool{m.State: true}
	for changed := true; changed; {
		changed = false
		for _, s := range m.states {
			for _, e := range s.edges {
				if reached[s] && !reached[e.to] {
					reached[e.to], changed = true, true
				}
			}
		}
	}
	if len(m.states) > 64 {
		c.problem("%d states, at most 64 are allowed", len(m.states))
	}
	for _, s := range m.states {
		r.succeeds = r.succeeds || s.success
		if !reached[s] {
			c.problem("state %q can never be reached: no path of edges leads to it from %q", s.name, Start)
		}
		var edges []test
		for _, e := range s.edges {
			if why := e.when.facts.impossible(); why != "" {
				c.problem("the edge from %s to %s can never be taken: %s", s.name, e.to.name, why)
			}
			edges = append(edges, c.test(e.when))
		}
		r.edges = append(r.edges, edges)
	}
	return r
}

// Conditions, actions and groups call the following methods during compilation.

func (c *compiler) test(cond Condition) test {
	if cond.compile == nil {
		c.problem("a condition is empty: use the functions of this package")
		return func(*Moment) bool { return false }
	}
	return cond.compile(c)
}

func (c *compiler) tests(conditions []Condition) []test {
	tests := make([]test, len(conditions))
	for i, cond := range conditions {
		tests[i] = c.test(cond)
	}
	return tests
}

func (c *compiler) group(g Group) members {
	if g.compile == nil {
		c.problem("a group is empty: use the functions of this package")
		return func(*Moment) lockstep.Nodes { return 0 }
	}
	return g.compile(c)
}

func (c *compiler) counter(n Counter, gives bool) int {
	if as, ok := c.keyed[n.name]; ok && as != n.String() {
		c.problem("counter %q is used as %q and as %q: all uses must agree", n.name, as, n.String())
	}
	c.keyed[n.name] = n.String()
	return c.counters.number(n.name, c.where, gives)
}

// offered reports a request that the system never offers, if the system lists its requests.
func (c *compiler) offered(w wanted) {
	have := c.info.Requests
	switch {
	case have == nil || slices.ContainsFunc(have, func(text string) bool { return w.is(trace.Pending{Text: text}) }):
	case len(have) == 0:
		c.problem("%s offers no requests", c.info.Name)
	default:
		c.problem("%s offers no request %s, it offers %s", c.info.Name, w.text, strings.Join(have, ", "))
	}
}

// variable is the number of a variable. All uses of a variable must agree on its type.
func (c *compiler) variable(name, kind string, gives bool) int {
	if as, ok := c.keyed["variable "+name]; ok && as != kind {
		c.problem("variable %q is used as %s and as %s: all uses must agree", name, as, kind)
	}
	c.keyed["variable "+name] = kind
	return c.vars.number(name, c.where, gives)
}

func (c *compiler) set(name string, gives bool) int  { return c.sets.number(name, c.where, gives) }
func (c *compiler) mark(name string, gives bool) int { return c.marks.number(name, c.where, gives) }

// state is the number of a state, which must exist.
func (c *compiler) state(m *Machine, name string) int {
	if m.number >= len(c.scenario.machines) || c.scenario.machines[m.number] != m {
		c.problem("machine %q belongs to another scenario", m.name)
		return 0
	}
	for _, s := range m.states {
		if s.name == name {
			return s.number
		}
	}
	var have []string
	for _, s := range m.states {
		have = append(have, s.name)
	}
	c.problem("machine %q has no state %q, it has %s", m.name, name, strings.Join(have, ", "))
	return 0
}

// need reports a kind of step that the system does not support.
func (c *compiler) need(kind trace.Kind) {
	if !c.info.Supports.Has(kind) {
		c.problem("%s does not support %s (it supports %s)", c.info.Name, kind, c.info.Supports)
	}
}

// known reports types that the system does not have, if the system lists its types.
func (c *compiler) known(what string, types, have []string) {
	if len(types) == 0 {
		c.problem("no type of %s is named", what)
	}
	for _, t := range types {
		if have != nil && !slices.Contains(have, t) {
			c.problem("%s has no %s of type %q, it has %s", c.info.Name, what, t, strings.Join(have, ", "))
		}
	}
}

func (c *compiler) tagged() {
	if len(c.info.Rounds) == 0 {
		c.problem("the messages of %s carry no phase and round", c.info.Name)
	}
}

// mayHold reports links on which no message can be held back.
func (c *compiler) mayHold() {
	if c.info.FIFO {
		c.problem("the links of %s are FIFO: a message cannot be held back while later ones pass, cut the link instead",
			c.info.Name)
	}
}
