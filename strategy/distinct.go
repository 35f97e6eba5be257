package strategy

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/lockstep-go/lockstep"
)

// sifted draws isolations during the run, and skips those known to lose nothing when the round begins. Such an
// isolation has the same effect as one that begins a round later, or as none. It draws the others in proportion to the
// number of executions that each leaves possible. Without skipping, all executions would have the same probability,
// 1/N. Skipping raises the probability of the remaining executions, and never lowers it.
//
// The expected value of one over the probability of the drawn run is the number of possible executions. See Knuth,
// "Estimating the efficiency of backtrack programs".
type sifted struct {
	left   int            // isolations that may still begin
	apart  lockstep.Nodes // isolated in this phase
	chance float64        // probability of all draws of this run
	blind  bool           // the traffic of a round is never known when it begins
}

// begin draws the nodes whose isolation begins in this round.
func (s *isolator) begin(turn *lockstep.Turn) {
	d := &s.distinct
	if s.round == 0 {
		d.apart = 0
	}
	if !s.breaks() {
		return
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

// mail returns the traffic of this round. It returns nil if the traffic is not known when the round begins, because
// timers fire or a request is given in the round.
func (s *isolator) mail(turn *lockstep.Turn) *traffic {
	opened := s.Opened()
	starts := len(turn.FreeMessages()) == 0
	if s.names > 0 {
		starts = opened%s.names == 0
	}
	if starts || s.due || s.distinct.blind {
		return nil
	}
	t := &traffic{to: make([]lockstep.Nodes, s.sites+1)}
	for _, id := range turn.FreeMessages() {
		if m := turn.Message(id); s.names == 0 || int(m.Tag.Round) == opened%s.names {
			t.to[m.From] = t.to[m.From].With(m.To)
		}
	}
	return t
}

// choose draws a group from the nodes that may be isolated now, among the groups that fit accepts.
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

// completions counts the continuations after a round of a phase, given the number of unbroken sites and the number of
// sites that may still break.
func (s *space) completions(p, round, sites, left int) uint64 {
	sum, rest := uint64(0), s.length(p)-round-1
	for i := 0; i <= min(sites, left); i++ {
		ways := new(big.Int).Binomial(int64(sites), int64(i))
		ways.Mul(ways, power(rest, i))
		sum += ways.Uint64() * s.smallAtMost[p+1][left-i] // at most the size of the space
	}
	return sum
}

// distinctGuarantee returns the guarantee, with an estimate from the executed runs.
func (u Uniform) distinctGuarantee(info lockstep.Info, seen lockstep.RunStats) lockstep.Guarantee {
	g := u.guarantee(info)
	if seen.Runs > 0 {
		g.Assumes = append(
			g.Assumes,
			fmt.Sprintf(
				"of %s executions about %.3g are left without isolations that make no difference, by the runs made; on average "+
					"each had the chance 1 in %.3g",
				g.Space,
				seen.Inverse/float64(seen.Runs),
				seen.Inverse/float64(seen.Runs),
			),
		)
	}
	return g
}

// reportDistinct reports the probability of the run.
func (s *isolator) reportDistinct(words bool) (a lockstep.SchedulerStats) {
	a.Stats = lockstep.RunStats{Runs: 1, Inverse: 1 / s.distinct.chance}
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
