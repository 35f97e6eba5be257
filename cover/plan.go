package cover

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/big"
	"strings"
)

// Params is a question for Plan: how many random tests cover all goals with a
// given confidence, or what a given number of tests has reached.
type Params struct {
	// Criterion is "split", "separate", "isolate", "sequence" or "partition-sequence".
	Criterion string
	// Nodes is the number of nodes, 1 to MaxNodes.
	Nodes int
	// K is the number of nodes to split (default 2), the nodes on the one side when
	// separating (default 1), or the length of a sequence (default 1).
	K int
	// L is the number of nodes on the other side when separating (default 1).
	L int
	// Balanced draws partitions with sides that differ by at most one node; when
	// isolating among an even number of nodes, semibalanced ones.
	Balanced bool
	// Bridge is the number of nodes that a goal wants on the bridge. If it is not 0
	// the tests are intersecting partitions: with any bridge, or with sides that are
	// balanced around a bridge of just that many nodes.
	Bridge int
	// Operations is the number of different operations for sequences; 0 means three
	// at each node (read, write 0, write 1), as in Example 3.3.
	Operations int
	// Targets is the number of target sequences, one of which is to occur; 0 means 1.
	Targets int
	// PartitionSequence is the partition sequence, with the Roles, Ops and During of its Sampling.
	PartitionSequence PartitionSequence
	Roles             []Role
	Ops               []string
	During            int
	// Confidence within (0,1) asks for the number of tests. Just one of Confidence
	// and Tests is set.
	Confidence float64
	// Tests of at least 1 asks for the probability.
	Tests int
}

// An Answer is what Plan returns; its JSON is what the command line prints.
//
// Tests and Probability come from the union bound with the exact probability of one
// test, which needs fewer tests than the paper's estimate and is as much a proof.
// The paper's own figures are beside it, and the true ones where they can be
// computed. For sequences all tests are counted in operations.
type Answer struct {
	Criterion  string `json:"criterion"`
	Nodes      int    `json:"nodes"`
	K          int    `json:"k,omitempty"`
	L          int    `json:"l,omitempty"`
	Operations int    `json:"operations,omitempty"`
	Targets    int    `json:"targets,omitempty"`
	// PartitionSequence is the partition sequence as text.
	PartitionSequence string `json:"partition_sequence,omitempty"`
	// Space is what one test is drawn from, as text.
	Space string `json:"space"`
	// Goals is the number of goals as the paper counts them: ordered pairs of sets
	// when separating.
	Goals *big.Int `json:"goals"`
	// PExact is the probability that one random test covers one goal, PBound the
	// paper's lower bound on it; the fractions are the same without rounding.
	PExact         float64 `json:"p_exact"`
	PBound         float64 `json:"p_bound"`
	PExactFraction string  `json:"p_exact_fraction"`
	PBoundFraction string  `json:"p_bound_fraction"`
	PBoundSource   string  `json:"p_bound_source"`
	// Confidence is what was asked for, 0 if Tests was given.
	Confidence float64 `json:"confidence,omitempty"`
	// Tests random tests cover all goals with at least this Probability.
	Tests       int     `json:"tests"`
	Probability float64 `json:"probability"`
	// The same by the paper, with the rule that says the most, and the size for which
	// the paper shows that a covering family exists; left out where they are above
	// 2^53.
	Rule             string  `json:"rule,omitempty"`
	TestsBound       int     `json:"tests_bound,omitempty"`
	ProbabilityBound float64 `json:"probability_bound"`
	Exists           int     `json:"exists,omitempty"`
	// The same without any estimate, where that can be computed.
	TestsTrue       int     `json:"tests_true,omitempty"`
	ProbabilityTrue float64 `json:"probability_true,omitempty"`
	// Family covers every goal for certain, where one is built; FamilyMethod is how,
	// and no covering family has fewer than FamilyLower partitions.
	Family       []Partition `json:"family,omitempty"`
	FamilyMethod string      `json:"family_method,omitempty"`
	FamilyLower  int         `json:"family_lower,omitempty"`
}

