package check

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

type checker struct {
	prog    *Program
	info    *Info
	diags   syntax.Diagnostics
	types   map[string]*Type
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
}

type enumValue struct {
	typ   *Type
	index int
}

// Check resolves and checks a parsed program. The Program is nil when names or types are wrong. Remarks contain
// errors and warnings in source order; a refuted condition is not an error here but stands in Program.Refused,
// because such a program can still be run asynchronously.
func Check(f *syntax.File) (*Program, syntax.Diagnostics) {
	c := &checker{
		prog: &Program{File: f, Name: f.Name, Phase: -1},
		info: &Info{
			Types: map[*syntax.Expr]*Type{}, Refs: map[*syntax.Expr]Ref{},
			Binders: map[*syntax.Expr][]int{}, Slots: map[*syntax.Stmt]int{},
		},
		types: map[string]*Type{}, enums: map[string]enumValue{}, vars: map[string]int{}, params: map[string]int{},
		msgs: map[string]int{}, funs: map[string]int{}, actions: map[string]int{}, rounds: map[string]int{},
		taken: map[string]syntax.Pos{},
	}
	c.prog.Info = c.info
	c.collect(f)
	c.bodies(f)
	if len(c.diags.Errors()) == 0 {
		c.shape()
	}
	if len(c.diags.Errors()) == 0 {
		c.conditions()
	}
	c.diags.Sort()
	c.prog.Refused.Sort()
	if len(c.diags.Errors()) > 0 {
		return nil, c.diags
	}
	return c.prog, c.diags
}

