package coverage

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/lockstep-go/lockstep/cover"
)

// A Watch is a set of aims that a Meter counts together.
type Watch struct {
	Name string
	Aims []cover.Goal
	// Chance is what the theorems assume about one test of these aims; without P the
	// meter counts but predicts nothing.
	Chance cover.Probability
	// WhenMet leaves the reading out as long as no run was a test of the aims: for aims
	// that many campaigns have nothing to do with.
	WhenMet bool
	// Often also counts the runs that cover the first aim.
	Often bool
}

// goalLimit bounds what is counted goal by goal.
const goalLimit = 1 << 20

func listable(what string, number *big.Int) error {
	if number.Cmp(big.NewInt(goalLimit)) > 0 {
		return &cover.RangeError{What: "number of " + what, Value: number, Want: fmt.Sprintf("at most %d to count them one by one", goalLimit)}
	}
	return nil
}

// WatchGoals watches all goals of a criterion. The space is the one from which the
// campaign draws its partitions.
func WatchGoals(criterion cover.Criterion, space cover.Space) (Watch, error) {
	chance, err := cover.ProbabilityOf(criterion, space)
	if err != nil {
		return Watch{}, err
	}
	if err := listable("goals of "+criterion.String(), chance.Goals); err != nil {
		return Watch{}, err
	}
	goals, err := cover.Goals(criterion, space.Nodes)
	if err != nil {
		return Watch{}, err
	}
	w := Watch{Name: criterion.String(), Chance: chance}
	for g := range goals {
		w.Aims = append(w.Aims, g)
	}
	return w, nil
}

// WatchSequences watches all sequences of the given length over the operations,
// each of which the campaign draws with the same probability.
func WatchSequences(length int, operations ...cover.Op) (Watch, error) {
	chance, err := cover.Sequences{Operations: len(operations), Length: length}.Probability()
	if err != nil {
		return Watch{}, err
	}
	chance.Goals = new(big.Int).Exp(big.NewInt(int64(len(operations))), big.NewInt(int64(length)), nil)
	if err := listable("sequences", chance.Goals); err != nil {
		return Watch{}, err
	}
	w := Watch{Name: fmt.Sprintf("sequences of %d operations", length), Chance: chance}
	for i := range int(chance.Goals.Int64()) {
		sequence := make(cover.Sequence, length)
		for j := length - 1; j >= 0; j-- {
			sequence[j] = operations[i%len(operations)]
			i /= len(operations)
		}
		w.Aims = append(w.Aims, sequence)
	}
	return w, nil
}

// WatchIrregular watches what is cut but not divided: the links cut one way, and the pairs
// of nodes that are not connected but have a way around. Both are left out of the readings
// of a campaign without such networks.
func WatchIrregular(nodes int) []Watch {
	deaf := Watch{Name: "links cut one way", WhenMet: true}
	around := Watch{Name: "pairs cut with a way around", WhenMet: true}
	for a := 1; a <= nodes; a++ {
		for b := 1; b <= nodes; b++ {
			if a != b {
				deaf.Aims = append(deaf.Aims, cover.OneWayCut{Node: a, To: b})
			}
			if a < b {
				around.Aims = append(around.Aims, cover.IndirectPath{A: a, B: b})
			}
		}
	}
	return []Watch{deaf, around}
}

// WatchPartitionSequence watches a partition sequence. The sampling is the random test in which the campaign tells it;
// for a campaign that does not, leave the Chance of the result out.
func WatchPartitionSequence(sequence cover.PartitionSequence, sampling cover.Sampling) (Watch, error) {
	chance, err := sequence.Probability(sampling)
	if err != nil {
		return Watch{}, err
	}
	return Watch{Name: "the partition sequence " + sequence.String(), Aims: []cover.Goal{sequence}, Chance: chance, Often: true}, nil
}

// A Meter counts which aims the runs of a campaign have covered, whatever strategy
// made them.
type Meter struct {
	sum     Sum
	watches []*watching
}

type watching struct {
	Watch
	left []int // of Aims, in their order
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
			return nil, &cover.RangeError{What: "name of a watch", Value: w.Name, Want: "a name that no other watch has"}
		}
		names[w.Name] = true
		if len(w.Aims) == 0 {
			return nil, &cover.RangeError{What: "aims of " + w.Name, Value: 0, Want: "at least 1"}
		}
		for _, aim := range w.Aims {
			if aim == nil {
				return nil, &cover.RangeError{What: "goal of " + w.Name, Value: nil, Want: "a PartitionGoal, RoleGoal, Sequence, PartitionSequence, OneWayCut or IndirectPath"}
			}
		}
		if w.Chance.P != nil {
			if err := w.Chance.Check(); err != nil {
				return nil, err
			}
		}
		m.watches = append(m.watches, &watching{Watch: w})
	}
	m.Take()
	return m, nil
}

