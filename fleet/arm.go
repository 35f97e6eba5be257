package fleet

import (
	"math"
	"slices"
)

// Arm is how a campaign has fared lately: what a plan shares time by.
//
// The rule is discounted UCB (Garivier and Moulines, 2011). A part brings 1 if one of its findings is of a
// property and shape that the campaign did not have before, and else the share of its states
// that are new. What a part brought counts less with every part of the plan after it (by the
// factor Discount). The next stretch goes to the campaign with the largest sum of what its parts brought on average
// and sqrt(Curious * ln N / n), where n is the number of its parts and N that of all, discounted.
type Arm struct {
	Brought float64 `json:"brought"`
	Parts   float64 `json:"parts"`
}

// The constants of the rule.
const (
	Discount = 0.99
	Curious  = 0.5
)

// reward notes what a part brought, before it is counted in.
func (a *Arm) reward(l *Ledger, p *Part) {
	a.Parts++
	a.Brought += news(l, p)
}

// news is what a part brings, from 0 to 1.
func news(l *Ledger, p *Part) float64 {
	known := len(l.Findings)
	for i := range p.Result.Found {
		same := func(f Finding) bool {
			return f.Run < p.First && f.Property == p.Result.Found[i].Finding.Property && f.Shape == p.Shapes[i]
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
	_ = all.Merge(p.States) // it was tried when it came
	return min(1, max(0, float64(all.Count()-before)/float64(states)))
}

// score is that by which the rule chooses, where all have so many parts.
func (a *Arm) score(all float64) float64 {
	if a.Parts <= 0 {
		return math.Inf(1)
	}
	return a.Brought/a.Parts + math.Sqrt(Curious*math.Log(max(all, 1))/a.Parts)
}

// fade makes what was before count less.
func (a *Arm) fade() {
	a.Brought *= Discount
	a.Parts *= Discount
}

// choose is the campaign of a plan that gets the next stretch. What is given out and not made counts as parts that
// brought nothing, so that one campaign does not get all.
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
