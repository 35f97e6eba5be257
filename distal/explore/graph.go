package explore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/internal/levels"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// Cover says what paths are to cover.
type Cover string

// What paths can cover, whatever the node. States are local states at the end of a round. Transitions are rules with
// the local state in which they fire and the messages on which they act. Kinds are rules with the kinds of the local
// state before and after, see [machine.Program.Kind]. Pairs are two of these that follow each other at a node.
const (
	CoverStates      Cover = "states"
	CoverTransitions Cover = "transitions"
	CoverKinds       Cover = "kinds"
	CoverPairs       Cover = "pairs"
)

// Covers lists what paths can cover.
func Covers() []Cover { return []Cover{CoverStates, CoverTransitions, CoverKinds, CoverPairs} }

// CoverOptions bound the search for paths.
type CoverOptions struct {
	Cover  Cover
	Rounds int // the most rounds of a path, at least 1
	States int // states of a round after which the search ends; 0 means DefaultCoverStates
	_      struct{}
}

// DefaultCoverStates is the number of states after which a search for paths ends.
const DefaultCoverStates = 1_000_000

// Path is a run in rounds, with what it covers that no path before it does.
type Path struct {
	Start []*machine.State
	Rows  []sequential.Row
	New   []string
}

// CoverResult are paths that together cover all that a search reaches.
type CoverResult struct {
	Paths []Path
	Items int // what there is to cover
	// States is the number of states searched, and Rounds that of the rounds searched to their end.
	States, Rounds int
	Reached        []int // indices of the rules that fired
}

// paths searches a model round by round, and keeps every state with its parent.
type paths struct {
	table *table
	cover Cover
	nodes []node
	items map[string]int // of what is to be covered: its number
	names []string       // by number
	first []edge         // by number: a shortest path to it ends with this
	moves map[machine.Transition]int32
	texts []string // of moves
	fired map[int]bool
	ends  map[string][]outcome // of the round
	acts  map[string]int       // items of transitions
}

// node is a state with the way to it.
type node struct {
	locals []uint32
	last   []int32 // for pairs: the last move of each node, plus 1
	parent int     // -1: an initial state
	step   levels.Step
	covers []int
}

// edge is a step from a state.
type edge struct {
	parent int
	step   levels.Step
	covers []int
}

