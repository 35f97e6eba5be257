package check

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

type checker struct {
	prog    *Program
	diags   syntax.Diagnostics
	types   map[string]*core.Type
	enums   map[string]enumValue
	vars    map[string]int
	params  map[string]int
	msgs    map[string]int
	funs    map[string]int
	actions map[string]int
	rounds  map[string]int
	taken   map[string]syntax.Pos // top-level names
	scope   *scope
	skipped []bool // by round: see skippable
	texts   map[syntax.Pos]*syntax.Stmt
}

type enumValue struct {
	typ   *core.Type
	index int
}

// Check resolves and checks a parsed program. The Program is nil when names or types are wrong. Remarks contain
// errors and warnings in source order; a refuted condition is not an error here but stands in Program.Refused,
// because such a program can still be run asynchronously.
func Check(f *syntax.File) (*Program, syntax.Diagnostics) {
	c := &checker{
		prog: &Program{Program: &core.Program{Name: f.Name, Lockstep: f.Lockstep, Phase: -1, Output: -1, Network: -1},
			File: f},
		types: map[string]*core.Type{}, enums: map[string]enumValue{}, vars: map[string]int{}, params: map[string]int{},
		msgs: map[string]int{}, funs: map[string]int{}, actions: map[string]int{}, rounds: map[string]int{},
		taken: map[string]syntax.Pos{}, texts: map[syntax.Pos]*syntax.Stmt{},
	}
	c.collect(f)
	c.bodies(f)
	if len(c.diags.Errors()) == 0 {
		c.shape()
	}
	if len(c.diags.Errors()) == 0 && !f.Lockstep {
		c.conditions()
	}
	c.diags.Sort()
	c.prog.Refused.Sort()
	if len(c.diags.Errors()) > 0 {
		return nil, c.diags
	}
	return c.prog, c.diags
}

// Errorf reports an error.
func (c *checker) Errorf(pos syntax.Pos, check, format string, args ...any) {
	d := syntax.Diagnostic{Pos: pos, Check: check, Text: fmt.Sprintf(format, args...)}
	if len(c.diags) < 50 && !slices.Contains(c.diags, d) {
		c.diags = append(c.diags, d)
	}
}

func (c *checker) warnf(pos syntax.Pos, check, format string, args ...any) {
	c.diags = append(c.diags, syntax.Diagnostic{Pos: pos, Severity: syntax.Warning, Check: check,
		Text: fmt.Sprintf(format, args...)})
}

// claim reserves a top-level name.
func (c *checker) claim(pos syntax.Pos, name string) bool {
	if old, ok := c.taken[name]; ok {
		c.Errorf(pos, "names", "%s is declared twice; the first is at %s", name, old)
		return false
	}
	c.taken[name] = pos
	return true
}

// collect enters everything that has a name, so that order of declaration does not matter.
func (c *checker) collect(f *syntax.File) {
	for _, p := range f.Params {
		if c.claim(p.Pos, p.Name) {
			c.params[p.Name] = len(c.prog.Params)
			c.prog.Params = append(c.prog.Params, core.Parameter{Name: p.Name})
		}
	}
	if len(f.Params) == 0 || f.Params[0].Name != "n" {
		c.Errorf(f.Pos, "names", "the first parameter of a protocol is n, the number of nodes: protocol %s(n = 3)", f.Name)
	}
	c.collectTypes(f)
	c.declared(f, syntax.OutputDecl, c.output)
	for _, d := range f.Decls {
		c.collectDecl(d)
	}
	for i := range c.prog.Messages {
		c.tag(c.prog.Messages[i], f)
	}
	if len(c.rounds) == 0 {
		c.Errorf(f.Pos, "rounds", "the program declares no rounds; write for instance: rounds Prepare < Ack")
	}
}

