package levels

// Step is one round on the way to a problem.
type Step struct {
	Begin []int // by node: which of the ways to begin
	Mode  int
	End   []int    // by node: which of the ways to end
	State []uint32 // after the round
}

// path walks back from the best find to an initial state and then forward again, making each step anew.
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
	state := start
	for round, choice := range choices[1:] {
		step := s.remake(round, state, uint64(choice))
		steps = append(steps, step)
		state = step.State
	}
	return start, steps, nil
}

// remake finds the successor of a state with the given number.
func (s *search) remake(round int, state []uint32, choice uint64) Step {
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
			if choice >= size {
				choice -= size
				continue
			}
			step := Step{Begin: pick, Mode: mode}
			for _, list := range ends {
				i := choice % uint64(len(list))
				choice /= uint64(len(list))
				step.End = append(step.End, int(i))
				step.State = append(step.State, list[i].Local)
			}
			return step
		}
		if !nextPick(pick, func(p int) int { return len(ways[p]) }) {
			panic("levels: a successor that was met cannot be made again")
		}
	}
}
