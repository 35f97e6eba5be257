package strategy

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// search goes through the tree of choices of a menu, depth first. Each run follows the
// stack of choices made so far and then takes the first choice at every new place; after
// it, the deepest choice that has an alternative gives way to the next.
type search struct {
	menu
	depth  int
	delays int
	reduce Reduction

	stack []place
	at    int  // depth of the present run
	idled int  // times that nothing was chosen at this depth
	open  bool // a run is under way
	end   ending
	done  bool
	met   map[mix.Hash]int // choices that were left when a state was met, by hash

	ends  [endings]int // runs by how they ended
	blind bool         // states were asked for, but the system has no fingerprints
}

// ending is how a run ended.
type ending uint8

const (
	endWhole  ending = iota // nothing was left to choose, or there was a finding
	endPruned               // what is left was made before
	endCut                  // there were as many choices as the bound allows
	endings
)

// place is a point of the tree: what can be done there, and what is tried just now.
type place struct {
	choices []choice
	now     int
	asleep  []choice // these lead to runs that were made in another order
	passed  int      // delays used up to here
	idled   int      // times that nothing could be chosen before a scenario made it possible
}

// Reset begins a new run.
func (s *search) Reset(start *lockstep.Start) {
	s.close()
	s.menu.reset()
	start.SeedOf = 0 // a system that draws random numbers of its own draws the same in every run
	s.at, s.idled, s.open, s.end = 0, 0, true, endWhole
}

// Next chooses the next step.
func (s *search) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	s.look(turn)
	for {
		if s.at < len(s.stack) && s.idled < s.stack[s.at].idled || s.at == len(s.stack) && !s.extend(turn) {
			s.idled++
			return false
		}
		c := s.stack[s.at].choice()
		s.at++
		s.idled = 0
		if s.take(turn, c, next) {
			return true
		}
	}
}

func (p *place) choice() choice { return p.choices[p.now] }

// extend adds a new place to the stack, or reports false at the end of a run.
func (s *search) extend(turn *lockstep.Turn) bool {
	p := place{choices: s.choices(turn, nil), idled: s.idled, now: -1}
	s.end = endWhole
	if s.at > 0 {
		parent := &s.stack[s.at-1]
		p.passed = parent.passed + parent.cost()
		if s.reduce == SleepSets {
			p.asleep = s.sleepers(parent)
		}
	}
	switch {
	case len(p.choices) == 0:
		return false
	case s.at == s.depth:
		s.end = endCut
		return false
	case s.metBefore(turn) || !p.next(s.delays): // all of it was done in another order
		s.end = endPruned
		return false
	}
	s.stack = append(s.stack, p)
	return true
}

// next moves on to the next choice that is awake and within the bound on delays.
func (p *place) next(delays int) bool {
	for p.now++; p.now < len(p.choices); p.now++ {
		if !slices.Contains(p.asleep, p.choices[p.now]) && (delays < 0 || p.passed+p.cost() <= delays) {
			return true
		}
	}
	return false
}

// cost is the number of delays of the present choice: the choices before it in the order
// of the menu, which are passed over. Faults have bounds of their own and cost none.
func (p *place) cost() int {
	if p.choice().act >= actDrop {
		return 0
	}
	return p.now
}

// close ends the run before, if there was one, and moves on to the next path.
func (s *search) close() {
	if !s.open {
		return
	}
	s.open = false
	s.ends[s.end]++
	if s.at < len(s.stack) { // the run ended before the search wanted it to
		s.stack = s.stack[:s.at]
	}
	for len(s.stack) > 0 {
		if s.stack[len(s.stack)-1].next(s.delays) {
			return
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	s.done = true
}

// sleepers are the choices that need not be tried after the present choice of a place:
// those tried before it there, or asleep there, that it does not touch. What they lead to
// was made with the two in the other order.
func (s *search) sleepers(p *place) (asleep []choice) {
	c := p.choice()
	for i, list := range [...][]choice{p.asleep, p.choices[:p.now]} {
		for _, other := range list {
			if (i == 0 || !slices.Contains(p.asleep, other)) && s.independent(c, other) {
				asleep = append(asleep, other)
			}
		}
	}
	return asleep
}

// independent reports whether two choices that were possible at a place, the first of
// which has been taken, lead to the same in both orders. One that takes the last of a
// budget, or the last step of a run, prevents the other.
func (s *search) independent(c, other choice) bool {
	if c.act >= actIsolate || other.act >= actIsolate || s.depth-s.at < 1 {
		return false
	}
	if left, bounded := s.left(c.act); bounded && c.act == other.act && left < 1 {
		return false
	}
	switch {
	case c.node != 0 && c.node == other.node:
		return false
	case c.msg != 0 && c.msg == other.msg:
		return false
	case c.request != 0 && c.request == other.request:
		return false
	case c.link != other.link || c.act == actRun || other.act == actRun:
		return true
	default: // two actions on the network of one link, or on none
		return c.link == 0
	}
}

// maxStates bounds the states that a search remembers; it goes through what lies behind
// others as often as it gets there.
const maxStates = 1 << 23

// metBefore reports whether the present state was met with at least as many choices left.
func (s *search) metBefore(turn *lockstep.Turn) bool {
	if s.reduce != States || s.blind || turn.Up() != turn.All() { // a node that is down has no fingerprint
		return false
	}
	h := s.hash(turn)
	for n := lockstep.Node(1); int(n) <= turn.Info().Nodes; n++ {
		f, ok := turn.Fingerprint(n)
		if !ok {
			s.blind = true
			return false
		}
		h.Mix(f)
		h.Mix(uint64(turn.Cut(n)))
	}
	h.Mix(uint64(turn.Alarms()))
	for _, p := range turn.Pending() {
		h.Mix(uint64(p.ID))
	}
	left := s.depth - s.at
	if before, ok := s.met[h]; ok && before >= left {
		return true
	}
	if len(s.met) < maxStates {
		s.met[h] = left
	}
	return false
}

// Tell tells how far the search came.
func (s *search) Tell(words bool) lockstep.Account {
	s.close()
	a := lockstep.Account{Done: s.done}
	if words {
		a.Reached = s.reached()
	}
	return a
}

func (s *search) reached() string {
	text := fmt.Sprintf("%d executions", s.ends[endWhole]+s.ends[endCut])
	if cut := s.ends[endCut]; cut > 0 {
		text += fmt.Sprintf(", %d of them cut off after %d choices", cut, s.depth)
	}
	if pruned := s.ends[endPruned]; pruned > 0 {
		text += fmt.Sprintf(", and %d runs that led to nothing new", pruned)
	}
	if s.blind {
		text += "; states were not compared: the system offers no fingerprints"
	}
	if s.done {
		return "complete to this bound: " + text
	}
	return fmt.Sprintf("not complete: %s; about %.2g%% of the tree", text, 100*s.share())
}

// share estimates how much of the tree is behind the search, as if every choice at a
// place led to as much as any other.
func (s *search) share() (share float64) {
	part := 1.0
	for i := range s.stack {
		p := &s.stack[i]
		part /= float64(len(p.choices))
		share += float64(p.now) * part
	}
	return share
}