// collectTypes enters enums, records and messages first and fills in their fields afterwards, because fields may
// use types declared later. A type that contains itself has no finite value and is refused.
func (c *checker) collectTypes(f *syntax.File) {
	for _, d := range f.Decls {
		switch d.Kind {
		case syntax.EnumDecl:
			t := &core.Type{Kind: core.Enum, Name: d.Name}
			for i, v := range d.Names {
				if c.claim(v.Pos, v.Name) {
					c.enums[v.Name] = enumValue{t, i}
					t.Values = append(t.Values, v.Name)
				}
			}
			if c.claim(d.Pos, d.Name) {
				c.types[d.Name] = t
				c.prog.Enums = append(c.prog.Enums, t)
			}
		case syntax.RecordDecl:
			if c.claim(d.Pos, d.Name) {
				c.types[d.Name] = &core.Type{Kind: core.Record, Name: d.Name}
				c.prog.Records = append(c.prog.Records, c.types[d.Name])
			}
		case syntax.MessageDecl:
			if c.claim(d.Pos, d.Name) {
				c.types[d.Name] = &core.Type{Kind: core.Message, Name: d.Name}
				c.msgs[d.Name] = len(c.prog.Messages)
				c.prog.Messages = append(c.prog.Messages, &core.MessageType{Pos: d.Pos, Type: c.types[d.Name]})
			}
		}
	}
	for _, d := range f.Decls {
		switch d.Kind {
		case syntax.TypeDecl:
			if c.claim(d.Pos, d.Name) {
				c.types[d.Name] = c.resolve(d.Type)
			}
		case syntax.RecordDecl, syntax.MessageDecl:
			if t := c.types[d.Name]; t != nil && t.Fields == nil {
				t.Fields = c.fieldTypes(d.Fields)
			}
		}
	}
	for _, d := range f.Decls {
		if t := c.types[d.Name]; d.Kind == syntax.RecordDecl && t != nil && t.Contains(t) {
			c.Errorf(d.Pos, "types", "record %s contains itself", d.Name)
			t.Fields = nil
		}
	}
}

func (c *checker) fieldTypes(fields []*syntax.Field) []core.Field {
	var out []core.Field
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.Name] {
			c.Errorf(f.Pos, "names", "%s is declared twice", f.Name)
			continue
		}
		seen[f.Name] = true
		out = append(out, core.Field{Name: f.Name, Type: c.resolve(f.Type)})
	}
	return out
}

func (c *checker) collectDecl(d *syntax.Decl) {
	p := c.prog
	switch d.Kind {
	case syntax.RoundsDecl:
		if len(c.rounds) > 0 {
			c.Errorf(d.Pos, "rounds", "rounds are declared twice; one total order is needed")
			return
		}
		for _, id := range d.Names {
			if _, twice := c.rounds[id.Name]; twice {
				c.Errorf(id.Pos, "rounds", "round %s stands twice in the order", id.Name)
				continue
			}
			c.rounds[id.Name] = len(p.Rounds)
			p.Rounds = append(p.Rounds, core.Round{Pos: id.Pos, Name: id.Name})
		}
		c.firstPhase(d)
	case syntax.StateDecl:
		for _, f := range d.Fields {
			if c.claim(f.Pos, f.Name) {
				c.vars[f.Name] = len(p.Vars)
				p.Vars = append(p.Vars, core.Variable{Pos: f.Pos, Name: f.Name, Type: c.resolve(f.Type)})
			}
		}
	case syntax.FunDecl:
		if c.claim(d.Pos, d.Name) {
			c.funs[d.Name] = len(p.Funs)
			p.Funs = append(p.Funs, &core.Fun{Pos: d.Pos, Name: d.Name, Params: c.fieldTypes(d.Fields),
				Result: c.resolve(d.Type)})
		}
	case syntax.ActionDecl:
		if c.claim(d.Pos, d.Name) {
			c.actions[d.Name] = len(p.Actions)
			p.Actions = append(p.Actions, &core.Action{Pos: d.Pos, Name: d.Name, Params: c.fieldTypes(d.Fields)})
		}
	}
}

// output makes the last output the first variable, wherever it is declared: a program in lock-step has more variables
// than the one it is built from, and the order of states in the search should not depend on whether it was built or
// read.
func (c *checker) output(d *syntax.Decl) {
	p := c.prog
	if p.Output >= 0 {
		c.Errorf(d.Pos, "names", "output is declared twice")
		return
	}
	p.Output = len(p.Vars)
	p.Vars = append(p.Vars, core.Variable{Pos: d.Pos, Name: "output", Type: core.OptionOf(c.resolve(d.Type))})
}

