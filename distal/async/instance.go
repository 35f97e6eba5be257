// Package async runs Distal programs as they are written: message by message, without rounds.
//
// An Instance is one deployment in the caller's hands. Nothing moves unless the caller delivers messages, drops one, or
// lets a timeout fire; choices of the program are resolved by a function of the caller. A node keeps what it has
// received in a mailbox. After each step it fires rules until none is enabled: the first rule in the order of the text
// that some messages of one tag enable, a rule on messages at most once for each tag, because a node acts at most
// once in a round.
//
// While it runs, an Instance watches the five conditions for a round structure and reports breaches. Replay takes the
// record of a run and checks it against the sequential program.
package async

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/machine"
)

// Flight is a message on its way.
type Flight struct {
	ID      int
	To      int
	Message machine.Message
}

// Firing is one action: of the init block (Rule nil), of a rule on messages, or of a timeout.
type Firing struct {
	Node     int
	Rule     *machine.Rule
	Tag      machine.Tag // of the rule's messages; for a plain timeout, of the node before it fired
	Received uint64      // senders of all messages of that tag that the node had received
	Used     uint64      // senders of those the rule was given
	Sent     []machine.Send
	Outputs  []machine.Value
	After    *machine.State
	Breaches []machine.Breach
	Fault    *machine.Fault
	Broken   int // index of a broken property on outputs, -1 when none
}

// Instance is one deployment of a program.
type Instance struct {
	program *machine.Program
	choose  machine.Chooser
	nodes   []node
	flight  []Flight
	nextID  int
	history []Firing
	keeps   bool // the program reads its mailbox directly, so nothing may be thrown away
}

type node struct {
	state   *machine.State
	tag     machine.Tag // of the last message sent or acted on
	acted   map[machine.Tag]bool
	mailbox []machine.Message
}

// maxFirings limits how often one node fires in one step; a program that needs more runs in circles.
const maxFirings = 1000

// New starts all nodes: each runs its init block. choose resolves the choices of the program; nil takes the first.
func New(p *machine.Program, choose machine.Chooser) *Instance {
	if choose == nil {
		choose = func(int) int { return 0 }
	}
	in := &Instance{program: p, choose: choose, nodes: make([]node, p.N), keeps: p.Checked.ReadsMailbox()}
	for i := range in.nodes {
		in.nodes[i].acted = map[machine.Tag]bool{}
		in.nodes[i].tag = machine.Tag{Round: -1}
		o := p.Start(i+1, choose)
		in.record(Firing{Node: i + 1, Tag: in.nodes[i].tag}, o)
	}
	return in
}

// InFlight lists the messages on their way, oldest first. The slice belongs to the instance.
func (in *Instance) InFlight() []Flight { return in.flight }

// History lists everything that fired, in order.
func (in *Instance) History() []Firing { return in.history }

// State is the local state of node i, 1..n.
func (in *Instance) State(i int) *machine.State { return in.nodes[i-1].state }

// Tag is the phase and round of node i; the round is -1 before the first.
func (in *Instance) Tag(i int) machine.Tag { return in.nodes[i-1].tag }

// Deliver moves messages into the mailboxes of their receivers, all at once, and lets the receivers act. It returns
// what fired.
func (in *Instance) Deliver(ids ...int) ([]Firing, error) {
	var touched uint64
	for _, id := range ids {
		f, err := in.take(id)
		if err != nil {
			return nil, err
		}
		n := &in.nodes[f.To-1]
		if in.keeps || !n.acted[f.Message.Tag] {
			n.mailbox = append(n.mailbox, f.Message)
		}
		touched |= 1 << (f.To - 1)
	}
	before := len(in.history)
	for i := range in.nodes {
		if touched&(1<<i) != 0 {
			in.settle(i + 1)
		}
	}
	return in.history[before:], nil
}

// Duplicate puts a second copy of a message in flight and returns its number.
func (in *Instance) Duplicate(id int) (int, error) {
	for _, f := range in.flight {
		if f.ID == id {
			in.nextID++
			f.ID = in.nextID
			in.flight = append(in.flight, f)
			return f.ID, nil
		}
	}
	return 0, fmt.Errorf("no message %d is in flight", id)
}

// Drop loses a message.
func (in *Instance) Drop(id int) error {
	_, err := in.take(id)
	return err
}

func (in *Instance) take(id int) (Flight, error) {
	for i, f := range in.flight {
		if f.ID == id {
			in.flight = append(in.flight[:i:i], in.flight[i+1:]...)
			return f, nil
		}
	}
	return Flight{}, fmt.Errorf("no message %d is in flight", id)
}

// Timeout ends the patience of node i: its first timeout rule that can fire and does something fires.
func (in *Instance) Timeout(i int) []Firing {
	before := len(in.history)
	n := &in.nodes[i-1]
	for _, r := range in.program.Rules {
		if !r.Decl.Rule.Timeout {
			continue
		}
		tag, bound, ready, fault := in.program.TimeoutReady(r, i, n.state, n.mailbox)
		if fault != nil {
			in.record(Firing{Node: i, Rule: r, Tag: n.tag}, machine.Outcome{State: n.state, Fault: fault, Broken: -1})
			break
		}
		if !ready || !r.Plain() && (tag.Before(n.tag) || n.acted[tag]) {
			continue
		}
		f := Firing{Node: i, Rule: r, Tag: n.tag}
		if !r.Plain() {
			f.Tag, f.Received = tag, n.senders(tag)
			f.Used = f.Received
		}
		o := in.program.Fire(r, i, n.state, f.Tag, bound, n.mailbox, in.choose)
		if r.Plain() && len(o.Sent) == 0 && len(o.Outputs) == 0 && same(n.state, o.State) && o.Fault == nil {
			continue
		}
		in.record(f, o)
		in.settle(i)
		break
	}
	return in.history[before:]
}

