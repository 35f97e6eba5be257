package sequential

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Build turns a program with rules into one in lock-step, of the same form: Sections 4.3 to 5.1 of the
// sequentialization paper as one function from programs to programs. first is the phase in which the rounds begin.
//
//   - A send puts a record into a variable due_M. A node for which something is due has moved ahead and takes part in
//
// no round until
//
//	  it has sent it.
//	- A rule becomes an action; when it is enabled it is called in the UPDATE of its round, the first of the text
//
// first.
//   - A timeout in a round comes after the rules on messages, behind a choice if timeouts are free.
//   - A plain timeout is tried in the SEND of every round into which it may send, and undone unless it does.
//   - A condition that is watched is an assertion.
func Build(p *check.Program, timeouts core.Timeouts, first int64) *core.Program {
	out := *p.Program
	b := &builder{from: p, out: &out, timeouts: timeouts, used: names(p.Program)}
	out.Lockstep, out.First, out.Rules = true, first, nil
	out.Vars = append([]core.Variable(nil), p.Vars...)
	out.Records = append([]*core.Type(nil), p.Records...)
	for i := range p.Messages {
		b.due(i)
	}
	b.place()
	out.Actions = nil
	for _, a := range p.Actions {
		out.Actions = append(out.Actions, &core.Action{Pos: a.Pos, Name: a.Name, Params: a.Params, Body: b.stmts(a.Body)})
	}
	out.Init = &core.Action{Pos: p.Init.Pos, Name: "init", Body: b.stmts(p.Init.Body)}
	for _, r := range p.Rules {
		b.action(r)
	}
	out.Rounds = nil
	for i, r := range p.Rounds {
		out.Rounds = append(out.Rounds, core.Round{Pos: r.Pos, Name: r.Name, Send: b.send(i), Update: b.update(i)})
	}
	out.Slots = p.Slots + spare
	return &out
}

// spare is how many slots the builder uses beyond those of the program.
const spare = 3

type builder struct {
	from     *check.Program
	out      *core.Program
	timeouts core.Timeouts
	used     map[string]bool
	vars     []int        // by message: the variable that holds what is due
	records  []*core.Type // by message: the type of what is due
	actions  []int        // by rule: its action
	// the variable that holds the phase of the node's tag, before that of its round; 0: there is none
	at int
}

// names collects the names that a program declares, so that new ones do not meet them.
func names(p *core.Program) map[string]bool {
	used := map[string]bool{}
	for _, q := range p.Params {
		used[q.Name] = true
	}
	for _, t := range append(append([]*core.Type(nil), p.Enums...), p.Records...) {
		used[t.Name] = true
		for _, v := range t.Values {
			used[v] = true
		}
	}
	for _, m := range p.Messages {
		used[m.Type.Name] = true
	}
	for _, v := range p.Vars {
		used[v.Name] = true
	}
	for _, f := range p.Funs {
		used[f.Name] = true
	}
	for _, a := range p.Actions {
		used[a.Name] = true
	}
	for _, q := range p.Props {
		used[q.Name] = true
	}
	return used
}

// fresh makes a name that nothing else has.
func (b *builder) fresh(name string) string {
	for i := 2; b.used[name]; i++ {
		if base := name; !b.used[fmt.Sprint(base, "_", i)] {
			name = fmt.Sprint(base, "_", i)
		}
	}
	b.used[name] = true
	return name
}

// due declares the record and the variable for messages of a type that are sent but whose round is still to come.
func (b *builder) due(message int) {
	t := b.from.Messages[message].Type
	whom := "whom"
	for t.Field(whom) >= 0 {
		whom += "_"
	}
	record := &core.Type{Kind: core.Record, Name: b.fresh("Due" + t.Name),
		Fields: append([]core.Field{{Name: whom, Type: core.NodeSet}}, t.Fields...)}
	b.records = append(b.records, record)
	b.out.Records = append(b.out.Records, record)
	b.vars = append(b.vars, len(b.out.Vars))
	b.out.Vars = append(b.out.Vars, core.Variable{Pos: b.from.Messages[message].Pos, Name: b.fresh("due_" + t.Name),
		Type: core.SetOf(record), Ghost: true, Most: b.from.MostSends(message)})
}

// place declares where the node is, if there are plain timeouts that could not be proved to move it on: they are
// clocks that may fire at any time, also when what they send is over.
func (b *builder) place() {
	for _, r := range b.from.Rules {
		if _, plain := r.Trigger.(core.OnTimeout); plain && !b.from.Proved(core.Grows, r) {
			b.at = len(b.out.Vars)
			b.out.Vars = append(b.out.Vars,
				core.Variable{Name: b.fresh("at_phase"), Type: core.IntType, Ghost: true,
					Init: core.NewInt(r.Body.Pos, -core.MaxInt)},
				core.Variable{Name: b.fresh("at_round"), Type: core.IntType, Ghost: true, Init: core.NewInt(r.Body.Pos, 0)})
			return
		}
	}
}

