package scenario

import (
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// Start is the name of the state in which every machine begins.
const Start = "start"

// Fail is the name of the state that ends the run with a finding.
const Fail = "fail"

// Machine is a finite automaton over the moments of a run. Filters test its state, and it defines when a run succeeds.
// The methods of State apply to its start state.
type Machine struct {
	*State
	name   string
	number int
	states []*State // the first is the start state
}

// State is a state of a [Machine]. Its methods add transitions, and mark it as successful, optional or final.
type State struct {
	name    string
	number  int
	machine *Machine
	edges   []edge
	success bool
	dead    bool
	ends    bool
}

type edge struct {
	when Condition
	to   *State
}

// Machine adds a machine. Without a name it has the scenario's name; two machines need two names.
func (s *Scenario) Machine(name ...string) *Machine {
	m := &Machine{name: s.name, number: len(s.machines)}
	if len(name) > 0 {
		m.name = name[0]
	}
	m.State = m.At(Start)
	s.machines = append(s.machines, m)
	return m
}

// At is the state with the given name, which is new if there was none. Only On adds edges from it and to it.
func (m *Machine) At(name string) *State {
	for _, s := range m.states {
		if s.name == name {
			return s
		}
	}
	s := &State{name: name, number: len(m.states), machine: m}
	m.states = append(m.states, s)
	return s
}

// On adds an edge: if the condition holds in this state, the machine goes to the named state, which On returns. Edges
// are tried in the order in which they were added. Several edges may lead to one state.
func (s *State) On(when Condition, to string) *State {
	target := s.machine.At(to)
	s.edges = append(s.edges, edge{when: when, to: target})
	return target
}

// MarkSuccess makes this a success state: a run that ends in it succeeds.
func (s *State) MarkSuccess() *State {
	s.success = true
	return s
}

// MarkOptional lets a campaign pass in which no run reaches the state. Otherwise such a campaign is vacuous in this
// part. It is for undesired states that are no finding ([Fail] is for findings), and for one of several ends.
func (s *State) MarkOptional() *State {
	s.dead = true
	return s
}

// EndRun ends the exploring stage of the run when the state is reached.
func (s *State) EndRun() *State {
	s.ends = true
	return s
}

// InState holds while the machine is in one of the named states.
func (m *Machine) InState(names ...string) Condition {
	return Condition{
		text: fmt.Sprintf("%s in %s", m.name, orList(names)),
		compile: func(c *compiler) test {
			var in uint64
			for _, name := range names {
				in |= 1 << c.state(m, name)
			}
			number := m.number
			return func(now *Moment) bool { return in>>now.director.states[number]&1 != 0 }
		},
		facts: facts{[]atom{{about: "the state of machine " + m.name, in: names, memory: true}}, true},
	}
}

// InStateFor holds when the machine has been in one of the named states, without leaving it, for at least the given
// virtual time. Conditions are evaluated at moments only, so it takes a moment after that time to take effect.
func (m *Machine) InStateFor(d trace.Time, names ...string) Condition {
	in := m.InState(names...)
	text := fmt.Sprintf("%s for %d", in.text, d)
	return Condition{text, func(c *compiler) test {
		if d <= 0 {
			c.problem("a time of %d in a state, it must be positive", d)
		}
		holds, number := c.test(in), m.number
		return func(now *Moment) bool { return holds(now) && now.Run.Now()-now.director.entered[number] >= d }
	}, facts{append([]atom{{about: text, memory: true}}, in.facts.atoms...), true}}
}
