package shrink

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// extent counts everything that shrinking must not increase. A shrunk run stays within the fault model of the original
// run, has no more steps, requests or faults, and takes no more time.
type extent struct {
	steps, requests int
	time            trace.Time // 0: not known
	faults
}

// faults is the part of an extent that concerns the fault model.
type faults struct {
	lost, doubled, forged, crashes, cuts, pauses, jumps int
	down                                                int // maximum number of nodes down at once
	// maximum number of links cut at once, each in one direction
	apart int
}

// within reports whether no count exceeds another extent.
func (e extent) within(most extent) bool {
	return e.shorter(most) && e.time <= most.time && e.faults.within(most.faults)
}

// shorter reports whether there are no more steps and requests than in another extent. For runs in rounds, the faults
// are the isolations and losses of their schedules, which determine the steps.
func (e extent) shorter(most extent) bool {
	return e.steps <= most.steps && e.requests <= most.requests
}

func (f faults) within(most faults) bool {
	return f.lost <= most.lost && f.doubled <= most.doubled && f.forged <= most.forged && f.crashes <= most.crashes &&
		f.cuts <= most.cuts && f.pauses <= most.pauses && f.jumps <= most.jumps &&
		f.down <= most.down && f.apart <= most.apart
}

// meter sums up the extent of a run, step by step.
type meter struct {
	extent
	down lockstep.Nodes
	cut  trace.Links
}

func newMeter(nodes int) *meter { return &meter{cut: trace.NewLinks(nodes)} }

// add adds a step.
func (m *meter) add(s *lockstep.Step) {
	m.steps++
	switch s.Kind {
	case trace.Request:
		m.requests++
	case trace.Drop:
		m.lost++
	case trace.Duplicate:
		m.doubled++
	case trace.Replace:
		m.forged++
	case trace.Crash:
		m.crashes++
		m.down = m.down.With(s.Node)
		m.faults.down = max(m.faults.down, m.down.Len())
	case trace.Restart:
		m.down = m.down.Without(s.Node)
	case trace.Cut:
		m.cuts++
		m.cut.Switch(s)
		m.apart = max(m.apart, links(m.cut))
	case trace.Heal:
		m.cut.Switch(s)
	case trace.Pause:
		m.pauses++
	case trace.Jump:
		m.jumps++
	}
}

// links counts the links that are cut.
func links(cut trace.Links) (n int) {
	for _, to := range cut {
		n += to.Len()
	}
	return n
}

// extentOf returns the extent of a recorded run, without its settling stage.
func extentOf(t *trace.Trace) extent {
	m := newMeter(t.Header.Nodes)
	for i := range t.Records {
		if r := &t.Records[i]; r.Step.Kind != trace.Start && !r.Settle {
			m.add(&r.Step)
			m.time = r.Now
		}
	}
	return m.extent
}

// extent returns the extent of a script if all its actions are taken. Its time is not known.
func (a script) extent() extent {
	m := newMeter(trace.MaxNodes)
	for i := a.head(); i < len(a); i++ {
		m.add(&a[i].Step)
	}
	return m.extent
}

// extent returns the extent of the latest run: of the acts that were taken, with the actual number of steps.
func (t *timetabler) extent() extent {
	m := newMeter(trace.MaxNodes)
	for _, k := range t.took {
		m.add(&t.acts[k].Step)
	}
	for i := range t.given {
		m.add(&t.given[i].Step)
	}
	m.steps, m.time = t.taken, t.now
	return m.extent
}

// made returns the extent of the latest run of a candidate. Runs in rounds are measured by their schedules.
func (s *shrinker) made(c candidate) extent {
	switch c := c.(type) {
	case script:
		return s.taken(c).extent()
	case timetable:
		return s.timetabler.extent()
	default:
		return extent{}
	}
}
