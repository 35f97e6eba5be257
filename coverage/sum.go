package coverage

import (
	"fmt"
	"slices"
)

// A Sum is the count of a meter. Sums of runs measured in several places add up, in the order of the runs, to the count
// of a single meter.
type Sum struct {
	Runs    int       `json:"runs"`
	Watches []Counted `json:"watches"` // in the order of NewMeter
}

// Counted is the count of one watch.
type Counted struct {
	Tests int    `json:"tests"`
	Hits  int    `json:"hits,omitempty"` // if the watch has Often
	News  []News `json:"news,omitempty"` // by the number of the run
}

// News lists the goals that a run was the first to cover.
type News struct {
	Run   int   `json:"run"`   // number of runs, including this one
	Tests int   `json:"tests"` // number of tests in these runs
	Goals []int `json:"goals"` // indices of the goals in the watch, in order
}

// Check reports why the next sum cannot be added to this one.
func (s *Sum) Check(next *Sum) error {
	if len(s.Watches) != len(next.Watches) && (s.Runs > 0 || len(s.Watches) > 0) {
		return fmt.Errorf("coverage of %d watches, where there are %d", len(next.Watches), len(s.Watches))
	}
	for i, c := range next.Watches {
		run, tests := 0, 0
		for _, n := range c.News {
			if n.Run <= run || n.Tests < tests || len(n.Goals) == 0 || !slices.IsSorted(n.Goals) || n.Goals[0] < 0 {
				return fmt.Errorf("the coverage of watch %d is not in order", i)
			}
			run, tests = n.Run, n.Tests
		}
		if run > next.Runs || tests > c.Tests || c.Hits < 0 || c.Hits > next.Runs {
			return fmt.Errorf("the coverage of watch %d is of more than %d runs", i, next.Runs)
		}
	}
	return nil
}

// Add adds the count of the runs that follow.
func (s *Sum) Add(next *Sum) error {
	if err := s.Check(next); err != nil {
		return err
	}
	if len(s.Watches) == 0 {
		s.Watches = make([]Counted, len(next.Watches))
	}
	for i, c := range next.Watches {
		sum := &s.Watches[i]
		covered := map[int]bool{}
		for _, n := range sum.News {
			for _, goal := range n.Goals {
				covered[goal] = true
			}
		}
		for _, n := range c.News {
			goals := slices.DeleteFunc(slices.Clone(n.Goals), func(goal int) bool { return covered[goal] })
			if len(goals) > 0 {
				sum.News = append(sum.News, News{Run: s.Runs + n.Run, Tests: sum.Tests + n.Tests, Goals: goals})
			}
		}
		sum.Tests, sum.Hits = sum.Tests+c.Tests, sum.Hits+c.Hits
	}
	s.Runs += next.Runs
	return nil
}

// Take returns the count of the meter and resets the meter.
func (m *Meter) Take() Sum {
	sum := m.sum
	m.sum = Sum{Watches: make([]Counted, len(m.watches))}
	for _, w := range m.watches {
		w.left = w.left[:0]
		for i := range w.Goals {
			w.left = append(w.left, i)
		}
	}
	return sum
}

// Put adds the count of the runs that follow, from another meter with the same watches.
func (m *Meter) Put(next Sum) error {
	for i, c := range next.Watches {
		for _, n := range c.News {
			if i >= len(m.watches) || len(n.Goals) > 0 && n.Goals[len(n.Goals)-1] >= len(m.watches[i].Goals) {
				return fmt.Errorf("coverage of %d watches with other goals, where there are %d", len(next.Watches),
					len(m.watches))
			}
		}
	}
	if err := m.sum.Add(&next); err != nil {
		return err
	}
	for i, w := range m.watches {
		for _, n := range next.Watches[i].News {
			w.cover(n.Goals)
		}
	}
	return nil
}
