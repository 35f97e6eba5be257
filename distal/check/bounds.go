package check

import "github.com/lockstep-go/lockstep/distal/core"

// fact says that a - b <= c for two unknowns.
type fact struct {
	a, b string
	c    int64
}

// facts is a set of difference constraints. It is small, so shortest paths are found afresh for every question.
type facts []fact

const unbounded = int64(1) << 40

// atMost returns the least c for which the facts prove x - y <= c, or unbounded.
func (fs facts) atMost(x, y core.Linear) int64 {
	if x.Base == y.Base {
		return x.Off - y.Off
	}
	// Distance from y to x over edges b -> a of length c.
	dist := map[string]int64{y.Base: 0}
	for range len(fs) + 1 {
		changed := false
		for _, f := range fs {
			d, ok := dist[f.b]
			if !ok {
				continue
			}
			if old, ok := dist[f.a]; !ok || d+f.c < old {
				dist[f.a] = d + f.c
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	d, ok := dist[x.Base]
	if !ok {
		return unbounded
	}
	return d + x.Off - y.Off
}

// absurd says whether the facts contradict each other.
func (fs facts) absurd() bool {
	for _, f := range fs {
		// A cycle of negative length through f: a - b <= c and b - a <= d with c + d < 0.
		if d := fs.atMost(core.Linear{Base: f.b}, core.Linear{Base: f.a}); f.a != f.b && d < unbounded && d+f.c < 0 {
			return true
		}
		if f.a == f.b && f.c < 0 {
			return true
		}
	}
	return false
}

func (fs facts) less(x, y core.Linear) bool   { return fs.atMost(x, y) <= -1 }
func (fs facts) noMore(x, y core.Linear) bool { return fs.atMost(x, y) <= 0 }
func (fs facts) equal(x, y core.Linear) bool  { return fs.noMore(x, y) && fs.noMore(y, x) }

// add notes x R y.
func (fs *facts) add(r core.Relation, x, y core.Linear) {
	atMost := func(x, y core.Linear, slack int64) { // x - y <= slack
		*fs = append(*fs, fact{x.Base, y.Base, slack + y.Off - x.Off})
	}
	switch r {
	case core.Less:
		atMost(x, y, -1)
	case core.AtMost:
		atMost(x, y, 0)
	case core.More:
		atMost(y, x, -1)
	case core.AtLeast:
		atMost(y, x, 0)
	case core.Equal:
		atMost(x, y, 0)
		atMost(y, x, 0)
	case core.NoRelation, core.Different:
	}
}
