package strategy

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// POS is partial-order sampling (Yuan, Yang, Gu; CAV 2018). An event is a delivery, a request or a timer. Each event
// draws a priority when it becomes possible, and the event with the highest priority happens next. When an event
// happens at a node, all other events that wait for that node draw new priorities. Therefore the order of two racing
// events does not depend on the order of events before them. POS loses no message.
//
// Like [PCTCP], it ends a run after Steps steps by delivering the remaining messages.
type POS struct {
	Steps int `help:"steps before a run is brought to its end; 0: as long as anything is possible" range:"0.."`
}

// DefaultPOS uses the run length of [DefaultPCTCP].
var DefaultPOS = POS{Steps: 300}

// String returns the strategy as written on the command line.
func (p POS) String() string { return write("pos", p) }

// Fit returns the terms on which the strategy explores the system.
func (p POS) Fit(info lockstep.Info) (lockstep.Terms, error) {
	return fit("pos", p, info)
}

// check reports an invalid option, or why the strategy does not fit the system.
func (p POS) check(info lockstep.Info) error {
	return info.Require("pos", trace.KindsOf(trace.Deliver))
}

// guarantee returns what one run guarantees.
func (p POS) guarantee(lockstep.Info) lockstep.Guarantee {
	return lockstep.Guarantee{Class: "a given order of the events that race",
		Assumes: []string{
			"every order is possible, but the chance of a rare one shrinks with the factorial of the events that race",
		}}
}

// New returns a new scheduler.
func (p POS) New(lockstep.Info) lockstep.Scheduler {
	s := &pos{POS: p}
	s.decider = s
	return s
}

type pos struct {
	POS
	agenda
	unchained
	rand *rand.Rand
}

// Reset begins a new run.
func (p *pos) Reset(start *lockstep.Start) {
	p.rand = start.Rand
	p.agenda.reset()
}

// Report reports nothing.
func (p *pos) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

// Next chooses the next step.
func (p *pos) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	return p.advance(turn, horizon(p.Steps), next)
}

// place draws any node.
func (p *pos) place(to lockstep.Nodes) lockstep.Node { return pickNode(p.rand, to) }

// came draws the priority of an event.
func (p *pos) came(_ *lockstep.Turn, index int32) { p.events[index].key = p.rand.Uint64() }

// happened draws new priorities for the events that race with the one that happened.
func (p *pos) happened(_ *lockstep.Turn, index int32) {
	node := p.events[index].node
	for _, other := range p.open {
		if e := &p.events[other]; e.node == node {
			e.key = p.rand.Uint64()
		}
	}
}