func (c *checker) errorf(pos syntax.Pos, check, format string, args ...any) {
	if len(c.diags) < 50 {
		c.diags = append(c.diags, syntax.Diagnostic{Pos: pos, Check: check, Text: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) warnf(pos syntax.Pos, check, format string, args ...any) {
	c.diags = append(c.diags, syntax.Diagnostic{Pos: pos, Severity: syntax.Warning, Check: check,
		Text: fmt.Sprintf(format, args...)})
}

// claim reserves a top-level name.
func (c *checker) claim(pos syntax.Pos, name string) bool {
	if old, ok := c.taken[name]; ok {
		c.errorf(pos, "names", "%s is declared twice; the first is at %s", name, old)
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
			c.prog.Params = append(c.prog.Params, Param{p.Name, p.Default})
		}
	}
	if len(f.Params) == 0 || f.Params[0].Name != "n" {
		c.errorf(f.Pos, "names", "the first parameter of a protocol is n, the number of nodes: protocol %s(n = 3)", f.Name)
	}
	c.collectTypes(f)
	for _, d := range f.Decls {
		c.collectDecl(d)
	}
	for i := range c.prog.Messages {
		c.tag(c.prog.Messages[i], f)
	}
	if len(c.rounds) == 0 {
		c.errorf(f.Pos, "rounds", "the program declares no rounds; write for instance: rounds Prepare < Ack")
	}
}

// collectTypes enters enums, records and messages first and fills in their fields afterwards, because fields may
// use types declared later. A type that contains itself has no finite value and is refused.
func (c *checker) collectTypes(f *syntax.File) {
	for _, d := range f.Decls {
		switch d.Kind {
		case syntax.EnumDecl:
			t := &Type{Kind: Enum, Name: d.Name}
			for i, v := range d.Names {
				if c.claim(v.Pos, v.Name) {
					c.enums[v.Name] = enumValue{t, i}
					t.Values = append(t.Values, v.Name)
				}
			}
			if c.claim(d.Pos, d.Name) {
				c.types[d.Name] = t
			}
		case syntax.RecordDecl:
			if c.claim(d.Pos, d.Name) {
				c.types[d.Name] = &Type{Kind: Record, Name: d.Name}
			}
		case syntax.MessageDecl:
			if c.claim(d.Pos, d.Name) {
				c.types[d.Name] = &Type{Kind: Message, Name: d.Name}
				c.msgs[d.Name] = len(c.prog.Messages)
				c.prog.Messages = append(c.prog.Messages, &MessageType{Pos: d.Pos, Type: c.types[d.Name]})
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
		if t := c.types[d.Name]; d.Kind == syntax.RecordDecl && t != nil && t.contains(t, map[*Type]bool{}) {
			c.errorf(d.Pos, "types", "record %s contains itself", d.Name)
			t.Fields = nil
		}
	}
}

// contains says whether values of t hold values of u inside; seen holds the types looked into already.
func (t *Type) contains(u *Type, seen map[*Type]bool) bool {
	inside := t.Fields
	if t.Elem != nil {
		inside = []Field{{Type: t.Elem}}
	}
	for _, f := range inside {
		if f.Type == u {
			return true
		}
		if seen[f.Type] {
			continue
		}
		seen[f.Type] = true
		if f.Type.contains(u, seen) {
			return true
		}
	}
	return false
}

func (c *checker) fieldTypes(fields []*syntax.Field) []Field {
	var out []Field
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.Name] {
			c.errorf(f.Pos, "names", "%s is declared twice", f.Name)
			continue
		}
		seen[f.Name] = true
		out = append(out, Field{f.Name, c.resolve(f.Type)})
	}
	return out
}

func (c *checker) collectDecl(d *syntax.Decl) {
	p := c.prog
	switch d.Kind {
	case syntax.RoundsDecl:
		if len(c.rounds) > 0 {
			c.errorf(d.Pos, "rounds", "rounds are declared twice; one total order is needed")
			return
		}
		for _, id := range d.Names {
			if _, twice := c.rounds[id.Name]; twice {
				c.errorf(id.Pos, "rounds", "round %s stands twice in the order", id.Name)
				continue
			}
			c.rounds[id.Name] = len(p.Rounds)
			p.Rounds = append(p.Rounds, id.Name)
		}
	case syntax.StateDecl:
		for _, f := range d.Fields {
			if c.claim(f.Pos, f.Name) {
				c.vars[f.Name] = len(p.Vars)
				p.Vars = append(p.Vars, Var{f.Pos, f.Name, c.resolve(f.Type), f.Value})
			}
		}
	case syntax.OutputDecl:
		if p.Output != nil {
			c.errorf(d.Pos, "names", "output is declared twice")
		}
		p.Output = c.resolve(d.Type)
	case syntax.FunDecl:
		if c.claim(d.Pos, d.Name) {
			c.funs[d.Name] = len(p.Funs)
			p.Funs = append(p.Funs, &Callable{Pos: d.Pos, Name: d.Name, Params: c.fieldTypes(d.Fields),
				Result: c.resolve(d.Type), Expr: d.Expr})
		}
	case syntax.ActionDecl:
		if c.claim(d.Pos, d.Name) {
			c.actions[d.Name] = len(p.Actions)
			p.Actions = append(p.Actions, &Callable{Pos: d.Pos, Name: d.Name, Params: c.fieldTypes(d.Fields), Body: d.Body})
		}
	}
}

// tag resolves the tag of a message: exactly one, its phase an int field of the message, its round declared.
func (c *checker) tag(m *MessageType, f *syntax.File) {
	var d *syntax.Decl
	for _, e := range f.Decls {
		if e.Kind == syntax.MessageDecl && e.Pos == m.Pos {
			d = e
		}
	}
	if len(d.Tags) != 1 {
		c.errorf(d.Pos, "tags", "message %s has %d tags; exactly one is needed: tag (phase field, Round)", d.Name, len(d.Tags))
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
		c.errorf(t.Phase.Pos, "tags", "the phase of a tag is a field of the message; %s has no field %s%s", d.Name, t.Phase,
			syntax.Suggest(t.Phase.String(), names))
		return
	}
	if m.Type.Fields[m.Phase].Type.Kind != Int {
		c.errorf(t.Phase.Pos, "tags", "the phase %s of message %s is %s; it must be int", t.Phase, d.Name,
			m.Type.Fields[m.Phase].Type)
	}
	m.Round = c.round(t.Round)
}

func (c *checker) round(id syntax.Ident) int {
	r, ok := c.rounds[id.Name]
	if !ok {
		c.errorf(id.Pos, "rounds", "round %s is not in the declared order%s", id.Name, syntax.Suggest(id.Name, c.prog.Rounds))
	}
	return r
}
