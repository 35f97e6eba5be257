// Package system puts Distal programs under the engine: a program as it is written,
// message by message, is a [lockstep.System], so that every strategy runs on it.
//
// The properties of the program are its spec; an error in the program while it runs
// (an index out of range, a broken condition on its rounds where it is monitored) is a
// finding, too. Choices of the program are drawn from the run's seed.
package system

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/async"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// Program is a deployment of a Distal program: a [lockstep.System].
type Program struct {
	// File is the program's file; it is read when the system is described or deployed.
	File string `help:"file of the program" trust:"reads"`
	// Nodes is the number of nodes; 0 means what the test says, or the program's default.
	Nodes int `help:"number of nodes; 0: from the test or the file"`
	// Test is a test of the file whose parameters are taken; "" means its first.
	Test string `help:"test of the file that gives the parameters; the first unless given" trust:"harmless"`
	// Params are other parameters, as "f=1,values=3".
	Params string `help:"other parameters of the program, as f=1,values=3; each may be set by its own name, too" trust:"harmless"`
	// Choices says how the first choices of the program are resolved, as "0,2,1"; later ones are drawn. Counterexamples
	// of the sequential program need them.
	Choices string `help:"how the first choices of the program are resolved, as 0,2,1; later ones are drawn" trust:"harmless"`
	// Holds are the numbers of messages on whose arrival the receiver does not act, because more come with them.
	Holds string `help:"numbers of messages that arrive together with the next one, as 3,4"`
	// source is the text of the program instead of a file.
	source string
}

// FromSource is the program with the given text and the parameters of one of its tests.
func FromSource(text, test string) Program { return Program{Test: test, source: text} }

func (p Program) compile() (*machine.Program, error) {
	text := p.source
	if text == "" {
		data, err := os.ReadFile(p.File)
		if err != nil {
			return nil, fmt.Errorf("distal: the program cannot be read: %w", err)
		}
		text = string(data)
	}
	params, err := assignments(p.Params)
	if err != nil {
		return nil, err
	}
	compiled, remarks := distal.Compile(text, distal.Options{Nodes: p.Nodes, Test: p.Test, Params: params})
	if compiled == nil {
		return nil, fmt.Errorf("distal: %s: %w", p.File, remarks)
	}
	return compiled, nil
}

// Describe says what the system is and can do.
func (p Program) Describe() (lockstep.Info, error) {
	m, err := p.compile()
	if err != nil {
		return lockstep.Info{}, err
	}
	options := map[string]string{"nodes": strconv.Itoa(m.N)}
	if p.File != "" {
		options["file"] = p.File
	}
	//lockstep:unordered it fills another map
	for name, value := range map[string]string{"test": p.Test, "params": p.Params, "choices": p.Choices,
		"holds": p.Holds} {
		if value != "" {
			options[name] = value
		}
	}
	return lockstep.Info{Name: "distal", Options: options, Nodes: m.N, Rounds: m.Core.RoundNames(),
		Events:   []string{"output"},
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Timer, trace.Cut, trace.Heal)}, nil
}

// Deploy makes a deployment.
func (p Program) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	m, err := p.compile()
	if err != nil {
		return nil, err
	}
	d := &deployment{program: m, holds: map[int]bool{}}
	if d.choices, err = numbers(p.Choices); err != nil {
		return nil, err
	}
	held, err := numbers(p.Holds)
	if err != nil {
		return nil, err
	}
	for _, id := range held {
		d.holds[id] = true
	}
	for _, r := range m.Core.Rules {
		d.timeouts = d.timeouts || r.Message() < 0
	}
	return d, nil
}

// numbers reads a list of numbers.
func numbers(text string) ([]int, error) {
	var out []int
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("distal: %q is not a list of numbers, as 0,2,1", text)
		}
		out = append(out, n)
	}
	return out, nil
}

// assignments reads a list of parameters.
func assignments(text string) (map[string]int64, error) {
	out := map[string]int64{}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("distal: %q is not a list of parameters, as f=1,values=3", text)
		}
		out[name] = n
	}
	return out, nil
}

// timeout is the virtual time after which a timeout is due.
const timeout = 10

// deployment is a running program.
type deployment struct {
	program  *machine.Program
	timeouts bool
	chance   lockstep.Source
	instance *async.Instance
	choices  []int             // resolutions that are given
	chosen   int               // how many of them are used
	holds    map[int]bool      // messages on which no node acts yet
	bodies   []async.Flight    // by number of the body - 1
	trouble  *lockstep.Finding // what is broken, for the spec
}