// Add feeds the meter with what one run did.
func (m *Meter) Add(run []cover.Stage) {
	m.sum.Runs++
	for i, w := range m.watches {
		c := &m.sum.Watches[i]
		c.Tests += w.Aims[0].Tests(run)
		if w.Often && w.Aims[0].In(run) {
			c.Hits++
		}
		var covered []int
		for _, aim := range w.left {
			if w.Aims[aim].In(run) {
				covered = append(covered, aim)
			}
		}
		if covered != nil { // which most runs do not have
			w.cover(covered)
			c.News = append(c.News, News{Run: m.sum.Runs, Tests: c.Tests, Aims: covered})
		}
	}
}

// cover takes aims, in order, from those that are left.
func (w *watching) cover(aims []int) {
	w.left = slices.DeleteFunc(w.left, func(aim int) bool {
		_, ok := slices.BinarySearch(aims, aim)
		return ok
	})
}

// A Reading is what a meter shows for one watch.
type Reading struct {
	Name     string  `json:"name"`
	Runs     int     `json:"runs"`
	Tests    int     `json:"tests"` // how many tests in the sense of the theorems
	Goals    int     `json:"goals"`
	Covered  int     `json:"covered"`
	Fraction float64 `json:"fraction"`
	// Hits is how many runs covered the first goal, where the watch counts that.
	Hits int `json:"hits,omitempty"`
	// Theory is set if the watch has a chance.
	Theory *Theory `json:"theory,omitempty"`
	// Curve has a point for each run that covered something new and one for the end.
	Curve []Point `json:"curve"`
}

// Theory is what the theorems say about the same number of tests, drawn at random
// from the space that the watch names.
type Theory struct {
	Fraction    float64 `json:"fraction"`    // the expected share of goals covered
	Probability float64 `json:"probability"` // that all are covered, by the union bound with the exact probability
	Bound       float64 `json:"bound"`       // the same by Theorem 3.1 with the paper's bound on the chance
}

// Read returns a reading for each watch, in the order of NewMeter, without those that are
// left out until they are met.
func (m *Meter) Read() []Reading {
	readings := make([]Reading, 0, len(m.watches))
	for i, w := range m.watches {
		c := m.sum.Watches[i]
		if w.WhenMet && c.Tests == 0 {
			continue
		}
		r := Reading{Name: w.Name, Runs: m.sum.Runs, Tests: c.Tests, Goals: len(w.Aims), Hits: c.Hits}
		for _, n := range c.News {
			r.Covered += len(n.Aims)
			r.Curve = append(r.Curve, Point{Run: n.Run, Tests: n.Tests, Covered: r.Covered})
		}
		r.Fraction = float64(r.Covered) / float64(r.Goals)
		if last := len(r.Curve) - 1; r.Runs > 0 && (last < 0 || r.Curve[last].Run < r.Runs) {
			r.Curve = append(r.Curve, Point{Run: r.Runs, Tests: c.Tests, Covered: r.Covered})
		}
		if w.Chance.P != nil {
			for j := range r.Curve {
				r.Curve[j].Expected = theory(w.Chance, r.Curve[j].Tests).Fraction
			}
			t := theory(w.Chance, c.Tests)
			r.Theory = &t
		}
		readings = append(readings, r)
	}
	return readings
}

// theory is all zero for no tests. The chance has been checked by NewMeter, so that
// no number of tests is refused.
func theory(c cover.Probability, tests int) Theory {
	var t Theory
	if tests == 0 {
		return t
	}
	t.Fraction, _ = c.Union().Fraction(tests)
	t.Probability, _ = c.Union().Reached(tests)
	if rule, err := cover.Theorem31(c.Bound, c.Goals); err == nil {
		t.Bound, _ = rule.Reached(tests)
	}
	return t
}

// Missing lists the aims of a watch that no run has covered yet, in the order in
// which the watch has them; nil if there is no watch of that name.
func (m *Meter) Missing(name string) []cover.Goal {
	for _, w := range m.watches {
		if w.Name == name {
			var list []cover.Goal
			for _, aim := range w.left {
				list = append(list, w.Aims[aim])
			}
			return list
		}
	}
	return nil
}
