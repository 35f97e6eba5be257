package conform

import (
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// Features returns what is new to a campaign that is guided by the model: the actions of the first behavior that
// explains the run, each as a node's state before it and the rule. A state is without the variables that the mapping
// calls larger, and whatever node it belongs to. A run that could not be compared to its end offers nothing.
func (m *monitor) Features(kind string) ([]uint64, bool) {
	if kind != lockstep.ModelFeatures {
		return nil, false
	}
	m.features = m.features[:0]
	if m.search == nil || m.undecided != "" || len(m.search.worlds) == 0 {
		return m.features, true
	}
	for e := m.search.worlds[0].past; e != nil; e = e.before {
		m.features = append(m.features, m.search.m.feature(e))
	}
	slices.Sort(m.features)
	m.features = slices.Compact(m.features)
	return m.features, true
}

// feature is a number for an action that is the same in every process. The numbers of local states are not.
func (m *model) feature(e *event) uint64 {
	key := m.key[:0]
	for i, v := range m.locals.list[e.from].state.Vars {
		if !slices.Contains(m.larger, i) {
			key = core.AppendValue(key, v)
		}
	}
	m.key = key
	h := mix.Start
	h.Mix(uint64(e.rule))
	h.Bytes(key)
	return uint64(h)
}
