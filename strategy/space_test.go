package strategy

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/odds"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/trace"
)

// shapes lists spaces that are small enough to enumerate.
var shapes = []struct{ sites, rounds, period int }{
	{1, 1, 1}, {1, 4, 2}, {2, 4, 2}, {3, 4, 2}, {3, 4, 4}, {2, 6, 3}, {2, 5, 2}, {3, 5, 3}, {4, 4, 4},
	{2, 7, 4}, {4, 3, 1}, {9, 1, 1},
}

// bruteForce enumerates all ways to choose, in every round, the broken sites, and keeps the k-periodic ones. A site may
// become whole again only in a round that is a multiple of the period. It counts them by their number of isolations:
// sites that are broken at the end of a phase.
func bruteForce(sites, rounds, period int) map[int]int {
	counts := map[int]int{}
	for code := range uint64(1) << (sites * rounds) {
		broken := func(round, site int) bool { return code>>(round*sites+site)&1 != 0 }
		periodic, isolations := true, 0
		for site := range sites {
			for round := range rounds {
				if round%period != 0 && !broken(round, site) && broken(round-1, site) {
					periodic = false
				}
				if (round%period == period-1 || round == rounds-1) && broken(round, site) {
					isolations++
				}
			}
		}
		if periodic {
			counts[isolations]++
		}
	}
	return counts
}

func TestCountsAgainstBruteForce(t *testing.T) {
	for _, c := range shapes {
		counts := bruteForce(c.sites, c.rounds, c.period)
		atMost := 0
		for bound := 0; bound <= c.sites*((c.rounds+c.period-1)/c.period); bound++ {
			atMost += counts[bound]
			s := newSpace(c.sites, c.rounds, c.period, bound)
			if s.size().Int64() != int64(atMost) {
				t.Errorf("%v bound %d: at most: counted %d, brute force %d", c, bound, s.size(), atMost)
			}
			if s.exactly().Int64() != int64(counts[bound]) {
				t.Errorf("%v bound %d: exactly: counted %d, brute force %d", c, bound, s.exactly(), counts[bound])
			}
		}
		if all := newSpace(c.sites, c.rounds, c.period, Unbounded); all.size().Int64() != int64(atMost) {
			t.Errorf("%v unbounded: counted %d, brute force %d", c, all.size(), atMost)
		}
	}
}

func key(b *breakage) string { return fmt.Sprint(b.starts) }

func TestUnrankIsABijection(t *testing.T) {
	for _, c := range shapes {
		for _, bound := range []int{0, 1, 2, Unbounded} {
			if bound > c.sites {
				continue
			}
			s := newSpace(c.sites, c.rounds, c.period, bound)
			seen := map[string]bool{}
			for rank := range s.size().Uint64() {
				b := s.newBreakage()
				s.unrank(rank, b)
				if broken := isolations(s, b); broken > s.bound {
					t.Fatalf("%v bound %d rank %d: %d sites broken", c, bound, rank, broken)
				}
				seen[key(b)] = true
			}
			if uint64(len(seen)) != s.size().Uint64() {
				t.Errorf("%v bound %d: %d ranks give %d elements", c, bound, s.size(), len(seen))
			}
		}
	}
}

func isolations(s *space, b *breakage) int {
	n := 0
	for _, start := range b.starts {
		if start != whole {
			n++
		}
	}
	return n
}

// chiSquare compares counts with expected ones. It returns how many standard deviations the statistic is above its
// mean, by the normal approximation of Wilson and Hilferty.
func chiSquare(observed map[string]int, expected map[string]float64) float64 {
	x := 0.0
	for k, e := range expected {
		d := float64(observed[k]) - e
		x += d * d / e
	}
	df := float64(len(expected) - 1)
	return (math.Cbrt(x/df) - (1 - 2/(9*df))) / math.Sqrt(2/(9*df))
}

func TestExactSamplerIsUniform(t *testing.T) {
	tier.NotShort(t)
	for i, c := range shapes {
		for _, bound := range []int{1, 2, 3, Unbounded} {
			if bound > c.sites {
				continue
			}
			s := newSpace(c.sites, c.rounds, c.period, bound)
			size := s.size().Int64()
			if size > 3000 || size < 2 {
				continue
			}
			for _, small := range []bool{true, false} {
				if !small {
					s.small = nil // the same draws with big numbers
				}
				draws := 100 * size
				r := rand.New(rand.NewPCG(uint64(i), uint64(bound)))
				b := s.newBreakage()
				observed, expected := map[string]int{}, map[string]float64{}
				for range draws {
					s.exact(r, b)
					observed[key(b)]++
				}
				for k := range observed {
					expected[k] = float64(draws) / float64(size)
				}
				if int64(len(observed)) != size {
					t.Errorf("%v bound %d: %d of %d elements drawn", c, bound, len(observed), size)
				} else if z := chiSquare(observed, expected); z > odds.Sigmas {
					t.Errorf("%v bound %d: chi-square is %.1f standard deviations too high", c, bound, z)
				}
			}
		}
	}
}

