// Package rounds prints the transformations of a Distal program: its unfolded phase (Section 4.3 of the sequentialisation
// paper), its rounds with SEND and UPDATE and their ghost flags (4.4), and its sequential form (Algorithm 1, Fig. 11).
//
// The printed programs are for people. Package sequential gives the same transformations an executable meaning, and a
// ghost flag here is there a message kept until its round.
package rounds

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Form is a program in rounds.
type Form struct {
	Name   string
	Phase  string // how the phase of the lock-step execution is written: k, unless the program uses that name
	Ghosts []Ghost
	Init   []*syntax.Stmt
	Rounds []Round
}

// Ghost is an auxiliary variable: a flag that remembers that the guards leading to a send held, or a value of the
// message that would be forgotten by the time it is sent.
type Ghost struct {
	Name string
	Type string
}

// Round is one round of the phase.
type Round struct {
	Name     string
	Timeouts []Part // plain timeouts that may send into this round
	Sends    []Sending
	Updates  []Part
}

// Part is a rule in a round: its condition as text and its action, in which sends have become flags.
type Part struct {
	Rule *check.Rule
	Head string
	Body []*syntax.Stmt
}

// Sending is one send of a round: under its flag.
type Sending struct {
	Flag  string
	Phase string // the phase it is sent in
	Send  *syntax.Stmt
}

// builder collects the sends met while rules are rewritten.
type builder struct {
	prog   *check.Program
	form   *Form
	flags  map[string]string // text of a send -> flag
	counts map[string]int    // message -> flags so far
	locals map[string]bool
	write  func(string) string // how a ghost is written
}

// New puts a program into rounds. In the action of each rule a send becomes the setting of a flag, and the send itself
// moves to the SEND of its round.
func New(p *check.Program) *Form { return build(p, nil, func(s string) string { return s }) }

func build(p *check.Program, state func(string) string, write func(string) string) *Form {
	b := &builder{prog: p, form: &Form{Name: p.Name, Phase: counter(p)}, flags: map[string]string{}, counts: map[string]int{}, write: write}
	for _, name := range p.Rounds {
		b.form.Rounds = append(b.form.Rounds, Round{Name: name})
	}
	w := &rewriter{prog: p, state: state, send: b.send}
	b.locals = b.bound(p.Init.Body)
	b.form.Init = w.stmts(p.Init.Body)
	for _, r := range p.Rules {
		b.locals = b.bound(r.Decl.Body)
		if v := r.Decl.Rule.Var.Name; v != "" {
			b.locals[v] = true
		}
		part := Part{Rule: r, Head: head(w, r), Body: w.stmts(r.Decl.Body)}
		if !r.Plain() {
			b.form.Rounds[r.Round].Updates = append(b.form.Rounds[r.Round].Updates, part)
			continue
		}
		for round, into := range p.SendsInto(r.Decl.Body) {
			if into {
				b.form.Rounds[round].Timeouts = append(b.form.Rounds[round].Timeouts, part)
			}
		}
	}
	for i := range b.form.Rounds {
		sortUpdates(b.form.Rounds[i].Updates)
	}
	return b.form
}

// counter finds a name for the global phase that the program does not use.
func counter(p *check.Program) string {
	used := map[string]bool{}
	for _, v := range p.Vars {
		used[v.Name] = true
	}
	for _, q := range p.Params {
		used[q.Name] = true
	}
	name := "k"
	for used[name] {
		name += "k"
	}
	return name
}

// sortUpdates puts timeouts behind the rules on messages.
func sortUpdates(parts []Part) {
	var messages, timeouts []Part
	for _, p := range parts {
		if p.Rule.Decl.Rule.Timeout {
			timeouts = append(timeouts, p)
		} else {
			messages = append(messages, p)
		}
	}
	copy(parts, append(messages, timeouts...))
}

// bound lists the names opened in a body and in the actions it calls.
func (b *builder) bound(body []*syntax.Stmt) map[string]bool {
	out := map[string]bool{}
	var walk func([]*syntax.Stmt)
	seen := map[string]bool{}
	walk = func(list []*syntax.Stmt) {
		syntax.WalkStmts(list, func(s *syntax.Stmt) {
			switch s.Kind {
			case syntax.LetStmt, syntax.ForStmt:
				out[s.Name] = true
			case syntax.CallStmt:
				if !seen[s.Name] {
					seen[s.Name] = true
					walk(b.prog.Actions[b.prog.Info.Slots[s]].Body)
				}
			}
		})
	}
	walk(body)
	return out
}

