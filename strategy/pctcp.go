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

// PCTCP is probabilistic concurrency testing with chain partitioning (Ozkan, Majumdar,
// Niksic, Befrouei, Weissenbacher; OOPSLA 2018), the explorer of Netrix. It orders the
// events of a run and loses nothing.
//
// Events are partially ordered by causality and distributed over chains while the run
// goes on. Each chain has a random priority of its own, and the event of the chain with
// the highest priority happens next. Depth-1 change points, distinct numbers among the
// first Events events in the order in which they come into being, delay events: the chain
// of such an event falls below all others, and the i-th change point below those before.
//
// The alarms of a node are a chain of their own, outside the partition. So that a node
// whose alarm rings again and again does not shut out everyone else, an alarm armed after
// one that rang by its priority waits until every chain that was not delayed is empty;
// of those that wait, the one that is due first rings. The alarm after that may go by its
// priority again. A change point delays one alarm and not those after it. With Fair all
// alarms wait so until their time has come, and then ring before anything else happens.
//
// A request comes after the step that offered it. One that is offered again when it was given
// waits likewise: a client asks again when nothing else can happen but alarms and what is
// delayed, and not twice before an alarm has rung.
//
// Nothing waits for ever while time goes on: at most Late events may overtake one that can
// happen, that is, come into being after it and happen before it. Then it happens, of
// several the oldest. For an alarm that counts once it is due, or the one that is due first.
//
// A message that a scenario loses or holds is no event, and is one when it is released; a
// change point on an event that can happen no more moves to the next one that comes.
//
// Every message that can be delivered is, in the end: after Steps steps no more alarm
// fires, no more request is given, and what is left is delivered, oldest first.
type PCTCP struct {
	// Depth is the number of events whose order matters, at least 1.
	Depth int `help:"number of events whose order is to be hit" range:"1..64"`
	// Events is the number of events among which the change points lie; 0 means the
	// largest number seen in a few fault-free runs.
	Events int `help:"events among which the change points lie; 0: learned from fault-free runs" range:"0..1000000"`
	// Races counts only events that race, that is, that may arrive before or after another
	// event at the same node. Which do is learned by type, sender and receiver from a few
	// fault-free runs.
	Races bool `help:"count only events that race with another (trace-aware)"`
	// Late is the number of events that may overtake one that can happen; 0 means that each
	// run draws one of Lates, Unbounded any number.
	Late int `help:"events that may overtake one that can happen; 0: each run draws 10, 30 or 100, -1: any number" range:"-1..1000000"`
	// Fair lets time move only when nothing can happen that is not delayed, and then for everyone:
	// the alarm that is due first rings, and the others of its time before anything else
	// happens, a delayed one last. Otherwise every other alarm of a node races with messages, and
	// clocks may run at different speeds.
	Fair bool `help:"time moves only when nothing else can happen that is not delayed, so that clocks run alike"`
	// Steps is the number of steps after which a run is brought to its end.
	Steps int `help:"steps before a run is brought to its end; 0: as long as anything is possible" range:"0.."`

	racing *races // learned
}

// Lates are the numbers of events that may overtake one that can happen, of which each run
// draws one unless told otherwise. No single one is good for everything: some bugs need a
// message that many elections overtake, and most are found far more often where nothing is
// very late. The evidence is in docs/strategies.md.
var Lates = [...]int{10, 30, 100}

// DefaultPCTCP has the depth that found as much as depth 3, or more, in the tables of
// docs/strategies.md.
var DefaultPCTCP = PCTCP{Depth: 5, Steps: 300}

// String is the strategy as written on the command line.
func (p PCTCP) String() string { return write("pctcp", p) }

// check reports what is wrong with the options, or why the system does not fit.
func (p PCTCP) check(info lockstep.Info) error {
	if p.Events > 0 && p.Events < p.Depth-1 {
		return fmt.Errorf("pctcp: events is %d, but depth %d needs %d change points among them", p.Events, p.Depth, p.Depth-1)
	}
	return info.Require("pctcp", trace.KindsOf(trace.Deliver))
}

// Fit says on which terms the strategy explores such a system. The guarantee is the paper's
// bound; the numbers in it are known only after the runs.
func (p PCTCP) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := fits("pctcp", p, info); err != nil {
		return lockstep.Terms{}, err
	}
	t := lockstep.Terms{Guarantee: p.guarantee(lockstep.Seen{Events: p.Events}), Measured: p.guarantee}
	if p.Events == 0 || p.Races && p.racing == nil {
		t.Probe, t.Learn = pctcpProbe{PCTCP{Depth: 1, Steps: p.Steps, Events: 1, Late: p.Late, Fair: p.Fair, racing: &races{}}}, p.learn
	}
	return t, nil
}