// paperProbability returns the probability with which Algorithm 1 draws an element, computed by hand. It is one over
// the number of distributions and, in each phase, one over the number of ways to choose the sites and their rounds.
func paperProbability(s *space, b *breakage, distributions *big.Int) *big.Rat {
	ways := new(big.Int).Set(distributions)
	for p := range s.phases() {
		i := 0
		for site := range s.sites {
			if b.starts[p*s.sites+site] != whole {
				i++
			}
		}
		ways.Mul(ways, s.choices(p, i))
	}
	return new(big.Rat).SetFrac(big.NewInt(1), ways)
}

// The paper's sampler draws exactly the executions with exactly d isolations, each with the probability computed by
// hand, which is never below 1/(nr)^d (Proposition 6.1). The paper assumes that r is a multiple of the period;
// otherwise r stands for the rounds of the started phases.
func TestPaperSamplerKeepsItsBound(t *testing.T) {
	tier.NotShort(t)
	for i, c := range shapes {
		for bound := 1; bound <= min(4, c.sites*((c.rounds+c.period-1)/c.period)); bound++ {
			s := newSpace(c.sites, c.rounds, c.period, bound)
			d := s.distributions()
			promised := new(big.Rat).SetFrac(big.NewInt(1), power(c.sites*s.phases()*c.period, bound))
			smallest := big.NewRat(1, 1)
			want := map[string]*big.Rat{}
			sum := new(big.Rat)
			for rank := range s.size().Uint64() {
				b := s.newBreakage()
				s.unrank(rank, b)
				if isolations(s, b) != bound {
					continue
				}
				p := paperProbability(s, b, d.size(bound))
				if p.Cmp(promised) < 0 {
					t.Errorf("%v d=%d: probability %v is below the bound %v", c, bound, p, promised)
				}
				if p.Cmp(smallest) < 0 {
					smallest = p
				}
				want[key(b)] = p
				sum.Add(sum, p)
			}
			if sum.Cmp(big.NewRat(1, 1)) != 0 {
				t.Errorf("%v d=%d: probabilities add up to %v", c, bound, sum)
			}
			g := guarantee(s, Paper, "execution", "isolations")
			if least, _ := smallest.Float64(); math.Abs(g.PerRun-least) > 1e-12 {
				t.Errorf("%v d=%d: guarantee %v, smallest probability %v", c, bound, g.PerRun, least)
			}
			paperFrequencies(t, s, d, false, want, uint64(i))
		}
	}
}

func paperFrequencies(t *testing.T, s *space, d *distributions, partial bool, want map[string]*big.Rat, seed uint64) {
	if len(want) > 500 || len(want) < 2 {
		return
	}
	draws := 200 * len(want)
	r := rand.New(rand.NewPCG(seed, 1))
	b := s.newBreakage()
	observed, expected := map[string]int{}, map[string]float64{}
	for range draws {
		s.paper(r, b, d, partial)
		observed[key(b)]++
	}
	for k, p := range want {
		f, _ := p.Float64()
		expected[k] = f * float64(draws)
	}
	for k := range observed {
		if want[k] == nil {
			t.Fatalf("bound %d: drew %s, which is not in the space", s.bound, k)
		}
	}
	if z := chiSquare(observed, expected); z > odds.Sigmas {
		t.Errorf("%d sites, bound %d: chi-square is %.1f standard deviations too high", s.sites, s.bound, z)
	}
}