// Plan answers the question. What is out of range is refused with a *RangeError
// that names the value and the range.
func Plan(p Params) (Answer, error) {
	q, err := p.question()
	if err != nil {
		return Answer{}, err
	}
	a := Answer{
		Criterion: p.Criterion, Nodes: p.Nodes, K: q.k, L: q.l, Space: q.space, Confidence: p.Confidence,
		Operations: q.sequences.Operations, Targets: q.sequences.Targets, PartitionSequence: p.PartitionSequence.String(),
		Goals: q.probability.Goals, PBoundSource: q.probability.Source,
		PExact: ratFloat(q.probability.P), PExactFraction: q.probability.P.RatString(),
		PBound: ratFloat(q.probability.Bound), PBoundFraction: q.probability.Bound.RatString(),
	}
	if err := q.answer(p, &a); err != nil {
		return Answer{}, err
	}
	if family, err := q.family(); err == nil {
		a.Family, a.FamilyMethod, a.FamilyLower = family.Partitions, family.Method, family.Lower
	}
	return a, nil
}

// answer puts the question to each guarantee and enters the tests and probabilities.
func (q question) answer(p Params, a *Answer) (err error) {
	if a.Tests, a.Probability, err = p.ask(q.union); err != nil {
		return err
	}
	for _, rule := range q.rules {
		tests, reached, err := p.ask(rule)
		if err != nil {
			continue // a bound so weak that the number of tests is beyond counting
		}
		if a.Rule == "" || tests < a.TestsBound || p.Tests != 0 && reached > a.ProbabilityBound {
			a.Rule, a.TestsBound, a.ProbabilityBound = rule.Name, tests, reached
		}
		if exists, err := rule.Exists(); err == nil && (a.Exists == 0 || exists < a.Exists) {
			a.Exists = exists
		}
	}
	if q.exact != nil {
		a.TestsTrue, a.ProbabilityTrue, err = p.ask(q.exact)
	}
	return err
}

// ask puts the question to a guarantee.
func (p Params) ask(g Guarantee) (tests int, probability float64, err error) {
	tests = p.Tests
	if tests == 0 {
		if tests, err = g.Enough(p.Confidence); err != nil {
			return 0, 0, err
		}
	}
	probability, err = g.Reached(tests)
	return tests, probability, err
}

// A CurvePoint has the probabilities of an Answer for a number of tests.
type CurvePoint struct {
	Tests       int     `json:"tests"`
	Probability float64 `json:"probability"`
	Bound       float64 `json:"probability_bound"`
	True        float64 `json:"probability_true,omitempty"` // 0 where it cannot be computed
}

// Curve returns a point for each number of tests from 1 to the given one, at most
// 100000. Of the params it leaves Confidence and Tests aside.
func Curve(p Params, tests int) ([]CurvePoint, error) {
	if err := inRange("tests of the curve", tests, 1, 100_000, ""); err != nil {
		return nil, err
	}
	return CurveAt(p, func(yield func(int) bool) {
		for n := 1; n <= tests && yield(n); n++ {
		}
	})
}

// CurveAt is Curve for the numbers of tests given.
func CurveAt(p Params, numbers iter.Seq[int]) ([]CurvePoint, error) {
	p.Confidence, p.Tests = 0, 1
	q, err := p.question()
	if err != nil {
		return nil, err
	}
	var points []CurvePoint
	for n := range numbers {
		if err := inRange("tests", n, 1, testsLimit, ""); err != nil {
			return nil, err
		}
		var a Answer
		p.Tests = n
		if err := q.answer(p, &a); err != nil {
			return nil, err
		}
		points = append(points, CurvePoint{n, a.Probability, a.ProbabilityBound, a.ProbabilityTrue})
	}
	return points, nil
}

// A question is Params with everything looked up that the answer needs.
type question struct {
	k, l        int
	sequences   Sequences // for the criterion "sequence"
	space       string
	probability Probability
	union       Union
	rules       []Rule
	exact       Guarantee // nil if it cannot be computed
	family      func() (Family, error)
}

