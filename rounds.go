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
	// Give chooses a step to be taken at the start of this round, as a rule a waiting
	// request and the node that gets it, and writes it to next. It is asked until it
	// reports false.
	Give(run *Run, next *Step) bool
}

// ExactPlan is a RoundPlan that leaves nothing of a round to rules: it also decides which
// alarms fire and in which order messages arrive.
type ExactPlan interface {
	RoundPlan
	// Ring chooses among the alarms that would fire in this round by the rules. Others
	// fire as steps that Give writes.
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
	opened []openRound
	rounds []trace.Round // what Rounds has made of opened so far

	stage  roundStage
	alarms Nodes // still to fire
	active int   // rounds so far that had messages
	mail   []ID  // of this round
	at     int   // the next of them
}

// openRound is the little of a round that is kept while nobody asks for more.
type openRound struct {
	phase  int
	kernel Nodes
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
	d.opened, d.rounds, d.stage, d.alarms, d.active = d.opened[:0], d.rounds[:0], roundOpen, 0, 0
}

// Rounds lists the rounds opened so far.
func (d *Rounds) Rounds() []trace.Round {
	for i := len(d.rounds); i < len(d.opened); i++ {
		rd := trace.Round{Number: i + 1, Phase: d.opened[i].phase, Kernel: d.opened[i].kernel}
		if len(d.names) > 0 {
			rd.Name = d.names[i%len(d.names)]
		}
		d.rounds = append(d.rounds, rd)
	}
	return d.rounds
}

// Next chooses the next step, or reports false after the last round.
func (d *Rounds) Next(run *Run, plan RoundPlan, next *Step) bool {
	for {
		switch d.stage {
		case roundDeliver:
			for d.at < len(d.mail) {
				id := d.mail[d.at]
				d.at++
				if !run.IsInFlight(id) { // a scenario took it
					continue
				}
				next.Kind, next.Msg = trace.Deliver, id
				if m := &run.messages[id-1]; plan.Loses(m) || !run.up.Has(m.To) {
					next.Kind = trace.Drop
				}
				return true
			}
			d.stage = roundOpen
		case roundOpen:
			if len(d.opened) == d.number {
				return false
			}
			d.open(run, plan)
			d.stage = roundGive
		case roundGive:
			if plan.Give(run, next) {
				return true
			}
			d.stage = roundAlarm
		case roundAlarm:
			if d.alarms &= run.Alarms(); d.alarms != 0 {
				n := d.alarms.First()
				d.alarms = d.alarms.Without(n)
				next.Kind, next.Node = trace.Alarm, n
				return true
			}
			d.stage = roundCollect
		case roundCollect:
			d.collect(run, plan)
			d.stage = roundDeliver
		}
	}
}

func (d *Rounds) open(run *Run, plan RoundPlan) {
	i := len(d.opened)
	phase, kernel := plan.Open(i, run)
	d.opened = append(d.opened, openRound{phase, kernel})
	start := len(run.flying) == 0
	if len(d.names) > 0 {
		start = i%len(d.names) == 0
	}
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
	d.mail, d.at = d.mail[:0], 0
	if len(d.names) == 0 {
		d.mail = append(d.mail, run.flying...)
	} else {
		at := int32((len(d.opened) - 1) % len(d.names))
		for _, id := range run.flying {
			if run.messages[id-1].Tag.Round == at {
				d.mail = append(d.mail, id)
			}
		}
	}
	d.active += btoi(len(d.mail) > 0)
	if exact, ok := plan.(ExactPlan); ok {
		exact.Order(run, d.mail)
	}
}