// partialProbability returns the probability with which Algorithm 1 draws an element if f is a partial function,
// computed by hand. Over all distributions, the nodes drawn for a phase include the isolated ones; f has their values
// and is undefined for the others.
func partialProbability(s *space, b *breakage, distributions *big.Int) *big.Rat {
	var sum func(p, left int) *big.Rat
	sum = func(p, left int) *big.Rat {
		if p == s.phases() {
			return big.NewRat(int64(1-min(left, 1)), 1)
		}
		isolated := 0
		for site := range s.sites {
			if b.starts[p*s.sites+site] != whole {
				isolated++
			}
		}
		total := new(big.Rat)
		for i := isolated; i <= min(left, s.sites); i++ {
			superset := new(big.Int).Binomial(int64(s.sites-isolated), int64(i-isolated))
			all := new(big.Int).Binomial(int64(s.sites), int64(i))
			one := new(big.Rat).SetFrac(superset, all.Mul(all, power(s.length(p)+1, i)))
			total.Add(total, one.Mul(one, sum(p+1, left-i)))
		}
		return total
	}
	p := sum(0, s.bound)
	return p.Quo(p, new(big.Rat).SetInt(distributions))
}

// Read as a partial function, f leaves nodes whole. The sampler draws every execution with at most d isolations with
// the probability computed by hand, which is at least the guaranteed one.
func TestPartialSampler(t *testing.T) {
	tier.NotShort(t)
	for i, c := range shapes {
		for bound := 1; bound <= min(3, c.sites*((c.rounds+c.period-1)/c.period)); bound++ {
			s := newSpace(c.sites, c.rounds, c.period, bound)
			d := s.distributions()
			want, sum := map[string]*big.Rat{}, new(big.Rat)
			g := guarantee(s, Partial, "execution", "isolations")
			for rank := range s.size().Uint64() {
				b := s.newBreakage()
				s.unrank(rank, b)
				p := partialProbability(s, b, d.size(bound))
				if f, _ := p.Float64(); f < g.PerRun*(1-1e-9) || g.PerRun <= 0 {
					t.Errorf("%v d=%d: probability %v is below the guarantee %v", c, bound, f, g.PerRun)
				}
				want[key(b)] = p
				sum.Add(sum, p)
			}
			if sum.Cmp(big.NewRat(1, 1)) != 0 || g.Space.Cmp(s.size()) != 0 {
				t.Errorf("%v d=%d: probabilities add up to %v, guarantee %v", c, bound, sum, g)
			}
			paperFrequencies(t, s, d, true, want, uint64(i))
		}
	}
}

// Without a bound, both readings are the paper's unbounded case: every execution of the period has the same
// probability. (With a bound of all nodes in all phases, no node would ever stay whole.)
func TestUnboundedPaper(t *testing.T) {
	for i, c := range shapes {
		s := newSpace(c.sites, c.rounds, c.period, Unbounded)
		want := map[string]*big.Rat{}
		for rank := range s.size().Uint64() {
			b := s.newBreakage()
			s.unrank(rank, b)
			want[key(b)] = new(big.Rat).SetFrac(big.NewInt(1), s.size())
		}
		for _, sampler := range []Sampler{Paper, Partial} {
			if g := guarantee(s, sampler, "execution", "isolations"); g.PerRun != inverse(s.size()) ||
				g.Space.Cmp(s.size()) != 0 {
				t.Errorf("%v: %v of %v", c, g.PerRun, s.size())
			}
			paperFrequencies(t, s, s.distributions(), sampler == Partial, want, uint64(i))
		}
	}
}

func TestSizesAgainstBruteForce(t *testing.T) {
	for _, c := range []struct{ n, r, k, d int }{{2, 2, 1, 1}, {2, 2, 2, 1}, {2, 4, 2, 2}, {3, 4, 2, 2}, {3, 4, 4, 3}} {
		sizes, err := SpaceSizes(c.n, c.r, c.k, c.d, 2)
		if err != nil {
			t.Fatal(err)
		}
		total := func(counts map[int]int) (sum int64) {
			for _, v := range counts {
				sum += int64(v)
			}
			return sum
		}
		uniform := bruteForce(c.n, c.r, c.k)
		check := func(row int, want int64) {
			if sizes[row].Exact.Int64() != want {
				t.Errorf("%v %s: %v, brute force %d", c, sizes[row].Set, sizes[row].Exact, want)
			}
		}
		check(3, total(bruteForce(c.n, c.r, 1)))
		check(4, total(uniform))
		check(5, int64(uniform[c.d]))
		if c.n*c.n*c.r <= 16 {
			links := bruteForce(c.n*c.n, c.r, c.k)
			check(0, total(bruteForce(c.n*c.n, c.r, 1)))
			check(1, total(links))
			check(2, int64(links[c.d]))
		}
		for _, row := range []int{2, 5} { // the paper's bound holds
			if sizes[row].Exact.Cmp(sizes[row].Paper) > 0 {
				t.Errorf("%v %s: exact %v above the paper's bound %v", c, sizes[row].Set, sizes[row].Exact,
					sizes[row].Paper)
			}
		}
	}
}