// guarantee is the bound with the numbers that were seen.
func (p PCTCP) guarantee(seen lockstep.Seen) lockstep.Guarantee {
	race := ""
	if p.Races {
		race = " that race"
	}
	g := lockstep.Guarantee{Class: fmt.Sprintf("a given order of %d events%s", p.Depth, race)}
	if seen.Width == 0 || p.Events == 0 {
		g.Assumes = []string{"1/(w^2 n^(d-1)), where the width w and the number of events n are known only after the runs"}
		return g
	}
	g.Class = fmt.Sprintf("a given order of %d of the first %d events%s", p.Depth, p.Events, race)
	g.PerRun = math.Pow(float64(seen.Width), -2) * math.Pow(float64(p.Events), float64(1-p.Depth))
	g.Assumes = []string{
		fmt.Sprintf("1/(w^2 n^(d-1)) with w=%d, n=%d, d=%d; runs had up to %d events", seen.Width, p.Events, p.Depth, seen.Events),
		"the order respects causality, and its events come into being in every order of the others",
		"they happen before the run is brought to its end"}
	switch {
	case p.Late > 0:
		g.Assumes = append(g.Assumes, fmt.Sprintf("none of them must wait while more than %d events overtake it (late)", p.Late))
	case p.Late == 0:
		g.Assumes = append(g.Assumes, fmt.Sprintf("none of them must wait while more than %d events overtake it; in two of three runs these may be %d, in one %d (late)",
			Lates[0], Lates[1], Lates[2]))
	}
	if p.Fair {
		g.Assumes = append(g.Assumes, "no alarm among them must ring before a message arrives that is not among them, or after one that arrives when its time has come (fair)")
	}
	if seen.Runs > 0 && p.Depth > 1 {
		g.Assumes = append(g.Assumes, fmt.Sprintf("of %d change points a run %.1f delayed an event that could happen",
			p.Depth-1, float64(seen.Changes)/float64(seen.Runs)))
	}
	return g
}

// learn chooses the parameters that a few runs without faults suggest.
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

// pctcpProbe makes the runs that PCTCP learns from.
type pctcpProbe struct{ PCTCP }

// New makes a scheduler.
func (p pctcpProbe) New(info lockstep.Info) lockstep.Scheduler {
	s := p.PCTCP.New(info).(*pctcp)
	s.probing = true
	return s
}

// New makes a scheduler.
func (p PCTCP) New(info lockstep.Info) lockstep.Scheduler {
	s := &pctcp{PCTCP: p, clocks: newClocks(info.Nodes), alarm: make([]alarmChain, info.Nodes+1)}
	s.decider = s
	return s
}

// The keys of events lie in three bands. Chains that were not delayed have random keys
// above highBand; requests and alarms that wait for them lie below it, of the requests the
// latest first, of the alarms the one that rang least; the chain of the i-th change point
// has lowBand-i.
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
	alarm    []alarmChain
	change   []int32 // numbers of the events to delay; the i-th falls below those before
	spare    []int32 // change points whose event can happen no more, as indices of change
	numbered int32   // events that count
	changed  int     // change points that delay an event

	probing bool
	kinds   []eventKind   // of the events of this run, while probing
	probed  [][]eventKind // of the runs before
}

// alarmChain is the chain of a node's alarms.
type alarmChain struct {
	priority uint64 // 0: none yet
	rang     uint64
	waits    bool       // the next alarm waits for everything that is not delayed
	last     trace.Time // when the last one rang
}

// Reset begins a new run.
func (s *pctcp) Reset(start *lockstep.Start) {
	s.closeProbe()
	s.rand = start.Rand
	s.agenda.reset()
	s.agenda.late = int32(max(s.Late, 0))
	if s.Late == 0 {
		s.agenda.late = int32(Lates[s.rand.IntN(len(Lates))])
	}
	s.clocks.reset()
	s.partition.reset()
	s.priority = s.priority[:0]
	clear(s.alarm)
	s.numbered, s.changed, s.spare = 0, 0, s.spare[:0]
	s.change = s.change[:0]
	for len(s.change) < min(s.Depth-1, s.Events) {
		if c := int32(1 + s.rand.IntN(s.Events)); !slices.Contains(s.change, c) {
			s.change = append(s.change, c)
		}
	}
}

// closeProbe takes over what the run just made has to teach.
func (s *pctcp) closeProbe() {
	if s.probing && len(s.kinds) > 0 {
		s.racing.learn(s.kinds, s.events, s.clocks)
		s.probed = append(s.probed, s.kinds[:s.numbered])
		s.kinds = nil
	}
}

