package lockstep

import (
	"strings"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// Run is one execution in progress. Schedulers, directors, monitors and watchers may all read it. Only three actors
// change it, each through its own type: the scheduler through its [Turn], the system through its [Outbox], the director
// through its [Control]. Slices and pointers that a Run hands out are valid until the next step and must not be written
// to.
type Run struct {
	info        Info
	system      Deployment
	can         Capabilities
	maxInFlight int
	maxTime     trace.Time
	out         Outbox
	control     Control

	progress
	network
	events   []Event
	happened happenings
	vanished []trace.ID // in the last step, lost by the system itself
	logs     []trace.Log
	queue    []Step // of a director
	between  []Step // steps taken for a director since the strategy's last choice
	before   []int  // messages sent before each of them
	opened   []openRound
	sweeps   bool          // the scheduler may leave messages to the engine
	rounds   []trace.Round // the rounds built from opened so far, by Rounds
	all      Nodes
	timerAt  []trace.Time // by node
	pending  []trace.Pending
	reserved []trace.Pending // held by a director from the strategy
	forged   []string        // bodies forged for Replace steps
	losses   losses
	lines    lineups

	draws  draws
	source Source // of Outbox.Source

	watched   bool // events have an observer
	wantTexts bool
	texts     []string // of messages, by Body-1
	states    []string // by node
}

// progress is the part of a run that begins at zero, except for the nodes that are up and the digest.
type progress struct {
	steps      int
	left       int // steps until the next check whether the run continues
	now        trace.Time
	pair       [2]Step // the last step and the one being chosen, alternating
	turn       uint8   // index of the last step
	sent       int     // messages sent before the last step
	settling   bool
	settled    bool
	guided     int      // steps taken for a director
	finding    *Finding // the violation found
	broken     error    // a bug of a strategy or director, or a broken deployment
	ended      bool     // by a director, or by a limit
	over       string   // the limit reached
	digest     uint64
	up         Nodes
	calm       bool // all nodes are up, and messages are delivered and dropped in any order
	timers     Nodes
	heldTimers Nodes    // held by a director from the strategy
	given      string   // text of the request last given
	fired      string   // name of the timer that fired last
	requests   int      // given so far
	bodies     trace.ID // bodies that the system holds
	until      trace.ID // the last message of the sweep
	kernel     Nodes    // the sweep loses messages that leave it
	whole      bool     // the kernel is all nodes
	loses      func(*trace.Message) bool
	faults     faults
}

// faults counts the faults of a run, those of the scenario and of the strategy together.
type faults struct {
	lost       int   // messages to nodes that were up, dropped or sent into a cut
	duplicated int   // messages duplicated
	crashed    Nodes // nodes that crashed at least once
	byzantine  Nodes // senders of replaced messages
}

// openRound is the part of a lock-step round that is kept until a caller of Rounds asks for more.
type openRound struct {
	phase  int
	kernel Nodes
}

func newTurn(info Info, maxInFlight int, maxTime trace.Time) *Turn {
	turn := &Turn{Run{info: info, maxInFlight: maxInFlight, maxTime: maxTime, network: newNetwork(&info),
		all: trace.AllNodes(info.Nodes), timerAt: make([]trace.Time, info.Nodes+1), losses: newLosses(info.Nodes),
		states: make([]string, info.Nodes+1)}}
	turn.out.run, turn.control.turn, turn.control.run = &turn.Run, turn, &turn.Run
	return turn
}

func (r *Run) reset() {
	r.network.reset()
	r.losses.reset()
	r.lines.reset()
	if r.wantTexts {
		clear(r.texts)
		clear(r.states)
	}
	r.progress = progress{}
	r.digest = 1
	r.setUp(r.all)
	r.happened.reset()
	r.source.out = nil
	r.events, r.vanished, r.queue, r.forged = r.events[:0], r.vanished[:0], r.queue[:0], r.forged[:0]
	r.logs = r.logs[:0]
	r.between, r.before = r.between[:0], r.before[:0]
	r.pending, r.reserved, r.texts = r.pending[:0], r.reserved[:0], r.texts[:0]
	r.opened, r.rounds = r.opened[:0], r.rounds[:0]
	clear(r.timerAt)
}

// end ends the run at a limit.
func (r *Run) end(why string) { r.over, r.ended, r.left = why, true, 0 }

// setUp sets the nodes that are up.
func (r *Run) setUp(up Nodes) {
	const plain = 1<<trace.Deliver | 1<<trace.Drop
	r.up, r.calm = up, up == r.all && r.links == nil && r.lines.order == nil && r.info.Supports&plain == plain
}

// Info is the system's description of itself.
func (r *Run) Info() *Info { return &r.info }

// Steps is the number of steps taken so far.
func (r *Run) Steps() int { return r.steps }

// Guided is the number of steps that the scenario has taken so far.
func (r *Run) Guided() int { return r.guided }

// Now is the time of the run: see [trace.Time].
func (r *Run) Now() trace.Time { return r.now }

// Last is the last step; its Kind is trace.Start before the first.
func (r *Run) Last() *Step { return &r.pair[r.turn&1] }

// next is the location for choosing the next step. Taking the step does not copy it. The step has just been written
// field by field, and a processor stalls when it then reads the step as a whole.
func (r *Run) next() *Step { return &r.pair[r.turn&1^1] }

// Events lists the events of the last step. If nothing observes events, they are counted and not kept: see
// [Outbox.Watched].
func (r *Run) Events() []Event { return r.events }

// All is the set of all nodes.
func (r *Run) All() Nodes { return r.all }

// Up is the set of nodes that run. A Crash step or [Outbox.Down] takes a node out of it, and a Restart step puts it
// back.
func (r *Run) Up() Nodes { return r.up }

// Timers is the set of nodes whose timer the strategy may fire now: nodes that are up, with an armed timer that the
// scenario does not hold. With [Info].OneClock, only the timers that are due first count.
func (r *Run) Timers() Nodes {
	if free := r.timers & r.up &^ r.heldTimers; !r.info.OneClock {
		return free
	}
	return r.dueTimers()
}

// AnyTimer reports whether any timer may fire: whether Timers has a node.
func (r *Run) AnyTimer() bool { return r.timers&r.up&^r.heldTimers != 0 }

//go:noinline
func (r *Run) dueTimers() Nodes { return r.due(r.timers & r.up &^ r.heldTimers) }

// due is the set of the given timers that are due first.
func (r *Run) due(timers Nodes) Nodes {
	var first Nodes
	var at trace.Time
	for n := range timers.All() {
		switch t := r.timerAt[n]; {
		case first == 0 || t < at:
			first, at = trace.NodesOf(n), t
		case t == at:
			first = first.With(n)
		}
	}
	return first
}

// TimerAt is the time for which a node's timer is set.
func (r *Run) TimerAt(n Node) trace.Time { return r.timerAt[n] }

// Pending lists the waiting requests that a strategy may give to a node. Those that the scenario reserved are not among
// them. [Outbox.Offer] explains how a request comes to wait.
func (r *Run) Pending() []trace.Pending { return r.pending }

// Reserved lists the waiting requests that the scenario reserved, which only the scenario gives to a node.
func (r *Run) Reserved() []trace.Pending { return r.reserved }

// Given is the text of the request that was given to a node last.
func (r *Run) Given() string { return r.given }

// Wait makes a Wait step of the length that the system asks for ([Info].Pace). It only makes the step: a scheduler
// returns it from Next.
func (r *Run) Wait() Step { return Step{Kind: trace.Wait, For: r.info.pace()} }

// Rounds lists the lock-step rounds opened so far, empty ones included.
func (r *Run) Rounds() []trace.Round {
	for i := len(r.rounds); i < len(r.opened); i++ {
		rd := trace.Round{Number: i + 1, Phase: r.opened[i].phase, Kernel: r.opened[i].kernel}
		if names := r.info.Rounds; len(names) > 0 {
			rd.Name = names[i%len(names)]
		}
		r.rounds = append(r.rounds, rd)
	}
	return r.rounds
}

// Between lists the scenario's steps since the strategy's last step, or since the start of the run. The strategy did
// not see them one by one. If there are any, the last of them is also [Run.Last]. The number of messages that the run
// had sent before steps[i] is before[i].
func (r *Run) Between() (steps []Step, before []int) { return r.between, r.before }

// eventless reports whether nothing observable has happened.
func (r *Run) eventless() bool {
	for i := range r.happened.tally {
		if r.happened.tally[i].N > 0 {
			return false
		}
	}
	return true
}

// EverCrashed is the set of nodes that a Crash step has stopped at least once, whether or not they are up again.
func (r *Run) EverCrashed() Nodes { return r.faults.crashed }

// Byzantine is the set of nodes that have sent forged messages so far: those whose messages a step replaced.
func (r *Run) Byzantine() Nodes { return r.faults.byzantine }

// Losses is the number of messages lost so far: dropped, or sent into a cut. Messages to a node that was down do not
// count.
func (r *Run) Losses() int { return r.faults.lost }

// Settling reports whether the run is in its settling stage, in which faults stop and delivery is fair.
func (r *Run) Settling() bool { return r.settling }

// Settled reports whether the run has completed its settling stage.
func (r *Run) Settled() bool { return r.settled }

// View is the value through which specs inspect the live nodes, or nil: see [Capabilities].View.
func (r *Run) View() any { return r.can.View }

// Body is the system's own message, or nil if the deployment lacks the capability Body.
func (r *Run) Body(id trace.ID) any {
	if r.can.Body == nil {
		return nil
	}
	return r.can.Body(r.messages[id-1].Body)
}

// Fingerprint is the fingerprint of a node's state, and whether the deployment has the capability.
func (r *Run) Fingerprint(n Node) (uint64, bool) {
	if r.can.Fingerprint == nil {
		return 0, false
	}
	return r.can.Fingerprint(n), true
}

// Playing is the set of nodes that are up and have the given role. It is empty if the deployment does not report
// roles.
func (r *Run) Playing(role string) Nodes {
	var nodes Nodes
	if r.can.Role != nil {
		for n := range r.up.All() {
			for part := range strings.FieldsSeq(r.can.Role(n)) {
				if part == role {
					nodes = nodes.With(n)
				}
			}
		}
	}
	return nodes
}

// Text is the content of a message as text. It is empty unless the system reports texts and they are wanted: in a
// recorded run, with [Plan].Texts, or with [Terms].Texts.
func (r *Run) Text(id trace.ID) string { return r.textOf(r.messages[id-1].Body) }

// textOf is the text of a body.
func (r *Run) textOf(body trace.ID) string {
	if body >= 1 && int(body) <= len(r.texts) && r.texts[body-1] != "" {
		return r.texts[body-1]
	}
	if r.can.Text == nil || !r.wantTexts || body < 1 {
		return ""
	}
	r.out.Text(body, r.can.Text(body))
	return r.texts[body-1]
}

// State is the state of a node as text, or "down". It is empty unless the system reports states and texts are wanted:
// in a recorded run, with [Plan].Texts, or with [Terms].Texts.
func (r *Run) State(n Node) string {
	if !r.up.Has(n) {
		return "down"
	}
	return r.states[n]
}

// takePending removes a waiting request, reserved or not.
func (r *Run) takePending(id int32) (trace.Pending, bool) {
	for _, list := range [...]*[]trace.Pending{&r.pending, &r.reserved} {
		for i, p := range *list {
			if p.ID == id {
				*list = append((*list)[:i], (*list)[i+1:]...)
				return p, true
			}
		}
	}
	return trace.Pending{}, false
}

// releaseAll gives everything that a director holds back to the strategy.
func (r *Run) releaseAll() {
	r.heldTimers = 0
	r.pending = append(r.pending, r.reserved...)
	r.reserved = r.reserved[:0]
	for i := range r.messages {
		if r.messages[i].Fate == trace.Held {
			r.release(trace.ID(i + 1))
		}
	}
}

// mix folds a value into the run's digest.
func (r *Run) mix(v uint64) {
	h := mix.Hash(r.digest)
	h.Mix(v)
	r.digest = uint64(h)
}

// mixText folds a text into the run's digest.
func (r *Run) mixText(text string) { r.mix(mix.Text(text)) }
