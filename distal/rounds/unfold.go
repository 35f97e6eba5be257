package rounds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// mostConditionals bounds an unfolded program: it grows with the number of paths through a phase.
const mostConditionals = 2000

// Unfold prints the phase structure of a program as the procedure UNFOLD of the sequentialization paper makes it (Fig.
// 8 and 9): the main loop fills the mailbox, runs the first rule whose guard holds, and continues inside that rule with
// the rules that may follow in the same phase. A path ends with continue, where the next phase begins.
//
// Unlike the paper's procedure it leaves out conditionals that can never hold, because their round is over.
func Unfold(p *check.Program, f *syntax.File) (string, error) {
	u := &unfolder{p: p}
	for _, d := range f.Decls {
		switch d.Kind {
		case syntax.RuleDecl:
			u.rules = append(u.rules, textOf(d))
		case syntax.InitDecl:
			u.init = textOf(d)
		}
	}
	if n := u.count(-1, 0); n > mostConditionals {
		return "", fmt.Errorf("a phase of %s unfolds to more than %d conditionals: print its rounds as a graph instead",
			p.Name, mostConditionals)
	}
	fmt.Fprintf(&u.out,
		"// A phase of %s, unfolded. havoc() fills the mailbox with any messages; the first rule whose guard holds runs.\n",
		p.Name)
	u.out.WriteString("// A rule of no round that begins no phase leaves the node where it is.\n")
	if u.init.body != nil {
		u.line(0, "init: {")
		u.lines(1, u.init.body)
		u.line(0, "}")
	}
	u.line(0, "loop: {")
	u.unfold(-1, 1)
	u.line(0, "}")
	return u.out.String(), nil
}

// unfolder prints the unfolded program.
type unfolder struct {
	p     *check.Program
	init  ruleText
	rules []ruleText
	out   strings.Builder
}

// ruleText is a rule as it is written.
type ruleText struct {
	guard string
	body  []string // line by line
}

// textOf takes a declaration apart into what comes before its body and the lines of that.
func textOf(d *syntax.Decl) ruleText {
	text := strings.TrimSpace(strings.TrimPrefix(syntax.Format(&syntax.File{Name: "P", Decls: []*syntax.Decl{d}}),
		"protocol P"))
	if i := strings.Index(text, "{"); i >= 0 {
		guard := strings.TrimSuffix(strings.TrimSpace(text[:i]), " do")
		body := strings.TrimSuffix(strings.TrimSpace(text[i+1:]), "}")
		lines := strings.Split(strings.Trim(body, "\n"), "\n")
		for k := range lines {
			lines[k] = strings.TrimRight(strings.TrimPrefix(lines[k], "\t"), " \t")
		}
		return ruleText{strings.Join(strings.Fields(guard), " "),
			slices.DeleteFunc(lines, func(l string) bool { return l == "" })}
	}
	return ruleText{guard: text}
}

// next lists the rules that may come after a rule in the same phase; after -1 all may. A node that has sent in a round
// acts in that round or in a later one.
func (u *unfolder) next(rule int) (list []int, another bool) {
	from := 0
	if rule >= 0 {
		r := u.p.Rules[rule]
		own, ways := r.Round(u.p.Program), u.p.Leads(r)
		another = len(ways.Other) > 0 || ways.Unknown || own < 0
		switch {
		case own < 0:
			return nil, true
		case ways.Rests || ways.Unknown:
			from = own + 1
		case len(ways.Same) > 0:
			from = ways.Same[0]
		default:
			return nil, true
		}
	}
	for i, r := range u.p.Rules {
		if round := r.Round(u.p.Program); round < 0 || round >= from {
			list = append(list, i)
		}
	}
	if !slices.ContainsFunc(list, func(i int) bool { return u.p.Rules[i].Round(u.p.Program) >= 0 }) {
		return nil, true // nothing of this phase is left
	}
	return list, another
}

// count is the number of conditionals below a rule, as far as it matters.
func (u *unfolder) count(rule, sum int) int {
	list, _ := u.next(rule)
	for _, i := range list {
		if sum++; sum > mostConditionals {
			return sum
		}
		sum = u.count(i, sum)
	}
	return sum
}

// unfold prints what may come after a rule.
func (u *unfolder) unfold(rule, depth int) {
	list, another := u.next(rule)
	if len(list) == 0 {
		u.line(depth, "continue")
		return
	}
	if another && rule >= 0 {
		u.line(depth, fmt.Sprintf("if %s has changed { continue }", u.phase()))
	}
	u.line(depth, "mbox = havoc()")
	for _, i := range list {
		u.line(depth, fmt.Sprintf("if %s {", u.rules[i].guard))
		u.lines(depth+1, u.rules[i].body)
		u.unfold(i, depth+1)
		u.line(depth, "}")
	}
	u.line(depth, "continue")
}

// phase is the name of the phase variable.
func (u *unfolder) phase() string {
	if u.p.Phase < 0 {
		return "the phase"
	}
	return u.p.Vars[u.p.Phase].Name
}

func (u *unfolder) lines(depth int, list []string) {
	for _, l := range list {
		u.line(depth, l)
	}
}

func (u *unfolder) line(depth int, text string) {
	fmt.Fprintf(&u.out, "%s%s\n", strings.Repeat("\t", depth), text)
}
