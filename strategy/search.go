package strategy

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// search explores the tree of choices of a menu, depth first. Each run follows the stack of earlier choices and then
// takes the first choice at every new place. After the run, the deepest choice with an alternative advances to the next
// alternative.
type search struct {
	menu
	depth  int
	delays int
	reduce Reduction

	stack []place
	at    int  // depth of the current run
	idled int  // how often no choice was taken at this depth
	open  bool // a run is in progress
	end   ending
	done  bool
	met   map[mix.Hash]int // choices that were left when a state was reached, by hash

	ends  [endings]int // number of runs by ending
	blind bool         // the reduction needs states, but the system has no fingerprints
}

// ending is the way a run ended.
type ending uint8

const (
	endWhole  ending = iota // no choice was left, or there was a finding
	endPruned               // all continuations were already executed
	endCut                  // the run reached the bound on choices
	endings
)

// place is a node of the tree, with its choices and the current one.
type place struct {
	choices []choice
	now     int
	asleep  []choice // choices that lead to runs already executed in another order
	passed  int      // delays used on the path to this place
	idled   int      // how often no choice was possible before a scenario made one possible
}

// Reset begins a new run.
func (s *search) Reset(start *lockstep.Start) {
	s.close()
	s.menu.reset()
	start.SeedOf = 0 // a system that draws random numbers draws the same ones in every run
	s.at, s.idled, s.open, s.end = 0, 0, true, endWhole
}

// Next chooses the next step.
func (s *search) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	s.observe(turn)
	for {
		if s.at < len(s.stack) && s.idled < s.stack[s.at].idled || s.at == len(s.stack) && !s.extend(turn) {
			s.idled++
			return false
		}
		c := s.stack[s.at].choice()
		s.at++
		s.idled = 0
		if s.perform(turn, c, next) {
			return true
		}
	}
}

func (p *place) choice() choice { return p.choices[p.now] }

// extend adds a new place to the stack. It reports false at the end of a run.
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
	case s.metBefore(turn) || !p.next(s.delays): // all continuations were executed in another order
		s.end = endPruned
		return false
	}
	s.stack = append(s.stack, p)
	return true
}

// next advances to the next choice that is awake and within the bound on delays.
func (p *place) next(delays int) bool {
	for p.now++; p.now < len(p.choices); p.now++ {
		if !slices.Contains(p.asleep, p.choices[p.now]) && (delays < 0 || p.passed+p.cost() <= delays) {
			return true
		}
	}
	return false
}

// cost returns the number of delays of the current choice: the earlier choices of the menu that it skips. Faults have
// their own bounds and cost no delay.
func (p *place) cost() int {
	if p.choice().act >= actDrop {
		return 0
	}
	return p.now
}

// close ends the previous run, if there was one, and advances to the next path.
func (s *search) close() {
	if !s.open {
		return
	}
	s.open = false
	s.ends[s.end]++
	if s.at < len(s.stack) { // the run ended earlier than the search intended
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

// sleepers returns the choices that need not be taken after the current choice of a place. These are the choices taken
// earlier there, or asleep there, that are independent of it. Their continuations were executed with the two in the
// other order.
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

// independent reports whether two choices that were possible at a place, the first of which has been taken, have the
// same effect in both orders. A choice that uses up a budget, or the last step of a run, prevents the other.
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

// maxStates bounds the number of states that a search remembers. Beyond it, the search explores the continuations of a
// state each time it reaches the state.
const maxStates = 1 << 23

// metBefore reports whether the current state was reached before with at least as many choices left.
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
	h.Mix(uint64(turn.Timers()))
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

// Report reports the progress of the search.
func (s *search) Report(words bool) lockstep.SchedulerStats {
	s.close()
	a := lockstep.SchedulerStats{Done: s.done}
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

// share estimates how much of the tree the search has covered, as if all choices at a place had equally large subtrees.
func (s *search) share() (share float64) {
	part := 1.0
	for i := range s.stack {
		p := &s.stack[i]
		part /= float64(len(p.choices))
		share += float64(p.now) * part
	}
	return share
}