func (p Params) question() (question, error) {
	if err := p.check(); err != nil {
		return question{}, err
	}
	if p.Criterion == "sequence" {
		return p.sequenceQuestion()
	}
	if p.Criterion == "partition-sequence" {
		return p.partitionSequenceQuestion()
	}
	criterion, space := p.criterion()
	probability, err := ProbabilityOf(criterion, space)
	if err != nil {
		return question{}, err
	}
	q := question{space: space.String(), probability: probability}
	switch n := criterion.(type) {
	case Split:
		q.k = n.K
	case Separate:
		q.k, q.l = n.K, n.L
		if q.probability.Goals, err = n.Pairs(p.Nodes); err != nil {
			return question{}, err
		}
	}
	q.union = q.probability.Union()
	if q.rules, err = q.probability.Rules(); err != nil {
		return question{}, err
	}
	if exact, err := ExactOf(criterion, space); err == nil {
		q.exact = exact
	}
	q.family = func() (Family, error) { return Build(criterion, space) }
	return q, nil
}

// Tested returns the criterion whose goals the params are about and the space that its
// tests are drawn from. Of the params it leaves Confidence and Tests aside; for sequences
// of operations there is neither.
func (p Params) Tested() (Criterion, Space, error) {
	p.Confidence, p.Tests = 0, 1
	if err := p.check(); err != nil {
		return nil, Space{}, err
	}
	if p.Criterion == "sequence" || p.Criterion == "partition-sequence" {
		return nil, Space{}, &RangeError{"criterion", p.Criterion, "split, separate or isolate"}
	}
	criterion, space := p.criterion()
	if _, err := ProbabilityOf(criterion, space); err != nil {
		return nil, Space{}, err
	}
	return criterion, space, nil
}

// criterion and space of the params, which have been checked.
func (p Params) criterion() (Criterion, Space) {
	blocks := 2
	var criterion Criterion = Isolate{Bridge: p.Bridge}
	switch p.Criterion {
	case "split":
		blocks = cmp.Or(p.K, 2)
		criterion = Split{K: blocks, Bridge: p.Bridge}
	case "separate":
		criterion = Separate{K: cmp.Or(p.K, 1), L: cmp.Or(p.L, 1), Bridge: p.Bridge}
	}
	space := Uniform(p.Nodes, blocks)
	switch {
	case p.Balanced && p.Criterion == "isolate":
		space = Semibalanced(p.Nodes - p.Bridge)
	case p.Balanced:
		space = Balanced(p.Nodes-p.Bridge, blocks)
	case p.Bridge > 0:
		space.Bridge = AnyBridge
	}
	if p.Balanced {
		space.Nodes, space.Bridge = p.Nodes, p.Bridge
	}
	return criterion, space
}

func (p Params) sequenceQuestion() (question, error) {
	s := Sequences{Operations: cmp.Or(p.Operations, 3*p.Nodes), Length: cmp.Or(p.K, 1), Targets: cmp.Or(p.Targets, 1)}
	q := question{k: s.Length, sequences: s, space: fmt.Sprintf("%d operations", s.Operations)}
	q.family = func() (Family, error) { return Family{}, nil }
	var err error
	if q.probability, err = s.Probability(); err != nil {
		return question{}, err
	}
	if q.union, err = s.Union(); err != nil {
		return question{}, err
	}
	if q.rules, err = s.Rules(); err != nil {
		return question{}, err
	}
	if s.Length == 1 {
		q.exact = q.union // one goal, and every operation is a test
	}
	return q, nil
}

func (p Params) partitionSequenceQuestion() (question, error) {
	sampling := Sampling{Nodes: p.Nodes, Balanced: p.Balanced, Roles: p.Roles, Operations: p.Ops, During: p.During}
	probability, err := p.PartitionSequence.Probability(sampling)
	if err != nil {
		return question{}, err
	}
	spaces, err := p.PartitionSequence.Spaces(p.Nodes, p.Balanced)
	if err != nil {
		return question{}, err
	}
	texts := make([]string, len(spaces))
	for i, space := range spaces {
		if texts[i] = space.String(); space.Blocks == 1 {
			texts[i] = "the whole network"
		}
	}
	q := question{space: strings.Join(texts, ", then "), probability: probability, union: probability.Union()}
	q.exact = q.union // there is one goal
	q.family = func() (Family, error) { return Family{}, nil }
	q.rules, err = probability.Rules()
	return q, err
}

