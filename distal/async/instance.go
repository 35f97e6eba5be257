// Package async runs Distal programs as they are written: message by message, without rounds.
//
// An Instance is one deployment in the caller's hands. Nothing moves unless the caller delivers messages, drops one, or
// lets a timeout fire; choices of the program are resolved by a function of the caller. A node keeps what it has
// received in a mailbox. After each step it fires rules until none is enabled: the first rule in the order of the text
// that some messages of one tag enable, a rule on messages at most once for each tag, because a node acts at most
// once in a round. Of the timeouts in one round the first of the text fires whose guard holds; timeouts in different
// rounds, and plain ones, are clocks of their own: any of them may be the next.
//
// While it runs, an Instance watches the five conditions for a round structure and reports breaches. Replay takes the
// record of a run and checks it against the sequential program; Follow does the reverse.
package async

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
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
	Rule     *core.Rule
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

// plain says whether a firing is that of a plain timeout.
func (f *Firing) plain() bool {
	if f.Rule == nil {
		return false
	}
	_, ok := f.Rule.Trigger.(core.OnTimeout)
	return ok
}

// Instance is one deployment of a program.
type Instance struct {
	program *machine.Program
	choose  core.Chooser
	nodes   []node
	flight  []Flight
	nextID  int
	history []Firing
	uses    uses
	verdict verdict
}

