package strategy

import (
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/trace"
)

// Unbounded as a number of isolations, broken links or other options means that there is no bound. In a fault budget it
// is [lockstep.Unlimited].
const Unbounded = -1

// space is the set of k-periodic, d-bounded ways to break sites. A site is a node or a link. In every phase of k
// rounds, each site is whole, or broken from one of the rounds of the phase until its end. At most d sites are broken
// in the run; a site counts again in each phase. The end of the run may cut the last phase short.
type space struct {
	sites  int
	rounds int
	period int
	bound  int  // sites*phases when unbounded
	free   bool // unbounded

	// atMost[p][b] counts the ways to break at most b sites in the phases from p on. weight[p][b][i] counts those that
	// break exactly i in phase p. The small tables hold the same numbers if all of them fit in one word.
	atMost      [][]*big.Int
	weight      [][][]*big.Int
	smallAtMost [][]uint64
	small       [][][]uint64
}

func newSpace(sites, rounds, period, bound int) *space {
	s := &space{sites: sites, rounds: rounds, period: period, bound: bound, free: bound == Unbounded}
	if cells := sites * s.phases(); bound == Unbounded || bound > cells {
		s.bound = cells
	}
	s.count()
	return s
}

func (s *space) phases() int { return (s.rounds + s.period - 1) / s.period }

// length returns the number of rounds of phase p.
func (s *space) length(p int) int { return min(s.period, s.rounds-p*s.period) }

// count fills the tables from the last phase to the first.
func (s *space) count() {
	phases := s.phases()
	s.atMost = make([][]*big.Int, phases+1)
	s.weight = make([][][]*big.Int, phases)
	s.atMost[phases] = make([]*big.Int, s.bound+1)
	for b := range s.atMost[phases] {
		s.atMost[phases][b] = big.NewInt(1)
	}
	for p := phases - 1; p >= 0; p-- {
		s.atMost[p] = make([]*big.Int, s.bound+1)
		s.weight[p] = make([][]*big.Int, s.bound+1)
		for b := range s.atMost[p] {
			sum := new(big.Int)
			for i := 0; i <= min(b, s.sites); i++ {
				w := s.choices(p, i)
				w.Mul(w, s.atMost[p+1][b-i])
				s.weight[p][b] = append(s.weight[p][b], w)
				sum.Add(sum, w)
			}
			s.atMost[p][b] = sum
		}
	}
	if s.size().IsUint64() {
		s.countSmall()
	}
}

func (s *space) countSmall() {
	words := func(in []*big.Int) []uint64 {
		out := make([]uint64, len(in))
		for i, n := range in {
			out[i] = n.Uint64()
		}
		return out
	}
	for _, row := range s.atMost {
		s.smallAtMost = append(s.smallAtMost, words(row))
	}
	for _, table := range s.weight {
		var rows [][]uint64
		for _, row := range table {
			rows = append(rows, words(row))
		}
		s.small = append(s.small, rows)
	}
}

// choices counts the ways to break exactly i sites in phase p: which sites, and from which rounds.
func (s *space) choices(p, i int) *big.Int {
	n := new(big.Int).Binomial(int64(s.sites), int64(i))
	return n.Mul(n, power(s.length(p), i))
}

// size returns the total number of ways.
func (s *space) size() *big.Int { return s.atMost[0][s.bound] }

// runs returns the number of runs after which a sampler has covered the whole space, or 0 if a campaign cannot count to
// it.
func (s *space) runs(sampler Sampler) int {
	if size := s.size(); sampler == Every && size.IsInt64() {
		return int(size.Int64())
	}
	return 0
}

// exactly returns the number of ways that break exactly as many sites as the bound allows.
func (s *space) exactly() *big.Int {
	if s.bound == 0 {
		return s.size()
	}
	return new(big.Int).Sub(s.size(), s.atMost[0][s.bound-1])
}

// breakage is one element of a space. For each phase and site, it holds the round of the phase from which the site is
// broken, or whole.
type breakage struct {
	sites  int
	starts []int8 // phase*sites + site
	order  []int  // scratch for drawing sites
	draws  scratch
}

const whole = 127

