package rounds

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

const maxUnfolded = 5000

type unfolder struct {
	prog  *check.Program
	b     strings.Builder
	count int
}

// Unfold prints one phase of the program unfolded: the ways in which rules can follow each other within a phase, as nested
// conditionals, each behind a fresh mailbox. Rules that cannot follow, because their round is over, are left out; so is
// everything after an action that moves to another phase. It refuses programs whose unfolding is too large to read.
func Unfold(p *check.Program) (string, error) {
	u := &unfolder{prog: p}
	w := &rewriter{prog: p, send: u.send}
	fmt.Fprintf(&u.b, "// One phase of %s, unfolded. phase and round are the auxiliary variables of the synchronisation tag.\n", p.Name)
	fmt.Fprintf(&u.b, "init {\n%s}\n\nloop {\n", syntax.FormatStmts(w.stmts(p.Init.Body), 1))
	for _, r := range p.Rules {
		if r.Plain() {
			fmt.Fprintf(&u.b, "\tif %s {\n%s\t\tcontinue\n\t}\n", head(w, r), syntax.FormatStmts(w.stmts(r.Decl.Body), 2))
		}
	}
	u.level(w, 0, 1)
	u.b.WriteString("}\n")
	if u.count > maxUnfolded {
		return "", fmt.Errorf("the unfolded phase has more than %d conditionals", maxUnfolded)
	}
	return u.b.String(), nil
}

// send puts the assignments of the auxiliary variables before a send (condition 2).
func (u *unfolder) send(_ *rewriter, s *syntax.Stmt) []*syntax.Stmt {
	for _, m := range u.prog.Messages {
		if m.Type.Name == s.Name {
			return []*syntax.Stmt{tagged(s.Args[m.Phase].String(), u.prog.Rounds[m.Round]), s}
		}
	}
	return []*syntax.Stmt{s}
}

func tagged(phase, round string) *syntax.Stmt {
	return &syntax.Stmt{Kind: syntax.AssignStmt, Name: "(phase, round)", Expr: word("(" + phase + ", " + round + ")")}
}

// level prints the rules that can fire once the node is in the given round or past the one before it.
func (u *unfolder) level(w *rewriter, from, indent int) {
	tabs := strings.Repeat("\t", indent)
	var rules []*check.Rule
	for _, r := range u.prog.Rules {
		if !r.Plain() && r.Round >= from {
			rules = append(rules, r)
		}
	}
	if len(rules) == 0 {
		fmt.Fprintf(&u.b, "%scontinue\n", tabs)
		return
	}
	fmt.Fprintf(&u.b, "%smbox := havoc()\n", tabs)
	for i, r := range rules {
		u.count++
		if u.count > maxUnfolded {
			return
		}
		opening := "if"
		if i > 0 {
			opening = "} else if"
		}
		fmt.Fprintf(&u.b, "%s%s %s {\n", tabs, opening, head(w, r))
		if v := bindingOf(r); v != "" {
			fmt.Fprintf(&u.b, "%s\t%s\n", tabs, v)
		}
		u.b.WriteString(syntax.FormatStmts([]*syntax.Stmt{tagged(u.phase(w, r), u.prog.Rounds[r.Round])}, indent+1))
		u.b.WriteString(syntax.FormatStmts(w.stmts(r.Decl.Body), indent+1))
		u.level(w, u.after(r), indent+1)
	}
	fmt.Fprintf(&u.b, "%s}\n", tabs)
}

func (u *unfolder) phase(w *rewriter, r *check.Rule) string {
	h := r.Decl.Rule
	if h.Timeout {
		return w.expr(h.Tag.Phase).String()
	}
	m := u.prog.Messages[r.Message]
	name := h.Var.Name
	if name == "" {
		name = "mbox"
	}
	if h.Times != nil {
		return "first(" + name + ")." + m.Type.Fields[m.Phase].Name
	}
	return name + "." + m.Type.Fields[m.Phase].Name
}

// after is the first round in which the node can act after a rule: that of its messages, if it sends into this phase
// on some path, or else the one after the rule's own. A rule that only sends into other phases ends the phase.
func (u *unfolder) after(r *check.Rule) int {
	next := u.prog.After(r)
	if next < 0 {
		return len(u.prog.Rounds)
	}
	return next
}
