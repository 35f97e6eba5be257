package lockstepform

import (
	"math"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// regroup is the strategy that executes the run of a layout.
type regroup struct {
	layout *layout
	// exactTimers lets timers fire only where the layout has them. Otherwise the rules of rounds apply, and messages
	// caused by other timers are lost.
	exactTimers bool
	// exactOrder delivers in the order of the original run instead of the sending order.
	exactOrder bool
	kernels    []lockstep.Nodes // by round, as far as known; later kernels contain all nodes

	scheduler *regrouper // the latest scheduler
}

// name identifies a message by its properties, because message numbers shift.
type name struct {
	from, to lockstep.Node
	kind     string
	tag      trace.Tag
	content  string
}

// String returns the name of the strategy.
func (r *regroup) String() string { return "lock-step form" }

// Fit requires only the kinds of steps that a form needs.
func (r *regroup) Fit(info lockstep.Info) (lockstep.Terms, error) {
	return lockstep.Terms{}, info.Require("a lock-step form", trace.KindsOf(trace.Deliver, trace.Drop))
}

// New returns a new scheduler.
func (r *regroup) New(info lockstep.Info) lockstep.Scheduler {
	r.scheduler = &regrouper{regroup: r, all: trace.AllNodes(info.Nodes)}
	r.scheduler.driver = rounds.New(info, len(r.layout.rounds), r.scheduler)
	r.scheduler.driver.Loosely(true)
	return r.scheduler
}

// regrouper is the scheduler of regroup, for one run.
type regrouper struct {
	*regroup
	driver *rounds.Driver
	all    lockstep.Nodes
	turn   *lockstep.Turn

	kernel lockstep.Nodes
	acts   []*moment          // acts of this round, still to be taken
	timers []*moment          // timers of this round that fire by rule
	wanted map[name][]*moment // messages of this round, still to be delivered
	after  lockstep.Step      // step to take after a forgery
	chosen *moment            // the layout's step for the last chosen step; nil: none
	made   []*moment          // by step: the layout's step
}

// Reset begins a new run.
func (r *regrouper) Reset(*lockstep.Start) {
	r.driver.Reset(len(r.layout.rounds))
	r.made, r.after = nil, lockstep.Step{}
}

// Next chooses the next step.
func (r *regrouper) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	r.turn = turn
	if r.after.Kind != trace.Start {
		*next, r.after = r.after, lockstep.Step{}
		r.made = append(r.made, r.chosen)
		return true
	}
	r.chosen = nil
	if !r.driver.Next(turn, next) {
		return false
	}
	made := r.chosen
	switch {
	case next.Kind == trace.Timer && made == nil:
		if i := slices.IndexFunc(r.timers, func(m *moment) bool { return m.node == next.Node }); i >= 0 {
			made = r.timers[i]
			r.timers = slices.Delete(r.timers, i, i+1)
		}
	case next.Kind == trace.Deliver && made.forged != "":
		r.after, made = *next, nil
		*next = turn.Forge(next.Msg, r.chosen.forged)
	case next.Kind == trace.Drop:
		made = nil
	}
	r.made = append(r.made, made)
	return true
}

// Report reports nothing.
func (r *regrouper) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

// Open begins a round.
func (r *regrouper) Open(round int, turn *lockstep.Turn) (int, lockstep.Nodes) {
	r.kernel = r.all
	if round < len(r.kernels) {
		r.kernel = r.kernels[round]
	}
	r.acts, r.timers, r.wanted = nil, nil, map[name][]*moment{}
	byRule := !r.exactTimers && round%max(1, len(r.layout.names)) == 0
	for _, m := range r.layout.rounds[round] {
		switch {
		case m.deliver():
			k := name{m.msg.From, m.msg.To, m.msg.Type, m.msg.Tag, m.content}
			r.wanted[k] = append(r.wanted[k], m)
		case m.step.Kind == trace.Timer && byRule:
			r.timers = append(r.timers, m)
		default:
			r.acts = append(r.acts, m)
		}
	}
	return r.layout.phases[round], r.kernel
}

func (r *regrouper) name(m *trace.Message) name {
	return name{m.From, m.To, m.Type, m.Tag, r.turn.Text(m.ID)}
}

// Loses reports whether a message is lost in this round.
func (r *regrouper) Loses(m *trace.Message) bool {
	k := r.name(m)
	if len(r.wanted[k]) == 0 {
		return true
	}
	r.chosen = r.wanted[k][0]
	r.wanted[k] = r.wanted[k][1:]
	return false
}

// Give returns the steps at the start of a round. It skips an impossible step; the comparison then detects that the
// step is missing.
func (r *regrouper) Give(turn *lockstep.Turn, next *lockstep.Step) bool {
	for len(r.acts) > 0 {
		m := r.acts[0]
		r.acts = r.acts[1:]
		step := lockstep.Step{Kind: m.step.Kind, Node: m.step.Node, Request: m.step.Request}
		if turn.Possible(step) {
			r.chosen, *next = m, step
			return true
		}
	}
	return false
}

// Fire selects among the timers that would fire by rule.
func (r *regrouper) Fire(byRule lockstep.Nodes) lockstep.Nodes {
	if r.exactTimers {
		return 0
	}
	return byRule
}

// Order sets the order of delivery.
func (r *regrouper) Order(turn *lockstep.Turn, mail []trace.ID) {
	if !r.exactOrder {
		return
	}
	place := func(id trace.ID) int {
		if ms := r.wanted[r.name(turn.Message(id))]; len(ms) > 0 {
			return ms[0].number
		}
		return math.MaxInt
	}
	rounds.Sort(mail, place)
}