func same(a, b *machine.State) bool { return string(a.AppendVars(nil)) == string(b.AppendVars(nil)) }

func (n *node) senders(t machine.Tag) uint64 {
	var mask uint64
	for _, m := range n.mailbox {
		if m.Tag == t {
			mask |= 1 << (m.From - 1)
		}
	}
	return mask
}

// settle fires rules on messages until none is enabled.
func (in *Instance) settle(i int) {
	for range maxFirings {
		if !in.fireOne(i) {
			return
		}
	}
}

func (in *Instance) fireOne(i int) bool {
	n := &in.nodes[i-1]
	for _, r := range in.program.Rules {
		if r.Decl.Rule.Timeout {
			continue
		}
		for _, tag := range n.tags(r.Message) {
			bindings, fault := in.program.Bindings(r, i, n.state, tag, n.mailbox, !tag.Before(n.tag))
			f := Firing{Node: i, Rule: r, Tag: tag, Received: n.senders(tag)}
			if fault != nil {
				in.record(f, machine.Outcome{State: n.state, Fault: fault, Broken: -1})
				return true
			}
			if len(bindings) == 0 {
				continue
			}
			b := bindings[0]
			if len(bindings) > 1 {
				b = bindings[in.choose(len(bindings))]
			}
			f.Used = b.Senders
			o := in.program.Fire(r, i, n.state, tag, b.Value, n.mailbox, in.choose)
			if tag.Before(n.tag) {
				o.Breaches = append(o.Breaches, in.stale(r, tag, n.tag))
			}
			in.record(f, o)
			return true
		}
	}
	return false
}

func (in *Instance) stale(r *machine.Rule, used, own machine.Tag) machine.Breach {
	rounds := in.program.Checked.Rounds
	return machine.Breach{Pos: r.Pos(), Condition: "condition 3", Text: fmt.Sprintf(
		"%s uses a message of phase %d, round %s, but the node is in phase %d, round %s already", r.Label(),
		used.Phase, rounds[used.Round], own.Phase, rounds[own.Round])}
}

// tags lists the tags of messages of a type in the mailbox on which the node has not acted, in order.
func (n *node) tags(message int) []machine.Tag {
	var out []machine.Tag
	for _, m := range n.mailbox {
		if m.Type != message || n.acted[m.Tag] {
			continue
		}
		known := false
		for _, t := range out {
			known = known || t == m.Tag
		}
		if !known {
			out = append(out, m.Tag)
		}
	}
	slices.SortFunc(out, machine.Tag.Compare)
	return out
}

// record takes over the outcome of an action: the state, the tag, and the messages sent.
func (in *Instance) record(f Firing, o machine.Outcome) {
	n := &in.nodes[f.Node-1]
	f.Sent, f.Outputs, f.Breaches, f.Fault, f.Broken = o.Sent, o.Outputs, o.Breaches, o.Fault, o.Broken
	if f.Rule != nil && !f.Rule.Plain() {
		in.finish(n, f.Tag)
		if n.tag.Before(f.Tag) {
			n.tag = f.Tag
		}
	}
	if o.Fault == nil {
		n.state = o.State
		n.state.Pending = nil
		for _, s := range o.Sent {
			in.post(f.Node, s)
			n.tag = s.Tag
		}
	} else if n.state == nil {
		n.state = o.State
	}
	f.After = n.state
	in.history = append(in.history, f)
}

// finish notes that a node has acted on a tag. Messages of that tag can enable nothing any more and are thrown away.
func (in *Instance) finish(n *node, tag machine.Tag) {
	n.acted[tag] = true
	if in.keeps {
		return
	}
	keep := n.mailbox[:0]
	for _, m := range n.mailbox {
		if m.Tag != tag {
			keep = append(keep, m)
		}
	}
	n.mailbox = keep
}

func (in *Instance) post(from int, s machine.Send) {
	for to := range in.nodes {
		if s.To&(1<<to) == 0 {
			continue
		}
		in.nextID++
		in.flight = append(in.flight, Flight{ID: in.nextID, To: to + 1,
			Message: machine.Message{Type: s.Type, From: from, Tag: s.Tag, Fields: s.Fields}})
	}
}

// Breaches lists the conditions broken so far, in order.
func (in *Instance) Breaches() []machine.Breach {
	var out []machine.Breach
	for _, f := range in.history {
		out = append(out, f.Breaches...)
	}
	return out
}

// Broken returns the name of a property that is broken now, "fault" after a fault in the program, or "".
func (in *Instance) Broken() string {
	props := in.program.Checked.Props
	for _, f := range in.history {
		if f.Fault != nil {
			return "fault"
		}
		if f.Broken >= 0 {
			return props[f.Broken].Name
		}
	}
	states := make([]*machine.State, len(in.nodes))
	for i := range in.nodes {
		states[i] = in.nodes[i].state
	}
	for i, q := range props {
		if q.OnOutput {
			continue
		}
		if ok, fault := in.program.Holds(i, states); !ok || fault != nil {
			return q.Name
		}
	}
	return ""
}
