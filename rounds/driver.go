// Package rounds drives runs in lock-step rounds, as a basis for strategies and for rewriting runs. A [Plan] defines
// which nodes hear each other in a round, and a [Driver] turns that into steps.
//
// In a round all nodes send. The messages of the round that its plan does not lose are delivered, in the order of
// sending. All others are lost permanently.
//
// If messages carry tags, the rounds of the run follow the rounds of a phase in turn, and timers fire in the first
// round of a phase. A message belongs to the round of its tag in the phase in which it is sent. A message that is
// sent when its round is over is lost. The exception is a message tagged with a phase that has not begun: it is for
// the next phase. All messages of a round have the same phase in their tags, the latest that a node of the kernel has
// sent. Those of earlier phases are lost, in this round and all that follow.
//
// If messages carry no tags, the messages in flight at the start of a round are its messages, and timers fire when
// nothing is in flight. Only the timers of nodes in the kernel fire. If a system has no timers, time passes for all
// nodes instead.
//
// If the engine does not control the messages of a system, a round is a period of time. At its border, the driver
// cuts and heals links according to the plan's losses. Or it crashes the nodes outside the kernel and restarts those
// in it. Then time passes.
package rounds

import (
	"cmp"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Plan decides what happens in the rounds that a [Driver] drives. A plan may embed Rules for the decisions that it
// leaves to the rules.
type Plan interface {
	// Open begins the round with the given index, from 0. It returns the phase of the
	// plan that the round belongs to, from 1, and its kernel: the nodes that hear each
	// other in it.
	Open(round int, turn *lockstep.Turn) (phase int, kernel lockstep.Nodes)
	// Loses reports whether a message of this round that stays within the kernel is lost. Messages that leave the
	// kernel are always lost. For a system without messages of its own, the driver asks once for each link, with an
	// envelope that has only its ends.
	Loses(m *trace.Message) bool
	// Give chooses a step to take at the start of this round, usually a waiting request and its receiver, and writes
	// it to next. The driver asks until Give reports false.
	Give(turn *lockstep.Turn, next *lockstep.Step) bool
	// Fire chooses among the timers that would fire in this round by the rules. Other timers fire as steps that Give
	// writes.
	Fire(byRule lockstep.Nodes) lockstep.Nodes
	// Order sorts the messages of the round, given in the order of sending, into the order in which they are
	// delivered or lost.
	Order(turn *lockstep.Turn, mail []trace.ID)
}

// Rules are the decisions of a plan that leaves losses, timers and the order of arrival to the rules of rounds.
type Rules struct{}

// Loses loses no message within the kernel.
func (Rules) Loses(*trace.Message) bool { return false }

// Fire lets all timers fire.
func (Rules) Fire(byRule lockstep.Nodes) lockstep.Nodes { return byRule }

// Order keeps the order of sending.
func (Rules) Order(*lockstep.Turn, []trace.ID) {}

// Need lists the kinds of step that a driver needs for a plan that loses messages link by link.
func Need(info lockstep.Info) trace.Kinds {
	switch {
	case Coarse(info):
		return trace.KindsOf(trace.Cut, trace.Heal, trace.Wait)
	case Ticks(&info):
		return trace.KindsOf(trace.Deliver, trace.Drop)
	default:
		return trace.KindsOf(trace.Deliver, trace.Drop, trace.Timer)
	}
}

// NeedIsolation is Need for a plan that only isolates nodes. Crashes may isolate nodes: if byCrash is set, or if a
// system without messages has no cuts.
func NeedIsolation(info lockstep.Info, byCrash bool) trace.Kinds {
	if Coarse(info) && (byCrash || onlyCrashes(info)) {
		return trace.KindsOf(trace.Crash, trace.Restart, trace.Wait)
	}
	return Need(info)
}

// Coarse reports whether a system moves on its own while time passes, with messages that the engine does not control.
func Coarse(info lockstep.Info) bool {
	return info.Supports.Has(trace.Wait) && !info.Supports.Has(trace.Deliver)
}

// Ticks reports whether time passes by waits alone: the system has no timers to fire.
func Ticks(info *lockstep.Info) bool {
	return info.Supports.Has(trace.Wait) && !info.Supports.Has(trace.Timer)
}

// onlyCrashes reports whether crashes are the only way to isolate nodes.
func onlyCrashes(info lockstep.Info) bool {
	return !info.Supports.Has(trace.Cut) && info.Supports.Has(trace.Crash)
}

// Driver drives a run in lock-step rounds.
type Driver struct {
	plan   Plan
	names  int  // rounds of a phase, if messages carry tags; 0: causal layers
	number int  // rounds to drive
	coarse bool // the engine does not control messages
	ticks  bool // the engine controls messages, but time passes by waits instead of timers
	crash  bool // isolation is a crash
	afresh bool // all nodes are down between phases; implies crash

	opened int
	block  int   // the phase of the plan
	round  int32 // of its phase, if messages carry tags
	loose  bool  // a message waits for the next round of its name, in any phase
	apart  Isolation
	kept   []trace.ID // messages of isolated nodes that wait for their return
	begun  int        // messages sent before this phase began
	phase  int32      // the latest phase of a delivered tag
	ended  int32      // the same before this phase began
	stage  stage
	kernel lockstep.Nodes
	whole  bool             // the kernel is all nodes
	want   []lockstep.Nodes // coarse: by sender, the receivers to cut it off from
	mine   []lockstep.Nodes // coarse: by sender, the receivers that the driver keeps it cut off from
	down   lockstep.Nodes   // coarse: the nodes that the driver keeps crashed
	timers lockstep.Nodes   // still to fire
	tick   bool             // time must still pass
	active int              // rounds so far that had messages
	mail   []trace.ID       // of this round
	at     int              // index of the next of them
	ruled  bool             // the plan follows the rules
	mixed  bool             // some of them are of another round or phase

	inOrder bool                      // messages arrive in the order of sending
	loses   func(*trace.Message) bool // applies within the kernel; nil: no losses
}

type stage uint8

const (
	open    stage = iota
	end           // coarse: crash all nodes, if a phase begins afresh
	undo          // coarse: heal or restart
	isolate       // coarse: cut or crash
	give
	fire
)

// New makes a driver of the given number of rounds for a system.
func New(info lockstep.Info, number int, plan Plan) *Driver {
	return &Driver{
		plan:   plan,
		names:  len(info.Rounds),
		number: number,
		coarse: Coarse(info),
		ticks:  !Coarse(info) && Ticks(&info),
		crash:  onlyCrashes(info),
		want:   make([]lockstep.Nodes, info.Nodes+1),
		mine:   make([]lockstep.Nodes, info.Nodes+1),
	}
}

// ByCrash lets the driver crash isolated nodes of a system without messages instead of cutting them off. It always
// does so for a system without cuts. Then the plan must lose nothing else.
func (d *Driver) ByCrash() { d.crash = true }

// Afresh is ByCrash with all nodes down between phases and after the last: each phase begins with the start of the
// nodes in its kernel.
func (d *Driver) Afresh() { d.crash, d.afresh = true, true }

// ByRules declares that the plan leaves losses within the kernel, timers and the order of arrival to the rules and
// gives only waiting requests. The driver then does not ask the plan: asking would dominate the cost of a round of a
// small system.
func (d *Driver) ByRules() { d.ruled, d.inOrder, d.loses = true, true, nil }

// InOrder declares that the plan leaves the order of arrival to the rules: the engine may then ask it for losses, see
// [lockstep.Turn.Sweep].
func (d *Driver) InOrder() { d.inOrder, d.loses = true, d.plan.Loses }

// Loosely sets whether a message that is sent when its round is over waits for the next round of that name. Rounds
// then have messages of several phases. The default is false.
func (d *Driver) Loosely(loose bool) { d.loose = loose }

// Isolation says what nodes outside the kernel do, if the engine controls messages. Otherwise, isolated nodes keep
// running without being heard, or are down.
type Isolation uint8

// The kinds of isolation.
const (
	// Frozen nodes do nothing: their timers do not fire, and messages from and to them are lost.
	Frozen Isolation = iota
	// CutOff nodes run: their timers fire, but messages from and to them are lost.
	CutOff
	// Held nodes run, and messages from and to them wait. Waiting messages arrive in the first round in which sender
	// and receiver hear each other again, before those of the round, whatever their tags.
	Held
)

// Isolates sets what nodes outside the kernel do; the default is Frozen.
func (d *Driver) Isolates(how Isolation) { d.apart = how }

// Reset begins a new run of the given number of rounds.
func (d *Driver) Reset(number int) {
	d.number, d.opened, d.stage, d.timers, d.active = number, 0, open, 0, 0
	d.mail, d.at = d.mail[:0], 0
	d.begun, d.phase, d.ended, d.kept, d.block = 0, 0, 0, d.kept[:0], 0
}

// Opened is the number of rounds opened so far.
func (d *Driver) Opened() int { return d.opened }

// Active is the number of rounds so far that had messages.
func (d *Driver) Active() int { return d.active }

// Next chooses the next step, or reports false after the last round.
func (d *Driver) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	for d.at < len(d.mail) { // remaining messages of the round
		id := d.mail[d.at]
		d.at++
		m := turn.Message(id)
		if m.Fate != trace.InFlight { // a scenario holds it
			continue
		}
		next.Kind, next.Msg = trace.Deliver, id
		if d.isolates(m) {
			if d.apart == Held && d.keep(m) {
				continue
			}
			next.Kind = trace.Drop
		} else if d.mixed && d.late(m) || !d.ruled && d.plan.Loses(m) || !turn.Deliverable(id) {
			next.Kind = trace.Drop
		}
		return true
	}
	return d.advance(turn, next)
}