// moved notes that the node is in a round.
func (b *builder) moved(at core.Place, round int) []core.Stmt {
	if b.at == 0 {
		return nil
	}
	return []core.Stmt{&core.Assign{Place: at, Var: b.at, X: now(at.Pos)},
		&core.Assign{Place: at, Var: b.at + 1, X: core.NewInt(at.Pos, int64(round))}}
}

// back says that something is due in a round in which the node is or has been.
func (b *builder) back(pos syntax.Pos) core.Expr {
	var out core.Expr
	own := func(i int) core.Expr {
		return &core.Var{Info: core.Info{Pos: pos, Type: core.IntType}, Index: b.at + i}
	}
	for i, m := range b.from.Messages {
		due := &core.Local{Info: core.Info{Pos: pos, Type: b.records[i]}, Slot: b.from.Slots}
		phase := b.phaseOf(i, due)
		here := core.NewApply(pos, core.And, core.BoolType, core.NewApply(pos, core.Eq, core.BoolType, phase, own(0)),
			core.NewApply(pos, core.Le, core.BoolType, core.NewInt(pos, int64(m.Round)), own(1)))
		x := &core.Quant{Info: core.Info{Pos: pos, Type: core.BoolType}, Kind: core.Exists,
			Slots: []core.Binder{{Slot: b.from.Slots, Name: "due"}},
			Set:   b.dueVar(pos, i), Body: core.NewApply(pos, core.Or, core.BoolType,
				core.NewApply(pos, core.Lt, core.BoolType, phase, own(0)), here)}
		if out == nil {
			out = x
		} else {
			out = core.NewApply(pos, core.Or, core.BoolType, out, x)
		}
	}
	return out
}

// action makes the action of a rule.
func (b *builder) action(r *core.Rule) {
	name := "on"
	switch t := r.Trigger.(type) {
	case core.OnMessage, core.OnQuorum:
		name += b.from.Messages[r.Message()].Type.Name
	case core.OnRoundTimeout:
		name += "TimeoutIn" + b.from.Rounds[t.Round].Name
	case core.OnTimeout:
		name += "Timeout"
	}
	b.actions = append(b.actions, len(b.out.Actions))
	b.out.Actions = append(b.out.Actions, &core.Action{Pos: r.Body.Pos, Name: b.fresh(name), Params: r.Body.Params,
		Body: b.stmts(r.Body.Body), Rule: r})
}

// expr puts an expression into lock-step, where every message is timely and the mailbox holds one round.
func (b *builder) expr(e core.Expr) core.Expr {
	return core.Rewrite(e, func(x core.Expr) core.Expr {
		switch x := x.(type) {
		case *core.Apply:
			switch x.Op {
			case core.Timely:
				return core.NewBool(x.Pos, true)
			case core.And:
				return core.Conjunction(x.Pos, x.Args...)
			}
		case *core.Mail:
			return &core.Mail{Info: x.Info, Message: x.Message}
		}
		return x
	})
}

func (b *builder) exprs(list []core.Expr) []core.Expr {
	var out []core.Expr
	for _, e := range list {
		out = append(out, b.expr(e))
	}
	return out
}

// stmts puts statements into lock-step.
func (b *builder) stmts(list []core.Stmt) []core.Stmt {
	var out []core.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *core.Assign:
			out = append(b.rests(out, s.Place), &core.Assign{Place: s.Place, Var: s.Var, X: b.expr(s.X)})
		case *core.Let:
			out = append(out, &core.Let{Place: s.Place, Slot: s.Slot, X: b.expr(s.X)})
		case *core.Branch:
			out = append(out, &core.Branch{Place: s.Place, Cond: b.expr(s.Cond), Then: b.stmts(s.Then), Else: b.stmts(s.Else)})
		case *core.For:
			out = append(out, &core.For{Place: s.Place, Slot: s.Slot, X: b.expr(s.X), Body: b.stmts(s.Body)})
		case *core.Send:
			out = append(out, b.post(s)...)
		case *core.Output:
			out = append(b.rests(out, s.Place), &core.Output{Place: s.Place, X: b.expr(s.X)})
		case *core.Do:
			out = append(out, &core.Do{Place: s.Place, Action: s.Action, Args: b.exprs(s.Args)})
		case *core.Assert:
			out = append(out, &core.Assert{Place: s.Place, Condition: s.Condition, Name: s.Name, X: b.expr(s.X)})
		case *core.Try:
			out = append(out, &core.Try{Place: s.Place, Body: b.stmts(s.Body), Ensure: b.expr(s.Ensure), Else: b.stmts(s.Else)})
		default:
			panic(fmt.Sprintf("sequential: no lock-step form of %T", s))
		}
	}
	return out
}

