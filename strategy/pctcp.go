package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// PCTCP is probabilistic concurrency testing with chain partitioning (Ozkan, Majumdar, Niksic, Befrouei, Weissenbacher;
// OOPSLA 2018), the explorer of Netrix. It orders the events of a run and loses no message. An event is a delivery, a
// request or a timer.
//
// Events are partially ordered by causality and assigned to chains during the run. Each chain has its own random
// priority, and the event of the chain with the highest priority happens next. Depth-1 change points delay events. They
// are distinct numbers among the first Events events, in order of creation. The chain of such an event drops below all
// others, and the i-th change point drops below the previous ones.
//
// The timers of a node form a chain that other events do not join. A node whose timer fires repeatedly must not starve
// the other nodes. Therefore every second timer of a node waits until all events that no change point delays have
// happened. Of several such timers, the one that is due first fires. A change point delays one timer and not the
// following ones. With Fair, all timers wait in this way.
//
// A request comes after the step that offered it. A client may retry: it offers a request again that was given before.
// Such a request waits until only timers and delayed events are possible. If a timer is armed, one fires before it.
//
// No event waits indefinitely while time passes. At most Late events may overtake a possible event, that is, are
// created after it and happen before it. Then it happens, the oldest first. For a timer, overtaking counts once it is
// due, or if it is due first.
//
// A message that a scenario loses or holds is no event; it becomes one when it is released. If a change point is on an
// event that is no longer possible, it moves to the next new event.
//
// Every deliverable message is eventually delivered: after Steps steps no timer fires, no request is given, and the
// remaining messages are delivered, oldest first.
type PCTCP struct {
	// Depth is the number of events whose order matters, at least 1.
	Depth int `help:"number of events whose order is to be hit" range:"1..64"`
	// Events is the number of events among which the change points are drawn. 0 means the largest number observed in a
	// few fault-free runs.
	Events int `help:"events from which the change points are drawn; 0: learned from fault-free runs" range:"0..1000000"`
	// Races draws change points only among events that race: they may happen before or after another event at the same
	// node. A few fault-free runs show which events race, by type, sender and receiver.
	Races bool `help:"draw change points only among events that race with another, as learned from fault-free runs"`
	// Late is the number of events that may overtake a possible event. 0 means that each run draws one of LateBounds;
	// Unbounded means any number.
	Late int `help:"events that may overtake one that can happen; 0: each run draws 10, 30 or 100, -1: any number" range:"-1..1000000"`
	// Fair lets virtual time advance only when every event that no change point delays has happened. Then the timer
	// that is due first fires. Other timers with the same due time fire next, before any other event; those that a
	// change point delays are the last of them. Without Fair, every other timer of a node races with messages, and
	// clocks may run at different speeds.
	Fair bool `help:"time moves only when nothing else can happen that is not delayed, so that clocks run alike"`
	// Steps is the number of steps after which the strategy ends a run: it only delivers the remaining messages.
	Steps int `help:"steps before a run is brought to its end; 0: as long as anything is possible" range:"0.."`

	racing *races // learned
}

// LateBounds are the limits from which a run of [PCTCP] with Late 0 draws its own. No single limit suits every bug.
// Some bugs need a message that many elections overtake. Most bugs are found far more often if no event is very late.
// The evidence is in docs/evidence/strategies.md.
var LateBounds = [...]int{10, 30, 100}

// DefaultPCTCP uses the depth that found at least as much as depth 3 in the tables of docs/evidence/strategies.md.
var DefaultPCTCP = PCTCP{Depth: 5, Steps: 300}

// String returns the strategy as written on the command line.
func (p PCTCP) String() string { return write("pctcp", p) }

// check reports an invalid option, or why the strategy does not fit the system.
func (p PCTCP) check(info lockstep.Info) error {
	if p.Events > 0 && p.Events < p.Depth-1 {
		return fmt.Errorf("pctcp: events is %d, but depth %d needs %d change points among them", p.Events, p.Depth,
			p.Depth-1)
	}
	return info.Require("pctcp", trace.KindsOf(trace.Deliver))
}

