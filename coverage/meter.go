package coverage

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/lockstep-go/lockstep/cover"
)

// A Watch is a set of goals that a Meter counts together.
type Watch struct {
	Name  string
	Goals []cover.Goal
	// Probability is what the theorems assume about one test of these goals; without P the meter counts but predicts
	// nothing.
	Probability cover.Probability
	// WhenMet omits the reading while no run was a test of the goals. It is for goals that do not concern many campaigns.
	WhenMet bool
	// Often also counts the runs that cover the first goal.
	Often bool
}

// goalLimit bounds the number of goals that are counted one by one.
const goalLimit = 1 << 20

func listable(what string, number *big.Int) error {
	if number.Cmp(big.NewInt(goalLimit)) > 0 {
		return &cover.RangeError{
			What:  "number of " + what,
			Value: number,
			Want:  fmt.Sprintf("at most %d to count them one by one", goalLimit),
		}
	}
	return nil
}

// WatchGoals watches all goals of a criterion. The campaign draws its partitions from the space.
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
	w := Watch{Name: criterion.String(), Probability: chance}
	for g := range goals {
		w.Goals = append(w.Goals, g)
	}
	return w, nil
}

// WatchSequences watches all sequences of the given length over the operations. The campaign draws each sequence with
// the same probability.
func WatchSequences(length int, operations ...cover.Op) (Watch, error) {
	chance, err := cover.Sequences{Operations: len(operations), Length: length}.Probability()
	if err != nil {
		return Watch{}, err
	}
	chance.Goals = new(big.Int).Exp(big.NewInt(int64(len(operations))), big.NewInt(int64(length)), nil)
	if err := listable("sequences", chance.Goals); err != nil {
		return Watch{}, err
	}
	w := Watch{Name: fmt.Sprintf("sequences of %d operations", length), Probability: chance}
	for i := range int(chance.Goals.Int64()) {
		sequence := make(cover.Sequence, length)
		for j := length - 1; j >= 0; j-- {
			sequence[j] = operations[i%len(operations)]
			i /= len(operations)
		}
		w.Goals = append(w.Goals, sequence)
	}
	return w, nil
}

// WatchIrregular watches networks that are cut but not divided. It counts links cut one way, and pairs of nodes that
// are connected only by an indirect path. The readings of a campaign without such networks omit both.
func WatchIrregular(nodes int) []Watch {
	deaf := Watch{Name: "links cut one way", WhenMet: true}
	around := Watch{Name: "pairs cut with a way around", WhenMet: true}
	for a := 1; a <= nodes; a++ {
		for b := 1; b <= nodes; b++ {
			if a != b {
				deaf.Goals = append(deaf.Goals, cover.OneWayCut{Node: a, To: b})
			}
			if a < b {
				around.Goals = append(around.Goals, cover.IndirectPath{A: a, B: b})
			}
		}
	}
	return []Watch{deaf, around}
}

// WatchPartitionSequence watches a partition sequence. The sampling is the random test by which the campaign draws it.
// If the campaign does not draw it, clear the Probability of the result.
func WatchPartitionSequence(sequence cover.PartitionSequence, sampling cover.Sampling) (Watch, error) {
	chance, err := sequence.Probability(sampling)
	if err != nil {
		return Watch{}, err
	}
	return Watch{
		Name:        "the partition sequence " + sequence.String(),
		Goals:       []cover.Goal{sequence},
		Probability: chance,
		Often:       true,
	}, nil
}

// A Meter counts which goals the runs of a campaign have covered, independent of the strategy.
type Meter struct {
	sum     Sum
	watches []*watching
}

type watching struct {
	Watch
	left []int // indices of the uncovered Goals, in order
}

// A Point of the curve is the coverage after a number of runs.
type Point struct {
	Run     int `json:"run"`     // number of runs
	Tests   int `json:"tests"`   // number of tests in these runs
	Covered int `json:"covered"` // number of goals they covered
	// Expected is the share that this many tests are expected to cover by the theorems. It is 0 if the watch has no
	// chance.
	Expected float64 `json:"expected"`
}

