// Package sequential gives Distal programs their lock-step meaning: Algorithm 1 of the sequentialisation paper.
//
// All nodes go through the same rounds in the same order. In each round every node first sends, then receives some of the
// messages sent to it in this round (which, the network assumption limits), then updates its state. What is not
// received in its round is lost.
//
// A Model answers, for one node at a time, what a round can do: Send and Update list every outcome. It
// keeps no state of its own, so that package explore can remember its answers. Run strings the answers together into
// one run whose deliveries and choices the caller resolves; it replays counterexamples and asynchronous runs.
//
// How rules become rounds:
//
//   - A rule on messages belongs to the UPDATE of the round of its message. The first rule, in the order of the
//     text, that the mailbox enables fires; a node acts at most once in a round.
//   - A send puts the message into the SEND of its round, which is later than the round of the rule. Until then the node
//     takes part in no round: it has moved ahead. (The printed form of this is a ghost flag.)
//   - A timeout in a round belongs to that round's UPDATE and may fire when no rule on messages is enabled.
//   - A plain timeout belongs to the SEND of the round whose message it sends.
//
// Timeouts are free (each may fire or not) or eager (each fires whenever it can).
package sequential

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Model is a program with fixed parameters under a network assumption.
type Model struct {
	Program  *machine.Program
	Network  check.NetworkKind
	AtLeast  int // for check.AtLeast: how many nodes' messages arrive
	Timeouts check.Timeouts
	rounds   [][]*machine.Rule // by round: rules on messages, then timeouts in that round
	plain    [][]*machine.Rule // by round: plain timeouts that may send into it
}

// New makes a model. It refuses a program for which one of the conditions for a round structure is refuted.
func New(p *machine.Program, network check.Network, timeouts check.Timeouts) (*Model, error) {
	if len(p.Checked.Refused) > 0 {
		return nil, fmt.Errorf("protocol %s has no sequential form: %w", p.Checked.Name, p.Checked.Refused)
	}
	m := &Model{Program: p, Network: network.Kind, Timeouts: timeouts}
	if network.Kind == check.AtLeast {
		k, err := p.Constant(network.Count)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", network, err)
		}
		if k < 0 || k > int64(p.N) {
			return nil, fmt.Errorf("network %s: %d is not between 0 and n = %d", network, k, p.N)
		}
		m.AtLeast = int(k)
	}
	m.arrange()
	return m, nil
}

// arrange sorts the rules into rounds.
func (m *Model) arrange() {
	c := m.Program.Checked
	m.rounds = make([][]*machine.Rule, len(c.Rounds))
	m.plain = make([][]*machine.Rule, len(c.Rounds))
	for pass := range 2 {
		for _, r := range m.Program.Rules {
			if timeout := r.Decl.Rule.Timeout; r.Plain() || timeout != (pass == 1) {
				continue
			}
			m.rounds[r.Round] = append(m.rounds[r.Round], r)
		}
	}
	for _, r := range m.Program.Rules {
		if !r.Plain() {
			continue
		}
		for round, sent := range c.SendsInto(r.Decl.Body) {
			if sent {
				m.plain[round] = append(m.plain[round], r)
			}
		}
	}
}

// Rounds is the number of rounds in a phase.
func (m *Model) Rounds() int { return len(m.rounds) }

// InRound lists the rules of a round: those on messages in the order of the text, then timeouts in the round.
func (m *Model) InRound(round int) []*machine.Rule { return m.rounds[round] }

// Plain lists the plain timeouts that may send into a round.
func (m *Model) Plain(round int) []*machine.Rule { return m.plain[round] }

// Problem is what is wrong with a step: a broken property on outputs, a broken condition, or a fault.
type Problem struct {
	Property string // the property's name, "condition 1" and the like, or "fault"
	Pos      syntax.Pos
	Text     string
}

// Step is one outcome of a node's part in a round.
type Step struct {
	State   *machine.State
	Rule    *machine.Rule  // nil: nothing fired
	Sent    []machine.Send // by the rule, into later rounds
	Out     []machine.Send // handed over to the network in this round
	Outputs []machine.Value
	Senders uint64 // whose messages the rule used
	Problem *Problem
}

// Initial lists the first states of a node.
func (m *Model) Initial(self int) []Step {
	var out []Step
	for _, o := range machine.Resolutions(func(c machine.Chooser) machine.Outcome { return m.Program.Start(self, c) }) {
		out = append(out, m.step(nil, o, 0))
	}
	return out
}

func (m *Model) step(r *machine.Rule, o machine.Outcome, senders uint64) Step {
	return Step{State: o.State, Rule: r, Sent: o.Sent, Outputs: o.Outputs, Senders: senders, Problem: m.problem(r, o)}
}

