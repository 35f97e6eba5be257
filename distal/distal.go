// Package distal is the space of the protocol language: write a protocol as in a textbook, get its rounds, its
// sequential form, and every behavior to a bound.
//
// Each verb of the command line is one function here. It takes the text of a program and options, and returns a result
// and a list of remarks; a verb has failed when the list contains an error.
//
//	Check    names, types, and the conditions for a round structure
//	Fmt      canonical form
//	Rounds   the rounds as a graph
//	Unfold   a phase as a program, what comes after what
//	Seq      the sequential program, as text
//	Export   a Promela model of it
//	Explore  every behavior to a bound, or random ones
//	Tests    the tests of a file, and whether each ends as it expects
//
// The work is done in the packages below: syntax (text), check (meaning), core (the one form of a program), machine
// (its evaluator), sequential (lock-step), unparse and rounds (printing), explore (search), async (message by
// message), promela (export). Data goes one way:
//
//	text -> syntax.File -> core.Program -> core.Program in lock-step -> explore.Result
package distal

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/rounds"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/distal/syntax"
	"github.com/lockstep-go/lockstep/distal/unparse"
)

// Remarks is a list of errors and warnings with line and column.
type Remarks = syntax.Diagnostics

// Options choose an instance of a program: what a test in the file says, then what the other fields say.
type Options struct {
	Test     string           // a test of the file; "" means its first, if it has any
	Nodes    int              // n; 0: from the test, or the default in the file
	Phases   int              // bound on the phases; 0: from the test, or 3
	Network  string           // such as "reliable" or "atleast(n - f)"; "": from the test, or the file
	Timeouts string           // "eager" or "free"; "": from the test, or free
	Params   map[string]int64 // other parameters
	_        struct{}
}

// Load parses and checks a program.
func Load(src string) (*check.Program, Remarks) {
	f, errs := syntax.Parse(src)
	if len(errs) > 0 {
		return nil, errs
	}
	return check.Check(f)
}

// failure makes a list of one error that belongs to no place in the text.
func failure(err error) Remarks {
	var list Remarks
	if errors.As(err, &list) {
		return list
	}
	return Remarks{{Check: "options", Text: err.Error()}}
}

// CheckResult is what Check found.
type CheckResult struct {
	Protocol   string        `json:"protocol"`
	Phase      string        `json:"phase,omitempty"` // the phase variable, declared or inferred
	Sequential bool          `json:"sequential"`      // no condition is refused
	Conditions []check.Proof `json:"conditions"`
}

// Check checks a program. Refused conditions are among the remarks as errors.
func Check(src string) (CheckResult, Remarks) {
	p, remarks := Load(src)
	if p == nil {
		return CheckResult{}, remarks
	}
	out := CheckResult{Protocol: p.Name, Sequential: len(p.Refused) == 0, Conditions: p.Proofs}
	if p.Phase >= 0 {
		out.Phase = p.Vars[p.Phase].Name
	}
	remarks = append(remarks, p.Refused...)
	remarks.Sort()
	return out, remarks
}

// FmtResult is a program in canonical form.
type FmtResult struct {
	Text    string `json:"text"`
	Changed bool   `json:"changed"`
}

// Fmt formats a program.
func Fmt(src string) (FmtResult, Remarks) {
	f, errs := syntax.Parse(src)
	if len(errs) > 0 {
		return FmtResult{}, errs
	}
	text := syntax.Format(f)
	return FmtResult{Text: text, Changed: text != src}, nil
}

// RoundsResult is the printed graph of rounds.
type RoundsResult struct {
	Text string `json:"text"`
}

// Rounds prints the rounds of a program as a graph: what can happen in each, and where it leads.
func Rounds(src string) (RoundsResult, Remarks) {
	p, remarks := sequentialisable(src)
	if p == nil {
		return RoundsResult{}, remarks
	}
	return RoundsResult{Text: rounds.Graph(p)}, remarks
}

// Unfold prints a phase of a program as a program: what a node can do one thing after the other, down to where the
// next phase begins.
func Unfold(src string) (RoundsResult, Remarks) {
	p, remarks := sequentialisable(src)
	if p == nil {
		return RoundsResult{}, remarks
	}
	f, _ := syntax.Parse(src)
	text, err := rounds.Unfold(p, f)
	if err != nil {
		return RoundsResult{}, append(remarks, failure(err)...)
	}
	return RoundsResult{Text: text}, remarks
}

// SeqResult is the sequential program as text: a program that can be searched like the one it was made from.
type SeqResult struct {
	Text string `json:"text"`
}