// Tell tells which events were delayed, and how large the run was.
func (s *pctcp) Tell(words bool) lockstep.Account {
	a := lockstep.Account{Seen: s.seen()}
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

// came gives an event its chain and its number.
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
	if e.kind == trace.Alarm {
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

// changePoint is the change point of the event numbered last, counted from 1, or 0: one that
// was drawn for it, else one whose event can happen no more.
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

// delayed is the key of an event at a change point.
func (e *event) delayed() uint64 { return lowBand - uint64(e.change) }

// sent notes what caused a message.
func (s *pctcp) sent(turn *lockstep.Turn, index int32) {
	e := &s.events[index]
	e.past = s.cause(turn, e)
}

// left takes an event out of its chain again. Its change point is for another.
func (s *pctcp) left(_ *lockstep.Turn, index int32) {
	e := &s.events[index]
	if e.kind != trace.Alarm {
		s.withdraw(e.chain, e.before)
		s.priority[e.chain] = e.usual
	}
	if e.change > 0 {
		s.spare = append(s.spare, e.change-1)
		s.changed--
	}
}

// prefer puts the alarm that is due first in the place of one that waits, and in the place of
// a request that is to be given again before any alarm has rung. With fair time it puts one
// whose time has come in the place of anything.
func (s *pctcp) prefer(turn *lockstep.Turn, index int32) int32 {
	e := &s.events[index]
	wait := waiting(e.key) && (e.kind != trace.Request || e.again > s.rung)
	if !wait && !s.Fair {
		return index
	}
	best := int32(-1)
	for n := range s.armed.All() {
		a := s.alarms[n]
		if key := s.events[a].key; (s.Fair || waiting(key)) && (wait || s.due(turn, n)) &&
			(best < 0 || turn.AlarmAt(n) < turn.AlarmAt(s.events[best].node) ||
				turn.AlarmAt(n) == turn.AlarmAt(s.events[best].node) && key > s.events[best].key) {
			best = a
		}
	}
	if best < 0 {
		return index
	}
	return best
}

// due reports whether the time of a node's alarm has come and none of that node has rung at
// this time: one that is set for the same time again and again keeps nobody waiting.
func (s *pctcp) due(turn *lockstep.Turn, n lockstep.Node) bool {
	return turn.AlarmAt(n) <= turn.Now() && s.alarm[n].last < turn.Now()
}

// waiting reports whether a key is that of an alarm or a request that waits.
func waiting(key uint64) bool { return key < highBand && key >= lowBand }

// cause is the index of the clock of what caused an event.
func (s *pctcp) cause(turn *lockstep.Turn, e *event) int32 {
	switch e.kind {
	case trace.Alarm:
		return s.save(int(e.node))
	case trace.Request: // the step that offered it, where it is known
		return s.save(int(e.from))
	}
	if original := turn.Message(e.msg).Copy; original != 0 { // a copy has the past of its original
		return s.events[s.byMsg[original-1]].past
	}
	return s.save(int(e.from))
}

// arm gives an alarm the key of its chain, or one of its own where it is delayed.
func (s *pctcp) arm(e *event) {
	c := &s.alarm[e.node]
	if c.priority == 0 {
		c.priority = s.freshPriority()
	}
	e.key = c.priority
	switch {
	case e.change > 0:
		e.key = e.delayed()
	case c.waits || s.Fair:
		e.key = waitBand - c.rang*trace.MaxNodes - uint64(e.node)
	}
}

// freshPriority draws a priority that no chain has.
func (s *pctcp) freshPriority() uint64 {
	for {
		p := s.rand.Uint64() | highBand
		taken := slices.Contains(s.priority, p)
		for i := range s.alarm {
			taken = taken || s.alarm[i].priority == p
		}
		if !taken {
			return p
		}
	}
}

// happened moves the clock of the event's node on.
func (s *pctcp) happened(turn *lockstep.Turn, index int32) {
	e := &s.events[index]
	e.at = s.tick(int(e.node), e.past)
	if e.kind == trace.Alarm {
		c := &s.alarm[e.node]
		c.rang++
		c.last = turn.Now()
		c.waits = e.key >= highBand
	}
}

// seen measures the run. The width is the largest antichain that was met:
// the events open at once, or the levels of the partition. Where alarms add chains to
// those of the partition, it is at least the root of the number of chains.
func (s *pctcp) seen() lockstep.Seen {
	chains := len(s.priority)
	for i := range s.alarm {
		if s.alarm[i].priority != 0 {
			chains++
		}
	}
	width := max(s.used, s.peak, int(math.Ceil(math.Sqrt(float64(chains)))))
	return lockstep.Seen{Events: int(s.numbered), Width: width, Runs: 1, Changes: s.changed}
}