// Fit returns the terms on which the strategy explores the system. The guarantee is the paper's bound; its parameters
// are known only after the runs.
func (p PCTCP) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := fits("pctcp", p, info); err != nil {
		return lockstep.Terms{}, err
	}
	t := lockstep.Terms{Guarantee: p.guarantee(lockstep.RunStats{Choices: p.Events}), Measured: p.guarantee}
	if p.Events == 0 || p.Races && p.racing == nil {
		t.Probe, t.Learn = pctcpProbe{
			PCTCP{Depth: 1, Steps: p.Steps, Events: 1, Late: p.Late, Fair: p.Fair, racing: &races{}},
		}, p.learn
	}
	return t, nil
}

// guarantee returns the bound with the measured parameters.
func (p PCTCP) guarantee(seen lockstep.RunStats) lockstep.Guarantee {
	race := ""
	if p.Races {
		race = " that race"
	}
	g := lockstep.Guarantee{Class: fmt.Sprintf("a given order of %d events%s", p.Depth, race)}
	if seen.Width == 0 || p.Events == 0 {
		g.Assumes = []string{
			"1/(w^2 n^(d-1)), where the width w and the number of events n are known only after the runs",
		}
		return g
	}
	g.Class = fmt.Sprintf("a given order of %d of the first %d events%s", p.Depth, p.Events, race)
	g.PerRun = math.Pow(float64(seen.Width), -2) * math.Pow(float64(p.Events), float64(1-p.Depth))
	g.Assumes = []string{
		fmt.Sprintf("1/(w^2 n^(d-1)) with w=%d, n=%d, d=%d; runs had up to %d events", seen.Width, p.Events, p.Depth,
			seen.Choices),
		"the order respects causality, and its events come into being in every order of the others",
		"they happen before the run is brought to its end"}
	switch {
	case p.Late > 0:
		g.Assumes = append(g.Assumes,
			fmt.Sprintf("none of them must wait while more than %d events overtake it (late)", p.Late))
	case p.Late == 0:
		g.Assumes = append(
			g.Assumes,
			fmt.Sprintf(
				"none of them must wait while more than %d events overtake it; in two of three runs these may be %d, in one %d "+
					"(late)",
				LateBounds[0],
				LateBounds[1],
				LateBounds[2],
			),
		)
	}
	if p.Fair {
		g.Assumes = append(
			g.Assumes,
			"no timer among them must fire before a message arrives that is not among them, or after one that arrives when "+
				"its time has come (fair)",
		)
	}
	if seen.Runs > 0 && p.Depth > 1 {
		g.Assumes = append(g.Assumes, fmt.Sprintf("of %d change points a run %.1f delayed an event that could happen",
			p.Depth-1, float64(seen.Hits)/float64(seen.Runs)))
	}
	return g
}

// learn chooses parameters from a few fault-free runs.
func (p PCTCP) learn(probe lockstep.Scheduler) lockstep.Strategy {
	s := probe.(*pctcp)
	s.closeProbe()
	most := 0
	for _, kinds := range s.probed {
		if p.Races {
			most = max(most, s.racing.count(kinds))
		} else {
			most = max(most, len(kinds))
		}
	}
	if p.Races {
		p.racing = s.racing
	}
	if p.Events == 0 {
		p.Events = max(most, p.Depth-1, 1)
	}
	return p
}

// pctcpProbe executes the runs from which PCTCP learns.
type pctcpProbe struct{ PCTCP }

// New returns a new scheduler.
func (p pctcpProbe) New(info lockstep.Info) lockstep.Scheduler {
	s := p.PCTCP.New(info).(*pctcp)
	s.probing = true
	return s
}

// New returns a new scheduler.
func (p PCTCP) New(info lockstep.Info) lockstep.Scheduler {
	s := &pctcp{PCTCP: p, clocks: newClocks(info.Nodes), timer: make([]timerChain, info.Nodes+1)}
	s.decider = s
	return s
}

// The keys of events form three bands. Undelayed chains have random keys above highBand. Requests and timers that wait
// for them have keys below it: the latest request first, and the timer that fired least. The chain of the i-th change
// point has the key lowBand-i.
const (
	highBand = 1 << 63
	waitBand = 1 << 40
	lowBand  = 1 << 20
)

