package conform

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/trace"
)

// Property is the property that the spec checks.
const Property = "conformance"

// Options say how a program becomes a spec.
type Options struct {
	// Mapping says what the events of the system mean; nil: the one of this package that fits the system's events.
	Mapping *Mapping
	// Params are parameters of the program other than n, which is the number of nodes of the system.
	Params map[string]int64
	// Limits bound the search.
	Limits Limits
	_      struct{}
}

// Spec is a program as a [lockstep.Spec]: the runs of a system are behaviors of it.
type Spec struct {
	text    string
	program *check.Program
	options Options
	visits  *visits
}

// New makes a spec of the text of a program.
func New(text string, o Options) (*Spec, error) {
	p, remarks := distal.Load(text)
	if p == nil {
		return nil, remarks
	}
	if o.Limits.Actions < 0 || o.Limits.States < 0 {
		return nil, errors.New("conform: a limit is negative")
	}
	s := &Spec{text: text, program: p, options: o, visits: &visits{transitions: map[machine.Transition]bool{}}}
	compiled, err := s.compile(0)
	if err != nil {
		return nil, err
	}
	_, err = newModel(compiled, &Mapping{}, o.Limits)
	return s, err
}

// Load makes a spec of the program in a file, for the command line.
func Load(file string) (*Spec, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the model cannot be read: %w", err)
	}
	s, err := New(string(text), Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// compile fixes the parameters; n is the number of nodes, or 0 for the program's own.
func (s *Spec) compile(n int) (*machine.Program, error) {
	params := map[string]int64{}
	for name, v := range s.options.Params { //lockstep:unordered it fills another map
		params[name] = v
	}
	if n > 0 {
		params[s.program.Params[0].Name] = int64(n)
	}
	return machine.Compile(s.program.Program, params)
}

// Fits reports why the runs of a system cannot be compared with the model; nil: they can.
func (s *Spec) Fits(info lockstep.Info) error {
	_, _, err := s.prepare(&info)
	return err
}

// prepare makes the model for a system.
func (s *Spec) prepare(info *lockstep.Info) (*model, Observer, error) {
	p, err := s.compile(info.Nodes)
	if err != nil {
		return nil, nil, err
	}
	mapping := s.options.Mapping
	if mapping == nil {
		if mapping, err = byEvents(p, info); err != nil {
			return nil, nil, err
		}
	}
	see, err := mapping.New(p, *info)
	if err != nil {
		return nil, nil, fmt.Errorf("the mapping %s: %w", mapping.Name, err)
	}
	m, err := newModel(p, mapping, s.options.Limits)
	return m, see, err
}

// Properties names what is checked.
func (s *Spec) Properties() []string { return []string{Property} }

// New makes a monitor. If the model does not fit the system, every run is inconclusive and says why.
func (s *Spec) New(info lockstep.Info) lockstep.Monitor {
	m, see, err := s.prepare(&info)
	out := &monitor{spec: s, unfit: err}
	if err == nil {
		out.search = &search{m: m, see: see}
	}
	return out
}

// monitor compares one run after the other with the model.
type monitor struct {
	spec      *Spec
	unfit     error
	search    *search
	undecided string
	doubt     string // about the events since the last comparison
	found     *lockstep.Finding
	why       string // the picture of the finding
	checked   [1]int
	features  []uint64 // of the last run
}

// Reset begins a new run.
func (m *monitor) Reset() {
	m.undecided, m.doubt, m.found, m.why, m.checked = "", "", nil, "", [1]int{}
	if m.unfit != nil {
		m.undecided = m.unfit.Error()
		return
	}
	m.attempt(func() {
		m.search.m.reset()
		m.search.see.Reset()
		m.search.begin()
		if len(m.search.worlds) == 0 {
			m.undecided = "no behavior of the model begins as the mapping says"
		}
	})
}

// attempt does something that an error of the model ends.
func (m *monitor) attempt(do func()) {
	defer func() {
		switch t := recover().(type) {
		case nil:
		case trouble:
			m.undecided = t.text
		default:
			panic(t)
		}
	}()
	do()
}

// EventsOnly reports that only events are looked at.
func (m *monitor) EventsOnly() bool { return true }

// Step compares the events of a step: those of one node together, as far as they follow one another.
func (m *monitor) Step(run *lockstep.Run) *lockstep.Finding {
	last := 0
	events := run.Events()
	for i := range events {
		if m.undecided != "" || m.found != nil {
			break
		}
		node := int(events[i].Node)
		if last != 0 && node != last { // before the observer learns of another node
			m.compare(last)
			last = 0
		}
		known, err := m.search.see.Event(run, &events[i])
		if doubt := (Doubt{}); errors.As(err, &doubt) {
			m.doubt = doubt.Text
		} else if err != nil {
			m.undecided = err.Error()
			break
		}
		if known {
			last = node
		}
	}
	if last != 0 {
		m.compare(last)
	}
	return m.found
}

// compare looks for behaviors after the events of a node.
func (m *monitor) compare(node int) {
	if m.undecided != "" || m.found != nil {
		return
	}
	m.attempt(func() {
		s := m.search
		m.checked[0]++
		doubt := m.doubt
		m.doubt = ""
		if s.observed(node - 1) {
			return
		}
		if doubt != "" {
			m.undecided = doubt
			return
		}
		if s.reached != "" {
			m.undecided = "no behavior of the model was found, but not all were looked at: " + s.reached
			return
		}
		m.fail(node)
	})
}

// fail makes the finding.
func (m *monitor) fail(node int) {
	p := m.search.m.program.Core.Name
	m.found = &lockstep.Finding{Property: Property, Nodes: trace.NodesOf(lockstep.Node(node)), Text: fmt.Sprintf(
		"no behavior of %s remains: node %d is %s; the model allows %s", p, node, m.search.see.Text(node),
		m.search.allowed(node-1))}
	m.why = m.search.picture(node - 1)
}

// End checks the properties of the model itself: if they are broken in all states in which it may be, then the model is
// wrong, or the system does what the model should not allow.
func (m *monitor) End(*lockstep.Run) *lockstep.Finding {
	if m.undecided != "" || m.found != nil {
		return nil
	}
	m.attempt(func() { m.found = m.broken() })
	if m.found == nil && m.undecided == "" {
		m.spec.visits.add(m.search)
	}
	return m.found
}

// broken looks for a property that does not hold in any state in which the model may be.
func (m *monitor) broken() *lockstep.Finding {
	s, name := m.search, ""
	for _, w := range s.worlds {
		nodes := make([]*machine.State, len(w.local))
		for i := range w.local {
			nodes[i] = s.state(w, i)
		}
		i, fault := s.m.program.Check(nodes)
		if fault != nil {
			panic(trouble{"the model itself fails: " + fault.Error()})
		}
		if i < 0 {
			return nil
		}
		name = s.m.program.Core.Props[i].Name
	}
	return &lockstep.Finding{Property: Property, Text: fmt.Sprintf(
		"the model allows the run and then breaks its own property %s: the model or the property is wrong", name)}
}

// Conclude says how many events were compared, and why a run could not be checked.
func (m *monitor) Conclude(draw bool) lockstep.Conclusion {
	c := lockstep.Conclusion{Checked: m.checked[:], Undecided: m.undecided}
	if m.undecided != "" {
		c.Undecided = Property + ": " + m.undecided
	}
	if draw && m.why != "" {
		c.Pictures = []trace.Picture{{Name: "model.txt", Data: []byte(m.why)}}
	}
	return c
}

// most is how many states and alternatives a text shows.
const most = 3

// allowed says what a node could have done instead.
func (s *search) allowed(node int) string {
	texts := s.alternatives(node)
	switch {
	case len(texts) == 0:
		return "nothing new of this node"
	case len(texts) > most:
		return fmt.Sprintf("%s, and %d more", strings.Join(texts[:most], "; "), len(texts)-most)
	}
	return strings.Join(texts, "; ")
}

// alternatives describes what a node could do in any state in which the model may be, in order.
func (s *search) alternatives(node int) (texts []string) {
	for _, w := range s.worlds {
		s.each(w, node, func(v *move) bool {
			text := fmt.Sprintf("%s to %s", s.m.label(v.rule), s.m.program.FormatState(s.m.locals.list[v.after].state))
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
			return true
		})
	}
	slices.Sort(texts)
	return texts
}

// picture shows the states before the event, how the first of them came about, and what was possible.
func (s *search) picture(node int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "No behavior of %s remains after an event of node %d:\n  %s\n", s.m.program.Core.Name, node+1,
		s.see.Text(node+1))
	fmt.Fprintf(&b, "\nStates of the model before it: %d\n", len(s.worlds))
	for i, w := range s.worlds[:min(len(s.worlds), most)] {
		fmt.Fprintf(&b, "\nstate %d\n", i+1)
		for n := range w.local {
			fmt.Fprintf(&b, "  node %d: %s\n", n+1, s.m.program.FormatState(s.state(w, n)))
		}
	}
	fmt.Fprintf(&b, "\nWhat node %d could have done:\n", node+1)
	for _, text := range s.alternatives(node) {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	if len(s.worlds) > 0 {
		fmt.Fprintf(&b, "\nHow the first state came about:\n")
		for _, line := range s.path(s.worlds[0]) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

// path lists the actions that lead to a state.
func (s *search) path(w *world) (lines []string) {
	for e := w.past; e != nil; e = e.before {
		lines = append(lines, fmt.Sprintf("node %d: %s: %s", e.node+1, s.m.label(e.rule),
			s.m.program.FormatState(s.m.locals.list[e.to].state)))
	}
	slices.Reverse(lines)
	return lines
}
