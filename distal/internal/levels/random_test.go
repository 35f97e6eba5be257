package levels

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// randomProgram is a made-up program: what nodes do is drawn from hashes of what they are and receive. Local states are
// numbered as they are met, with gaps that differ from one instance to the next.
type randomProgram struct {
	seed    uint64
	nodes   int
	modes   int
	values  uint64 // local values of a node
	starts  uint64
	fan     uint64 // most ways to end a round
	trouble uint64 // one step or state in so many is a problem; 0: none
	mu      sync.Mutex
	gaps    *rand.Rand
	ids     map[content]uint32
	names   map[uint32]content
	next    uint32
}

// content is what a local state is.
type content struct{ node, value uint64 }

func newRandomProgram(seed, trouble uint64, numbering uint64) *randomProgram {
	rng := rand.New(rand.NewPCG(seed, 1))
	return &randomProgram{seed: seed, nodes: 1 + rng.IntN(4), modes: 1 + rng.IntN(2), values: 2 + uint64(rng.IntN(4)),
		starts: 1 + uint64(rng.IntN(3)), fan: 1 + uint64(rng.IntN(3)), trouble: trouble,
		gaps: rand.New(rand.NewPCG(numbering, 2)), ids: map[content]uint32{}, names: map[uint32]content{}}
}

// draw gives a number below n that depends on the other numbers.
func (r *randomProgram) draw(n uint64, from ...uint64) uint64 {
	h := r.seed
	for _, f := range from {
		h = (h ^ f) * 0xff51afd7ed558ccd
		h ^= h >> 29
	}
	h *= 0x9e3779b97f4a7c15
	return (h >> 20) % n
}

func (r *randomProgram) intern(c content) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.ids[c]
	if !ok {
		id = r.next
		r.next += 1 + uint32(r.gaps.IntN(3))
		r.ids[c], r.names[id] = id, c
	}
	return id
}

func (r *randomProgram) content(id uint32) content {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.names[id]
	if !ok {
		panic(fmt.Sprintf("local state %d does not exist", id))
	}
	return c
}

func (r *randomProgram) Nodes() int   { return r.nodes }
func (r *randomProgram) Modes() int   { return r.modes }
func (r *randomProgram) Bytes() int64 { return 0 }

func (r *randomProgram) Initial(node int) (list []uint32, problem int) {
	for v := range 1 + r.draw(r.starts, 10, uint64(node)) {
		list = append(list, r.intern(content{uint64(node), v % r.values}))
	}
	return list, 0
}

func (r *randomProgram) Begin(round int, local uint32) []Beginning {
	c := r.content(local)
	var list []Beginning
	for way := range 1 + r.draw(4, 20, uint64(round), c.node, c.value)/3 {
		b := Beginning{After: local, Sent: make([]uint32, r.nodes)}
		if r.draw(3, 21, uint64(round), c.node, c.value, way) == 0 {
			after := content{c.node, r.draw(r.values, 22, uint64(round), c.node, c.value, way)}
			b.After, b.Changed = r.intern(after), after.value/2 != c.value/2
		}
		for q := range r.nodes {
			b.Sent[q] = uint32(r.draw(3, 23, uint64(round), c.node, c.value, way, uint64(q)%2))
		}
		b.Problem = r.problem(24, uint64(round), c.node, c.value, way)
		list = append(list, b)
	}
	return list
}

func (r *randomProgram) End(round, mode int, local uint32, sent []uint32) []Ending {
	c := r.content(local)
	from := []uint64{30, uint64(round), uint64(mode), c.node, c.value}
	for _, m := range sent {
		from = append(from, uint64(m))
	}
	var list []Ending
	for k := range 1 + r.draw(r.fan, from...) {
		e := Ending{Local: local}
		if r.draw(2, append(from, 31, k)...) == 0 {
			after := content{c.node, r.draw(r.values, append(from, 32, k)...)}
			e = Ending{Local: r.intern(after), Acted: r.draw(2, append(from, 33, k)...) == 0,
				Changed: after.value/2 != c.value/2}
		}
		e.Problem = r.problem(append(from, 34, k)...)
		list = append(list, e)
	}
	return list
}