type pctcp struct {
	PCTCP
	agenda
	*clocks
	partition
	rand     *rand.Rand
	priority []uint64 // by chain of the partition
	timer    []timerChain
	change   []int32 // numbers of the events to delay; the i-th drops below the previous ones
	spare    []int32 // change points whose event is no longer possible, as indices of change
	numbered int32   // number of events that count
	changed  int     // change points that delay an event

	probing bool
	kinds   []eventKind   // kinds of the events of this run, while probing
	probed  [][]eventKind // kinds of the previous runs
}

// timerChain is the chain of a node's timers.
type timerChain struct {
	priority uint64 // 0: none yet
	fired    uint64
	waits    bool       // the next timer waits for all undelayed events
	last     trace.Time // when the last timer fired
}

// Reset begins a new run.
func (s *pctcp) Reset(start *lockstep.Start) {
	s.closeProbe()
	s.rand = start.Rand
	s.agenda.reset()
	s.agenda.late = int32(max(s.Late, 0))
	if s.Late == 0 {
		s.agenda.late = int32(LateBounds[s.rand.IntN(len(LateBounds))])
	}
	s.clocks.reset()
	s.partition.reset()
	s.priority = s.priority[:0]
	clear(s.timer)
	s.numbered, s.changed, s.spare = 0, 0, s.spare[:0]
	s.change = s.change[:0]
	for len(s.change) < min(s.Depth-1, s.Events) {
		if c := int32(1 + s.rand.IntN(s.Events)); !slices.Contains(s.change, c) {
			s.change = append(s.change, c)
		}
	}
}

// closeProbe learns from the run that just ended.
func (s *pctcp) closeProbe() {
	if s.probing && len(s.kinds) > 0 {
		s.racing.learn(s.kinds, s.events, s.clocks)
		s.probed = append(s.probed, s.kinds[:s.numbered])
		s.kinds = nil
	}
}

// Report reports which events were delayed, and the size of the run.
func (s *pctcp) Report(words bool) lockstep.SchedulerStats {
	a := lockstep.SchedulerStats{Stats: s.seen()}
	if words {
		a.Drawn = map[string]string{"changes": s.changes()}
		if s.Late == 0 {
			a.Drawn["late"] = strconv.Itoa(int(s.agenda.late))
		}
	}
	return a
}

func (s *pctcp) changes() string {
	words := make([]string, len(s.change))
	for i, c := range s.change {
		words[i] = strconv.Itoa(int(c))
	}
	return strings.Join(words, " ")
}

// Next chooses the next step.
func (s *pctcp) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	return s.advance(turn, horizon(s.Steps), next)
}

// place draws any node.
func (s *pctcp) place(to lockstep.Nodes) lockstep.Node { return pickNode(s.rand, to) }

// came assigns a chain and a number to an event.
func (s *pctcp) came(turn *lockstep.Turn, index int32) {
	e := &s.events[index]
	if e.kind != trace.Deliver {
		e.past = s.cause(turn, e)
	}
	if s.probing {
		s.kinds = append(s.kinds, kindOfEvent(turn, e))
	}
	e.change = 0
	if !horizon(s.Steps).passed(turn) && (s.probing || s.racing == nil || s.racing.has(turn, e)) {
		s.numbered++
		e.change = s.changePoint()
	}
	if e.kind == trace.Timer {
		s.arm(e)
		return
	}
	e.chain, e.before = s.insert(index, func(last int32) bool {
		l := &s.events[last]
		return s.knows(e.past, int(l.node), l.at)
	})
	if int(e.chain) == len(s.priority) {
		s.priority = append(s.priority, s.freshPriority())
	}
	e.usual = s.priority[e.chain]
	if e.change > 0 {
		s.priority[e.chain] = e.delayed()
	}
	e.key = s.priority[e.chain]
	if e.again > 0 && e.change == 0 {
		e.key = waitBand + uint64(index)
	}
}

// changePoint returns the change point of the event that was numbered last, counted from 1, or 0. It is the one drawn
// for this event, or else one whose event is no longer possible.
func (s *pctcp) changePoint() int32 {
	at := int32(slices.Index(s.change, s.numbered))
	if at < 0 && len(s.spare) > 0 {
		at = s.spare[0]
		s.spare = slices.Delete(s.spare, 0, 1)
	}
	if at >= 0 {
		s.changed++
	}
	return at + 1
}

