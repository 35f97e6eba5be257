package conform

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// maxGroup is how many messages of one tag a node may have; more is a limit of the search, because every subset of them
// is one that the node may have received when it acts.
const maxGroup = 10

// trouble is an error of the program itself, or a limit: the run cannot be checked any further.
type trouble struct{ text string }

func (t trouble) Error() string { return t.text }

// starts lists the local states in which a node may begin, with what it sends.
func (m *model) starts(node int) (list []move) {
	for o := range machine.Resolutions(func(c core.Chooser) machine.Outcome { return m.program.Start(node+1, c) }) {
		if v, ok := m.outcome(node, nil, machine.Before, local{tag: machine.Before}, &o); ok {
			list = m.distinct(list, v)
		}
	}
	return list
}

// actions lists what a node can do without a message of the network: plain timeouts, and those of a round in which it
// has received nothing.
func (m *model) actions(node int, at int32) []move {
	key := [2]int32{int32(node), at}
	if list, known := m.alone[key]; known {
		return list
	}
	l := m.locals.list[at]
	var list []move
	for k, r := range m.program.Core.Rules {
		if _, plain := r.Trigger.(core.OnTimeout); plain {
			list = m.fire(list, node, k, l.tag, l, nil)
		}
	}
	for _, tag := range m.waits(node, &l) {
		list = m.expire(list, node, tag, l, nil)
	}
	m.alone[key] = list
	return list
}

// reactions lists what a node can do when it has received some of the messages of one tag.
func (m *model) reactions(node int, at, group int32) []move {
	key := [3]int32{int32(node), at, group}
	if list, known := m.together[key]; known {
		return list
	}
	l, ids := m.locals.list[at], m.sets.list[group].list
	if len(ids) > maxGroup {
		panic(trouble{fmt.Sprintf("node %d may have %d messages of one phase and round; at most %d are tried", node+1,
			len(ids), maxGroup)})
	}
	tag := m.messages.list[ids[0]].Tag
	var list []move
	if !slices.Contains(l.acted, tag) {
		for mask := 1; mask < 1<<len(ids); mask++ {
			var mailbox []machine.Message
			for i, id := range ids {
				if mask>>i&1 != 0 {
					mailbox = append(mailbox, m.messages.list[id])
				}
			}
			list = m.receive(list, node, tag, l, mailbox)
		}
	}
	m.together[key] = list
	return list
}

// receive adds what a node does that has these messages of a tag: the first rule of the text that is enabled fires, and
// if there is none, a timeout of the round may.
func (m *model) receive(list []move, node int, tag machine.Tag, l local, mailbox []machine.Message) []move {
	for k, r := range m.program.Core.Rules {
		of := func(v machine.Message) bool { return v.Type == r.Message() }
		if r.Message() < 0 || !slices.ContainsFunc(mailbox, of) {
			continue
		}
		if m.enabled(node, k, tag, l, mailbox) != nil {
			return m.fire(list, node, k, tag, l, mailbox)
		}
	}
	if slices.Contains(m.waits(node, &l), tag) {
		list = m.expire(list, node, tag, l, mailbox)
	}
	return list
}