func (r *randomProgram) problem(from ...uint64) int {
	if r.trouble != 0 && r.draw(r.trouble, from...) == 0 {
		return 1 + int(r.draw(3, append(from, 40)...))
	}
	return 0
}

func (r *randomProgram) Check(locals []uint32) int {
	from := []uint64{50}
	for _, id := range locals {
		from = append(from, r.content(id).value/2)
	}
	return r.problem(from...)
}

func (r *randomProgram) Local(local uint32) (hash uint64, class uint32) {
	c := r.content(local)
	return r.draw(1<<32, 60, c.node, c.value)<<32 | r.draw(1<<32, 61, c.node, c.value), uint32(c.value / 2)
}

// global names a global state by its content.
func (r *randomProgram) global(locals []uint32) string {
	text := ""
	for _, id := range locals {
		text += fmt.Sprint(r.content(id).value, " ")
	}
	return text
}

// naive searches with a map of names for each level.
type naive struct {
	levels      []int64
	transitions int64
	active      int // of the best way to a problem, or -1
	problems    map[int]bool
}

type reached struct {
	locals []uint32
	cost   int
}

func search1(r *randomProgram, rounds int) naive {
	n := naive{active: -1, problems: map[int]bool{}}
	cur := map[string]*reached{}
	add := func(level map[string]*reached, locals []uint32, cost, problem int) {
		n.transitions++
		if problem == 0 {
			problem = r.Check(locals)
		}
		if problem != 0 {
			if n.active < 0 || cost <= n.active {
				if cost != n.active {
					clear(n.problems)
				}
				n.active = cost
				n.problems[problem] = true
			}
			return
		}
		key := r.global(locals)
		if old := level[key]; old == nil || cost < old.cost {
			level[key] = &reached{append([]uint32(nil), locals...), cost}
		}
	}
	var start func([]uint32)
	start = func(locals []uint32) {
		if len(locals) == r.nodes {
			add(cur, locals, 0, 0)
			return
		}
		list, _ := r.Initial(len(locals))
		for _, id := range list {
			start(append(locals[:len(locals):len(locals)], id))
		}
	}
	start(nil)
	n.levels = append(n.levels, int64(len(cur)))
	for round := 0; round < rounds && n.active < 0; round++ {
		next := map[string]*reached{}
		for _, s := range cur {
			r.naiveRound(round, s, func(locals []uint32, cost, problem int) { add(next, locals, cost, problem) })
		}
		cur = next
		n.levels = append(n.levels, int64(len(cur)))
	}
	return n
}

// middle checks the state between the halves of a round.
func (r *randomProgram) middle(begun []Beginning) int {
	var state []uint32
	for _, b := range begun {
		state = append(state, b.After)
	}
	return r.Check(state)
}

func (r *randomProgram) naiveRound(round int, s *reached, add func([]uint32, int, int)) {
	var begin func([]Beginning)
	begin = func(begun []Beginning) {
		if len(begun) < r.nodes {
			for _, b := range r.Begin(round, s.locals[len(begun)]) {
				begin(append(begun[:len(begun):len(begun)], b))
			}
			return
		}
		problem := 0
		for _, b := range begun {
			if problem == 0 {
				problem = b.Problem
			}
		}
		if problem == 0 {
			problem = r.middle(begun)
		}
		for mode := range r.modes {
			var end func([]uint32, int, int)
			end = func(ended []uint32, acted, problem int) {
				q := len(ended)
				if q == r.nodes {
					add(ended, s.cost+acted, problem)
					return
				}
				sent := make([]uint32, r.nodes)
				for p := range begun {
					sent[p] = begun[p].Sent[q]
				}
				for _, e := range r.End(round, mode, begun[q].After, sent) {
					a, bad := acted, problem
					if e.Acted {
						a = 1
					}
					if bad == 0 {
						bad = e.Problem
					}
					end(append(ended[:q:q], e.Local), a, bad)
				}
			}
			end(nil, 0, problem)
		}
	}
	begin(nil)
}