// Seq prints the sequential program under the network of the options. It is what Explore searches.
func Seq(src string, opt Options) (SeqResult, Remarks) {
	_, m, inst, remarks := model(src, opt)
	if m == nil {
		return SeqResult{}, remarks
	}
	program := *m.Program.Core
	program.Network = inst.network
	return SeqResult{Text: unparse.Program(&program)}, remarks
}

// sequentializable loads a program and refuses one without a round structure.
func sequentialisable(src string) (*check.Program, Remarks) {
	p, remarks := Load(src)
	if p == nil {
		return nil, remarks
	}
	if len(p.Refused) > 0 {
		return nil, append(remarks, p.Refused...)
	}
	return p, remarks
}

// instance is what options resolve to.
type instance struct {
	test     string
	expect   string
	params   map[string]int64
	phases   int
	network  int // index into the program's networks
	timeouts core.Timeouts
}

const defaultPhases = 3

func instantiate(p *check.Program, opt Options) (instance, error) {
	inst := instance{params: map[string]int64{}, phases: defaultPhases, network: p.Network}
	if err := inst.takeTest(p, opt.Test); err != nil {
		return inst, err
	}
	maps.Copy(inst.params, opt.Params)
	if opt.Nodes != 0 {
		inst.params["n"] = int64(opt.Nodes)
	}
	if opt.Phases != 0 {
		inst.phases = opt.Phases
	}
	if inst.phases < 1 {
		return inst, fmt.Errorf("phases is %d; it must be at least 1", inst.phases)
	}
	if opt.Network != "" {
		n, err := p.ParseNetwork(opt.Network)
		if err != nil {
			return inst, err
		}
		inst.network = n
	}
	switch opt.Timeouts {
	case "":
	case "eager":
		inst.timeouts = core.Eager
	case "free":
		inst.timeouts = core.Free
	default:
		return inst, fmt.Errorf("timeouts are eager or free, not %q", opt.Timeouts)
	}
	return inst, nil
}

// takeTest starts from a test of the file.
func (inst *instance) takeTest(p *check.Program, name string) error {
	if name == "" && len(p.Tests) == 0 {
		return nil
	}
	var names []string
	for i, t := range p.Tests {
		names = append(names, t.Name)
		if t.Name != name && !(name == "" && i == 0) {
			continue
		}
		inst.test, inst.expect, inst.timeouts = t.Name, t.Expect, t.Timeouts
		maps.Copy(inst.params, t.Params)
		if t.Phases > 0 {
			inst.phases = t.Phases
		}
		if t.Network >= 0 {
			inst.network = t.Network
		}
		return nil
	}
	return fmt.Errorf("there is no test %s; there are %v%s", name, names, syntax.Suggest(name, names))
}

// Compile loads a program and compiles it for the parameters that the options choose. It need not have a round
// structure: it is what runs message by message.
func Compile(src string, opt Options) (*machine.Program, Remarks) {
	p, remarks := Load(src)
	if p == nil {
		return nil, remarks
	}
	inst, err := instantiate(p, opt)
	if err != nil {
		return nil, append(remarks, failure(err)...)
	}
	compiled, err := machine.Compile(p.Program, inst.params)
	if err != nil {
		return nil, append(remarks, failure(err)...)
	}
	return compiled, remarks
}

// NewModel loads a program and makes the sequential model that the options choose. It is what Export and Explore work
// on.
func NewModel(src string, opt Options) (*sequential.Model, int, Remarks) {
	_, m, inst, remarks := model(src, opt)
	return m, inst.phases, remarks
}

// model makes the sequential model that the options choose, nil where there is none. Remarks on the order of arrival
// are those on the network that was chosen, not on others that the file mentions.
func model(src string, opt Options) (*check.Program, *sequential.Model, instance, Remarks) {
	p, remarks := sequentialisable(src)
	if p == nil {
		return nil, nil, instance{}, remarks
	}
	inst, err := instantiate(p, opt)
	if err != nil {
		return p, nil, inst, append(remarks, failure(err)...)
	}
	remarks = slices.DeleteFunc(remarks, func(r syntax.Diagnostic) bool { return r.Check == check.ArrivalOrder })
	remarks = append(remarks, p.Arrival(inst.network)...)
	remarks.Sort()
	m, err := sequential.New(p, inst.params, inst.network, inst.timeouts)
	if err != nil {
		return p, nil, inst, append(remarks, failure(err)...)
	}
	return p, m, inst, remarks
}