// check refuses what does not belong to the criterion and what is asked twice or not
// at all; ranges that depend on the criterion are checked by the criteria.
func (p Params) check() error {
	uses := map[string]string{"split": "k b", "separate": "k l b", "isolate": "b", "sequence": "k o",
		"partition-sequence": "v s"}
	used, ok := uses[p.Criterion]
	if !ok {
		return &RangeError{"criterion", fmt.Sprintf("%q", p.Criterion),
			"split, separate, isolate, sequence or partition-sequence"}
	}
	if err := inRange("nodes", p.Nodes, 1, MaxNodes, ""); err != nil {
		return err
	}
	for _, field := range []struct {
		name  string
		value any
		set   bool
		part  string
	}{
		{"k", p.K, p.K != 0, "k"},
		{"l", p.L, p.L != 0, "l"},
		{"balanced", p.Balanced, p.Balanced, "bv"},
		{"bridge", p.Bridge, p.Bridge != 0, "b"},
		{"operations", p.Operations, p.Operations != 0, "o"},
		{"targets", p.Targets, p.Targets != 0, "o"},
		{"partition-sequence", p.PartitionSequence, p.PartitionSequence != nil, "s"},
		{"roles", p.Roles, p.Roles != nil, "s"},
		{"ops", p.Ops, p.Ops != nil, "s"},
		{"during", p.During, p.During != 0, "s"},
	} {
		if field.set && !strings.ContainsAny(used, field.part) {
			return &RangeError{field.name, field.value, "nothing, " + p.Criterion + " has no " + field.name}
		}
	}
	if err := inRange("bridge", p.Bridge, 0, p.Nodes, "the nodes"); err != nil {
		return err
	}
	switch {
	case p.Tests != 0 && p.Confidence != 0:
		return &RangeError{"confidence and tests", [2]any{p.Confidence, p.Tests}, "one of them only"}
	case p.Tests == 0 && p.Confidence == 0:
		return &RangeError{"confidence and tests", "0", "a confidence within (0,1) or tests of at least 1"}
	case p.Tests == 0:
		_, err := missAllowed(p.Confidence)
		return err
	}
	return inRange("tests", p.Tests, 1, testsLimit, "")
}

// String is the answer for people, in a few lines.
func (a Answer) String() string {
	var b strings.Builder
	unit := "random tests"
	if a.Criterion == "sequence" {
		unit = "random operations"
	}
	goals := "goals"
	if a.Goals != nil && a.Goals.IsInt64() && a.Goals.Int64() == 1 {
		goals = "goal"
	}
	what := a.Criterion
	if a.PartitionSequence != "" {
		what += " " + a.PartitionSequence
	}
	fmt.Fprintf(&b, "%s: %v %s, tests drawn from %s\n", what, a.Goals, goals, a.Space)
	fmt.Fprintf(&b, "one test covers a given goal with probability %s, at least %s (%s)\n",
		fraction(a.PExactFraction, a.PExact), fraction(a.PBoundFraction, a.PBound), a.PBoundSource)
	line := func(tests int, probability float64, least, by string) {
		if tests > 0 {
			fmt.Fprintf(&b, "%d %s cover every goal with probability %s%s (%s)\n", tests, unit, least, percent(probability), by)
		}
	}
	line(a.TestsTrue, a.ProbabilityTrue, "", "exact")
	line(a.Tests, a.Probability, "at least ", "by the union bound")
	line(a.TestsBound, a.ProbabilityBound, "at least ", "by "+a.Rule)
	if len(a.Family) > 0 {
		fmt.Fprintf(&b, "these %d tests cover every goal for certain (%s; at least %d are needed):\n", len(a.Family),
			a.FamilyMethod, a.FamilyLower)
		for _, p := range a.Family {
			fmt.Fprintf(&b, "  %v\n", p)
		}
	}
	return b.String()
}

// fraction leaves out fractions that no node would read.
func fraction(text string, value float64) string {
	if len(text) > 20 {
		return fmt.Sprintf("%.4g", value)
	}
	return fmt.Sprintf("%s = %.4g", text, value)
}

// percent rounds down, so that no guarantee is overstated; what float64 has lost of
// a round number is forgiven, but short of certainty it never says 100.
func percent(p float64) string {
	hundredths := math.Floor(1e4*p + 1e-6)
	if p < 1 {
		hundredths = min(hundredths, 9999)
	}
	return fmt.Sprintf("%.2f %%", hundredths/100)
}
