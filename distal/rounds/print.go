package rounds

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// String prints the form in the round notation of the paper.
func (f *Form) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s in rounds. %s is the phase of the lock-step execution; %s.\n", f.Name, f.Phase,
		"a node whose flag is set waits for the round of that message and takes part in no round before it")
	f.ghosts(&b)
	fmt.Fprintf(&b, "init:\n%s", syntax.FormatStmts(f.Init, 1))
	for _, r := range f.Rounds {
		fmt.Fprintf(&b, "\nround %s:\n\tSEND:\n", r.Name)
		f.sendBlock(&b, r, 2, "", same)
		b.WriteString("\tUPDATE(mbox):\n")
		f.updateBlock(&b, r, 2, "", same)
	}
	return b.String()
}

func same(s string) string { return s }

func (f *Form) ghosts(b *strings.Builder) {
	if len(f.Ghosts) == 0 {
		return
	}
	b.WriteString("ghost:\n")
	for _, g := range f.Ghosts {
		if g.Type == "bool" {
			fmt.Fprintf(b, "\t%s: bool = false\n", g.Name)
		} else {
			fmt.Fprintf(b, "\t%s: %s\n", g.Name, g.Type)
		}
	}
	b.WriteString("\n")
}

// flags joins the flags of all rounds.
func (f *Form) flags(write func(string) string) string {
	var out []string
	for _, g := range f.Ghosts {
		if strings.HasPrefix(g.Name, "due_") {
			out = append(out, write(g.Name))
		}
	}
	if len(out) == 0 {
		return "false"
	}
	return strings.Join(out, " or ")
}

// sendBlock prints the timeouts and sends of a round; out is what a send adds to, "" for a plain send.
func (f *Form) sendBlock(b *strings.Builder, r Round, indent int, out string, write func(string) string) {
	tabs := strings.Repeat("\t", indent)
	for _, t := range r.Timeouts {
		fmt.Fprintf(b, "%sif not (%s) and %s { // only if this sends in phase %s\n%s%s}\n", tabs, f.flags(write), t.Head, f.Phase,
			syntax.FormatStmts(t.Body, indent+1), tabs)
	}
	for _, s := range r.Sends {
		send := s.Send.String()
		if out != "" {
			text := syntax.Stmt{Kind: syntax.CallStmt, Name: s.Send.Name, Args: s.Send.Args}
			send = fmt.Sprintf("%s := (%s, %s)", out, text.String(), s.Send.Expr)
		}
		fmt.Fprintf(b, "%sif %s and %s == %s {\n%s\t%s\n%s\t%s := false\n%s}\n", tabs, write(s.Flag), s.Phase, f.Phase, tabs, send, tabs,
			write(s.Flag), tabs)
	}
}

func (f *Form) updateBlock(b *strings.Builder, r Round, indent int, what string, write func(string) string) {
	tabs := strings.Repeat("\t", indent)
	fmt.Fprintf(b, "%sif %s {\n%s\tskip", tabs, f.flags(write), tabs)
	for _, u := range r.Updates {
		fmt.Fprintf(b, "\n%s} else if %s {\n", tabs, strings.ReplaceAll(u.Head, "mbox", "mbox"+what))
		if v := bindingOf(u.Rule); v != "" {
			fmt.Fprintf(b, "%s\t%s\n", tabs, strings.ReplaceAll(v, "mbox", "mbox"+what))
		}
		b.WriteString(strings.TrimSuffix(syntax.FormatStmts(u.Body, indent+1), "\n"))
	}
	fmt.Fprintf(b, "\n%s}\n", tabs)
}

// Sequential prints the sequential program: Algorithm 1, with the part of Fig. 11 for the network assumption. Every
// variable becomes an array over the nodes.
func Sequential(p *check.Program, n check.Network) string {
	at := func(s string) string { return s + "[self]" }
	f := build(p, at, at)
	var b strings.Builder
	fmt.Fprintf(&b, "// %s, sequential, under network %s. (*) is a free choice; all choices together are all behaviours.\n", f.Name, n)
	b.WriteString("var:\n")
	for _, v := range p.Vars {
		fmt.Fprintf(&b, "\t%s: array node of %s\n", v.Name, v.Type)
	}
	for _, g := range f.Ghosts {
		fmt.Fprintf(&b, "\t%s: array node of %s // ghost\n", g.Name, g.Type)
	}
	b.WriteString("\tmbox: array node of set<message>\n\nfor self in all {\n")
	w := &rewriter{prog: p, state: at}
	for _, v := range p.Vars {
		if v.Init != nil {
			fmt.Fprintf(&b, "\t%s[self] := %s\n", v.Name, w.expr(v.Init))
		}
	}
	fmt.Fprintf(&b, "%s}\n", syntax.FormatStmts(f.Init, 1))
	for _, r := range f.Rounds {
		fmt.Fprintf(&b, "\nprocedure round_%s(%s) {\n\tfor self in all {\n\t\tout[self] := nothing\n", r.Name, f.Phase)
		f.sendBlock(&b, r, 2, "out[self]", at)
		b.WriteString("\t}\n" + delivery(n) + "\tfor self in all {\n")
		f.updateBlock(&b, r, 2, "[self]", at)
		b.WriteString("\t\tmbox[self] := {}\n\t}\n}\n")
	}
	fmt.Fprintf(&b, "\n%[1]s := 0\nwhile true {\n\t%[1]s := %[1]s + 1\n", f.Phase)
	for _, r := range f.Rounds {
		fmt.Fprintf(&b, "\tround_%s(%s)\n", r.Name, f.Phase)
	}
	return b.String() + "}\n"
}

// delivery is the part of a round in which the network decides what arrives.
func delivery(n check.Network) string {
	const each = "\tfor from in all {\n\t\tfor to in receivers of out[from] {\n"
	switch n.Kind {
	case check.Reliable:
		return each + "\t\t\tmbox[to] := mbox[to] + {out[from]}\n\t\t}\n\t}\n"
	case check.AtLeast:
		return "\tfor to in all {\n\t\tsenders := pick(" + n.Count.String() + ", all)\n\t\tfor from in all with to in receivers of out[from] {\n" +
			"\t\t\tif from in senders {\n\t\t\t\tmbox[to] := mbox[to] + {out[from]}\n\t\t\t} else {\n\t\t\t\tmbox[to] := mbox[to] + (*){out[from]}\n\t\t\t}\n\t\t}\n\t}\n"
	case check.Kernel:
		return "\tkernel := pick(1, all)\n" + each + "\t\t\tif from in kernel {\n\t\t\t\tmbox[to] := mbox[to] + {out[from]}\n" +
			"\t\t\t} else {\n\t\t\t\tmbox[to] := mbox[to] + (*){out[from]}\n\t\t\t}\n\t\t}\n\t}\n"
	}
	return each + "\t\t\tmbox[to] := mbox[to] + (*){out[from]}\n\t\t}\n\t}\n"
}