// NewMeter returns a meter for the watches, whose names must differ.
func NewMeter(watches ...Watch) (*Meter, error) {
	m := &Meter{}
	names := map[string]bool{}
	for _, w := range watches {
		if names[w.Name] {
			return nil, &cover.RangeError{
				What:  "name of a watch",
				Value: w.Name,
				Want:  "a name that no other watch has",
			}
		}
		names[w.Name] = true
		if len(w.Goals) == 0 {
			return nil, &cover.RangeError{What: "goals of " + w.Name, Value: 0, Want: "at least 1"}
		}
		for _, goal := range w.Goals {
			if goal == nil {
				return nil, &cover.RangeError{
					What:  "goal of " + w.Name,
					Value: nil,
					Want:  "a PartitionGoal, RoleGoal, Sequence, PartitionSequence, OneWayCut or IndirectPath",
				}
			}
		}
		if w.Probability.P != nil {
			if err := w.Probability.Check(); err != nil {
				return nil, err
			}
		}
		m.watches = append(m.watches, &watching{Watch: w})
	}
	m.Take()
	return m, nil
}

// Add counts the stages of one run.
func (m *Meter) Add(run []cover.Stage) {
	m.sum.Runs++
	for i, w := range m.watches {
		c := &m.sum.Watches[i]
		c.Tests += w.Goals[0].Tests(run)
		if w.Often && w.Goals[0].In(run) {
			c.Hits++
		}
		var covered []int
		for _, goal := range w.left {
			if w.Goals[goal].In(run) {
				covered = append(covered, goal)
			}
		}
		if covered != nil { // most runs cover nothing new
			w.cover(covered)
			c.News = append(c.News, News{Run: m.sum.Runs, Tests: c.Tests, Goals: covered})
		}
	}
}

// cover removes goals, given in order, from the uncovered ones.
func (w *watching) cover(goals []int) {
	w.left = slices.DeleteFunc(w.left, func(goal int) bool {
		_, ok := slices.BinarySearch(goals, goal)
		return ok
	})
}

// A Reading is the result of a meter for one watch.
type Reading struct {
	Name     string  `json:"name"`     // of the criterion
	Runs     int     `json:"runs"`     // number of measured runs
	Tests    int     `json:"tests"`    // number of tests in the sense of the theorems
	Goals    int     `json:"goals"`    // number of goals
	Covered  int     `json:"covered"`  // number of covered goals
	Fraction float64 `json:"fraction"` // share of covered goals
	// Hits is the number of runs that covered the first goal, if the watch counts them.
	Hits int `json:"hits,omitempty"`
	// Theory is set if the watch has a chance.
	Theory *Theory `json:"theory,omitempty"`
	// Curve has a point for each run that covered something new and one for the end.
	Curve []Point `json:"curve"`
}

// Theory is the prediction of the theorems for the same number of tests, drawn at random from the space of the watch.
type Theory struct {
	Fraction float64 `json:"fraction"` // the expected share of covered goals
	// the probability that all are covered, by the union bound with the exact probability
	Probability float64 `json:"probability"`
	Bound       float64 `json:"bound"` // the same by Theorem 3.1 with the paper's bound on the probability
}

// Read returns a reading for each watch, in the order of NewMeter. It omits unmet watches with WhenMet.
func (m *Meter) Read() []Reading {
	readings := make([]Reading, 0, len(m.watches))
	for i, w := range m.watches {
		c := m.sum.Watches[i]
		if w.WhenMet && c.Tests == 0 {
			continue
		}
		r := Reading{Name: w.Name, Runs: m.sum.Runs, Tests: c.Tests, Goals: len(w.Goals), Hits: c.Hits}
		for _, n := range c.News {
			r.Covered += len(n.Goals)
			r.Curve = append(r.Curve, Point{Run: n.Run, Tests: n.Tests, Covered: r.Covered})
		}
		r.Fraction = float64(r.Covered) / float64(r.Goals)
		if last := len(r.Curve) - 1; r.Runs > 0 && (last < 0 || r.Curve[last].Run < r.Runs) {
			r.Curve = append(r.Curve, Point{Run: r.Runs, Tests: c.Tests, Covered: r.Covered})
		}
		if w.Probability.P != nil {
			for j := range r.Curve {
				r.Curve[j].Expected = theory(w.Probability, r.Curve[j].Tests).Fraction
			}
			t := theory(w.Probability, c.Tests)
			r.Theory = &t
		}
		readings = append(readings, r)
	}
	return readings
}

// theory returns zeros for no tests. NewMeter has checked the chance, so no number of tests causes an error.
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

// Missing lists the goals of a watch that no run has covered yet, in the order of the watch. It returns nil if there is
// no watch with this name.
func (m *Meter) Missing(name string) []cover.Goal {
	for _, w := range m.watches {
		if w.Name == name {
			var list []cover.Goal
			for _, goal := range w.left {
				list = append(list, w.Goals[goal])
			}
			return list
		}
	}
	return nil
}