// tag resolves the tag of a message: exactly one, its phase an int field of the message, its round declared.
func (c *checker) tag(m *core.MessageType, f *syntax.File) {
	var d *syntax.Decl
	for _, e := range f.Decls {
		if e.Kind == syntax.MessageDecl && e.Pos == m.Pos {
			d = e
		}
	}
	if len(d.Tags) != 1 {
		c.Errorf(d.Pos, "tags", "message %s has %d tags; exactly one is needed: tag (phase field, Round)", d.Name,
			len(d.Tags))
		return
	}
	t := d.Tags[0]
	m.Phase = -1
	if t.Phase.Kind == syntax.NameExpr {
		m.Phase = m.Type.Field(t.Phase.Name)
	}
	if m.Phase < 0 {
		var names []string
		for _, f := range m.Type.Fields {
			names = append(names, f.Name)
		}
		c.Errorf(t.Phase.Pos, "tags", "the phase of a tag is a field of the message; %s has no field %s%s", d.Name, t.Phase,
			syntax.Suggest(t.Phase.String(), names))
		return
	}
	if m.Type.Fields[m.Phase].Type.Kind != core.Int {
		c.Errorf(t.Phase.Pos, "tags", "the phase %s of message %s is %s; it must be int", t.Phase, d.Name,
			m.Type.Fields[m.Phase].Type)
	}
	m.Round = c.round(t.Round)
}

func (c *checker) round(id syntax.Ident) int {
	r, ok := c.rounds[id.Name]
	if !ok {
		c.Errorf(id.Pos, "rounds", "round %s is not in the declared order%s", id.Name,
			syntax.Suggest(id.Name, c.prog.RoundNames()))
	}
	return r
}

// resolve turns a written type into a Type and complains about unknown names.
func (c *checker) resolve(t *syntax.TypeExpr) *core.Type {
	out := c.plainType(t)
	if t.Arg != nil && out.Kind != core.Seq && out.Kind != core.Set {
		c.Errorf(t.Pos, "types", "type %s takes no element type", t.Name)
	}
	if t.Range != nil {
		out = c.ranged(t)
	}
	if t.Optional {
		if out.Kind == core.Option {
			c.Errorf(t.Pos, "types", "type %s is optional already", out)
			return out
		}
		return core.OptionOf(out)
	}
	return out
}

func (c *checker) plainType(t *syntax.TypeExpr) *core.Type {
	switch t.Name {
	case "bool":
		return core.BoolType
	case "int":
		return core.IntType
	case "node":
		return core.NodeType
	case "seq", "set":
		if t.Arg == nil {
			c.Errorf(t.Pos, "types", "%s needs an element type, as in %s<int>", t.Name, t.Name)
			return core.IntType
		}
		if t.Name == "set" {
			return core.SetOf(c.resolve(t.Arg))
		}
		return core.SeqOf(c.resolve(t.Arg))
	}
	if out := c.types[t.Name]; out != nil {
		return out
	}
	c.Errorf(t.Pos, "names", "unknown type %s%s", t.Name, syntax.Suggest(t.Name, c.typeNames()))
	return core.IntType
}

// ranged is int(low..high).
func (c *checker) ranged(t *syntax.TypeExpr) *core.Type {
	if t.Range.Kind != syntax.BinaryExpr || t.Range.Name != ".." {
		c.Errorf(t.Range.Pos, "types", "a range is written low..high, as in int(0..7)")
		return core.IntType
	}
	out := &core.Type{Kind: core.Int, Name: "int"}
	c.within(place{}, func() {
		out.Low = c.Infer(t.Range.Args[0], core.IntType)
		out.High = c.Infer(t.Range.Args[1], core.IntType)
	})
	if out.Low == nil || out.High == nil {
		return core.IntType
	}
	return out
}

func (c *checker) typeNames() []string {
	return append([]string{"bool", "int", "node", "seq", "set"}, keys(c.types)...)
}

// firstPhase reads with which phase the rounds of a lock-step program begin.
func (c *checker) firstPhase(d *syntax.Decl) {
	c.prog.First = 1
	if d.Expr == nil {
		return
	}
	if !c.prog.Lockstep {
		c.Errorf(d.Expr.Pos, "rounds", "only a lock-step program says with which phase it begins")
		return
	}
	e, sign := d.Expr, int64(1)
	if e.Kind == syntax.UnaryExpr && e.Name == "-" {
		e, sign = e.Args[0], -1
	}
	if e.Kind != syntax.IntExpr {
		c.Errorf(d.Expr.Pos, "rounds", "rounds begin with a number: rounds A < B from 1")
		return
	}
	c.prog.First = sign * e.Int
}
