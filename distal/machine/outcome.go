package machine

import (
	"fmt"
	"iter"

	"github.com/lockstep-go/lockstep/distal/core"
)

// Outcome of an action: the new state, what was sent and output, and what went wrong.
type Outcome struct {
	State    *State
	Sent     []Send
	Outputs  []Value
	Breaches []Breach
	Fault    *Fault
	Broken   int // index of a property on outputs that an output broke; -1 when none
	Action   int // index of the first action that was called; -1 when none
}

// Start computes the first state of a node: initial values, then the init block.
func (p *Program) Start(self int, choose core.Chooser) Outcome {
	f := p.frame(self, &State{Vars: make([]Value, len(p.inits))}, choose)
	f.tag, f.watch = Before, !p.Core.Lockstep
	return f.run(func(f *frame) {
		for i, e := range p.inits {
			if e != nil {
				f.set(i, e(&f.Frame))
			}
		}
		p.body(f)
	})
}

// Fire runs the action of a rule on the bound value, starting from state, which is not changed. tag is the tag of
// the rule's messages, or the node's own for a plain timeout. The conditions are watched.
func (p *Program) Fire(rule, self int, state *State, tag Tag, bound Value, mailbox []Message,
	choose core.Chooser) Outcome {
	f := p.frame(self, state, choose)
	f.tag, f.view, f.mailbox, f.watch = tag, tag, mailbox, true
	f.Slots[0] = bound
	return f.run(p.rules[rule].body)
}

// Half is one of the two blocks of a round.
type Half int

// A round has a SEND block and an UPDATE block.
const (
	SendHalf Half = iota
	UpdateHalf
)

// Block runs a block of a lock-step program.
func (p *Program) Block(half Half, self int, state *State, tag Tag, mailbox []Message, choose core.Chooser) Outcome {
	f := p.frame(self, state, choose)
	f.tag, f.view, f.mailbox = tag, tag, mailbox
	f.Now, f.Frame.Half = tag.Phase, 2*tag.Round+int(half)
	return f.run(p.blocks[tag.Round][half])
}

// run runs the body of an action and frees the frame. Where nothing is written, the state is the one before.
func (f *frame) run(body code) Outcome {
	fault := f.try(body)
	out := Outcome{State: f.before, Sent: f.sends, Outputs: f.outputs, Breaches: f.breaches, Fault: fault,
		Broken: f.broken, Action: f.action}
	if len(f.Vars) > 0 && &f.Vars[0] != &f.before.Vars[0] {
		out.State = &State{f.Vars}
	}
	f.free()
	return out
}

func (f *frame) try(body code) (fault *Fault) {
	defer core.Catch(&fault)
	body(f)
	return nil
}

// check is the one place where properties are checked: it returns the index of the first property of that moment which
// does not hold in the frame, or -1.
func (p *Program) check(moment core.Moment, f *core.Frame) int {
	for i, q := range p.Core.Props {
		if q.Moment == moment && p.props[i](f).N == 0 {
			return i
		}
	}
	return -1
}

// Check checks the properties of states on the states of all nodes: the index of one that does not hold, or -1.
func (p *Program) Check(nodes []*State) (broken int, fault *Fault) {
	f := p.frame(0, nil, nil)
	defer f.free()
	f.Nodes = make([][]Value, len(nodes))
	for i, s := range nodes {
		f.Nodes[i] = s.Vars
	}
	defer core.Catch(&fault)
	return p.check(core.OnStates, &f.Frame), nil
}

// Binding is one way in which a rule is enabled: the value its action gets and the senders whose messages are in it.
type Binding struct {
	Value   Value
	Senders uint64
}

// Enabled finds the ways in which a rule is enabled by the messages of one tag, as its Enabling says. timely says that
// the tag is not before the node's own.
func (p *Program) Enabled(rule, self int, state *State, tag Tag, mailbox []Message, timely bool) (out []Binding,
	fault *Fault) {
	r := p.rules[rule]
	f := p.frame(self, state, nil)
	defer f.free()
	f.tag, f.view, f.mailbox, f.Timely = tag, tag, mailbox, timely
	defer core.Catch(&fault)
	if r.matching != nil {
		f.Slots[0] = r.matching(&f.Frame)
		if len(f.Slots[0].E) == 0 && p.Core.Rules[rule].Message() >= 0 {
			return nil, nil
		}
	}
	if r.test(&f.Frame).N == 0 {
		return nil, nil
	}
	options := []Value{{}}
	if r.options != nil {
		options = r.options(&f.Frame).E
	}
	for _, o := range options {
		f.Slots[1] = o
		out = append(out, p.binding(rule, f))
	}
	return out, nil
}

func (p *Program) binding(rule int, f *frame) Binding {
	bound := p.rules[rule].bound
	if bound == nil {
		return Binding{}
	}
	b := Binding{Value: bound(&f.Frame)}
	if _, one := p.Core.Rules[rule].Trigger.(core.OnMessage); one {
		b.Senders = 1 << (b.Value.N - 1)
		return b
	}
	for _, m := range b.Value.E {
		b.Senders |= 1 << (m.N - 1)
	}
	return b
}

// TimeoutRound is the tag of the round in which a timeout in a round waits.
func (p *Program) TimeoutRound(rule, self int, state *State) (tag Tag, fault *Fault) {
	f := p.frame(self, state, nil)
	defer f.free()
	defer core.Catch(&fault)
	return Tag{p.rules[rule].phase(&f.Frame).N, p.Core.Rules[rule].Round(p.Core)}, nil
}

// maxResolutions limits the ways in which one action can resolve its choices; more is a fault.
const maxResolutions = 1024

// Resolutions runs an action once for each way of resolving its choices, in order. When there are too many, the last
// outcome is a fault.
func Resolutions(run func(core.Chooser) Outcome) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		var way resolution
		choose, last := way.choose, Outcome{}
		for range maxResolutions {
			way.at = 0
			last = run(choose)
			if !yield(last) || !way.next() {
				return
			}
		}
		last.Fault = &Fault{Text: fmt.Sprintf("the choices of one action can be resolved in more than %d ways",
			maxResolutions)}
		yield(last)
	}
}

// resolution is a way of resolving choices: for each the number that is taken, and of how many.
type resolution struct {
	taken, of []int
	at        int // the next choice
}

func (r *resolution) choose(n int) int {
	if r.at == len(r.taken) {
		r.taken, r.of = append(r.taken, 0), append(r.of, n)
	}
	r.at++
	return r.taken[r.at-1]
}

// next moves on to the next way, if there is one: the last choice that can be another one is.
func (r *resolution) next() bool {
	last := len(r.taken) - 1
	for last >= 0 && r.taken[last]+1 >= r.of[last] {
		last--
	}
	if last < 0 {
		return false
	}
	r.taken, r.of = r.taken[:last+1], r.of[:last+1]
	r.taken[last]++
	return true
}
