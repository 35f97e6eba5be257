package lockstep

import "github.com/lockstep-go/lockstep/trace"

// RoundPlan decides what happens in the rounds that [Rounds] drives.
type RoundPlan interface {
	// Open begins the round with the given index, from 0. It returns the phase of the
	// plan that the round belongs to, from 1, and its kernel: the nodes that hear each
	// other in it.
	Open(round int, run *Run) (phase int, kernel Nodes)
	// Loses reports whether a message of this round is lost.
	Loses(m *Message) bool
	// Give chooses a step to be taken at the start of this round: as a rule a waiting
	// request and the node that gets it. It is asked until it reports false.
	Give(run *Run) (Step, bool)
}

// ExactPlan is a RoundPlan that leaves nothing of a round to rules: it also decides which
// alarms fire and in which order messages arrive.
type ExactPlan interface {
	RoundPlan
	// Ring chooses among the alarms that would fire in this round by the rules. Others
	// fire as steps that Give returns.
	Ring(byRule Nodes) Nodes
	// Order puts the messages of the round, given in the order of sending, into the order
	// in which they are delivered or lost.
	Order(run *Run, mail []ID)
}

// Rounds drives a run in lock-step rounds, for schedulers to build on. In a round
// everyone sends; the messages of the round that its plan does not lose are delivered,
// in the order of sending; all others are lost for good.
//
// Where messages carry tags, the rounds of the run go through the rounds of a phase in
// turn, a message belongs to the round of its tag, and alarms fire in the first round
// of a phase. Where they do not, the messages in flight when the round starts are its
// messages, and alarms fire when nothing is in flight. Only the alarms of nodes in the
// kernel fire. A message that is sent when its round has begun waits for the next round
// of that name.
type Rounds struct {
	names  []string // of the rounds of a phase; none: causal layers
	number int      // rounds to drive
	opened []trace.Round

	stage  roundStage
	alarms Nodes // still to fire
	mail   []ID  // of this round, next first
	buffer []ID
}

type roundStage uint8

const (
	roundOpen roundStage = iota
	roundGive
	roundAlarm
	roundCollect
	roundDeliver
)

// NewRounds makes a driver of so many rounds for a system.
func NewRounds(info Info, number int) *Rounds {
	return &Rounds{names: info.Rounds, number: number}
}

// Reset begins a new run.
func (d *Rounds) Reset() {
	d.opened, d.stage, d.mail, d.alarms = d.opened[:0], roundOpen, nil, 0
}

// Rounds lists the rounds opened so far.
func (d *Rounds) Rounds() []trace.Round { return d.opened }

// Next chooses the next step, or reports false after the last round.
func (d *Rounds) Next(run *Run, plan RoundPlan) (Step, bool) {
	for {
		switch d.stage {
		case roundDeliver:
			for len(d.mail) > 0 {
				id := d.mail[0]
				d.mail = d.mail[1:]
				if step, ok := d.deliver(run, plan, id); ok {
					return step, true
				}
			}
			d.stage = roundOpen
		case roundOpen:
			if len(d.opened) == d.number {
				return Step{}, false
			}
			d.open(run, plan)
			d.stage = roundGive
		case roundGive:
			if step, ok := plan.Give(run); ok {
				return step, true
			}
			d.stage = roundAlarm
		case roundAlarm:
			if d.alarms &= run.Alarms(); d.alarms != 0 {
				n := d.alarms.First()
				d.alarms = d.alarms.Without(n)
				return Step{Kind: trace.Alarm, Node: n}, true
			}
			d.stage = roundCollect
		case roundCollect:
			d.collect(run, plan)
			d.stage = roundDeliver
		}
	}
}

func (d *Rounds) deliver(run *Run, plan RoundPlan, id ID) (Step, bool) {
	if !run.IsInFlight(id) { // a scenario took it
		return Step{}, false
	}
	if m := run.Message(id); plan.Loses(m) || !run.up.Has(m.To) {
		return Step{Kind: trace.Drop, Msg: id}, true
	}
	return Step{Kind: trace.Deliver, Msg: id}, true
}

func (d *Rounds) open(run *Run, plan RoundPlan) {
	i := len(d.opened)
	phase, kernel := plan.Open(i, run)
	rd := trace.Round{Number: i + 1, Phase: phase, Kernel: kernel}
	start := len(run.flying) == 0
	if len(d.names) > 0 {
		at := i % len(d.names)
		rd.Name = d.names[at]
		start = at == 0
	}
	d.opened = append(d.opened, rd)
	d.alarms = 0
	if start {
		d.alarms = kernel
	}
	if exact, ok := plan.(ExactPlan); ok {
		d.alarms = exact.Ring(d.alarms)
	}
}

// collect gathers the messages of the round now that everyone has sent.
func (d *Rounds) collect(run *Run, plan RoundPlan) {
	d.buffer = d.buffer[:0]
	if len(d.names) == 0 {
		d.buffer = append(d.buffer, run.flying...)
	} else {
		at := int32((len(d.opened) - 1) % len(d.names))
		for _, id := range run.flying {
			if run.messages[id-1].Tag.Round == at {
				d.buffer = append(d.buffer, id)
			}
		}
	}
	d.mail = d.buffer
	if exact, ok := plan.(ExactPlan); ok {
		exact.Order(run, d.mail)
	}
}
