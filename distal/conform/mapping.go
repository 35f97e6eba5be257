package conform

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// Mapping says what the events of a system mean in a model.
type Mapping struct {
	// Name is the name of the mapping, for errors.
	Name string
	// New makes an observer of the runs of one worker. It fails if the model or the system is not of its kind.
	New func(*machine.Program, lockstep.Info) (Observer, error)
	// Again lets a node act on a message more than once, as in systems that send messages again. A program as it is
	// written acts at most once on the messages of a phase and round. With guards that make a second action harmless
	// the search is faster, and nothing else changes.
	Again bool
	// Epoch names a variable that never decreases. A message with a field of that name, and a smaller value, is one on
	// which its receiver never acts again: the search then forgets it. Empty: there is none.
	Epoch string
	// Larger names variables of which a larger value allows at least as much: whatever the system does after the
	// smaller one, the model allows after the larger one. The search then keeps the larger one only.
	Larger []string
}

// Observer follows the events of a run and compares them with states of the model. Nodes count from 1.
type Observer interface {
	// Reset begins a new run.
	Reset()
	// Event looks at an event, and reports whether something else is known of its node now. An error ends the check of
	// the run: the event shows something of which the model knows nothing. A [Doubt] ends it only if no behavior
	// explains the event.
	Event(*lockstep.Run, *lockstep.Event) (known bool, err error)
	// Agrees reports whether what is known of a node agrees with a local state of the model.
	Agrees(node int, s *machine.State) bool
	// Leads reports whether a local state in the middle of several actions may still lead to one that agrees. Yes is
	// always right, and no saves time.
	Leads(node int, s *machine.State) bool
	// Text is what is known of a node.
	Text(node int) string
}

// Doubt says why an event that no behavior explains may nevertheless be one of a correct system: the run is then
// inconclusive.
type Doubt struct{ Text string }

func (d Doubt) Error() string { return d.Text }

// Limits bound the search for behaviors of the model that explain a run. A run that reaches a limit, and of which
// no behavior is left, is inconclusive.
type Limits struct {
	// Actions is how many actions of a node may explain one event; 0 means 64.
	Actions int
	// States is how many states of the model are kept at once; 0 means 2000.
	States int
}

func (l Limits) filled() Limits {
	if l.Actions == 0 {
		l.Actions = 64
	}
	if l.States == 0 {
		l.States = 2000
	}
	return l
}

// byEvents finds the mapping for the events that a system emits.
func byEvents(p *machine.Program, info *lockstep.Info) (*Mapping, error) {
	for _, m := range []*Mapping{&Raft, &Outputs} {
		if _, err := m.New(p, *info); err == nil {
			return m, nil
		}
	}
	_, raft := Raft.New(p, *info)
	_, outputs := Outputs.New(p, *info)
	return nil, fmt.Errorf(
		"no mapping fits %s and protocol %s: for a Raft %w; for outputs %w; package distal/conform says how to write another",
		info.Name, p.Core.Name, raft, outputs)
}

// Observe follows the events of a system with the mapping of this package that fits them and a program. A system that
// lists no events may emit outputs.
func Observe(p *machine.Program, info lockstep.Info) (Observer, error) {
	if len(info.Events) == 0 {
		info.Events = []string{eventOutput}
	}
	m, err := byEvents(p, &info)
	if err != nil {
		return nil, err
	}
	return m.New(p, info)
}

// variable finds a variable of a program by its name, -1: there is none.
func variable(p *machine.Program, name string) int {
	for i, v := range p.Core.Vars {
		if v.Name == name && !v.Ghost {
			return i
		}
	}
	return -1
}

// Outputs maps the events of type output to the outputs of the model. A value is compared as text, as the model writes
// it; numbers and lists of numbers may be Go values. Programs in Distal emit such events. Outputs alone leave much
// hidden: for a model whose nodes can act without end between two outputs, no run is ever a finding.
var Outputs = Mapping{Name: "outputs", New: newOutputs}

// outputs follows the last output of every node.
type outputs struct {
	program *machine.Program
	last    []string
}

func newOutputs(p *machine.Program, info lockstep.Info) (Observer, error) {
	if p.Core.Output < 0 {
		return nil, fmt.Errorf("protocol %s has no outputs", p.Core.Name)
	}
	if !slices.Contains(info.Events, eventOutput) {
		return nil, fmt.Errorf("%s lists no events of type %s", info.Name, eventOutput)
	}
	return &outputs{program: p, last: make([]string, p.N+1)}, nil
}

const eventOutput = "output"

func (o *outputs) Reset() { clear(o.last) }

func (o *outputs) Event(_ *lockstep.Run, e *lockstep.Event) (bool, error) {
	if e.Type != eventOutput {
		return false, nil
	}
	o.last[e.Node] = o.text(e.Value)
	return true, nil
}

// text writes a value of Go as the model writes it.
func (o *outputs) text(v any) string {
	x, t := reflect.Indirect(reflect.ValueOf(v)), o.program.Core.OutputType()
	numbers := x.Kind() == reflect.Slice && x.Type().Elem().ConvertibleTo(number)
	switch {
	case x.CanInt() && t.Kind == core.Int:
		return core.Format(t, core.Value{N: x.Int()})
	case numbers && t.Kind == core.Seq && t.Elem.Kind == core.Int:
		var list core.Value
		for i := range x.Len() {
			list.E = append(list.E, core.Value{N: x.Index(i).Convert(number).Int()})
		}
		return core.Format(t, list)
	}
	return fmt.Sprint(v)
}

var number = reflect.TypeFor[int64]()

func (o *outputs) Agrees(node int, s *machine.State) bool {
	v := s.Vars[o.program.Core.Output]
	if v.N == 0 {
		return o.last[node] == ""
	}
	return o.last[node] == core.Format(o.program.Core.OutputType(), v.E[0])
}

func (o *outputs) Leads(int, *machine.State) bool { return true }

func (o *outputs) Text(node int) string {
	if o.last[node] == "" {
		return "no output"
	}
	return "output " + o.last[node]
}
