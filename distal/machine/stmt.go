package machine

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Breach is a condition that an action broke while it ran, or an assertion of the program's own.
type Breach struct {
	Pos       syntax.Pos
	Condition core.Condition
	Name      string // of an assertion
	Text      string
}

func (b Breach) String() string { return fmt.Sprintf("%s: %s: %s", b.Pos, b.Title(), b.Text) }

// Title is "condition 1" and the like, or the name of the assertion.
func (b Breach) Title() string {
	if b.Condition == core.Own {
		return b.Name
	}
	return b.Condition.String()
}

// frame is everything an action can see and do.
type frame struct {
	core.Frame
	p        *Program
	mailbox  []Message
	view     Tag // Mail without All shows messages of this tag
	tag      Tag // of the rule's messages, then of the last send
	sends    []Send
	outputs  []Value
	breaches []Breach
	broken   int    // a property on outputs; -1: none
	action   int    // the first action called; -1: none
	before   *State // in which the action began
	own      bool   // Vars is a copy that may be written, and that no other frame knows
	watch    bool
	spare    []Value // for slots
}

// frame gets a frame, to be given back with free. Actions are short and there are millions of them: frames are used
// again and again, and a state is copied only when it is written.
func (p *Program) frame(self int, state *State, choose core.Chooser) *frame {
	f, _ := p.frames.Get().(*frame)
	need := p.Core.Slots + 1
	if f == nil {
		f = &frame{spare: make([]Value, 4*need)}
		f.Mail = f.mail
	}
	*f = frame{Frame: core.Frame{Self: int64(self), Params: p.params, Slots: f.spare[:need:need], Spare: f.spare[need:],
		Mail:   f.Mail,
		Choose: choose, Now: Before.Phase, Fuel: core.FuelLimit}, p: p, broken: -1, action: -1, before: state, spare: f.spare}
	clear(f.Slots)
	if state != nil {
		f.Vars = state.Vars
	}
	return f
}

// free gives a frame back. What it refers to stays until it is used again.
func (f *frame) free() { f.p.frames.Put(f) }

// set writes a variable.
func (f *frame) set(i int, v Value) {
	if !f.own {
		f.Vars, f.own = slices.Clone(f.Vars), true
	}
	f.Vars[i] = v
}

// mail reads the mailbox: the messages of the tag that is looked at. A message type of another round may not be read
// at all (condition 4); a program that does so all the same gets what is there.
func (f *frame) mail(_ *core.Frame, e *core.Mail) Value {
	var out []Value
	for _, m := range f.mailbox {
		foreign := e.All && m.Tag.Round != f.view.Round
		if m.Type != e.Message || !foreign && m.Tag != f.view {
			continue
		}
		if foreign && f.watch {
			f.breach(e.Pos, core.Reads, "received(%s) reads a message of phase %d, round %s, in phase %d, round %s",
				f.p.Core.Messages[e.Message].Type.Name, m.Tag.Phase, f.p.Round(m.Tag), f.view.Phase, f.p.Round(f.view))
		}
		out = append(out, m.Value())
	}
	return core.MakeSet(out)
}

func (f *frame) breach(pos syntax.Pos, c core.Condition, format string, args ...any) {
	f.breaches = append(f.breaches, Breach{Pos: pos, Condition: c, Text: fmt.Sprintf(format, args...)})
}

func (p *Program) stmts(list []core.Stmt) code {
	codes := make([]code, len(list))
	for i, s := range list {
		codes[i] = p.stmt(s)
	}
	return func(f *frame) {
		for _, c := range codes {
			c(f)
		}
	}
}

func (p *Program) stmt(s core.Stmt) code {
	switch s := s.(type) {
	case *core.Assign:
		x := p.expr(s.X)
		return func(f *frame) {
			f.afterSend(s.Pos, p.Core.Vars[s.Var].Name)
			f.set(s.Var, x(&f.Frame))
		}
	case *core.Let:
		x := p.expr(s.X)
		return func(f *frame) { f.Slots[s.Slot.Slot] = x(&f.Frame) }
	case *core.Branch:
		x, yes, no := p.expr(s.Cond), p.stmts(s.Then), p.stmts(s.Else)
		return func(f *frame) {
			if x(&f.Frame).N != 0 {
				yes(f)
			} else {
				no(f)
			}
		}
	case *core.For:
		x, body := p.expr(s.X), p.stmts(s.Body)
		return func(f *frame) {
			for _, v := range x(&f.Frame).E {
				f.Burn(s.Pos, 1)
				f.Slots[s.Slot.Slot] = v
				body(f)
			}
		}
	case *core.Send:
		return p.send(s)
	case *core.Output:
		return p.output(s)
	case *core.Do:
		return p.do(s)
	case *core.Assert:
		return p.assert(s)
	case *core.Try:
		return p.try(s)
	}
	panic(fmt.Sprintf("machine: no meaning of %T", s))
}