// uses says what a program does with messages, so that mailboxes can forget the rest.
type uses struct {
	read   []bool // by message: a rule of another round reads them
	timely []bool // by message: no rule acts on one that is too old
	always bool   // all messages are timely, and none is read otherwise
	hoard  bool   // keep everything
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
func New(p *machine.Program, choose core.Chooser) *Instance {
	in := fresh(p, choose)
	for i := range in.nodes {
		in.start(i + 1)
	}
	return in
}

func fresh(p *machine.Program, choose core.Chooser) *Instance {
	if choose == nil {
		choose = func(int) int { return 0 }
	}
	return &Instance{program: p, choose: choose, nodes: make([]node, p.N), uses: usesOf(p.Core)}
}

func (in *Instance) start(i int) {
	in.nodes[i-1] = node{acted: map[machine.Tag]bool{}, tag: machine.Before}
	in.record(Firing{Node: i, Tag: machine.Before}, in.program.Start(i, in.choose))
}

func usesOf(p *core.Program) uses {
	u := uses{read: make([]bool, len(p.Messages)), timely: make([]bool, len(p.Messages)), always: true}
	for i := range p.Messages {
		u.timely[i] = true
	}
	round := -1
	mark := func(e core.Expr) {
		if m, ok := e.(*core.Mail); ok && m.All && p.Messages[m.Message].Round != round {
			u.read[m.Message] = true
		}
	}
	for _, r := range p.Rules {
		round = r.Round(p)
		if m := r.Message(); m >= 0 {
			u.timely[m] = u.timely[m] && (r.Timely || r.Current)
		}
		core.Walk(r.Enabling.Guard, mark)
		p.ReachExprs(r.Body.Body, mark)
	}
	for i := range p.Messages {
		u.always = u.always && u.timely[i] && !u.read[i]
	}
	return u
}

// Clone copies an instance, so that a step can be tried. choose resolves the choices of the copy; nil: as before.
func (in *Instance) Clone(choose core.Chooser) *Instance {
	c := *in
	c.nodes = slices.Clone(in.nodes)
	for i := range c.nodes {
		c.nodes[i].acted = maps.Clone(c.nodes[i].acted)
		c.nodes[i].mailbox = slices.Clone(c.nodes[i].mailbox)
	}
	c.flight = slices.Clone(in.flight)
	c.history = slices.Clone(in.history)
	if choose != nil {
		c.choose = choose
	}
	return &c
}

// InFlight lists the messages on their way, oldest first. The slice belongs to the instance.
func (in *Instance) InFlight() []Flight { return in.flight }

// History lists everything that fired, in order.
func (in *Instance) History() []Firing { return in.history }

// Nodes is the number of nodes.
func (in *Instance) Nodes() int { return len(in.nodes) }

// State is the local state of node i, 1..n.
func (in *Instance) State(i int) *machine.State { return in.nodes[i-1].state }

// Tag is the phase and round of node i; the round is -1 before the first.
func (in *Instance) Tag(i int) machine.Tag { return in.nodes[i-1].tag }

// Mailbox is how many messages node i keeps.
func (in *Instance) Mailbox(i int) int { return len(in.nodes[i-1].mailbox) }

// Deliver moves messages into the mailboxes of their receivers, all at once, and lets the receivers act. It returns
// what fired.
func (in *Instance) Deliver(ids ...int) ([]Firing, error) {
	touched, err := in.put(ids)
	if err != nil {
		return nil, err
	}
	before := len(in.history)
	for i := range in.nodes {
		if touched&(1<<i) != 0 {
			in.settle(i + 1)
		}
	}
	return in.history[before:], nil
}

// Put moves messages into mailboxes without letting the receivers act: more messages are about to come.
func (in *Instance) Put(ids ...int) error {
	_, err := in.put(ids)
	return err
}

func (in *Instance) put(ids []int) (touched uint64, err error) {
	for _, id := range ids {
		f, err := in.remove(id)
		if err != nil {
			return 0, err
		}
		in.keep(f.To, f.Message)
		touched |= 1 << (f.To - 1)
	}
	return touched, nil
}

// Receive puts a message, or one more copy of it, into the mailbox of a node and lets it act, unless more is about to
// come.
func (in *Instance) Receive(to int, m machine.Message, hold bool) []Firing {
	before := len(in.history)
	in.keep(to, m)
	if !hold {
		in.settle(to)
	}
	return in.history[before:]
}

// Collect takes the messages that are in flight away from the instance: from now on they are the caller's.
func (in *Instance) Collect() []Flight {
	out := in.flight
	in.flight = nil
	return out
}

func (in *Instance) keep(to int, m machine.Message) {
	n := &in.nodes[to-1]
	known := slices.ContainsFunc(n.mailbox, func(old machine.Message) bool { return same(old, m) })
	if !known && !in.useless(n, m) {
		n.mailbox = append(n.mailbox, m)
	}
}

// same says whether two messages are copies of each other.
func same(a, b machine.Message) bool {
	return a.Type == b.Type && a.From == b.From && a.Tag == b.Tag && core.Compare(a.Value(), b.Value()) == 0
}

// useless says whether a message can no longer matter to a node: it has acted in that round, or is past it and no rule
// acts on old messages, and nothing reads the mailbox directly.
func (in *Instance) useless(n *node, m machine.Message) bool {
	return !in.uses.hoard && !in.uses.read[m.Type] && (n.acted[m.Tag] || m.Tag.Before(n.tag) && in.uses.timely[m.Type])
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
	_, err := in.remove(id)
	return err
}

func (in *Instance) remove(id int) (Flight, error) {
	for i, f := range in.flight {
		if f.ID == id {
			in.flight = append(in.flight[:i:i], in.flight[i+1:]...)
			return f, nil
		}
	}
	return Flight{}, fmt.Errorf("no message %d is in flight", id)
}

// Clocks lists the timeouts of node i that may fire now: every plain one whose guard holds, and for every round that
// the node has not passed the first of the text whose guard holds.
func (in *Instance) Clocks(i int) ([]*core.Rule, *machine.Fault) {
	n := &in.nodes[i-1]
	var out []*core.Rule
	waits := map[machine.Tag]bool{}
	for k, r := range in.program.Core.Rules {
		tag := n.tag
		switch r.Trigger.(type) {
		case core.OnMessage, core.OnQuorum:
			continue
		case core.OnTimeout:
		case core.OnRoundTimeout:
			at, fault := in.program.TimeoutRound(k, i, n.state)
			if fault != nil {
				return nil, fault
			}
			if at.Before(n.tag) || n.acted[at] || waits[at] {
				continue
			}
			tag = at
		}
		ways, fault := in.program.Enabled(k, i, n.state, tag, n.mailbox, true)
		if fault != nil {
			return nil, fault
		}
		if len(ways) == 0 {
			continue
		}
		if _, plain := r.Trigger.(core.OnTimeout); !plain {
			waits[tag] = true
		}
		out = append(out, r)
	}
	return out, nil
}

// Timeout lets one of the timeouts of node i fire; which one is a choice.
func (in *Instance) Timeout(i int) []Firing {
	clocks, fault := in.Clocks(i)
	if fault != nil {
		n := &in.nodes[i-1]
		before := len(in.history)
		in.record(Firing{Node: i, Tag: n.tag, Broken: -1}, machine.Outcome{State: n.state, Fault: fault, Broken: -1})
		return in.history[before:]
	}
	if len(clocks) == 0 {
		return nil
	}
	k := 0
	if len(clocks) > 1 {
		k = in.choose(len(clocks))
	}
	return in.Fire(i, clocks[k])
}

// Fire lets a timeout of node i fire that Clocks lists.
func (in *Instance) Fire(i int, r *core.Rule) []Firing {
	before := len(in.history)
	n := &in.nodes[i-1]
	f := Firing{Node: i, Rule: r, Tag: n.tag}
	if !f.plain() {
		f.Tag, _ = in.program.TimeoutRound(r.Index, i, n.state)
		f.Received = n.senders(f.Tag)
		f.Used = f.Received
	}
	ways, _ := in.program.Enabled(r.Index, i, n.state, f.Tag, n.mailbox, true)
	if len(ways) == 0 {
		return nil
	}
	o := in.program.Fire(r.Index, i, n.state, f.Tag, ways[0].Value, n.mailbox, in.choose)
	if f.plain() && len(o.Sent) == 0 && len(o.Outputs) == 0 && in.equal(n.state, o.State) && o.Fault == nil &&
		len(o.Breaches) == 0 {
		return nil // it does nothing
	}
	in.record(f, o)
	in.settle(i)
	return in.history[before:]
}

func (in *Instance) equal(a, b *machine.State) bool {
	return string(a.AppendKey(nil)) == string(b.AppendKey(nil))
}

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
	for k, r := range in.program.Core.Rules {
		if r.Message() < 0 {
			continue
		}
		for _, tag := range n.tags(r.Message()) {
			ways, fault := in.program.Enabled(k, i, n.state, tag, n.mailbox, !tag.Before(n.tag))
			f := Firing{Node: i, Rule: r, Tag: tag, Received: n.senders(tag)}
			if fault != nil {
				in.record(f, machine.Outcome{State: n.state, Fault: fault, Broken: -1})
				return true
			}
			if len(ways) == 0 {
				continue
			}
			b := ways[0]
			if len(ways) > 1 {
				b = ways[in.choose(len(ways))]
			}
			f.Used = b.Senders
			o := in.program.Fire(k, i, n.state, tag, b.Value, n.mailbox, in.choose)
			if tag.Before(n.tag) {
				o.Breaches = append(o.Breaches, in.stale(r, tag, n.tag))
			}
			in.record(f, o)
			return true
		}
	}
	return false
}

