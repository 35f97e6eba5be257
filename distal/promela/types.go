package promela

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/check"
)

// ctype names the C type of a Distal type and defines it on first use. Sets of small values are bit masks; sets of
// messages are short arrays ordered by sender; other sets have no C form.
func (g *generator) ctype(t *check.Type) string {
	switch t.Kind {
	case check.Bool, check.Enum, check.Node:
		return "u8"
	case check.Int:
		return "short"
	case check.Option:
		elem := g.ctype(t.Elem)
		return g.define("Opt_"+name(t.Elem), fmt.Sprintf("u8 some; %s v;", elem))
	case check.Seq:
		elem := g.ctype(t.Elem)
		return g.define("Seq_"+name(t.Elem), fmt.Sprintf("u8 len; %s a[%d];", elem, g.opt.SeqMax))
	case check.Set:
		return g.setType(t)
	case check.Message:
		return g.define("Msg_"+t.Name, "u8 from; "+g.fields(t))
	}
	return g.define("Rec_"+t.Name, g.fields(t))
}

func (g *generator) setType(t *check.Type) string {
	switch t.Elem.Kind {
	case check.Node:
		return "u16"
	case check.Bool, check.Enum, check.Int:
		return "u64"
	case check.Message:
		elem := g.ctype(t.Elem)
		return g.define("Set_"+name(t.Elem), fmt.Sprintf("u8 len; %s a[%d];", elem, g.n))
	}
	g.fail("sets of %s", t.Elem)
	return "u64"
}

func (g *generator) fields(t *check.Type) string {
	out := ""
	for _, f := range t.Fields {
		out += fmt.Sprintf("%s f_%s; ", g.ctype(f.Type), f.Name)
	}
	return out
}

// name of a type inside the name of another.
func name(t *check.Type) string {
	switch t.Kind {
	case check.Option:
		return "opt_" + name(t.Elem)
	case check.Seq:
		return "seq_" + name(t.Elem)
	case check.Set:
		return "set_" + name(t.Elem)
	}
	return t.Name
}

func (g *generator) define(name, body string) string {
	if !g.defined[name] {
		g.defined[name] = true
		fmt.Fprintf(&g.types, "typedef struct __attribute__((packed)) { %s } %s;\n", body, name)
	}
	return name
}

// scalar says whether values of a type are compared with ==.
func scalar(t *check.Type) bool {
	switch t.Kind {
	case check.Bool, check.Int, check.Enum, check.Node:
		return true
	case check.Set:
		return t.Elem.Kind != check.Message
	}
	return false
}