// CoverPaths searches every behavior of a model to a number of rounds, and chooses paths greedily among the shortest
// ones: each next one covers most of what is left. It stops before a round with too many states.
func CoverPaths(ctx context.Context, m *sequential.Model, o CoverOptions) (*CoverResult, error) {
	if o.Rounds < 1 {
		return nil, fmt.Errorf("rounds is %d; it must be at least 1", o.Rounds)
	}
	if !slices.Contains(Covers(), o.Cover) {
		return nil, fmt.Errorf("what to cover is one of %v, not %q", Covers(), o.Cover)
	}
	if o.States == 0 {
		o.States = DefaultCoverStates
	}
	t := newTable(m)
	t.byRule = true
	t.kind = func(s *machine.State) string { return t.model.Program.Kind(s, nil) }
	p := &paths{table: t, cover: o.Cover, items: map[string]int{}, moves: map[machine.Transition]int32{},
		fired: map[int]bool{}, ends: map[string][]outcome{}, acts: map[string]int{}}
	if err := p.start(); err != nil {
		return nil, err
	}
	out := &CoverResult{}
	from := 0
	for out.Rounds < o.Rounds {
		to := len(p.nodes)
		if full := p.expand(ctx, out.Rounds, from, to, o.States); full || from == to {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		from = to
		out.Rounds++
	}
	if out.Rounds == 0 {
		return nil, fmt.Errorf("the first round has more than %d states", o.States)
	}
	out.States, out.Items = len(p.nodes), len(p.names)
	out.Paths = p.choose()
	for rule := range p.fired { //lockstep:unordered sorted below
		out.Reached = append(out.Reached, rule)
	}
	slices.Sort(out.Reached)
	return out, nil
}

// start adds the initial states.
func (p *paths) start() error {
	vectors := [][]uint32{nil}
	for n := range p.table.n {
		locals, problem := p.table.Initial(n)
		if problem != 0 {
			return fmt.Errorf("the model breaks %s when it starts", p.table.problems[problem].Property)
		}
		var longer [][]uint32
		for _, v := range vectors {
			for _, l := range locals {
				longer = append(longer, append(slices.Clone(v), l))
			}
		}
		vectors = longer
	}
	for _, v := range vectors {
		p.nodes = append(p.nodes, node{locals: v, last: make([]int32, p.table.n), parent: -1})
	}
	return nil
}

// expand adds the states after a round, and reports whether there are too many: then it adds none. A step that breaks a
// property of the model leads nowhere.
func (p *paths) expand(ctx context.Context, round, from, to, most int) (full bool) {
	known := map[string]bool{}
	clear(p.ends)
	items, fired := len(p.names), map[int]bool{}
	for i := from; i < to && !full; i++ {
		if ctx.Err() != nil {
			return false
		}
		p.successors(round, i, func(step levels.Step, moves [][2]move) {
			if full || p.table.Check(step.State) != 0 {
				return
			}
			next := node{locals: step.State, last: slices.Clone(p.nodes[i].last), parent: i, step: step}
			var covers []int
			if p.cover == CoverStates {
				for _, l := range step.State {
					covers = append(covers, p.item("state "+p.table.model.Program.FormatState(p.table.local(l).state)))
				}
			}
			for n, both := range moves {
				for _, v := range both {
					if v.action == nil || v.action.Rule == nil {
						continue
					}
					fired[v.action.Rule.Index] = true
					kind := p.kind(v)
					switch {
					case p.cover == CoverTransitions:
						covers = append(covers, p.transition(v))
					case p.cover == CoverKinds:
						covers = append(covers, p.item(p.texts[kind]))
					case p.cover == CoverPairs && next.last[n] > 0:
						covers = append(covers, p.item(p.texts[next.last[n]-1]+", then "+p.texts[kind]))
					}
					next.last[n] = kind + 1
				}
			}
			for _, c := range covers {
				if c == len(p.first) { // a new one
					p.first = append(p.first, edge{i, step, covers})
				}
			}
			key := p.key(&next)
			if known[key] {
				return
			}
			known[key] = true
			next.covers = covers
			p.nodes = append(p.nodes, next)
			full = len(p.nodes)-to > most
		})
	}
	if full {
		p.nodes, p.first = p.nodes[:to], p.first[:items]
		for _, name := range p.names[items:] {
			delete(p.items, name)
		}
		clear(p.acts)
		p.names = p.names[:items]
		return true
	}
	for rule := range fired { //lockstep:unordered it is a set
		p.fired[rule] = true
	}
	return false
}

// key is what distinguishes states of a level.
func (p *paths) key(n *node) string {
	var key []byte
	for i, l := range n.locals {
		key = binary.LittleEndian.AppendUint32(key, l)
		if p.cover == CoverPairs {
			key = binary.LittleEndian.AppendUint32(key, uint32(n.last[i]))
		}
	}
	return string(key)
}

// item numbers something to be covered.
func (p *paths) item(name string) int {
	id, known := p.items[name]
	if !known {
		id = len(p.names)
		p.items[name] = id
		p.names = append(p.names, name)
	}
	return id
}

// move is what a node does in half a round.
type move struct {
	action   *core.Action // nil: nothing
	from, to uint32       // local states
	messages []uint32     // by sender; 0: none
	heard    uint64       // the senders of those on which it acts
}

// kind numbers what a rule does to a kind of local state.
func (p *paths) kind(m move) int32 {
	v := machine.Transition{Rule: m.action.Rule.Index, Before: p.table.local(m.from).kind, After: p.table.local(m.to).kind}
	id, known := p.moves[v]
	if !known {
		id = int32(len(p.texts))
		p.moves[v] = id
		p.texts = append(p.texts, fmt.Sprintf("%s: %s -> %s", p.rule(m), v.Before, v.After))
	}
	return id
}

func (p *paths) rule(m move) string {
	return machine.RuleText(p.table.model.Program.Core, m.action.Rule)
}

// transition numbers a rule with the local state and the messages on which it acts.
func (p *paths) transition(m move) int {
	key := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(m.action.Rule.Index)), uint64(m.from))
	var heard []uint32
	for s, id := range m.messages {
		if m.heard>>s&1 != 0 {
			heard = append(heard, id)
		}
	}
	slices.Sort(heard)
	for _, id := range heard {
		key = binary.AppendUvarint(key, uint64(id))
	}
	item, known := p.acts[string(key)]
	if !known {
		program := p.table.model.Program
		text := p.rule(m) + " in " + program.FormatState(p.table.local(m.from).state)
		for _, id := range heard {
			text += ", " + program.FormatMessage(*p.table.payloads.Find(int(id)))
		}
		item = p.item(text)
		p.acts[string(key)] = item
	}
	return item
}

