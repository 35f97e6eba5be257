package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Class says how much power over messages a filter needs, from keeping their order to forging them. [Distances] prints
// it, so that a reader sees what a network must do for a scenario to happen without the tester. The grades are those of
// section 5.4 of the Netrix paper. The class of a filter is that of its strongest action. Actions on nodes and links
// alone, such as [Crash] and [Cut], are Neutral.
type Class uint8

// The classes, from the weakest to the strongest.
const (
	Neutral    Class = iota // it keeps messages in order, or does not act on them
	Reordering              // it holds messages back and releases them later
	Dropping                // it loses messages, as if it released them after the end of the run
	Byzantine               // it forges messages
)

var classNames = [...]string{"neutral", "reorder", "drop", "byzantine"}

// String is the name of the class.
func (c Class) String() string { return classNames[c] }

// Distance is how far a filter moves messages out of their order: the number of messages sent between the capture of a
// message and its release. It shows which filters matter. A strategy that reorders messages itself, such as PCTCP,
// often does without a filter of small distance. It hardly ever does without one of large distance.
//
// A distance is measured in runs without faults, in which the filters only observe: see [Distances].
type Distance struct {
	Filter int // number of the filter, from 1
	Name   string
	Class  Class
	// Captured is the number of messages that the filter would have held, dropped or forged, in all runs.
	Captured int
	// Mean is the mean distance of the messages that it would have released.
	Mean float64
	// Max is the largest of these distances.
	Max int
	// Kept is the number of captured messages that it would not have released before the end of the run.
	Kept int
}

// String is the distance as text, with ∞ for never.
func (d Distance) String() string {
	switch {
	case d.Class == Byzantine:
		return "∞"
	case d.Captured == 0 || d.Class == Neutral:
		return "-"
	case d.Kept == d.Captured:
		return "∞"
	case d.Kept > 0:
		return fmt.Sprintf("%.0f..∞", d.Mean)
	default:
		return fmt.Sprintf("%.0f", d.Mean)
	}
}

// distanceRuns is the number of synchronous runs for averaging distances.
const distanceRuns = 20

// Distances measures the filters of the plan's scenario in runs of the plan's system with the strategy [Synchronous],
// in which the filters only observe. It averages over the plan's number of runs, at most 20: runs differ if the system
// draws something itself. A filter whose condition needs a fault captures nothing in them. The runs have the plan's
// Steps, or as many as they need.
func Distances(ctx context.Context, plan lockstep.Plan) ([]Distance, error) {
	s, err := own(plan.Scenario)
	if err != nil {
		return nil, err
	}
	o := &observation{open: map[trace.ID]int{}, released: make([]int, len(s.filters))}
	for _, f := range s.filters {
		d := Distance{Filter: f.number, Name: f.title()}
		for _, a := range f.actions {
			d.Class = max(d.Class, a.class)
		}
		o.filters = append(o.filters, d)
	}
	c := *s
	c.observe = o
	plan.Scenario, plan.Runs, plan.Workers, plan.KeepGoing = &c, min(max(plan.Runs, 1), distanceRuns), 1, true
	plan.Strategy, plan.Spec, plan.Budget = Synchronous{Steps: plan.Steps}, nil, nil
	if _, err := lockstep.Explore(ctx, plan); err != nil {
		return nil, err
	}
	return o.filters, nil
}

// own is the scenario, if it is one of this package.
func own(s lockstep.Scenario) (*Scenario, error) {
	if sc, ok := s.(*Scenario); ok {
		return sc, nil
	}
	return nil, fmt.Errorf("scenario: the plan's scenario must be one of this package, not %T", s)
}

// observation records which messages filters would take and release; nil records nothing.
type observation struct {
	filters  []Distance
	released []int            // by filter
	open     map[trace.ID]int // the filter that captured a message of this run, by index
}