// delayed returns the key of an event at a change point.
func (e *event) delayed() uint64 { return lowBand - uint64(e.change) }

// sent records the cause of a message.
func (s *pctcp) sent(turn *lockstep.Turn, index int32) {
	e := &s.events[index]
	e.past = s.cause(turn, e)
}

// left removes an event from its chain. Its change point becomes available for another event.
func (s *pctcp) left(_ *lockstep.Turn, index int32) {
	e := &s.events[index]
	if e.kind != trace.Timer {
		s.withdraw(e.chain, e.before)
		s.priority[e.chain] = e.usual
	}
	if e.change > 0 {
		s.spare = append(s.spare, e.change-1)
		s.changed--
	}
}

// prefer replaces a waiting timer by the timer that is due first. It does the same for a repeated request before any
// timer has fired. With Fair, a timer that is due replaces any event.
func (s *pctcp) prefer(turn *lockstep.Turn, index int32) int32 {
	e := &s.events[index]
	wait := waiting(e.key) && (e.kind != trace.Request || e.again > s.rung)
	if !wait && !s.Fair {
		return index
	}
	best := int32(-1)
	for n := range s.armed.All() {
		a := s.timers[n]
		if key := s.events[a].key; (s.Fair || waiting(key)) && (wait || s.due(turn, n)) &&
			(best < 0 || turn.TimerAt(n) < turn.TimerAt(s.events[best].node) ||
				turn.TimerAt(n) == turn.TimerAt(s.events[best].node) && key > s.events[best].key) {
			best = a
		}
	}
	if best < 0 {
		return index
	}
	return best
}

// due reports whether a node's timer is due and no timer of this node has fired at this time. A timer that is
// repeatedly set for the same time must not block other nodes.
func (s *pctcp) due(turn *lockstep.Turn, n lockstep.Node) bool {
	return turn.TimerAt(n) <= turn.Now() && s.timer[n].last < turn.Now()
}

// waiting reports whether a key belongs to a waiting timer or request.
func waiting(key uint64) bool { return key < highBand && key >= lowBand }

// cause returns the index of the clock of an event's cause.
func (s *pctcp) cause(turn *lockstep.Turn, e *event) int32 {
	switch e.kind {
	case trace.Timer:
		return s.save(int(e.node))
	case trace.Request: // the step that offered it, if known
		return s.save(int(e.from))
	}
	if original := turn.Message(e.msg).Copy; original != 0 { // a duplicate has the causal past of its original
		return s.events[s.byMsg[original-1]].past
	}
	return s.save(int(e.from))
}

// arm assigns to a timer the key of its chain, or a key of its own if it is delayed.
func (s *pctcp) arm(e *event) {
	c := &s.timer[e.node]
	if c.priority == 0 {
		c.priority = s.freshPriority()
	}
	e.key = c.priority
	switch {
	case e.change > 0:
		e.key = e.delayed()
	case c.waits || s.Fair:
		e.key = waitBand - c.fired*trace.MaxNodes - uint64(e.node)
	}
}

// freshPriority draws a priority that no chain uses.
func (s *pctcp) freshPriority() uint64 {
	for {
		p := s.rand.Uint64() | highBand
		taken := slices.Contains(s.priority, p)
		for i := range s.timer {
			taken = taken || s.timer[i].priority == p
		}
		if !taken {
			return p
		}
	}
}

// happened advances the clock of the event's node.
func (s *pctcp) happened(turn *lockstep.Turn, index int32) {
	e := &s.events[index]
	e.at = s.tick(int(e.node), e.past)
	if e.kind == trace.Timer {
		c := &s.timer[e.node]
		c.fired++
		c.last = turn.Now()
		c.waits = e.key >= highBand
	}
}

// seen returns measurements of the run. The width is the size of the largest antichain observed: the events open at
// once, or the levels of the partition. If timers add chains to those of the partition, the width is at least the
// square root of the number of chains.
func (s *pctcp) seen() lockstep.RunStats {
	chains := len(s.priority)
	for i := range s.timer {
		if s.timer[i].priority != 0 {
			chains++
		}
	}
	width := max(s.used, s.peak, int(math.Ceil(math.Sqrt(float64(chains)))))
	return lockstep.RunStats{Choices: int(s.numbered), Width: width, Runs: 1, Hits: s.changed}
}