// advance chooses the steps before the messages of a round, from round to round until one has messages.
func (d *Driver) advance(turn *lockstep.Turn, next *lockstep.Step) bool {
	for {
		if d.stage == open {
			if d.opened == d.number {
				return d.coarse && d.afresh && d.crashNext(turn, 0, next)
			}
			d.open(turn)
		}
		for ; d.stage < give; d.stage++ {
			if d.lower(turn, next) {
				return true
			}
		}
		if d.stage == give {
			if (!d.ruled || len(turn.Pending()) > 0) && d.plan.Give(turn, next) {
				return true
			}
			d.stage = fire
		}
		if (d.timers != 0 || d.tick) && d.fire(turn, next) {
			return true
		}
		d.stage = open
		if d.coarse {
			*next = turn.Wait()
			return true
		}
		if d.collect(turn) {
			return len(d.mail) == 0 || d.Next(turn, next)
		}
	}
}

// fire fires the next timer of the round, or lets time pass instead.
func (d *Driver) fire(turn *lockstep.Turn, next *lockstep.Step) bool {
	if d.tick {
		d.tick = false
		*next = turn.Wait()
		return true
	}
	d.timers &= turn.Timers()
	if d.timers == 0 {
		return false
	}
	next.Kind, next.Node = trace.Timer, d.timers.First()
	d.timers = d.timers.Without(next.Node)
	return true
}