// waits lists the rounds in which a node waits for a timeout.
func (m *model) waits(node int, l *local) (tags []machine.Tag) {
	for k, r := range m.program.Core.Rules {
		if _, ok := r.Trigger.(core.OnRoundTimeout); !ok {
			continue
		}
		tag, fault := m.program.TimeoutRound(k, node+1, l.state)
		if fault != nil {
			panic(trouble{m.wrong(node, r, fault)})
		}
		if !tag.Before(l.tag) && !slices.Contains(l.acted, tag) && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// expire adds the timeout of a round: the first of the text that is enabled.
func (m *model) expire(list []move, node int, tag machine.Tag, l local, mailbox []machine.Message) []move {
	for k, r := range m.program.Core.Rules {
		if _, ok := r.Trigger.(core.OnRoundTimeout); !ok {
			continue
		}
		if at, fault := m.program.TimeoutRound(k, node+1, l.state); fault != nil || at != tag {
			continue
		}
		if m.enabled(node, k, tag, l, mailbox) != nil {
			return m.fire(list, node, k, tag, l, mailbox)
		}
	}
	return list
}

// enabled lists the ways in which a rule is enabled.
func (m *model) enabled(node, rule int, tag machine.Tag, l local, mailbox []machine.Message) []machine.Binding {
	ways, fault := m.program.Enabled(rule, node+1, l.state, tag, mailbox, !tag.Before(l.tag))
	if fault != nil {
		panic(trouble{m.wrong(node, m.program.Core.Rules[rule], fault)})
	}
	return ways
}

// fire adds what a rule does, in all ways and with all choices.
func (m *model) fire(list []move, node, rule int, tag machine.Tag, l local, mailbox []machine.Message) []move {
	r := m.program.Core.Rules[rule]
	for _, way := range m.enabled(node, rule, tag, l, mailbox) {
		for o := range machine.Resolutions(func(c core.Chooser) machine.Outcome {
			return m.program.Fire(rule, node+1, l.state, tag, way.Value, mailbox, c)
		}) {
			if v, ok := m.outcome(node, r, tag, l, &o); ok {
				list = m.distinct(list, v)
			}
		}
	}
	return list
}

// outcome turns what an action did into a move. A plain timeout that does nothing is none.
func (m *model) outcome(node int, r *core.Rule, tag machine.Tag, l local, o *machine.Outcome) (move, bool) {
	if o.Fault != nil {
		panic(trouble{m.wrong(node, r, o.Fault)})
	}
	plain, rule := false, -1
	if r != nil {
		_, plain = r.Trigger.(core.OnTimeout)
		rule = r.Index
	}
	after := local{state: o.State, tag: l.tag, acted: slices.Clone(l.acted)}
	if r != nil && !plain {
		if !m.mapping.Again {
			after.acted = append(after.acted, tag)
		}
		if after.tag.Before(tag) {
			after.tag = tag
		}
	}
	out := move{rule: rule}
	for _, s := range o.Sent {
		after.tag = s.Tag
		id := m.message(machine.Message{Type: s.Type, From: node + 1, Tag: s.Tag, Fields: s.Fields})
		for to := range m.program.N {
			if s.To>>to&1 != 0 {
				out.sends = append(out.sends, delivery{to, id})
			}
		}
	}
	if m.forget {
		after.acted = slices.DeleteFunc(after.acted, func(t machine.Tag) bool { return t.Before(after.tag) })
	}
	if !m.tags && (m.mapping.Again || !m.forget) {
		after.tag = machine.Tag{}
	}
	out.after = m.local(after)
	idle := plain && len(out.sends) == 0 && out.after == m.local(l)
	return out, !idle
}

// distinct adds a move that is not there yet.
func (m *model) distinct(list []move, v move) []move {
	for _, old := range list {
		if old.rule == v.rule && old.after == v.after && slices.Equal(old.sends, v.sends) {
			return list
		}
	}
	return append(list, v)
}

// wrong describes a fault of the program.
func (m *model) wrong(node int, r *core.Rule, fault *machine.Fault) string {
	rule := "init"
	if r != nil {
		rule = m.label(r.Index)
	}
	return fmt.Sprintf("the model itself fails: node %d, %s: %v", node+1, rule, fault)
}

// label names a rule with its line.
func (m *model) label(rule int) string {
	if rule < 0 {
		return "init"
	}
	return machine.RuleText(m.program.Core, m.program.Core.Rules[rule])
}

// names lists the variables of the program.
func names(p *machine.Program) []string {
	all := map[string]bool{}
	for _, v := range p.Core.Vars {
		if !v.Ghost {
			all[v.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