func (in *Instance) stale(r *core.Rule, used, own machine.Tag) machine.Breach {
	return machine.Breach{Pos: r.Body.Pos, Condition: core.Current, Text: fmt.Sprintf(
		"%s uses a message of phase %d, round %s, but the node is in phase %d, round %s already", r.Label(in.program.Core),
		used.Phase, in.program.Round(used), own.Phase, in.program.Round(own))}
}

// tags lists the tags of messages of a type in the mailbox on which the node has not acted, in order.
func (n *node) tags(message int) []machine.Tag {
	var out []machine.Tag
	for _, m := range n.mailbox {
		if m.Type == message && !n.acted[m.Tag] && !slices.Contains(out, m.Tag) {
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
	if f.Rule != nil && !f.plain() {
		n.acted[f.Tag] = true
		if n.tag.Before(f.Tag) {
			n.tag = f.Tag
		}
	}
	if o.Fault == nil {
		n.state = o.State
		for _, s := range o.Sent {
			in.post(f.Node, s)
			n.tag = s.Tag
		}
	} else if n.state == nil {
		n.state = o.State
	}
	in.forget(n)
	f.After = n.state
	in.history = append(in.history, f)
}

// forget throws away what can no longer matter.
func (in *Instance) forget(n *node) {
	n.mailbox = slices.DeleteFunc(n.mailbox, func(m machine.Message) bool { return in.useless(n, m) })
	if in.uses.always && !in.uses.hoard {
		maps.DeleteFunc(n.acted, func(t machine.Tag, _ bool) bool { return t.Before(n.tag) })
	}
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

// Broken returns the name of a property that is broken now or by an output so far, "fault" after a fault in the
// program, or "".
func (in *Instance) Broken() string {
	props := in.program.Core.Props
	for _, f := range in.history {
		if f.Fault != nil {
			return "fault"
		}
		if f.Broken >= 0 {
			return props[f.Broken].Name
		}
	}
	switch i, fault := in.Check(); {
	case fault != nil:
		return "fault"
	case i >= 0:
		return props[i].Name
	}
	return ""
}

// Breaks says whether something has been broken: a property, a condition, an assertion, or "fault".
func (in *Instance) Breaks(name string) bool {
	for _, f := range in.history {
		if f.Fault != nil && name == "fault" || f.Broken >= 0 && in.program.Core.Props[f.Broken].Name == name {
			return true
		}
		for _, b := range f.Breaches {
			if b.Title() == name {
				return true
			}
		}
	}
	i, fault := in.Check()
	return fault != nil && name == "fault" || i >= 0 && in.program.Core.Props[i].Name == name
}

// Check checks the properties of states on the states that the nodes are in now: the index of one that does not hold,
// or -1. States that have been checked are not checked again.
func (in *Instance) Check() (int, *machine.Fault) {
	v := &in.verdict
	if v.states == nil {
		v.states = make([]*machine.State, len(in.nodes))
	}
	changed := false
	for i := range in.nodes {
		changed = changed || v.states[i] != in.nodes[i].state
		v.states[i] = in.nodes[i].state
	}
	if changed {
		v.broken, v.fault = in.program.Check(v.states)
	}
	return v.broken, v.fault
}

// verdict is what was last checked.
type verdict struct {
	states []*machine.State
	broken int
	fault  *machine.Fault
}
