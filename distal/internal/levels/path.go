package levels

import "slices"

// Step is one round on the way to a problem.
type Step struct {
	Begin []int // by node: which of the ways to begin
	Mode  int
	End   []int    // by node: which of the ways to end
	State []uint32 // after the round
}

// path walks back from the best find to an initial state and then forward again, making each step again.
func (s *search) path(rounds int) (start []uint32, steps []Step, err error) {
	choices := make([]uint32, rounds+1) // the first is that of the initial state
	o := s.best.origin
	for i := rounds; ; i-- {
		choices[i] = o.choice
		if i == 0 {
			break
		}
		if o, err = s.past[i-1].origin(o.parent); err != nil {
			return nil, nil, err
		}
	}
	left := choices[0]
	for _, list := range s.starts {
		start = append(start, list[left%uint32(len(list))])
		left /= uint32(len(list))
	}
	s.canon(start)
	way := [][]uint32{start}
	for round, choice := range choices[1:] {
		step := s.remake(round, way[round], uint64(choice))
		steps = append(steps, step)
		state := slices.Clone(step.State)
		s.canon(state)
		way = append(way, state)
	}
	if s.opt.Canon != nil {
		steps = s.along(way, steps)
	}
	return start, steps, nil
}

// canon puts in place of a state the one that stands for it.
func (s *search) canon(state []uint32) {
	if s.opt.Canon != nil {
		s.opt.Canon(state)
	}
}

// along finds a run through states that are like the given ones. Each of the steps leads from a state to one that is
// like the next: put one after the other they are no run.
func (s *search) along(way [][]uint32, steps []Step) []Step {
	var out []Step
	state := way[0]
	for round, like := range steps {
		from := way[round]
		wrong, acted := s.inspect(round, from, like)
		var found *Step
		s.successors(round, state, func(step Step) bool {
			end := slices.Clone(step.State)
			s.canon(end)
			problem, active := s.inspect(round, state, step)
			if slices.Equal(end, way[round+1]) && active == acted && (problem != 0) == (wrong != 0) {
				step.Begin = slices.Clone(step.Begin)
				found = &step
			}
			return found == nil
		})
		if found == nil {
			panic("levels: states that are alike have different successors")
		}
		out = append(out, *found)
		state = found.State
	}
	return out
}

// inspect says what is wrong with a step, and whether some node acts in it.
func (s *search) inspect(round int, state []uint32, step Step) (problem int, acted bool) {
	note := func(p int) {
		if problem == 0 {
			problem = p
		}
	}
	ways := make([]Beginning, s.n)
	after := make([]uint32, s.n)
	for p, local := range state {
		ways[p] = s.o.Begin(round, local)[step.Begin[p]]
		after[p] = ways[p].After
		note(ways[p].Problem)
	}
	note(s.o.Check(after))
	for q := range s.n {
		sent := make([]uint32, s.n)
		for p := range s.n {
			sent[p] = ways[p].Sent[q]
		}
		end := s.o.End(round, step.Mode, after[q], sent)[step.End[q]]
		note(end.Problem)
		acted = acted || end.Acted
	}
	note(s.o.Check(step.State))
	return problem, acted
}

// remake finds the successor of a state with the given number.
func (s *search) remake(round int, state []uint32, choice uint64) (out Step) {
	met := false
	s.products(round, state, func(pick []int, mode int, ends [][]Ending, size uint64) bool {
		if choice >= size {
			choice -= size
			return true
		}
		out, met = combine(pick, mode, ends, choice), true
		return false
	})
	if !met {
		panic("levels: a successor that was met cannot be reproduced")
	}
	return out
}

// successors calls visit for every successor of a state, in order, until it says that it is enough.
func (s *search) successors(round int, state []uint32, visit func(Step) bool) {
	s.products(round, state, func(pick []int, mode int, ends [][]Ending, size uint64) bool {
		for choice := range size {
			if !visit(combine(pick, mode, ends, choice)) {
				return false
			}
		}
		return true
	})
}

// combine makes the successor with the given number of a product of endings; the first node's part changes fastest.
func combine(pick []int, mode int, ends [][]Ending, choice uint64) Step {
	step := Step{Begin: pick, Mode: mode}
	for _, list := range ends {
		i := choice % uint64(len(list))
		choice /= uint64(len(list))
		step.End = append(step.End, int(i))
		step.State = append(step.State, list[i].Local)
	}
	return step
}

// products calls visit for every way to begin and mode, with how each node can end, until it says that it is enough.
func (s *search) products(round int, state []uint32, visit func(pick []int, mode int, ends [][]Ending,
	size uint64) bool) {
	ways := make([][]Beginning, s.n)
	pick := make([]int, s.n)
	for p, local := range state {
		ways[p] = s.o.Begin(round, local)
	}
	for {
		for mode := range s.o.Modes() {
			ends := make([][]Ending, s.n)
			size := uint64(1)
			for q := range s.n {
				sent := make([]uint32, s.n)
				for p := range s.n {
					sent[p] = ways[p][pick[p]].Sent[q]
				}
				ends[q] = s.o.End(round, mode, ways[q][pick[q]].After, sent)
				size = min(size*uint64(len(ends[q])), 1<<40) // choices are below 2^32
			}
			if !visit(pick, mode, ends, size) {
				return
			}
		}
		if !nextPick(pick, func(p int) int { return len(ways[p]) }) {
			return
		}
	}
}