func (p *Program) do(s *core.Do) code {
	args := p.exprs(s.Args)
	return func(f *frame) {
		f.Burn(s.Pos, 1)
		if f.action < 0 {
			f.action = s.Action
		}
		caller := f.Enter(args)
		p.actions[s.Action](f)
		f.Leave(caller)
	}
}

func (p *Program) assert(s *core.Assert) code {
	x := p.expr(s.X)
	text := s.Condition.Text()
	if s.Condition == core.Own {
		text = "the assertion does not hold"
	}
	return func(f *frame) {
		if x(&f.Frame).N == 0 {
			f.breaches = append(f.breaches, Breach{s.Pos, s.Condition, s.Name, text})
		}
	}
}

// try undoes everything when what is to be ensured does not hold; a fault stays a fault.
func (p *Program) try(s *core.Try) code {
	body, ensure, otherwise := p.stmts(s.Body), p.expr(s.Ensure), p.stmts(s.Else)
	return func(f *frame) {
		vars, own := f.Vars, f.own
		f.own = false // what is written from here on is written to a copy
		sends, outputs, breaches := len(f.sends), len(f.outputs), len(f.breaches)
		tag, broken, action := f.tag, f.broken, f.action
		body(f)
		if ensure(&f.Frame).N != 0 {
			return
		}
		f.Vars, f.own = vars, own
		f.sends, f.outputs, f.breaches = f.sends[:sends], f.outputs[:outputs], f.breaches[:breaches]
		f.tag, f.broken, f.action = tag, broken, action
		otherwise(f)
	}
}

// output checks the value at once, against the state as it is now, and makes it the last one.
func (p *Program) output(s *core.Output) code {
	x := p.expr(s.X)
	return func(f *frame) {
		f.afterSend(s.Pos, "output")
		v := x(&f.Frame)
		if f.broken < 0 {
			caller := f.Enter(nil)
			f.Slots[0] = v
			f.broken = p.check(core.OnOutput, &f.Frame)
			f.Leave(caller)
		}
		f.outputs = append(f.outputs, v)
		f.set(p.Core.Output, core.SomeOf(v))
	}
}

// afterSend watches condition 5: between a send and the next receive nothing changes.
func (f *frame) afterSend(pos syntax.Pos, what string) {
	if f.watch && len(f.sends) > 0 {
		f.breach(pos, core.Rests, "%s changes after the action has sent", what)
	}
}

// send hands over a message. As far as the run is watched it looks at condition 1 (the tag grows), condition 2 (the
// tag is the node's own phase) and that no receiver gets two messages of one round.
func (p *Program) send(s *core.Send) code {
	m := p.Core.Messages[s.Message]
	args, to := p.list(s.Args), p.expr(s.To)
	return func(f *frame) {
		f.Burn(s.Pos, 1)
		out := Send{Type: s.Message, Fields: args(&f.Frame)}
		out.Tag = Tag{out.Fields[m.Phase].N, m.Round}
		for _, e := range to(&f.Frame).E {
			out.To |= 1 << (e.N - 1)
		}
		if f.watch {
			f.watchSend(s, out)
		}
		f.tag = out.Tag
		f.sends = append(f.sends, out)
	}
}

func (f *frame) watchSend(s *core.Send, out Send) {
	p, name := f.p, f.p.Core.Messages[s.Message].Type.Name
	own := p.Core.Phase
	switch {
	case out.Tag.Before(f.tag), out.Tag == f.tag && len(f.sends) == 0:
		f.breach(s.Pos, core.Grows, "%s is sent in phase %d, round %s, but the node is in phase %d, round %s already",
			name, out.Tag.Phase, p.Round(out.Tag), f.tag.Phase, p.Round(f.tag))
	case own >= 0 && f.Vars[own].N != out.Tag.Phase:
		f.breach(s.Pos, core.Carries, "%s is sent with phase %d while %s is %d", name, out.Tag.Phase, p.Core.Vars[own].Name,
			f.Vars[own].N)
	}
	for _, old := range f.sends {
		if old.Tag == out.Tag && old.To&out.To != 0 {
			f.breach(s.Pos, core.Once, "a second message of phase %d, round %s goes to the same receiver", out.Tag.Phase,
				p.Round(out.Tag))
		}
	}
}
