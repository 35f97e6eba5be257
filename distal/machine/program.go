// Package machine evaluates programs in the core form: initial values, guards, actions, blocks, properties. It is the
// only evaluator there is.
//
// Compile fixes the parameters of a program and turns its expressions and statements into Go functions over slots.
// Nothing here knows how messages travel: package async schedules the rules of a program, package sequential runs the
// blocks of one in lock-step.
//
// A fault in the program (an index out of range, a number too large, a node that does not exist) never panics out of
// this package; it is part of the Outcome. So are breaches of the conditions that could not be proved.
package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

type code func(*frame)

// Program is a program with fixed parameters, ready to run.
type Program struct {
	Core    *core.Program
	N       int // the number of nodes
	params  []int64
	inits   []core.Eval // nil: the empty value
	body    code
	funs    []core.Eval
	actions []code
	props   []core.Eval
	rules   []rule
	blocks  [][2]code // by round: SEND and UPDATE
	frames  sync.Pool // of *frame, to be used again
}

// rule is a compiled rule.
type rule struct {
	matching, test, options, bound core.Eval // any but test may be nil
	phase                          core.Eval // a timeout in a round: its phase
	body                           code
}

// Compile fixes the parameters; those not given take their defaults.
func Compile(c *core.Program, params map[string]int64) (*Program, error) {
	p := &Program{Core: c}
	known := map[string]bool{}
	for _, q := range c.Params {
		known[q.Name] = true
		v, given := params[q.Name]
		if !given {
			var err error
			v, err = p.Constant(q.Default)
			if err != nil {
				return nil, fmt.Errorf("parameter %s: %w", q.Name, err)
			}
		}
		if v < core.MinInt || v > core.MaxInt {
			return nil, fmt.Errorf("parameter %s is %d; it must be between %d and %d", q.Name, v, core.MinInt, core.MaxInt)
		}
		p.params = append(p.params, v)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !known[name] {
			return nil, fmt.Errorf("protocol %s has no parameter %s%s", c.Name, name,
				syntax.Suggest(name, slices.Collect(maps.Keys(known))))
		}
	}
	if p.params[0] < 1 || p.params[0] > core.MaxNodes {
		return nil, fmt.Errorf("n is %d; it must be between 1 and %d", p.params[0], core.MaxNodes)
	}
	p.N = int(p.params[0])
	return p, p.compile()
}

// compile compiles all code; it fails when the ends of a declared range cannot be computed.
func (p *Program) compile() (err error) {
	var fault *core.Fault
	func() {
		defer core.Catch(&fault)
		p.compileBodies()
	}()
	if fault != nil {
		return fault
	}
	return nil
}

func (p *Program) compileBodies() {
	c := p.Core
	p.funs = make([]core.Eval, len(c.Funs))
	for i, f := range c.Funs {
		p.funs[i] = p.expr(f.Body)
	}
	p.actions = make([]code, len(c.Actions))
	for i, a := range c.Actions {
		p.actions[i] = p.stmts(a.Body)
	}
	for _, v := range c.Vars {
		p.inits = append(p.inits, p.optional(v.Init))
	}
	p.body = p.stmts(c.Init.Body)
	for _, r := range c.Rules {
		e := r.Enabling
		out := rule{matching: p.optional(e.Matching), test: p.expr(e.Test), options: p.optional(e.Options),
			bound: p.optional(e.Bound),
			body:  p.stmts(r.Body.Body)}
		if t, ok := r.Trigger.(core.OnRoundTimeout); ok {
			out.phase = p.expr(t.Phase)
		}
		p.rules = append(p.rules, out)
	}
	for _, r := range c.Rounds {
		p.blocks = append(p.blocks, [2]code{p.stmts(r.Send), p.stmts(r.Update)})
	}
	for _, q := range c.Props {
		p.props = append(p.props, p.expr(q.X))
	}
}

func (p *Program) optional(e core.Expr) core.Eval {
	if e == nil {
		return nil
	}
	return p.expr(e)
}

// Constant evaluates an expression over the parameters alone, such as the end of a range.
func (p *Program) Constant(e core.Expr) (n int64, err error) {
	var fault *core.Fault
	func() {
		defer core.Catch(&fault)
		f := p.frame(0, nil, nil)
		n = p.expr(e)(&f.Frame).N
	}()
	if fault != nil {
		return 0, fault
	}
	return n, nil
}

// Formula compiles a network formula: a predicate on what each node hears.
func (p *Program) Formula(e core.Expr) func(heard []uint64) (bool, error) {
	run := p.expr(e)
	return func(heard []uint64) (ok bool, err error) {
		var fault *core.Fault
		func() {
			defer core.Catch(&fault)
			f := p.frame(0, nil, nil)
			defer f.free()
			f.Heard = heard
			f.Fuel = 1 << 40
			ok = run(&f.Frame).N != 0
		}()
		if fault != nil {
			return false, fault
		}
		return ok, nil
	}
}

// Params returns the value of every parameter.
func (p *Program) Params() map[string]int64 {
	out := map[string]int64{}
	for i, q := range p.Core.Params {
		out[q.Name] = p.params[i]
	}
	return out
}

// Round names a round for people.
func (p *Program) Round(t Tag) string {
	if t.Round < 0 || t.Round >= len(p.Core.Rounds) {
		return "none"
	}
	return p.Core.Rounds[t.Round].Name
}

// FormatMessage writes a message as it is sent: Prepare(1).
func (p *Program) FormatMessage(m Message) string {
	return core.Format(p.Core.Messages[m.Type].Type, m.Value())
}

// FormatState writes the variables of a state, and its last output if there is one.
func (p *Program) FormatState(s *State) string {
	var parts []string
	for i, v := range p.Core.Vars {
		switch {
		case v.Ghost:
		case i != p.Core.Output:
			parts = append(parts, v.Name+"="+core.Format(v.Type, s.Vars[i]))
		}
	}
	if i := p.Core.Output; i >= 0 && s.Vars[i].N != 0 {
		parts = append(parts, "output="+core.Format(p.Core.OutputType(), s.Vars[i].E[0]))
	}
	return strings.Join(parts, " ")
}

// Values evaluates an expression over the parameters alone: the elements of a set or sequence, or one value.
func (p *Program) Values(e core.Expr) (out []Value, err error) {
	var fault *core.Fault
	func() {
		defer core.Catch(&fault)
		f := p.frame(0, nil, nil)
		v := p.expr(e)(&f.Frame)
		out = []Value{v}
		if k := e.Of().Kind; k == core.Set || k == core.Seq {
			out = v.E
		}
	}()
	if fault != nil {
		return nil, fault
	}
	return out, nil
}
