package fleet

import (
	"math"
	"slices"
)

// Arm has the recent reward of a campaign, by which a plan shares time.
//
// The rule is discounted UCB (Garivier and Moulines, 2011). The reward of a part is 1 if one of its findings has a
// property and shape that are new to the campaign. Otherwise it is the share of its states that are new. Each later
// part of the plan discounts a part's reward by the factor Discount. The next batch goes to the campaign with the
// largest sum of its average reward and sqrt(Curious * ln N / n). Here n is the discounted number of the campaign's
// parts, and N that of all parts.
type Arm struct {
	Brought float64 `json:"brought"`
	Parts   float64 `json:"parts"`
}

// The constants of the rule.
const (
	Discount = 0.99
	Curious  = 0.5
)

// reward notes the reward of a part, before the part is added.
func (a *Arm) reward(l *Ledger, p *Part) {
	a.Parts++
	a.Brought += news(l, p)
}

// news returns the reward of a part, from 0 to 1.
func news(l *Ledger, p *Part) float64 {
	known := len(l.Findings)
	for i := range p.Result.Failures {
		same := func(f Finding) bool {
			return f.Run < p.First && f.Property == p.Result.Failures[i].Finding.Property && f.Shape == p.Shapes[i]
		}
		if !slices.ContainsFunc(l.Findings[:known], same) {
			return 1
		}
	}
	states := p.States.Count()
	if states == 0 {
		return 0
	}
	all := slices.Clone(l.States)
	before := all.Count()
	_ = all.Merge(p.States) // the merge was checked when the part arrived
	return min(1, max(0, float64(all.Count()-before)/float64(states)))
}

// score returns the value by which the rule chooses, where all is the discounted number of all parts.
func (a *Arm) score(all float64) float64 {
	if a.Parts <= 0 {
		return math.Inf(1)
	}
	return a.Brought/a.Parts + math.Sqrt(Curious*math.Log(max(all, 1))/a.Parts)
}

// fade discounts the earlier rewards.
func (a *Arm) fade() {
	a.Brought *= Discount
	a.Parts *= Discount
}

// choose returns the campaign of a plan that gets the next batch. A batch that is given out and not done counts as a
// part with reward 0, so that one campaign does not get all batches.
func choose(plan []*Ledger) *Ledger {
	all := 0.0
	for _, l := range plan {
		all += l.Arm.Parts + float64(len(l.Out))
	}
	best, most := (*Ledger)(nil), math.Inf(-1)
	for _, l := range plan {
		a := l.Arm
		a.Parts += float64(len(l.Out))
		if s := a.score(all); s > most {
			best, most = l, s
		}
	}
	return best
}