// isolates reports whether a message leaves the kernel. A client, which has no number, is never isolated.
func (d *Driver) isolates(m *trace.Message) bool {
	return !d.whole && (!d.kernel.Has(m.To) || !d.kernel.Has(m.From) && m.From != 0)
}

func (d *Driver) open(turn *lockstep.Turn) {
	phase, kernel := d.plan.Open(d.opened, turn)
	turn.OpenRound(phase, kernel)
	if len(d.kept) > 0 {
		d.kept = slices.DeleteFunc(d.kept, func(id trace.ID) bool { return !turn.IsFree(id) })
	}
	var start bool
	if d.names == 0 {
		start = len(turn.FreeMessages()) == len(d.kept)
	} else {
		if d.round++; int(d.round) == d.names || d.opened == 0 {
			d.round = 0
		}
		start = d.round == 0
	}
	if start && d.opened > 0 {
		d.begun, d.ended = len(turn.Messages()), d.phase
	}
	d.opened++
	d.timers, d.tick = 0, start && d.ticks
	if start {
		d.timers = kernel
		if d.apart != Frozen {
			d.timers = turn.All()
		}
	}
	if !d.ruled {
		d.timers = d.plan.Fire(d.timers)
	}
	d.kernel, d.whole, d.stage = kernel, kernel == turn.All(), give
	if d.coarse {
		d.aim(turn)
		d.stage = undo
		if d.afresh && phase != d.block {
			d.stage = end
		}
		d.block = phase
	}
}

