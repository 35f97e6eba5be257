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
// the alarm after that may go by its priority again.
//
// Every message that can be delivered is, in the end: after Steps steps no more alarm
// fires, no more request is given, and what is left is delivered, oldest first.
type PCTCP struct {
	// Depth is the number of events whose order matters, at least 1.
	Depth int `help:"number of events whose order is to be hit"`
	// Events is the number of events among which the change points lie; 0 means the
	// largest number seen in a few fault-free runs.
	Events int `help:"events among which the change points lie; 0: learned from fault-free runs"`
	// Races counts only events that race, that is, that may arrive before or after another
	// event at the same node. Which do is learned by type, sender and receiver from a few
	// fault-free runs.
	Races bool `help:"count only events that race with another (trace-aware)"`
	// Steps is the number of steps after which a run is brought to its end.
	Steps int `help:"steps before a run is brought to its end; 0: as long as anything is possible"`

	racing *races // learned
}

// DefaultPCTCP has the depth that found as much as depth 3, or more, in the tables of
// docs/strategies.md.
var DefaultPCTCP = PCTCP{Depth: 5, Steps: 300}

// String is the strategy as written on the command line.
func (p PCTCP) String() string { return write("pctcp", p) }

// check reports what is wrong with the options, or why the system does not fit.
func (p PCTCP) check(info lockstep.Info) error {
	switch {
	case p.Depth < 1 || p.Depth > 64:
		return fmt.Errorf("pctcp: depth is %d, allowed are 1..64", p.Depth)
	case p.Events < 0 || p.Events > 1_000_000:
		return fmt.Errorf("pctcp: events is %d, allowed are 0..1000000", p.Events)
	case p.Events > 0 && p.Events < p.Depth-1:
		return fmt.Errorf("pctcp: events is %d, but depth %d needs %d change points among them", p.Events, p.Depth, p.Depth-1)
	case p.Steps < 0:
		return fmt.Errorf("pctcp: steps is %d, it must not be negative", p.Steps)
	}
	return info.Require("pctcp", trace.KindsOf(trace.Deliver))
}

// Fit says on which terms the strategy explores such a system. The guarantee is the paper's
// bound; the numbers in it are known only after the runs.
func (p PCTCP) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := p.check(info); err != nil {
		return lockstep.Terms{}, err
	}
	t := lockstep.Terms{Guarantee: p.guarantee(lockstep.Seen{Events: p.Events}), Measured: p.guarantee}
	if p.Events == 0 || p.Races && p.racing == nil {
		t.Probe, t.Learn = pctcpProbe{PCTCP{Depth: 1, Steps: p.Steps, Events: 1, racing: &races{}}}, p.learn
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
// above highBand; alarms that wait for them lie below it, the one that rang least first;
// the chain of the i-th change point has lowBand-i.
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
	numbered int32   // events that count

	probing bool
	kinds   []eventKind   // of the events of this run, while probing
	probed  [][]eventKind // of the runs before
}

// alarmChain is the chain of a node's alarms.
type alarmChain struct {
	priority uint64 // 0: none yet
	rang     uint64
	waits    bool // the next alarm waits for everything that is not delayed
}

// Reset begins a new run.
func (s *pctcp) Reset(start *lockstep.Start) {
	s.closeProbe()
	s.rand = start.Rand
	s.agenda.reset()
	s.clocks.reset()
	s.partition.reset()
	s.priority = s.priority[:0]
	clear(s.alarm)
	s.numbered = 0
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
		a.Drawn = s.changes()
	}
	return a
}

func (s *pctcp) changes() map[string]string {
	words := make([]string, len(s.change))
	for i, c := range s.change {
		words[i] = strconv.Itoa(int(c))
	}
	return map[string]string{"changes": strings.Join(words, " ")}
}

// Next chooses the next step.
func (s *pctcp) Next(run *lockstep.Run, next *lockstep.Step) bool {
	return s.advance(run, horizon(s.Steps), next)
}

// place draws any node.
func (s *pctcp) place(to lockstep.Nodes) lockstep.Node { return pickNode(s.rand, to) }

// came gives an event its chain and its number.
func (s *pctcp) came(run *lockstep.Run, index int32) {
	e := &s.events[index]
	e.past = s.cause(run, e)
	if s.probing {
		s.kinds = append(s.kinds, kindOfEvent(run, e))
	}
	delayed := uint64(0)
	if !horizon(s.Steps).passed(run) && (s.probing || s.racing == nil || s.racing.has(run, e)) {
		s.numbered++
		for i, c := range s.change {
			if c == s.numbered {
				delayed = lowBand - uint64(i) - 1
			}
		}
	}
	if e.kind == trace.Alarm {
		s.arm(e, delayed)
		return
	}
	e.chain = s.insert(index, func(last int32) bool {
		l := &s.events[last]
		return s.knows(e.past, int(l.node), l.at)
	})
	if int(e.chain) == len(s.priority) {
		s.priority = append(s.priority, s.freshPriority())
	}
	if delayed > 0 {
		s.priority[e.chain] = delayed
	}
	e.key = s.priority[e.chain]
}

// cause is the index of the clock of what caused an event.
func (s *pctcp) cause(run *lockstep.Run, e *event) int32 {
	switch e.kind {
	case trace.Alarm:
		return s.save(int(e.node))
	case trace.Request:
		return -1
	}
	if original := run.Message(e.msg).Copy; original != 0 { // a copy has the past of its original
		return s.events[s.byMsg[original-1]].past
	}
	return s.save(int(e.from))
}

// arm gives an alarm the key of its chain.
func (s *pctcp) arm(e *event, delayed uint64) {
	c := &s.alarm[e.node]
	if c.priority == 0 {
		c.priority = s.freshPriority()
	}
	if delayed > 0 {
		c.priority = delayed
	}
	e.key = c.priority
	if c.waits && c.priority >= highBand {
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
func (s *pctcp) happened(_ *lockstep.Run, index int32) {
	e := &s.events[index]
	e.at = s.tick(int(e.node), e.past)
	if e.kind == trace.Alarm {
		c := &s.alarm[e.node]
		c.rang++
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
	return lockstep.Seen{Events: int(s.numbered), Width: width}
}
