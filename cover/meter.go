package cover

import (
	"fmt"
	"math/big"
)

// A Watch is a set of aims that a Meter counts together.
type Watch struct {
	Name string
	Aims []Aim
	// Chance is what the theorems assume about one test of these aims; without P the
	// meter counts but predicts nothing.
	Chance Chance
}

// WatchGoals watches all goals of a notion. The space is the one from which the
// campaign draws its partitions.
func WatchGoals(notion Notion, space Space) (Watch, error) {
	chance, err := ChanceOf(notion, space)
	if err != nil {
		return Watch{}, err
	}
	goals, err := listGoals(notion, space.Nodes, goalLimit)
	if err != nil {
		return Watch{}, err
	}
	w := Watch{Name: notion.String(), Chance: chance}
	for _, g := range goals {
		w.Aims = append(w.Aims, g)
	}
	return w, nil
}

// WatchSequences watches all sequences of the given length over the operations,
// each of which the campaign draws with the same probability.
func WatchSequences(length int, operations ...Op) (Watch, error) {
	chance, err := Sequences{Operations: len(operations), Length: length}.Chance()
	if err != nil {
		return Watch{}, err
	}
	chance.Goals = power(len(operations), length)
	if chance.Goals.Cmp(big.NewInt(goalLimit)) > 0 {
		return Watch{}, &RangeError{"number of sequences", chance.Goals, fmt.Sprintf("at most %d to list them", goalLimit)}
	}
	w := Watch{Name: fmt.Sprintf("sequences of %d operations", length), Chance: chance}
	for i := range int(chance.Goals.Int64()) {
		sequence := make(Sequence, length)
		for j := length - 1; j >= 0; j-- {
			sequence[j] = operations[i%len(operations)]
			i /= len(operations)
		}
		w.Aims = append(w.Aims, sequence)
	}
	return w, nil
}

// A Meter counts which aims the runs of a campaign have covered, whatever strategy
// made them.
type Meter struct {
	runs    int
	watches []*watching
}

type watching struct {
	Watch
	left  []Aim // in the order of Aims
	tests int
	curve []Point
}

// A Point of the curve says what was covered after a number of runs.
type Point struct {
	Run     int `json:"run"`     // how many runs
	Tests   int `json:"tests"`   // how many tests they were worth
	Covered int `json:"covered"` // how many aims they covered
	// Expected is the share that the theorems expect so many tests to cover, 0 if the
	// watch has no chance.
	Expected float64 `json:"expected"`
}

// NewMeter returns a meter for the watches, each with a name of its own.
func NewMeter(watches ...Watch) (*Meter, error) {
	m := &Meter{}
	names := map[string]bool{}
	for _, w := range watches {
		if names[w.Name] {
			return nil, &RangeError{"name of a watch", w.Name, "a name that no other watch has"}
		}
		names[w.Name] = true
		if len(w.Aims) == 0 {
			return nil, &RangeError{"aims of " + w.Name, 0, "at least 1"}
		}
		for _, aim := range w.Aims {
			if aim == nil {
				return nil, &RangeError{"aim of " + w.Name, nil, "a Goal, RoleGoal, Sequence or Story"}
			}
		}
		if w.Chance.P != nil {
			if err := checkChance(w.Chance.P, w.Chance.Goals); err != nil {
				return nil, err
			}
			if err := checkChance(w.Chance.Bound, w.Chance.Goals); err != nil {
				return nil, err
			}
		}
		m.watches = append(m.watches, &watching{Watch: w, left: w.Aims})
	}
	return m, nil
}

// Add feeds the meter with what one run did.
func (m *Meter) Add(run []Stage) {
	m.runs++
	for _, w := range m.watches {
		w.tests += w.Aims[0].Tests(run)
		var left []Aim
		for i, aim := range w.left {
			switch covered := aim.In(run); {
			case covered && left == nil:
				// The first covered aim: from here on the list is copied, so that the
				// caller's aims stay as they are and a run without news costs nothing.
				left = append(make([]Aim, 0, len(w.left)-1), w.left[:i]...)
			case !covered && left != nil:
				left = append(left, aim)
			}
		}
		if left != nil {
			w.left = left
			w.curve = append(w.curve, Point{Run: m.runs, Tests: w.tests, Covered: w.covered()})
		}
	}
}

func (w *watching) covered() int { return len(w.Aims) - len(w.left) }

// A Reading is what a meter shows for one watch.
type Reading struct {
	Name     string  `json:"name"`
	Runs     int     `json:"runs"`
	Tests    int     `json:"tests"` // how many tests in the sense of the theorems
	Goals    int     `json:"goals"`
	Covered  int     `json:"covered"`
	Fraction float64 `json:"fraction"`
	// Theory is set if the watch has a chance.
	Theory *Theory `json:"theory,omitempty"`
	// Curve has a point for each run that covered something new and one for the end.
	Curve []Point `json:"curve"`
}

// Theory is what the theorems say about the same number of tests, drawn at random
// from the space that the watch names.
type Theory struct {
	Fraction    float64 `json:"fraction"`    // the expected share of goals covered
	Probability float64 `json:"probability"` // that all are covered, by the union bound with the exact chance
	Bound       float64 `json:"bound"`       // the same by Theorem 3.1 with the paper's bound on the chance
}

// Read returns a reading for each watch, in the order of NewMeter.
func (m *Meter) Read() []Reading {
	readings := make([]Reading, len(m.watches))
	for i, w := range m.watches {
		r := Reading{Name: w.Name, Runs: m.runs, Tests: w.tests, Goals: len(w.Aims), Covered: w.covered()}
		r.Fraction = float64(r.Covered) / float64(r.Goals)
		r.Curve = append(r.Curve, w.curve...)
		if last := len(r.Curve) - 1; m.runs > 0 && (last < 0 || r.Curve[last].Run < m.runs) {
			r.Curve = append(r.Curve, Point{Run: m.runs, Tests: w.tests, Covered: r.Covered})
		}
		if w.Chance.P != nil {
			for j := range r.Curve {
				r.Curve[j].Expected = w.Chance.theory(r.Curve[j].Tests).Fraction
			}
			theory := w.Chance.theory(w.tests)
			r.Theory = &theory
		}
		readings[i] = r
	}
	return readings
}

// theory is all zero for no tests. The chance has been checked by NewMeter, so that
// no number of tests is refused.
func (c Chance) theory(tests int) Theory {
	var t Theory
	if tests == 0 {
		return t
	}
	t.Fraction, _ = c.Union().Fraction(tests)
	t.Probability, _ = c.Union().Reached(tests)
	if rule, err := Theorem31(c.Bound, c.Goals); err == nil {
		t.Bound, _ = rule.Reached(tests)
	}
	return t
}

// Missing lists the aims of a watch that no run has covered yet, in the order in
// which the watch has them; nil if there is no watch of that name.
func (m *Meter) Missing(name string) []Aim {
	for _, w := range m.watches {
		if w.Name == name {
			return append([]Aim(nil), w.left...)
		}
	}
	return nil
}