// send turns a send into the setting of its flag; values that would be lost go into ghosts beside it.
func (b *builder) send(_ *rewriter, s *syntax.Stmt) []*syntax.Stmt {
	key := s.String()
	flag, known := b.flags[key]
	m := b.message(s.Name)
	var out []*syntax.Stmt
	if !known {
		b.counts[s.Name]++
		flag = "due_" + s.Name
		if b.counts[s.Name] > 1 {
			flag += fmt.Sprint(b.counts[s.Name])
		}
		b.flags[key] = flag
		b.form.Ghosts = append(b.form.Ghosts, Ghost{flag, "bool"})
	}
	later := &syntax.Stmt{Kind: syntax.SendStmt, Name: s.Name}
	keep := func(e *syntax.Expr, what, typ string) *syntax.Expr {
		if stateOnly(e, b.locals) {
			return e
		}
		name := strings.Replace(flag, "due_", "", 1) + "_" + what
		if !known {
			b.form.Ghosts = append(b.form.Ghosts, Ghost{name, typ})
		}
		out = append(out, &syntax.Stmt{Kind: syntax.AssignStmt, Name: b.write(name), Expr: e})
		return word(b.write(name))
	}
	for i, a := range s.Args {
		later.Args = append(later.Args, keep(a, m.Type.Fields[i].Name, m.Type.Fields[i].Type.String()))
	}
	later.Expr = keep(s.Expr, "to", "set<node>")
	out = append(out, &syntax.Stmt{Kind: syntax.AssignStmt, Name: b.write(flag), Expr: word("true")})
	if !known {
		r := &b.form.Rounds[m.Round]
		r.Sends = append(r.Sends, Sending{flag, later.Args[m.Phase].String(), later})
	}
	return out
}

func (b *builder) message(name string) *check.MessageType {
	for _, m := range b.prog.Messages {
		if m.Type.Name == name {
			return m
		}
	}
	panic("rounds: a send of an unknown message passed the checker")
}

// head writes when a rule is enabled, in the notation of the paper: mbox(Message, guard, count).
func head(w *rewriter, r *check.Rule) string {
	h := r.Decl.Rule
	guard := ""
	if h.Guard != nil {
		if g := lockstep(w.expr(h.Guard)); g != nil {
			guard = g.String()
		}
	}
	switch {
	case r.Plain() && guard != "":
		return "timeout() and " + guard
	case r.Plain():
		return "timeout()"
	case h.Timeout:
		text := "timeout() and " + counter(w.prog) + " == " + w.expr(h.Tag.Phase).String()
		if guard != "" {
			text += " and " + guard
		}
		return text
	}
	text := "mbox(" + h.Message.Name
	if guard != "" {
		text += ", " + guard
	}
	for _, s := range h.Same {
		text += ", same " + s.String()
	}
	if h.Times != nil {
		times := strings.TrimPrefix((&syntax.Times{Op: h.Times.Op, Count: w.expr(h.Times.Count)}).String(), "times ")
		text += ", " + times
	}
	return text + ")"
}

// lockstep drops timely from a guard: in lock-step every message is.
func lockstep(e *syntax.Expr) *syntax.Expr {
	switch {
	case e.Kind == syntax.NameExpr && e.Name == "timely":
		return nil
	case e.Kind == syntax.BinaryExpr && e.Name == "and":
		a, b := lockstep(e.Args[0]), lockstep(e.Args[1])
		if a == nil || b == nil {
			if a == nil {
				a = b
			}
			return a
		}
		return &syntax.Expr{Pos: e.Pos, Kind: e.Kind, Name: e.Name, Args: []*syntax.Expr{a, b}}
	}
	return e
}

// bindingOf names what the action calls the messages.
func bindingOf(r *check.Rule) string {
	h := r.Decl.Rule
	switch {
	case h.Var.Name == "":
		return ""
	case h.Timeout:
		return h.Var.Name + " := mbox"
	}
	return h.Var.Name + " := " + map[bool]string{true: "one of these messages", false: "these messages"}[h.Times == nil]
}
