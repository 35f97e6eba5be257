package machine

import (
	"fmt"
	"slices"
)

// Outcome of an action: the new state, what was output, and what went wrong.
type Outcome struct {
	State    *State
	Sent     []Send
	Outputs  []Value
	Breaches []Breach
	Fault    *Fault
	Broken   int // index of a property on outputs that an output broke; -1 when none
}

// Start computes the first state of a node: initial values, then the init block.
func (p *Program) Start(self int, choose Chooser) Outcome {
	f := p.frame(self, &State{Vars: make([]Value, len(p.inits))}, choose)
	f.tag = Tag{0, -1}
	return p.finish(f, func() {
		for i, e := range p.inits {
			if e != nil {
				f.state.Vars[i] = e(f)
			}
		}
		p.body(f)
	})
}

// Fire runs the action of a rule on the bound value, starting from state, which is not changed. tag is the tag of
// the rule's messages, or the node's own for a timeout.
func (p *Program) Fire(r *Rule, self int, state *State, tag Tag, bound Value, mailbox []Message, choose Chooser) Outcome {
	f := p.frame(self, state.Clone(), choose)
	f.tag, f.mailbox = tag, mailbox
	f.slots[0] = bound
	return p.finish(f, func() { r.body(f) })
}

func (p *Program) finish(f *frame, run func()) Outcome {
	out := Outcome{Broken: -1}
	func() {
		defer catch(&out.Fault)
		run()
		out.Broken = p.publish(f)
	}()
	out.State, out.Sent, out.Outputs, out.Breaches = f.state, f.sends, f.outputs, f.breaches
	return out
}

// publish checks each output against the properties on outputs and makes it the node's last one.
func (p *Program) publish(f *frame) int {
	broken := -1
	for _, v := range f.outputs {
		for i, q := range p.Checked.Props {
			if !q.OnOutput || broken >= 0 {
				continue
			}
			ok := true
			f.call([]Value{v}, func() { ok = p.props[i](f).N != 0 })
			if !ok {
				broken = i
			}
		}
		f.state.Output = Some(v)
	}
	return broken
}

// Holds evaluates property i, an invariant, over the states of all nodes.
func (p *Program) Holds(i int, nodes []*State) (ok bool, fault *Fault) {
	f := p.frame(0, nil, nil)
	f.nodes = nodes
	defer catch(&fault)
	return p.props[i](f).N != 0, nil
}

// Binding is one way in which a rule is enabled: the value its action gets and the senders whose messages are in it.
type Binding struct {
	Value   Value
	Senders uint64
}

// Bindings finds the ways in which a rule on messages is enabled by messages of one tag: each matching message for a
// rule on one message, each large enough group for a rule with times. The order is by sender. timely says that the tag
// is not before the node's own.
func (p *Program) Bindings(r *Rule, self int, state *State, tag Tag, mailbox []Message, timely bool) (out []Binding, fault *Fault) {
	f := p.frame(self, state, nil)
	f.tag, f.mailbox, f.timely = tag, mailbox, timely
	defer catch(&fault)
	var matching []Message
	for _, m := range mailbox {
		if m.Type != r.Message || m.Tag != tag {
			continue
		}
		f.slots[0], f.slots[1] = m.Value(), m.Value()
		if r.guard == nil || r.guard(f).N != 0 {
			matching = append(matching, m)
		}
	}
	slices.SortStableFunc(matching, func(a, b Message) int { return a.From - b.From })
	if r.times != nil {
		return p.groups(r, f, matching), nil
	}
	for _, m := range matching {
		out = append(out, Binding{m.Value(), 1 << (m.From - 1)})
	}
	return out, nil
}

// groups splits messages by the fields of same and keeps the groups with enough distinct senders.
func (p *Program) groups(r *Rule, f *frame, matching []Message) []Binding {
	type group struct {
		key   Value
		elems []Value
		mask  uint64
	}
	var groups []*group
	for _, m := range matching {
		f.slots[1] = m.Value()
		key := Value{E: make([]Value, len(r.same))}
		for i, s := range r.same {
			key.E[i] = s(f)
		}
		var g *group
		for _, old := range groups {
			if Compare(old.key, key) == 0 {
				g = old
			}
		}
		if g == nil {
			g = &group{key: key}
			groups = append(groups, g)
		}
		g.elems = append(g.elems, m.Value())
		g.mask |= 1 << (m.From - 1)
	}
	var out []Binding
	need := r.times(f).N
	for _, g := range groups {
		if int64(popcount(g.mask)) >= need {
			out = append(out, Binding{makeSet(g.elems), g.mask})
		}
	}
	return out
}

func popcount(x uint64) int {
	n := 0
	for ; x != 0; x &= x - 1 {
		n++
	}
	return n
}

// TimeoutReady says whether a timeout can fire. For a timeout in a round it returns the tag of that round and the messages
// of that tag in the mailbox.
func (p *Program) TimeoutReady(r *Rule, self int, state *State, mailbox []Message) (tag Tag, bound Value, ready bool, fault *Fault) {
	f := p.frame(self, state, nil)
	defer catch(&fault)
	if r.phase != nil {
		tag = Tag{r.phase(f).N, r.Round}
		var elems []Value
		for _, m := range mailbox {
			if m.Tag == tag {
				elems = append(elems, m.Value())
			}
		}
		bound = makeSet(elems)
		f.slots[0] = bound
	}
	return tag, bound, r.guard == nil || r.guard(f).N != 0, nil
}

// maxResolutions limits the ways in which one action can resolve its choices; more is a fault.
const maxResolutions = 1024

// Resolutions runs an action once for each way of resolving its choices, in order.
func Resolutions(run func(Chooser) Outcome) []Outcome {
	var out []Outcome
	var path, sizes []int
	for len(out) < maxResolutions {
		at := 0
		out = append(out, run(func(n int) int {
			if at == len(path) {
				path, sizes = append(path, 0), append(sizes, n)
			}
			at++
			return path[at-1]
		}))
		last := len(path) - 1
		for last >= 0 && path[last]+1 >= sizes[last] {
			last--
		}
		if last < 0 {
			return out
		}
		path, sizes = path[:last+1], sizes[:last+1]
		path[last]++
	}
	out[0].Fault = &Fault{Text: fmt.Sprintf("the choices of one action can be resolved in more than %d ways", maxResolutions)}
	return out
}
