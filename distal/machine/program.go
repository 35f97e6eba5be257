// Package machine runs the code of one node of a Distal program: initial values, guards, actions, properties.
//
// Compile fixes the parameters of a checked program and turns its expressions and statements into Go functions over
// slots. Nothing here knows how messages travel: package sequential drives machines round by round, package async
// message by message. Both see the same outcome of the same action, which is what makes them comparable.
//
// A fault in the program (an index out of range, an endless set, a node that does not exist) never panics out of
// this package; it is part of the Outcome. So are breaches of the conditions that could not be proved.
package machine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Limits on what one action may cost and on sizes.
const (
	MaxNodes  = 16
	fuelLimit = 50_000
	rangeMax  = 4096
)

// Program is a checked program with fixed parameters, ready to run.
type Program struct {
	Checked *check.Program
	N       int // the number of nodes
	Rules   []*Rule
	params  []int64
	inits   []eval // nil: the empty value
	body    code
	funs    []eval
	actions []code
	props   []eval
}

// Rule is a compiled rule.
type Rule struct {
	*check.Rule
	guard eval // nil is true
	same  []eval
	times eval // the number of messages needed; nil for a rule on one message
	phase eval // a timeout in a round: its phase
	body  code
}

// Compile fixes the parameters; those not given take their defaults.
func Compile(c *check.Program, params map[string]int64) (*Program, error) {
	p := &Program{Checked: c}
	known := map[string]bool{}
	for _, q := range c.Params {
		known[q.Name] = true
		v, given := params[q.Name]
		if !given {
			var fault *Fault
			v, fault = p.constant(q.Default)
			if fault != nil {
				return nil, fmt.Errorf("parameter %s: %w", q.Name, fault)
			}
		}
		p.params = append(p.params, v)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !known[name] {
			return nil, fmt.Errorf("protocol %s has no parameter %s%s", c.Name, name,
				syntax.Suggest(name, slices.Collect(maps.Keys(known))))
		}
	}
	if p.params[0] < 1 || p.params[0] > MaxNodes {
		return nil, fmt.Errorf("n is %d; it must be between 1 and %d", p.params[0], MaxNodes)
	}
	p.N = int(p.params[0])
	p.compileBodies()
	return p, nil
}

func (p *Program) compileBodies() {
	c := p.Checked
	p.funs = make([]eval, len(c.Funs))
	for i, f := range c.Funs {
		p.funs[i] = p.expr(f.Expr)
	}
	p.actions = make([]code, len(c.Actions))
	for i, a := range c.Actions {
		p.actions[i] = p.stmts(a.Body)
	}
	for _, v := range c.Vars {
		var e eval
		if v.Init != nil {
			e = p.expr(v.Init)
		}
		p.inits = append(p.inits, e)
	}
	p.body = p.stmts(c.Init.Body)
	for _, r := range c.Rules {
		p.Rules = append(p.Rules, p.rule(r))
	}
	for _, q := range c.Props {
		p.props = append(p.props, p.expr(q.Expr))
	}
}

func (p *Program) rule(r *check.Rule) *Rule {
	h := r.Decl.Rule
	out := &Rule{Rule: r, body: p.stmts(r.Body.Body)}
	if h.Guard != nil {
		out.guard = p.expr(h.Guard)
	}
	for _, s := range h.Same {
		out.same = append(out.same, p.expr(s))
	}
	if h.Tag != nil {
		out.phase = p.expr(h.Tag.Phase)
	}
	if t := h.Times; t != nil {
		switch t.Op {
		case "all":
			out.times = func(*frame) Value { return Value{N: int64(p.N)} }
		case ">":
			count := p.expr(t.Count)
			out.times = func(f *frame) Value { return Value{N: count(f).N + 1} }
		default:
			out.times = p.expr(t.Count)
		}
	}
	return out
}

// Constant evaluates an expression over the parameters alone, such as the number in a network assumption.
func (p *Program) Constant(e *syntax.Expr) (int64, error) {
	v, fault := p.constant(e)
	if fault != nil {
		return 0, fault
	}
	return v, nil
}

func (p *Program) constant(e *syntax.Expr) (n int64, fault *Fault) {
	f := p.frame(0, nil, nil)
	defer catch(&fault)
	return p.expr(e)(f).N, nil
}

// Params returns the value of every parameter.
func (p *Program) Params() map[string]int64 {
	out := map[string]int64{}
	for i, q := range p.Checked.Params {
		out[q.Name] = p.params[i]
	}
	return out
}