// collect gathers the messages of the round, after all nodes have sent, and those whose round is over. It reports
// whether there are any.
func (d *Driver) collect(turn *lockstep.Turn) bool {
	flying := turn.FreeMessages()
	d.mail, d.at, d.mixed = d.mail[:0], 0, false
	mine := len(flying)
	if d.mixed = mine > 0 && !d.gather(turn, flying); mine > 0 && !d.mixed && d.inOrder && d.apart != Held &&
		turn.Sweep(d.loses) {
		d.active++
		return true
	}
	if cap(d.mail) < len(flying) {
		d.mail = make([]trace.ID, 2*len(flying))
	}
	d.mail = d.mail[:len(flying)]
	for i, id := range flying { //nolint:staticcheck // they are few: a copy costs more than the loop
		d.mail[i] = id
	}
	if d.mixed {
		mine = d.sort(turn)
	}
	if mine > 0 {
		d.active++
	}
	if !d.ruled {
		d.plan.Order(turn, d.mail)
	}
	return len(d.mail) > 0
}

// gather reports whether everything in flight is of this round and of one phase, as in a protocol that makes
// progress: then nothing is late. It records the phase.
func (d *Driver) gather(turn *lockstep.Turn, flying []trace.ID) bool {
	first := turn.Message(flying[0])
	if len(d.kept) > 0 ||
		d.names > 0 &&
			(flying[0] < turn.SameTag() || first.Tag.Round != d.round || first.Tag.Phase < d.phase || d.past(first)) {
		return false
	}
	if phase := first.Tag.Phase; phase != d.phase && (d.whole || d.heard(turn, flying)) {
		d.phase = phase
	}
	return true
}

// heard reports whether some message stays within the kernel: if only an isolated node has reached a phase, the
// others have not.
func (d *Driver) heard(turn *lockstep.Turn, mail []trace.ID) bool {
	return slices.ContainsFunc(mail, func(id trace.ID) bool { return !d.isolates(turn.Message(id)) })
}

// sort keeps those messages in flight that are of the round or whose round is over. It counts the former and records
// their latest phase.
func (d *Driver) sort(turn *lockstep.Turn) (mine int) {
	d.mail = slices.DeleteFunc(d.mail, func(id trace.ID) bool {
		m := turn.Message(id)
		now, past := d.names == 0 || m.Tag.Round == d.round, d.past(m)
		switch {
		case d.waits(id):
			return false
		case now:
			mine++
			if d.names > 0 && !past && !d.isolates(m) {
				d.phase = max(d.phase, m.Tag.Phase)
			}
		}
		return !now && !past
	})
	return mine
}

// keep makes a message from or to a held node wait, and reports whether it does.
func (d *Driver) keep(m *trace.Message) bool {
	switch {
	case d.waits(m.ID):
		return true
	case d.closed(m):
		return false
	default:
		d.kept = append(d.kept, m.ID)
		return true
	}
}

// late reports whether the round of a message is over and the message does not wait.
func (d *Driver) late(m *trace.Message) bool { return d.closed(m) && !d.waits(m.ID) }

// waits reports whether a message waits for the return of an isolated node.
func (d *Driver) waits(id trace.ID) bool { return len(d.kept) > 0 && slices.Contains(d.kept, id) }

// past reports whether the round of a message was over when the present one began. A message of a phase that had not
// begun at the time of sending is for the next phase.
func (d *Driver) past(m *trace.Message) bool {
	switch {
	case d.names == 0 || d.loose:
		return false
	case int(m.ID) <= d.begun:
		return m.Tag.Round < d.round || m.Tag.Phase <= d.ended
	default:
		return m.Tag.Round < d.round && m.Tag.Phase <= d.phase
	}
}

// closed reports whether the round of a message is over, or its phase.
func (d *Driver) closed(m *trace.Message) bool {
	return d.names > 0 && !d.loose && (d.past(m) || m.Tag.Phase < d.phase)
}

// Sort orders the messages of a round by their places; those of one place stay in the order of sending.
func Sort(mail []trace.ID, place func(trace.ID) int) {
	slices.SortStableFunc(mail, func(a, b trace.ID) int { return cmp.Compare(place(a), place(b)) })
}
