package sequential

import (
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// send is the SEND block of a round: plain timeouts, then what is due.
func (b *builder) send(round int) []core.Stmt {
	out := b.backward()
	for i, r := range b.from.Rules {
		if _, plain := r.Trigger.(core.OnTimeout); !plain || !b.from.SendsInto(r.Body.Body)[round] {
			continue
		}
		pos := r.Body.Pos
		cond := []core.Expr{b.nothingDue(pos), b.expr(r.Enabling.Test)}
		if b.timeouts == core.Free {
			cond = append(cond, choice(pos))
		}
		at := core.Place{Pos: pos}
		out = append(out, &core.Branch{Place: at, Cond: core.Conjunction(pos, cond...), Then: []core.Stmt{
			&core.Try{Place: at, Body: []core.Stmt{&core.Do{Place: at, Action: b.actions[i]}}, Ensure: b.begins(pos, round)}}})
	}
	for i, m := range b.from.Messages {
		if m.Round == round {
			out = append(out, b.handOver(i)...)
		}
	}
	return out
}

// backward watches plain timeouts that could not be proved to move the node on: one that may fire now and would move
// it back, or nowhere, does so, and that is a breach of condition 1.
func (b *builder) backward() []core.Stmt {
	var out []core.Stmt
	for i, r := range b.from.Rules {
		if _, plain := r.Trigger.(core.OnTimeout); !plain || b.from.Proved(core.Grows, r) {
			continue
		}
		pos := r.Body.Pos
		at := core.Place{Pos: pos}
		back := b.back(pos)
		cond := []core.Expr{b.nothingDue(pos), b.expr(r.Enabling.Test)}
		if b.timeouts == core.Free {
			cond = append(cond, choice(pos))
		}
		out = append(out, &core.Branch{Place: at, Cond: core.Conjunction(pos, cond...), Then: []core.Stmt{
			&core.Try{Place: at, Body: []core.Stmt{&core.Do{Place: at, Action: b.actions[i]}}, Ensure: back},
			&core.Assert{Place: at, Condition: core.Grows, X: core.NewApply(pos, core.Not, core.BoolType, back)}}})
	}
	return out
}

// choice is a free choice.
func choice(pos syntax.Pos) core.Expr {
	both := core.NewApply(pos, core.SetOfAll, core.SetOf(core.BoolType), core.NewBool(pos, false), core.NewBool(pos, true))
	return core.NewApply(pos, core.Choose, core.BoolType, both)
}

func now(pos syntax.Pos) core.Expr { return core.NewApply(pos, core.Now, core.IntType) }

// begins says that what is due begins in this round: something is due in it, and nothing before it.
func (b *builder) begins(pos syntax.Pos, round int) core.Expr {
	var here core.Expr
	var later []core.Expr
	for i, m := range b.from.Messages {
		due := &core.Local{Info: core.Info{Pos: pos, Type: b.records[i]}, Slot: b.from.Slots}
		quant := func(k core.Quantifier, op core.Op) core.Expr {
			return &core.Quant{Info: core.Info{Pos: pos, Type: core.BoolType}, Kind: k,
				Slots: []core.Binder{{Slot: b.from.Slots, Name: "due"}},
				Set:   b.dueVar(pos, i), Body: core.NewApply(pos, op, core.BoolType, b.phaseOf(i, due), now(pos))}
		}
		if m.Round == round {
			x := quant(core.Exists, core.Eq)
			if here == nil {
				here = x
			} else {
				here = core.NewApply(pos, core.Or, core.BoolType, here, x)
			}
		}
		op := core.Ge
		if m.Round < round {
			op = core.Gt
		}
		later = append(later, quant(core.Forall, op))
	}
	return core.Conjunction(pos, append([]core.Expr{here}, later...)...)
}

// handOver sends what is due in this round.
func (b *builder) handOver(message int) []core.Stmt {
	m := b.from.Messages[message]
	pos := m.Pos
	at := core.Place{Pos: pos}
	set := b.out.Vars[b.vars[message]].Type
	due := &core.Local{Info: core.Info{Pos: pos, Type: b.records[message]}, Slot: b.from.Slots}
	with := func(op core.Op) core.Expr {
		return &core.Build{Info: core.Info{Pos: pos, Type: set}, Slot: core.Binder{Slot: due.Slot, Name: "due"},
			Set:  b.dueVar(pos, message),
			Cond: core.NewApply(pos, op, core.BoolType, b.phaseOf(message, due), now(pos)), Elem: due}
	}
	sent := &core.Local{Info: due.Info, Slot: due.Slot + 1}
	var args []core.Expr
	for i, f := range m.Type.Fields {
		args = append(args, &core.Get{Info: core.Info{Pos: pos, Type: f.Type}, X: sent, Index: i + 1})
	}
	body := append(b.moved(at, m.Round), &core.Send{Place: at, Message: message, Args: args,
		To: &core.Get{Info: core.Info{Pos: pos, Type: core.NodeSet}, X: sent}})
	return []core.Stmt{
		&core.For{Place: at, Slot: core.Binder{Slot: sent.Slot, Name: "sent"}, X: with(core.Eq), Body: body},
		&core.Assign{Place: at, Var: b.vars[message], X: with(core.Ne)},
	}
}

// update is the UPDATE block of a round: unless the node has moved ahead, the first rule on messages that is enabled,
// or else the first timeout in the round.
func (b *builder) update(round int) []core.Stmt {
	var rules, timeouts []*core.Rule
	for _, r := range b.from.Rules {
		if r.Round(b.from.Program) != round {
			continue
		}
		if r.Message() >= 0 {
			rules = append(rules, r)
		} else {
			timeouts = append(timeouts, r)
		}
	}
	var chain []core.Stmt
	for i := len(timeouts) - 1; i >= 0; i-- {
		chain = b.attempt(timeouts[i], chain)
	}
	for i := len(rules) - 1; i >= 0; i-- {
		chain = b.attempt(rules[i], chain)
	}
	if len(chain) == 0 {
		return nil
	}
	pos := b.from.Rounds[round].Pos
	return []core.Stmt{&core.Branch{Place: core.Place{Pos: pos}, Cond: b.nothingDue(pos), Then: chain}}
}

// attempt calls the action of a rule if it is enabled, as its Enabling says, and otherwise does something else.
func (b *builder) attempt(r *core.Rule, otherwise []core.Stmt) []core.Stmt {
	pos := r.Body.Pos
	at := core.Place{Pos: pos}
	var out []core.Stmt
	if x := r.Enabling.Matching; x != nil {
		out = append(out, &core.Let{Place: at, Slot: core.Binder{Slot: 0, Name: "matching"}, X: b.expr(x)})
	}
	fire := &core.Do{Place: at, Action: b.actions[r.Index]}
	moved := b.moved(at, r.Round(b.from.Program))
	if x := r.Enabling.Bound; x != nil {
		fire.Args = []core.Expr{b.expr(x)}
	}
	then := slices.Concat(moved, []core.Stmt{fire})
	if x := r.Enabling.Options; x != nil {
		options := b.expr(x)
		then = []core.Stmt{&core.Let{Place: at, Slot: core.Binder{Slot: 1, Name: "one"},
			X: core.NewApply(pos, core.Choose, options.Of().Elem, options)}}
		then = append(append(then, moved...), fire)
	}
	cond := b.expr(r.Enabling.Test)
	if t, ok := r.Trigger.(core.OnRoundTimeout); ok {
		cond = core.Conjunction(pos, core.NewApply(pos, core.Eq, core.BoolType, b.expr(t.Phase), now(pos)), cond)
		if b.timeouts == core.Free {
			then = []core.Stmt{&core.Branch{Place: at, Cond: choice(pos), Then: then}}
		}
	}
	return append(out, &core.Branch{Place: at, Cond: cond, Then: then, Else: otherwise})
}