func (m *Model) problem(r *machine.Rule, o machine.Outcome) *Problem {
	switch {
	case o.Fault != nil:
		return &Problem{"fault", o.Fault.Pos, o.Fault.Text}
	case len(o.Breaches) > 0:
		b := o.Breaches[0]
		text := b.Text
		if r != nil {
			text = r.Label() + ": " + text
		}
		return &Problem{b.Condition, b.Pos, text}
	case o.Broken >= 0:
		p := m.Program.Checked.Props[o.Broken]
		return &Problem{p.Name, p.Pos, "an output breaks the property"}
	}
	return nil
}

func faultStep(s *machine.State, f *machine.Fault) []Step {
	return []Step{{State: s, Problem: &Problem{"fault", f.Pos, f.Text}}}
}

// Send lists what a node can do when the round begins: fire a plain timeout or not, and hand over the messages it has
// sent into this round. The state of each step no longer holds them.
func (m *Model) Send(self int, s *machine.State, tag machine.Tag) []Step {
	if len(s.Pending) > 0 {
		return []Step{handOver(Step{State: s}, tag)}
	}
	var out []Step
	before := machine.Tag{Phase: tag.Phase, Round: tag.Round - 1}
	for _, r := range m.plain[tag.Round] {
		_, bound, ready, fault := m.Program.TimeoutReady(r, self, s, nil)
		if fault != nil {
			return faultStep(s, fault)
		}
		if !ready {
			continue
		}
		for _, o := range machine.Resolutions(func(c machine.Chooser) machine.Outcome {
			return m.Program.Fire(r, self, s, before, bound, nil, c)
		}) {
			// The timeout belongs to this round if its first message does.
			if o.Fault != nil || len(o.Sent) > 0 && o.Sent[0].Tag == tag {
				out = append(out, handOver(m.step(r, o, 0), tag))
			}
		}
		if len(out) > 0 {
			break
		}
	}
	if len(out) == 0 || m.Timeouts == check.Free {
		out = append([]Step{{State: s}}, out...)
	}
	return out
}

// handOver moves the messages of this round out of the state.
func handOver(st Step, tag machine.Tag) Step {
	var keep []machine.Send
	for _, p := range st.State.Pending {
		if p.Tag == tag {
			st.Out = append(st.Out, p)
		} else {
			keep = append(keep, p)
		}
	}
	if len(st.Out) > 0 {
		st.State = st.State.Clone()
		st.State.Pending = keep
	}
	return st
}

// Update lists what a node can do with a mailbox of messages of this round.
func (m *Model) Update(self int, s *machine.State, tag machine.Tag, mailbox []machine.Message) []Step {
	if s.Ahead(tag) {
		return []Step{{State: s}}
	}
	for _, r := range m.rounds[tag.Round] {
		if r.Decl.Rule.Timeout {
			return m.roundTimeout(self, s, tag, mailbox)
		}
		bindings, fault := m.Program.Bindings(r, self, s, tag, mailbox, true)
		if fault != nil {
			return faultStep(s, fault)
		}
		if len(bindings) == 0 {
			continue
		}
		var out []Step
		for _, b := range bindings {
			out = append(out, m.fire(r, self, s, tag, b, mailbox)...)
		}
		return out
	}
	return []Step{{State: s}}
}

func (m *Model) fire(r *machine.Rule, self int, s *machine.State, tag machine.Tag, b machine.Binding, mailbox []machine.Message) []Step {
	var out []Step
	for _, o := range machine.Resolutions(func(c machine.Chooser) machine.Outcome {
		return m.Program.Fire(r, self, s, tag, b.Value, mailbox, c)
	}) {
		out = append(out, m.step(r, o, b.Senders))
	}
	return out
}

// roundTimeout fires the first timeout in this round that can, or, when timeouts are free, none.
func (m *Model) roundTimeout(self int, s *machine.State, tag machine.Tag, mailbox []machine.Message) []Step {
	for _, r := range m.rounds[tag.Round] {
		if !r.Decl.Rule.Timeout {
			continue
		}
		at, bound, ready, fault := m.Program.TimeoutReady(r, self, s, mailbox)
		if fault != nil {
			return faultStep(s, fault)
		}
		if !ready || at != tag {
			continue
		}
		out := m.fire(r, self, s, tag, machine.Binding{Value: bound, Senders: senders(mailbox)}, mailbox)
		if m.Timeouts == check.Free {
			out = append([]Step{{State: s}}, out...)
		}
		return out
	}
	return []Step{{State: s}}
}

func senders(mailbox []machine.Message) uint64 {
	var mask uint64
	for _, msg := range mailbox {
		mask |= 1 << (msg.From - 1)
	}
	return mask
}

// Judge evaluates the invariants over the states of all nodes and returns the first that is broken.
func (m *Model) Judge(nodes []*machine.State) *Problem {
	for i, q := range m.Program.Checked.Props {
		if q.OnOutput {
			continue
		}
		ok, fault := m.Program.Holds(i, nodes)
		if fault != nil {
			return &Problem{"fault", fault.Pos, fault.Text}
		}
		if !ok {
			return &Problem{q.Name, q.Pos, "the states of the nodes break the property"}
		}
	}
	return nil
}
