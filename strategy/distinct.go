package strategy

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/lockstep-go/lockstep"
)

// sifted draws isolations while the run goes on, and none of which it is known when the round
// begins that it would lose nothing: such an isolation has the effect of one that begins a
// round later, or of none. Among the others it draws by the number of executions that each
// leaves possible, so that without any left out all executions had the same probability,
// 1/N. What is left out raises the probability of the rest, and never lowers it.
//
// One over the probability of the run that was drawn has, on average, the number of executions
// that can be drawn as its value (Knuth, "Estimating the efficiency of backtrack programs").
type sifted struct {
	left   int            // isolations that may still begin
	apart  lockstep.Nodes // isolated in this phase
	chance float64        // of all that was drawn in this run
	blind  bool           // what travels in a round is never known when it begins
}

// begin draws the nodes whose isolation begins in this round.
func (s *isolator) begin(turn *lockstep.Turn) {
	d := &s.distinct
	if s.round == 0 {
		d.apart = 0
	}
	kernel := turn.All() &^ d.apart
	may := kernel
	var mail traffic
	if known := s.mail(turn); known != nil {
		mail = *known
		for n := range kernel.All() {
			if !mail.matters(n, kernel) {
				may = may.Without(n)
			}
		}
	}
	chosen := s.choose(kernel, may, func(group lockstep.Nodes) bool {
		for n := range group.All() {
			if mail.to != nil && !mail.matters(n, (kernel&^group).With(n)) {
				return false
			}
		}
		return true
	})
	d.left -= chosen.Len()
	d.apart |= chosen
	for n := range chosen.All() {
		s.starts[s.phase*s.sites+int(n-1)] = int8(s.round)
	}
	s.isolated[s.phase*s.space.period+s.round] = d.apart
}

// mail is what travels in this round, or nil where that is not known when it begins, because
// alarms ring in it or a request is given.
func (s *isolator) mail(turn *lockstep.Turn) *traffic {
	opened := s.Opened()
	starts := len(turn.InFlight()) == 0
	if s.names > 0 {
		starts = opened%s.names == 0
	}
	if starts || s.due || s.distinct.blind {
		return nil
	}
	t := &traffic{to: make([]lockstep.Nodes, s.sites+1)}
	for _, id := range turn.InFlight() {
		if m := turn.Message(id); s.names == 0 || int(m.Tag.Round) == opened%s.names {
			t.to[m.From] = t.to[m.From].With(m.To)
		}
	}
	return t
}

// choose draws a group of the nodes that may be isolated now, of those that are fit for it.
func (s *isolator) choose(kernel, may lockstep.Nodes, fit func(lockstep.Nodes) bool) lockstep.Nodes {
	d := &s.distinct
	most := min(d.left, may.Len())
	groups := make([][]lockstep.Nodes, most+1) // by size
	for subset := may; ; subset = (subset - 1) & may {
		if k := subset.Len(); k <= most && fit(subset) {
			groups[k] = append(groups[k], subset)
		}
		if subset == 0 {
			break
		}
	}
	sum, weight := uint64(0), make([]uint64, most+1)
	for k := range weight {
		weight[k] = uint64(len(groups[k])) * s.space.completions(s.phase, s.round, kernel.Len()-k, d.left-k)
		sum += weight[k]
	}
	at := s.rand.Uint64N(sum)
	for k, w := range weight {
		if at < w {
			d.chance *= float64(w/uint64(len(groups[k]))) / float64(sum)
			return groups[k][at%uint64(len(groups[k]))]
		}
		at -= w
	}
	panic("strategy: drew beyond the number of executions")
}

// completions counts the ways to go on after a round of a phase, with so many sites that are
// whole and so many that may still break.
func (s *space) completions(p, round, sites, left int) uint64 {
	sum, rest := uint64(0), s.length(p)-round-1
	for i := 0; i <= min(sites, left); i++ {
		ways := new(big.Int).Binomial(int64(sites), int64(i))
		ways.Mul(ways, power(rest, i))
		sum += ways.Uint64() * s.smallAtMost[p+1][left-i] // at most the size of the space
	}
	return sum
}

// distinctGuarantee is what the runs made promise: the estimate comes from them.
func (u Uniform) distinctGuarantee(info lockstep.Info, seen lockstep.Seen) lockstep.Guarantee {
	g := u.guarantee(info)
	if seen.Runs > 0 {
		g.Assumes = append(g.Assumes, fmt.Sprintf("of %s executions about %.3g are left without isolations that make no difference, by the runs made; on average each had the chance 1 in %.3g",
			g.Space, seen.Inverse/float64(seen.Runs), seen.Inverse/float64(seen.Runs)))
	}
	return g
}

// tellDistinct tells the probability of the run.
func (s *isolator) tellDistinct(words bool) (a lockstep.Account) {
	a.Seen = lockstep.Seen{Runs: 1, Inverse: 1 / s.distinct.chance}
	if words {
		a.Drawn = map[string]string{"probability": strconv.FormatFloat(s.distinct.chance, 'g', -1, 64)}
	}
	return a
}

// beginDistinct begins a run.
func (s *isolator) beginDistinct() {
	s.breakage.clear()
	s.distinct = sifted{left: s.space.bound, chance: 1, blind: s.distinct.blind}
}