// rests watches that nothing changes after a send.
func (b *builder) rests(out []core.Stmt, at core.Place) []core.Stmt {
	if b.from.Watches(core.Rests) {
		out = append(out, &core.Assert{Place: at, Condition: core.Rests, X: b.nothingDue(at.Pos)})
	}
	return out
}

// nothingDue says that the node has not moved ahead.
func (b *builder) nothingDue(pos syntax.Pos) core.Expr {
	var parts []core.Expr
	for i := range b.vars {
		parts = append(parts, core.NewApply(pos, core.Eq, core.BoolType, b.dueVar(pos, i),
			core.Empty(pos, b.out.Vars[b.vars[i]].Type)))
	}
	return core.Conjunction(pos, parts...)
}

func (b *builder) dueVar(pos syntax.Pos, message int) core.Expr {
	return &core.Var{Info: core.Info{Pos: pos, Type: b.out.Vars[b.vars[message]].Type}, Index: b.vars[message]}
}

// post turns a send into a record of what is due.
func (b *builder) post(s *core.Send) []core.Stmt {
	record := b.records[s.Message]
	at := core.Info{Pos: s.Pos, Type: record}
	var due core.Expr = &core.Make{Info: at, Args: append([]core.Expr{b.expr(s.To)}, b.exprs(s.Args)...)}
	var out []core.Stmt
	slot := core.Binder{Slot: b.from.Slots, Name: "due"}
	if b.from.Watches(core.Grows) || b.from.Watches(core.Carries) || b.from.Watches(core.Once) {
		out = append(out, &core.Let{Place: s.Place, Slot: slot, X: due})
		due = &core.Local{Info: at, Slot: slot.Slot}
		out = append(out, b.watches(s, due)...)
	}
	set := b.out.Vars[b.vars[s.Message]].Type
	one := core.NewApply(s.Pos, core.SetOfAll, set, due)
	return append(out, &core.Assign{Place: s.Place, Var: b.vars[s.Message],
		X: core.NewApply(s.Pos, core.Union, set, b.dueVar(s.Pos, s.Message), one)})
}

// watches makes the assertions about a message that is about to become due.
func (b *builder) watches(s *core.Send, due core.Expr) []core.Stmt {
	var out []core.Stmt
	pos := s.Pos
	m := b.from.Messages[s.Message]
	phase := b.phaseOf(s.Message, due)
	watch := func(c core.Condition, x core.Expr) {
		if b.from.Watches(c) {
			out = append(out, &core.Assert{Place: s.Place, Condition: c, X: x})
		}
	}
	grows := []core.Expr{core.NewApply(pos, core.After, core.BoolType, phase, core.NewInt(pos, int64(m.Round)))}
	var once []core.Expr
	for i, other := range b.from.Messages {
		op := core.Le // nothing that is due comes later
		if other.Round > m.Round {
			op = core.Lt
		}
		old := &core.Local{Info: core.Info{Pos: pos, Type: b.records[i]}, Slot: b.from.Slots + 1}
		slots := []core.Binder{{Slot: b.from.Slots + 1, Name: "old"}}
		each := func(body core.Expr) core.Expr {
			return &core.Quant{Info: core.Info{Pos: pos, Type: core.BoolType}, Kind: core.Forall, Slots: slots,
				Set: b.dueVar(pos, i), Body: body}
		}
		grows = append(grows, each(core.NewApply(pos, op, core.BoolType, b.phaseOf(i, old), phase)))
		if other.Round == m.Round {
			once = append(once, each(core.NewApply(pos, core.Or, core.BoolType,
				core.NewApply(pos, core.Ne, core.BoolType, b.phaseOf(i, old), phase), b.disjoint(pos, old, due))))
		}
	}
	watch(core.Grows, core.Conjunction(pos, grows...))
	if own := b.from.Phase; own >= 0 {
		watch(core.Carries, core.NewApply(pos, core.Eq, core.BoolType, phase,
			&core.Var{Info: core.Info{Pos: pos, Type: core.IntType}, Index: own}))
	}
	watch(core.Once, core.Conjunction(pos, once...))
	return out
}

// disjoint says that two records have no receiver in common.
func (b *builder) disjoint(pos syntax.Pos, old, due core.Expr) core.Expr {
	whom := func(x core.Expr) core.Expr { return &core.Get{Info: core.Info{Pos: pos, Type: core.NodeSet}, X: x} }
	return core.NewApply(pos, core.Eq, core.BoolType, core.NewApply(pos, core.Diff, core.NodeSet, whom(old), whom(due)),
		whom(old))
}

// phaseOf is the phase of a record of what is due.
func (b *builder) phaseOf(message int, due core.Expr) core.Expr {
	m := b.from.Messages[message]
	return &core.Get{Info: core.Info{Pos: due.At(), Type: m.Type.Fields[m.Phase].Type}, X: due, Index: m.Phase + 1}
}
