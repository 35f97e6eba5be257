package cover

import (
	"fmt"
	"math"
	"math/big"

	"github.com/lockstep-go/lockstep/internal/exact"
)

// A Guarantee relates a number of independent random tests to the probability that
// together they cover every goal.
type Guarantee interface {
	// Exists is a number of tests for which a covering family exists: the
	// probability is above zero.
	Exists() (int, error)
	// Enough is the number of tests that cover every goal with at least the given
	// probability, which must be within (0,1).
	Enough(confidence float64) (int, error)
	// Reached is the probability guaranteed for the given number of tests.
	Reached(tests int) (float64, error)
}

// testsLimit keeps numbers of tests exact in a float64.
const testsLimit = 1 << 53

// A Rule is a guarantee in the form in which the paper states all of its own: a
// family of A - B log ε tests, or more, covers every goal with probability at least
// 1-ε, and one of A tests exists.
type Rule struct {
	Name string
	A, B float64
	// Step is the number of operations that make one test where the answer counts
	// operations; 0 means 1.
	Step int
}

// Theorem31 is Theorem 3.1: p is a lower bound on the probability that one random
// test covers a given goal, m is the number of goals.
func Theorem31(p *big.Rat, m *big.Int) (Rule, error) {
	if err := checkProbability(p, m); err != nil {
		return Rule{}, err
	}
	inverse := 1 / ratFloat(p)
	return Rule{Name: "Theorem 3.1", A: inverse * logInt(m), B: inverse}, nil
}

func checkProbability(p *big.Rat, m *big.Int) error {
	if p == nil || p.Sign() <= 0 || p.Cmp(big.NewRat(1, 1)) > 0 {
		return &RangeError{"probability that a test covers a goal", p, "a number above 0 and at most 1"}
	}
	if m == nil || m.Sign() <= 0 {
		return &RangeError{"goals", m, "at least 1"}
	}
	return nil
}

func logInt(m *big.Int) float64 {
	mantissa := new(big.Float).SetInt(m)
	exponent := mantissa.MantExp(mantissa)
	f, _ := mantissa.Float64()
	return math.Log(f) + float64(exponent)*math.Ln2
}

// Exists is A rounded up, at least one test.
func (r Rule) Exists() (int, error) { return r.ceil(r.A) }

// Enough is A - B log(1-confidence) rounded up.
func (r Rule) Enough(confidence float64) (int, error) {
	missed, err := missAllowed(confidence)
	if err != nil {
		return 0, err
	}
	return r.ceil(r.A - r.B*math.Log(ratFloat(missed)))
}

// Reached applies the rule in reverse: it is 1-ε for the ε whose Enough is the
// given number of tests, or 0 where there is no such ε below 1.
func (r Rule) Reached(tests int) (float64, error) {
	if err := inRange("tests", tests, 1, testsLimit, ""); err != nil {
		return 0, err
	}
	if err := r.check(); err != nil {
		return 0, err
	}
	whole := float64(tests / r.step())
	return max(0, 1-math.Exp((r.A-whole)/r.B)), nil
}

func (r Rule) step() int { return max(r.Step, 1) }

// check refuses a rule that was not made by this package and cannot be meant.
func (r Rule) check() error {
	if !(r.A >= 0 && r.B > 0) {
		return &RangeError{"rule " + r.Name, [2]float64{r.A, r.B}, "A of at least 0 and B above 0"}
	}
	return nil
}

// ceil rounds up to whole tests. A value that is an integer but for the rounding of
// float64 stays what it is, on machines that fuse operations too.
func (r Rule) ceil(tests float64) (int, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	whole := max(math.Ceil(tests-1e-9), 1) * float64(r.step())
	if !(whole <= testsLimit) {
		return 0, &RangeError{"tests by " + r.Name, whole, fmt.Sprintf("at most %d", int64(testsLimit))}
	}
	return int(whole), nil
}

// Union is the guarantee in the proof of Theorem 3.1 before its last estimate: N
// tests miss a goal with probability at most Goals (1-P)^N. With the exact P it is
// never worse than Theorem 3.1 and needs fewer tests.
type Union struct {
	P     *big.Rat // the probability that one test covers one given goal
	Goals *big.Int // the number of goals
	Step  int      // as in Rule
}

// Exists is the least N with Goals (1-P)^N < 1.
func (u Union) Exists() (int, error) {
	return u.least(new(big.Rat).SetInt64(1), func(missed, one *big.Float) bool { return missed.Cmp(one) < 0 })
}

// Enough is the least N with Goals (1-P)^N <= 1-confidence.
func (u Union) Enough(confidence float64) (int, error) {
	allowed, err := missAllowed(confidence)
	if err != nil {
		return 0, err
	}
	return u.least(allowed, atMost)
}

// least finds the least number of tests whose missed probability is fine. A
// float64 estimate starts the search, big floats decide.
func (u Union) least(allowed *big.Rat, fine func(missed, allowed *big.Float) bool) (int, error) {
	if err := checkProbability(u.P, u.Goals); err != nil {
		return 0, err
	}
	limit := toFloat(allowed)
	estimate := (logInt(u.Goals) - math.Log(ratFloat(allowed))) / -math.Log1p(-ratFloat(u.P))
	if !(estimate*float64(u.step()) < testsLimit/2) {
		return 0, &RangeError{"tests by the union bound", estimate, fmt.Sprintf("at most %d", int64(testsLimit/2))}
	}
	n := max(int(estimate), 1)
	for n > 1 && fine(u.missed(n-1), limit) {
		n--
	}
	for !fine(u.missed(n), limit) {
		n++
	}
	return n * u.step(), nil
}

// missed is Goals (1-P)^tests.
func (u Union) missed(tests int) *big.Float {
	miss := exact.Power(toFloat(new(big.Rat).Sub(big.NewRat(1, 1), u.P)), tests)
	return miss.Mul(miss, new(big.Float).SetInt(u.Goals))
}

// Reached is 1 - Goals (1-P)^tests, or 0 if that is negative.
func (u Union) Reached(tests int) (float64, error) {
	if err := checkProbability(u.P, u.Goals); err != nil {
		return 0, err
	}
	if err := inRange("tests", tests, 1, testsLimit, ""); err != nil {
		return 0, err
	}
	missed, _ := u.missed(tests / u.step()).Float64()
	return max(0, 1-missed), nil
}

// Fraction is the expected share of the goals that the given number of tests
// covers: 1-(1-P)^tests, whatever the number of goals.
func (u Union) Fraction(tests int) (float64, error) {
	return Union{P: u.P, Goals: big.NewInt(1), Step: u.Step}.Reached(tests)
}

func (u Union) step() int { return max(u.Step, 1) }