// successors visits all steps from a state, with what each node does as the round begins and as it ends.
func (p *paths) successors(round, at int, visit func(levels.Step, [][2]move)) {
	t, n := p.table, p.table.n
	tag, locals := t.tag(round), p.nodes[at].locals
	begins := make([][]alternative, n)
	for i, l := range locals {
		begins[i] = slices.DeleteFunc(t.begin(tag, l), func(a alternative) bool { return a.Problem != 0 })
	}
	product(begins, func(begin []int) {
		for mode := range t.Modes() {
			ends, sent := make([][]outcome, n), make([][]uint32, n)
			for q := range n {
				sent[q] = make([]uint32, n)
				for s := range n {
					sent[q][s] = begins[s][begin[s]].Sent[q]
				}
				ends[q] = p.endings(tag, mode, begins[q][begin[q]].After, sent[q])
			}
			product(ends, func(end []int) {
				step := levels.Step{Begin: slices.Clone(begin), Mode: mode, End: slices.Clone(end), State: make([]uint32, n)}
				moves := make([][2]move, n)
				for q := range n {
					b, e := &begins[q][begin[q]], &ends[q][end[q]]
					step.State[q] = e.Local
					moves[q] = [2]move{{action: b.fired, from: locals[q], to: b.After},
						{action: e.rule, from: b.After, to: e.Local, messages: sent[q], heard: e.mask}}
				}
				visit(step, moves)
			})
		}
	})
}

// endings lists the ways in which a node can end a round without a problem.
func (p *paths) endings(tag machine.Tag, mode int, id uint32, sent []uint32) []outcome {
	key := binary.AppendVarint(binary.AppendVarint(nil, tag.Phase), int64(tag.Round))
	key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(mode)), uint64(id))
	for _, m := range sent {
		key = binary.AppendUvarint(key, uint64(m))
	}
	list, known := p.ends[string(key)]
	if !known {
		list = slices.DeleteFunc(p.table.end(tag, mode, id, sent), func(o outcome) bool { return o.Problem != 0 })
		p.ends[string(key)] = list
	}
	return list
}

// product visits every choice of one element of each list.
func product[T any](lists [][]T, visit func([]int)) {
	at := make([]int, len(lists))
	for _, l := range lists {
		if len(l) == 0 {
			return
		}
	}
	for {
		visit(at)
		i := 0
		for ; i < len(at); i++ {
			if at[i]++; at[i] < len(lists[i]) {
				break
			}
			at[i] = 0
		}
		if i == len(at) {
			return
		}
	}
}

// choose picks paths until everything is covered.
func (p *paths) choose() (out []Path) {
	covered := make([]bool, len(p.names))
	all := make([][]int, len(p.first)) // by path: what it covers
	for i, e := range p.first {
		all[i] = slices.Clone(e.covers)
		for at := e.parent; at >= 0; at = p.nodes[at].parent {
			all[i] = append(all[i], p.nodes[at].covers...)
		}
		slices.Sort(all[i])
		all[i] = slices.Compact(all[i])
	}
	for {
		best, most := -1, 0
		for i, list := range all {
			list = slices.DeleteFunc(list, func(c int) bool { return covered[c] })
			if all[i] = list; len(list) > most {
				best, most = i, len(list)
			}
		}
		if best < 0 {
			return out
		}
		path := p.path(p.first[best])
		for _, c := range all[best] {
			covered[c] = true
			path.New = append(path.New, p.names[c])
		}
		out = append(out, path)
	}
}

// path describes the way that ends with a step.
func (p *paths) path(e edge) Path {
	steps := []levels.Step{e.step}
	at := e.parent
	for ; p.nodes[at].parent >= 0; at = p.nodes[at].parent {
		steps = append(steps, p.nodes[at].step)
	}
	slices.Reverse(steps)
	out := Path{}
	state := p.nodes[at].locals
	for _, id := range state {
		out.Start = append(out.Start, p.table.local(id).state)
	}
	for round, step := range steps {
		out.Rows = append(out.Rows, p.row(round, state, step))
		state = step.State
	}
	return out
}

// row says what each node does in a step from a state.
func (p *paths) row(round int, state []uint32, step levels.Step) sequential.Row {
	t, tag := p.table, p.table.tag(round)
	row := sequential.Row{Tag: tag}
	begun := make([]alternative, t.n)
	for i, id := range state {
		begun[i] = slices.DeleteFunc(t.begin(tag, id), func(a alternative) bool { return a.Problem != 0 })[step.Begin[i]]
	}
	for q := range t.n {
		sent := make([]uint32, t.n)
		for s := range t.n {
			sent[s] = begun[s].Sent[q]
		}
		o := p.endings(tag, step.Mode, begun[q].After, sent)[step.End[q]]
		c := t.cell(tag, &begun[q], o.mask, o.Local, o.Problem, sent)
		c.Rule = o.rule
		row.Nodes = append(row.Nodes, c)
	}
	return row
}