// The numbers of the paper for its Fig. 3: about 10^43 lossy executions and about 10^7 4-periodic uniform ones. The
// latter follows its formula; the exact number is 5^12.
func TestSizesOfThePaper(t *testing.T) {
	sizes, err := SpaceSizes(3, 16, 4, 4, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		row  int
		want string
	}{{0, "22300745198530623141535718272648361505980416"}, {4, "16777216"}} {
		if got := sizes[c.row].Paper.String(); got != c.want {
			t.Errorf("%s: %s, want %s", sizes[c.row].Set, got, c.want)
		}
	}
	if got := sizes[4].Exact.String(); got != "244140625" {
		t.Errorf("exact number of 4-periodic uniform executions: %s, want 5^12", got)
	}
}

func TestCheckSpace(t *testing.T) {
	info := lockstep.Info{Name: "toy", Nodes: 3, Supports: ^trace.Kinds(0)}
	for _, c := range []struct {
		s    lockstep.Strategy
		want string
	}{
		{Uniform{Rounds: -1}, "uniform: rounds is -1, allowed are 1..100000"},
		{Uniform{Period: -1, Rounds: 8}, "uniform: period is -1, allowed are 1..100 rounds"},
		{
			Uniform{Rounds: 8, Period: 4, Isolations: 7},
			"uniform: isolations is 7, but 3 sites in 2 phases (8 rounds, period 4) allow 0..6, or -1 for no bound",
		},
		{
			Uniform{Rounds: 8, Period: 4, Isolations: -2},
			"uniform: isolations is -2, but 3 sites in 2 phases (8 rounds, period 4) allow 0..6, or -1 for no bound",
		},
		{
			Uniform{Rounds: 400, Period: 1, Isolations: 200, Sampler: Every},
			"uniform: sampler=every cannot walk through",
		},
		{
			Uniform{Rounds: 8, Period: 4, Sampler: 9},
			"uniform: sampler is 9, allowed are exact, paper, every, partial, effects, distinct",
		},
		{Lossy{}, "lossy: rounds is 0, allowed are 1..100000"},
		{Lossy{Rounds: 4, Loss: 1.5}, "lossy: loss is 1.5, allowed are 0..1"},
		{Lossy{Rounds: 4, Loss: math.NaN()}, "lossy: loss is NaN, allowed are 0..1"},
		{Lossy{Rounds: 4, Losses: 2}, "lossy: losses and sampler need a period of at least 1"},
		{
			Lossy{Rounds: 4, Period: 4, Losses: 10},
			"lossy: losses is 10, but 9 sites in 1 phases (4 rounds, period 4) allow 0..9, or -1 for no bound",
		},
		{Walk{}, "walk: every weight is 0, at least one must be positive"},
		{Walk{Deliver: -1}, "walk: deliver is -1, it must not be negative"},
		{Walk{Deliver: 1, Steps: -1}, "walk: steps is -1, it must not be negative"},
		{Baseline{Drop: -0.1}, "baseline: drop is -0.1, allowed are 0..1"},
		{Baseline{Steps: -5}, "baseline: steps is -5, it must not be negative"},
	} {
		if _, err := c.s.Fit(info); err == nil || len(err.Error()) < len(c.want) ||
			err.Error()[:len(c.want)] != c.want {
			t.Errorf("%#v: %v, want %s", c.s, err, c.want)
		}
	}
	timed := lockstep.Info{Name: "timed", Nodes: 3, Supports: ^trace.KindsOf(trace.Deliver), Waits: 10}
	for _, s := range []lockstep.Strategy{Uniform{Rounds: 9}, Lossy{Rounds: 9}} {
		if _, err := s.Fit(timed); err == nil ||
			!strings.HasSuffix(err.Error(),
				": rounds is 9, but the requests of timed with these options take 10 rounds: allowed are 10 and more") {
			t.Errorf("%v: %v", s, err)
		}
	}
	weak := lockstep.Info{Name: "weak", Nodes: 3}
	if _, err := DefaultUniform.Fit(weak); err == nil ||
		err.Error() != "uniform needs steps that weak does not support: deliver, drop, timer (it supports none)" {
		t.Errorf("unsupported steps: %v", err)
	}
}