func (s *space) newBreakage() *breakage {
	b := &breakage{sites: s.sites, starts: make([]int8, s.phases()*s.sites), order: make([]int, s.sites)}
	return b
}

// clear makes every site whole. It also resets the scratch order, because the draws of a run must not depend on the
// previous run.
func (b *breakage) clear() {
	for i := range b.starts {
		b.starts[i] = whole
	}
	for i := range b.order {
		b.order[i] = i
	}
}

// broken reports whether a site is broken in a round of a phase.
func (b *breakage) broken(phase, round, site int) bool {
	return int(b.starts[phase*b.sites+site]) <= round
}

// exact draws each element of the space with the same probability. For each phase it draws the number of sites to
// break, weighted by the number of continuations, then the sites and the rounds.
func (s *space) exact(r *rand.Rand, b *breakage) {
	b.clear()
	left := s.bound
	for p := range s.phases() {
		i := s.drawCount(r, &b.draws, p, left)
		s.breakAny(r, b, p, i)
		left -= i
	}
}

// drawCount draws the number of sites to break in phase p if at most left sites may break from this phase on.
func (s *space) drawCount(r *rand.Rand, draws *scratch, p, left int) int {
	if s.small != nil {
		at := r.Uint64N(s.smallAtMost[p][left])
		for i, w := range s.small[p][left] {
			if at < w {
				return i
			}
			at -= w
		}
	}
	at := draws.draw(r, s.atMost[p][left])
	for i, w := range s.weight[p][left] {
		if at.Cmp(w) < 0 {
			return i
		}
		at.Sub(at, w)
	}
	panic("strategy: drew beyond the size of the space")
}

// breakAny breaks i sites of phase p. It draws the sites and their rounds uniformly.
func (s *space) breakAny(r *rand.Rand, b *breakage, p, i int) { s.breakFrom(r, b, p, i, s.length(p)) }

// breakFrom is breakAny with an explicit number of rounds to draw from; a site that draws a round beyond the phase
// stays whole.
func (s *space) breakFrom(r *rand.Rand, b *breakage, p, i, rounds int) {
	for k := range i {
		j := k + r.IntN(s.sites-k)
		b.order[k], b.order[j] = b.order[j], b.order[k]
		if from := r.IntN(rounds); from < s.length(p) {
			b.starts[p*s.sites+b.order[k]] = int8(from)
		}
	}
}

// paper draws as Algorithm 1 of the paper does. It distributes the bound over the phases, each distribution with the
// same probability. Then it draws that many sites, and a function from them to the rounds of the phase. A total
// function breaks all of them. A partial function leaves some whole; a site stays whole with the same probability as it
// breaks from a given round. Without a bound, the function is a partial one of all sites.
func (s *space) paper(r *rand.Rand, b *breakage, d *distributions, partial bool) {
	b.clear()
	left := s.bound
	for p := range s.phases() {
		i, rounds := s.sites, s.length(p)+1
		if !s.free {
			i = d.draw(r, &b.draws, p, left)
			left -= i
			if !partial {
				rounds--
			}
		}
		s.breakFrom(r, b, p, i, rounds)
	}
}

// unrank sets b to the element with the given rank, below the size of a space that fits in one word. Different ranks
// give different elements.
func (s *space) unrank(rank uint64, b *breakage) {
	b.clear()
	left := s.bound
	for p := range s.phases() {
		i := 0
		for ; rank >= s.small[p][left][i]; i++ {
			rank -= s.small[p][left][i]
		}
		left -= i
		rest := s.smallAtMost[p+1][left]
		s.unrankPhase(p, i, rank/rest, b)
		rank %= rest
	}
}

// unrankPhase decodes the rank into the i broken sites and their rounds.
func (s *space) unrankPhase(p, i int, rank uint64, b *breakage) {
	length := uint64(s.length(p))
	subset := rank / power(s.length(p), i).Uint64()
	for site := 0; i > 0; site++ {
		// The subsets that contain this site come first.
		with := new(big.Int).Binomial(int64(s.sites-site-1), int64(i-1)).Uint64()
		if subset >= with {
			subset -= with
			continue
		}
		b.starts[p*s.sites+site] = int8(rank % length)
		rank /= length
		i--
	}
}