// capture records the message that a filter would take.
func (o *observation) capture(f *readyFilter, m *Moment) {
	if o == nil || !f.needs {
		return
	}
	d := &o.filters[f.number-1]
	if d.Class != Neutral {
		d.Captured++
		o.open[m.Message.ID] = f.number - 1
	}
}

// release records that a captured message would be free again.
func (o *observation) release(run *lockstep.Run, id trace.ID) {
	if o == nil {
		return
	}
	at, ok := o.open[id]
	if !ok {
		return
	}
	delete(o.open, id)
	d := &o.filters[at]
	distance := len(run.Messages()) - int(id)
	o.released[at]++
	d.Mean += (float64(distance) - d.Mean) / float64(o.released[at])
	d.Max = max(d.Max, distance)
}

// end counts the messages that a run would have kept to its end.
func (o *observation) end() {
	//lockstep:unordered they are only counted
	for _, at := range o.open {
		o.filters[at].Kept++
	}
	clear(o.open)
}

// Ablation compares the campaign of a scenario with the campaigns that lack one of its filters each, to show which
// filters the strategy needs: see [Ablate].
type Ablation struct {
	Scenario  string
	Strategy  string
	Runs      int // runs of each campaign
	Successes int // successful runs of the campaign with all filters
	Filters   []Ablated
}

// Ablated is the row of an [Ablation] for one filter: its distance, and the campaign without it.
type Ablated struct {
	Distance
	Successes int // successful runs of the campaign without the filter, of Ablation.Runs
}

// Ablate runs the plan's campaign once with all filters of its scenario and once without each of them. It counts the
// successful runs, as in Table 4 of the Netrix paper. If the strategy still succeeds occasionally without a filter, the
// filter helps, but is not needed.
//
// The function successes counts the successes of a campaign; nil means [Successes].
func Ablate(ctx context.Context, plan lockstep.Plan, successes func(*lockstep.Result) int) (*Ablation, error) {
	if successes == nil {
		successes = Successes
	}
	s, err := own(plan.Scenario)
	if err != nil {
		return nil, err
	}
	distances, err := Distances(ctx, plan)
	if err != nil {
		return nil, err
	}
	t := trial{ctx, plan, successes}
	a := &Ablation{Scenario: s.name, Strategy: plan.Strategy.String()}
	if a.Runs, a.Successes, err = t.of(s); err != nil {
		return nil, err
	}
	for i, f := range s.filters {
		_, n, err := t.of(s.Without(f.number))
		if err != nil {
			return nil, err
		}
		a.Filters = append(a.Filters, Ablated{Distance: distances[i], Successes: n})
	}
	return a, nil
}

// trial is the campaign for comparing variants of a scenario.
type trial struct {
	ctx       context.Context
	plan      lockstep.Plan
	successes func(*lockstep.Result) int
}

// of counts the runs of the campaign and the successful ones under a variant of the scenario.
func (t trial) of(s *Scenario) (runs, successes int, err error) {
	t.plan.Scenario, t.plan.KeepGoing, t.plan.Keep = s, true, 1
	result, err := lockstep.Explore(t.ctx, t.plan)
	if err != nil {
		return 0, 0, err
	}
	if result.Interrupted { // a rate over part of the runs would mislead
		return 0, 0, t.ctx.Err()
	}
	return result.Runs, t.successes(result), nil
}

// String is the ablation as a table.
func (a *Ablation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s with %s, %d runs each\n", a.Scenario, a.Strategy, a.Runs)
	fmt.Fprintf(&b, "%9s  %8s  %-9s  %s\n", "successes", "distance", "class", "without")
	fmt.Fprintf(&b, "%9d  %8s  %-9s  %s\n", a.Successes, "", "", "nothing")
	for _, f := range a.Filters {
		fmt.Fprintf(&b, "%9d  %8s  %-9s  %s\n", f.Successes, f.Distance, f.Class, f.Name)
	}
	return b.String()
}
