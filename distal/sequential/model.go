// Package sequential gives Distal programs their lock-step meaning: Algorithm 1 of the sequentialization paper.
//
// All nodes go through the same rounds in the same order. In each round every node first sends, then receives some of
// the messages sent to it in this round (which, the network assumption limits), then updates its state. What is not
// received in its round is lost.
//
// Build makes a lock-step program out of one with rules. A Model evaluates a lock-step program, whether built or read
// from a file: it answers, for one node at a time, what a round can do. It keeps no state of its own, so that package
// explore can remember its answers.
package sequential

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Model is a program in lock-step with fixed parameters under a network assumption.
type Model struct {
	Program  *machine.Program // in lock-step
	Source   *machine.Program // as written; nil for a program that is written in lock-step
	Network  *Network
	Timeouts core.Timeouts
}

// New makes a model of a program; network is an index into its networks. A program with rules is built into lock-step,
// unless one of the conditions for a round structure is refuted.
func New(p *check.Program, params map[string]int64, network int, timeouts core.Timeouts) (*Model, error) {
	m := &Model{Timeouts: timeouts}
	lockstep := p.Program
	if !p.Lockstep {
		if len(p.Refused) > 0 {
			return nil, fmt.Errorf("protocol %s has no sequential form: %w", p.Name, p.Refused)
		}
		var err error
		if m.Source, err = machine.Compile(p.Program, params); err != nil {
			return nil, err
		}
		lockstep = Build(p, timeouts, FirstPhase(m.Source))
	}
	var err error
	if m.Program, err = machine.Compile(lockstep, params); err != nil {
		return nil, err
	}
	m.Network, err = newNetwork(m.Program, p.Networks[network])
	return m, err
}

// FirstPhase is the first phase in which something can happen: a node sends at the start, or its first timeout does.
// Everything else comes after, because tags only grow. It is 1 when nothing ever happens.
func FirstPhase(p *machine.Program) int64 {
	found, first := false, int64(1)
	note := func(phase int64) {
		if !found || phase < first {
			found, first = true, phase
		}
	}
	for self := 1; self <= p.N; self++ {
		for o := range machine.Resolutions(func(c core.Chooser) machine.Outcome { return p.Start(self, c) }) {
			tag := machine.Before
			for _, s := range o.Sent {
				note(s.Tag.Phase)
				tag = s.Tag
			}
			for i, r := range p.Core.Rules {
				firstTimeout(p, i, r, self, o.State, tag, note)
			}
		}
	}
	return first
}

// firstTimeout notes the phase of a timeout that can fire in a first state.
func firstTimeout(p *machine.Program, i int, r *core.Rule, self int, s *machine.State, tag machine.Tag,
	note func(int64)) {
	switch r.Trigger.(type) {
	case core.OnTimeout:
		if ways, _ := p.Enabled(i, self, s, tag, nil, true); len(ways) == 0 {
			return
		}
		for o := range machine.Resolutions(func(c core.Chooser) machine.Outcome {
			return p.Fire(i, self, s, tag, machine.Value{}, nil, c)
		}) {
			if len(o.Sent) > 0 {
				note(o.Sent[0].Tag.Phase)
			}
		}
	case core.OnRoundTimeout:
		at, fault := p.TimeoutRound(i, self, s)
		if fault != nil || at.Before(tag) {
			return
		}
		if ways, _ := p.Enabled(i, self, s, at, nil, true); len(ways) > 0 {
			note(at.Phase)
		}
	case core.OnMessage, core.OnQuorum:
	}
}

// Rounds is the number of rounds in a phase.
func (m *Model) Rounds() int { return len(m.Program.Core.Rounds) }

// Tag is the tag of the k-th round of a run, from 0.
func (m *Model) Tag(k int) machine.Tag {
	return machine.Tag{Phase: m.Program.Core.First + int64(k/m.Rounds()), Round: k % m.Rounds()}
}

// Problem is what is wrong with a step: a broken property, a broken condition, or a fault.
type Problem struct {
	Property string // the property's name, "condition 1" and the like, or "fault"
	Pos      syntax.Pos
	Text     string
}

// Step is one outcome of a node's part in a round.
type Step struct {
	State   *machine.State
	Action  *core.Action   // what was called; nil: nothing
	Out     []machine.Send // handed over to the network in this round
	Outputs []machine.Value
	Problem *Problem
}

// Label names what a step did: "upon Ack", or the action's name in a program that is written in lock-step.
func (m *Model) Label(a *core.Action) string {
	if a.Rule == nil {
		return a.Name
	}
	return a.Rule.Label(m.Program.Core)
}

// Initial lists the first states of a node.
func (m *Model) Initial(self int) []Step {
	return m.steps(func(c core.Chooser) machine.Outcome { return m.Program.Start(self, c) })
}

// Send lists what a node can do when the round begins: fire a plain timeout or not, and hand over the messages that
// are due.
func (m *Model) Send(self int, s *machine.State, tag machine.Tag) []Step {
	return m.steps(func(c core.Chooser) machine.Outcome { return m.Program.Block(machine.SendHalf, self, s, tag, nil, c) })
}

// Update lists what a node can do with a mailbox of messages of this round.
func (m *Model) Update(self int, s *machine.State, tag machine.Tag, mailbox []machine.Message) []Step {
	return m.steps(func(c core.Chooser) machine.Outcome {
		return m.Program.Block(machine.UpdateHalf, self, s, tag, mailbox, c)
	})
}

func (m *Model) steps(run func(core.Chooser) machine.Outcome) []Step {
	var out []Step
	for o := range machine.Resolutions(run) {
		st := Step{State: o.State, Out: o.Sent, Outputs: o.Outputs}
		if o.Action >= 0 {
			st.Action = m.Program.Core.Actions[o.Action]
		}
		st.Problem = m.problem(st.Action, o)
		out = append(out, st)
	}
	return out
}

func (m *Model) problem(a *core.Action, o machine.Outcome) *Problem {
	switch {
	case o.Fault != nil:
		return &Problem{"fault", o.Fault.Pos, o.Fault.Text}
	case len(o.Breaches) > 0:
		b := o.Breaches[0]
		text := b.Text
		if a != nil {
			text = m.Label(a) + ": " + text
		}
		return &Problem{b.Title(), b.Pos, text}
	case o.Broken >= 0:
		p := m.Program.Core.Props[o.Broken]
		return &Problem{p.Name, p.Pos, "an output breaks the property"}
	}
	return nil
}

// Check checks the properties of states and returns the first that is broken.
func (m *Model) Check(nodes []*machine.State) *Problem {
	broken, fault := m.Program.Check(nodes)
	switch {
	case fault != nil:
		return &Problem{"fault", fault.Pos, fault.Text}
	case broken >= 0:
		q := m.Program.Core.Props[broken]
		return &Problem{q.Name, q.Pos, "the states of the nodes break the property"}
	}
	return nil
}