// Reset begins a new run.
func (d *deployment) Reset(_ context.Context, seed uint64, out *lockstep.Outbox) error {
	d.chance.Seed(out, seed, 0)
	d.chosen, d.bodies, d.trouble = 0, d.bodies[:0], nil
	d.instance = async.New(d.program, d.choose)
	d.report(d.instance.History(), out)
	for n := 1; d.timeouts && n <= d.program.N; n++ {
		out.SetTimer(lockstep.Node(n), timeout)
	}
	out.States(d.state)
	return nil
}

// choose resolves a choice: as it is given, or by the run's seed.
func (d *deployment) choose(n int) int {
	if d.chosen < len(d.choices) {
		d.chosen++
		return d.choices[d.chosen-1] % n
	}
	return d.chance.IntN(n)
}

// Do takes one step.
func (d *deployment) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Deliver:
		// The program numbers its messages as the engine numbers bodies; a copy has the body of its original.
		f := d.bodies[out.Message(s.Msg).Body-1]
		d.report(d.instance.Receive(f.To, f.Message, d.holds[int(s.Msg)]), out)
	case trace.Timer:
		d.report(d.instance.Timeout(int(s.Node)), out)
		out.SetTimer(s.Node, out.Now()+timeout)
	}
	out.States(d.state)
	return nil
}

// Close releases what the deployment holds.
func (d *deployment) Close() error { return nil }

// report notifies the engine of what actions caused: messages, outputs, and what is broken.
func (d *deployment) report(fired []async.Firing, out *lockstep.Outbox) {
	for i := range fired {
		f := &fired[i]
		for _, v := range f.Outputs {
			out.Event(lockstep.Event{Node: lockstep.Node(f.Node), Type: "output",
				Value: core.Format(d.program.Core.OutputType(), v)})
		}
		d.check(f)
	}
	for _, f := range d.instance.Collect() {
		m := f.Message
		d.bodies = append(d.bodies, f)
		body := out.Send(lockstep.Node(m.From), lockstep.Node(f.To), d.program.Core.Messages[m.Type].Type.Name,
			trace.Tag{Phase: int32(m.Tag.Phase), Round: int32(m.Tag.Round)})
		if out.Texts() {
			text := d.program.FormatMessage(m)
			out.Text(body, text[strings.IndexByte(text, '('):])
		}
	}
	d.checkStates()
}

// check notes what an action itself broke.
func (d *deployment) check(f *async.Firing) {
	node := trace.NodesOf(lockstep.Node(f.Node))
	switch {
	case d.trouble != nil:
	case f.Fault != nil:
		d.trouble = &lockstep.Finding{Property: "fault", Nodes: node, Text: fmt.Sprintf("node %d: %v", f.Node, f.Fault)}
	case f.Broken >= 0:
		name := d.program.Core.Props[f.Broken].Name
		d.trouble = &lockstep.Finding{Property: name, Nodes: node,
			Text: fmt.Sprintf("%s does not hold for the output of node %d", name, f.Node)}
	case len(f.Breaches) > 0:
		b := f.Breaches[0]
		d.trouble = &lockstep.Finding{Property: b.Title(), Nodes: node, Text: fmt.Sprintf("%s: %s", b.Pos, b.Text)}
	}
}

// checkStates notes a property of the states that does not hold.
func (d *deployment) checkStates() {
	if d.trouble != nil {
		return
	}
	switch i, fault := d.instance.Check(); {
	case fault != nil:
		d.trouble = &lockstep.Finding{Property: "fault", Text: fault.Error()}
	case i >= 0:
		name := d.program.Core.Props[i].Name
		d.trouble = &lockstep.Finding{Property: name, Text: name + " does not hold"}
	}
}

// state is the state of a node as text.
func (d *deployment) state(n lockstep.Node) string {
	return stateText(d.program, d.instance.State(int(n)))
}

// Abilities are to hash states.
func (d *deployment) Capabilities() lockstep.Capabilities {
	return lockstep.Capabilities{View: d, Fingerprint: func(n lockstep.Node) uint64 {
		return mix.Bytes(d.instance.State(int(n)).AppendKey(nil))
	}}
}

// Properties is the spec of every program: the properties that it declares. It must be
// used with a Program.
var Properties lockstep.Spec = properties{}

type properties struct{}

func (properties) Properties() []string               { return []string{"properties"} }
func (properties) New(lockstep.Info) lockstep.Monitor { return &propertyMonitor{} }

// propertyMonitor passes on what the deployment found broken.
type propertyMonitor struct{ checked [1]int }

func (p *propertyMonitor) Reset() { p.checked[0] = 0 }

func (p *propertyMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	p.checked[0]++
	if d, ok := run.View().(*deployment); ok {
		return d.trouble
	}
	return nil
}

func (p *propertyMonitor) End(*lockstep.Run) *lockstep.Finding { return nil }

// EventsOnly reports that steps without events are checked, too.
func (*propertyMonitor) EventsOnly() bool { return false }

func (p *propertyMonitor) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Checked: p.checked[:]}
}