// distributions counts the ways to distribute a bound over phases, with at most one unit per site in each phase.
type distributions struct {
	sites int
	ways  [][]*big.Int // [phase][left]: ways to distribute exactly left over the phases from phase on
}

func (s *space) distributions() *distributions {
	phases := s.phases()
	d := &distributions{sites: s.sites, ways: make([][]*big.Int, phases+1)}
	for p := phases; p >= 0; p-- {
		d.ways[p] = make([]*big.Int, s.bound+1)
		for left := range d.ways[p] {
			n := new(big.Int)
			if p == phases && left == 0 {
				n.SetInt64(1)
			}
			for i := 0; p < phases && i <= min(left, s.sites); i++ {
				n.Add(n, d.ways[p+1][left-i])
			}
			d.ways[p][left] = n
		}
	}
	return d
}

func (d *distributions) size(bound int) *big.Int { return d.ways[0][bound] }

func (d *distributions) draw(r *rand.Rand, draws *scratch, p, left int) int {
	total := d.ways[p][left]
	if total.IsUint64() {
		at := r.Uint64N(total.Uint64())
		for i := 0; ; i++ {
			w := d.ways[p+1][left-i].Uint64()
			if at < w {
				return i
			}
			at -= w
		}
	}
	at := draws.draw(r, total)
	for i := 0; ; i++ {
		w := d.ways[p+1][left-i]
		if at.Cmp(w) < 0 {
			return i
		}
		at.Sub(at, w)
	}
}

// rarest returns the largest number of ways to choose sites and rounds, over all distributions of exactly the bound.
// The smallest probability of an element under the paper's sampler is one over this number and over the number of
// distributions. For partial functions, which have one more value, it is a lower bound: further distributions lead to
// the same element.
func (s *space) rarest(partial bool) *big.Int {
	choices := s.choices
	if partial {
		choices = func(p, i int) *big.Int {
			n := new(big.Int).Binomial(int64(s.sites), int64(i))
			return n.Mul(n, power(s.length(p)+1, i))
		}
	}
	phases := s.phases()
	best := make([][]*big.Int, phases+1)
	for p := phases; p >= 0; p-- {
		best[p] = make([]*big.Int, s.bound+1)
		for left := range best[p] {
			n := new(big.Int)
			if p == phases && left == 0 {
				n.SetInt64(1)
			}
			for i := 0; p < phases && i <= min(left, s.sites); i++ {
				if w := choices(p, i); w.Mul(w, best[p+1][left-i]).Cmp(n) > 0 {
					n = w
				}
			}
			best[p][left] = n
		}
	}
	return best[0][s.bound]
}

func power(base, exp int) *big.Int {
	return new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(exp)), nil)
}

// scratch draws large numbers without allocating each time.
type scratch struct {
	words []big.Word
	x     big.Int
}

// draw draws a number below n uniformly. The result is valid until the next call.
func (s *scratch) draw(r *rand.Rand, n *big.Int) *big.Int {
	const word = bits.UintSize
	size := n.BitLen()
	for {
		s.words = s.words[:0]
		for range (size + word - 1) / word {
			s.words = append(s.words, big.Word(r.Uint64()))
		}
		if rest := size % word; rest > 0 {
			s.words[len(s.words)-1] &= 1<<rest - 1
		}
		if s.x.SetBits(s.words).Cmp(n) < 0 {
			return &s.x
		}
	}
}

// checkSpace reports an invalid parameter of a lock-step strategy.
func checkSpace(strategy, site string, sites, rounds, period, bound int) error {
	switch {
	case rounds < 1 || rounds > trace.MaxRounds: // the trace reader rejects larger numbers
		return fmt.Errorf("%s: rounds is %d, allowed are 1..%d", strategy, rounds, trace.MaxRounds)
	case period < 1 || period > 100:
		return fmt.Errorf("%s: period is %d, allowed are 1..100 rounds", strategy, period)
	}
	phases := (rounds + period - 1) / period
	if bound < Unbounded || bound > sites*phases {
		return fmt.Errorf(
			"%s: %s is %d, but %d sites in %d phases (%d rounds, period %d) allow 0..%d, or %d for no bound", strategy,
			site, bound, sites, phases, rounds, period, sites*phases, Unbounded)
	}
	return nil
}
