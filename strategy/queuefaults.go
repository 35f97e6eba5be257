package strategy

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Queues makes the nondeterminism of a network a scheduling decision, after Walker and Runciman's "Systematic Testing
// for Distributed Systems". Each link has two queues: a sent message enters the network, and from there the inbox. Four
// actions, the shadow threads of the paper, work on the first message of the network. Commit moves it to the inbox,
// where it is safe. Drop loses it, dup duplicates it, and swap exchanges it with the second. Run delivers the first
// message of the inbox to its node.
//
// A step draws a class of action by the given weights, among the possible ones. It then draws a link or node with equal
// probability. The strategy never takes pairs of actions on one link that lead to no new state: swap swap, dup swap and
// dup drop.
//
// Swarm draws a mix of features for each run, as in swarm testing (Groce and others, ISSTA 2012). Each run draws all
// weights, and Drops, Dups and Distance up to the given values. Only drop, swap and dup may have weight 0. On systems
// with FIFO links no message is swapped or duplicated.
type Queues struct {
	// Swarm draws the weights of each run, and its bounds up to the given ones.
	Swarm   bool `help:"draw the weights of each run, and its bounds up to those given"`
	Run     int  `help:"weight of delivering the first message of an inbox to its node"`
	Commit  int  `help:"weight of moving the first message of a network to the inbox"`
	Timer   int  `help:"weight of firing a timer"`
	Request int  `help:"weight of giving a waiting request to a node"`
	Drop    int  `help:"weight of losing the first message of a network"`
	Dup     int  `help:"weight of duplicating the first message of a network"`
	Swap    int  `help:"weight of exchanging the two first messages of a network"`

	Drops int `help:"messages lost in a run, at most" range:"0.."`
	Dups  int `help:"messages duplicated in a run, at most" range:"0.."`
	// Distance bounds how many places swaps may move a message in all, forward or back from the order of sending.
	Distance int `help:"places that swaps may move a message in all, forward or back, at most" range:"0.."`
	Steps    int `help:"length of a run; 0: as long as anything is possible" range:"0.."`
}

// DefaultQueues draws its weights in each run.
var DefaultQueues = Queues{Swarm: true, Drops: 20, Dups: 10, Distance: 5, Steps: 300}

// weights returns the weights by action.
func (q Queues) weights() (w [actionEnd]int) {
	w[actRun], w[actCommit], w[actTimer], w[actRequest] = q.Run, q.Commit, q.Timer, q.Request
	w[actDrop], w[actDup], w[actSwap] = q.Drop, q.Dup, q.Swap
	return w
}

// shadowClasses names the weighted actions.
var shadowClasses = []struct {
	act   action
	name  string
	fault bool
}{
	{actRun, "run", false}, {actCommit, "commit", false}, {actTimer, "timer", false}, {actRequest, "request", false},
	{actDrop, "drop", true}, {actDup, "dup", true}, {actSwap, "swap", true},
}

// String returns the strategy as written on the command line.
func (q Queues) String() string { return write("queues", q) }

// Fit returns the terms on which the strategy explores the system.
func (q Queues) Fit(info lockstep.Info) (lockstep.Terms, error) {
	t, err := fit("queues", q, info)
	t.Order = &trace.Order{Distance: q.Distance}
	if !q.Swarm && q.Swap == 0 {
		t.Order.Distance = 0
	}
	return t, err
}

// check reports an invalid option, or why the strategy does not fit the system.
func (q Queues) check(info lockstep.Info) error {
	weights := q.weights()
	for _, c := range shadowClasses {
		w := weights[c.act]
		switch {
		case q.Swarm && w != 0:
			return fmt.Errorf("queues: the weight %s is %d, but swarm draws the weights: leave it 0 or set swarm=false",
				c.name, w)
		case !q.Swarm && (w < 0 || w == 0 && !c.fault):
			return fmt.Errorf(
				"queues: the weight %s is %d; without swarm run, commit, timer and request must be positive, drop, dup and swap "+
					"not negative",
				c.name,
				w,
			)
		}
	}
	if info.FIFO && (q.Dup > 0 || q.Swap > 0) {
		return fmt.Errorf("queues: %s has FIFO links, on which nothing can be swapped or duplicated: set dup=0,swap=0",
			info.Name)
	}
	need := trace.KindsOf(trace.Deliver)
	if q.Drop > 0 {
		need |= trace.KindsOf(trace.Drop)
	}
	if q.Dup > 0 {
		need |= trace.KindsOf(trace.Duplicate)
	}
	return info.Require("queues", need)
}

// guarantee returns what one run guarantees.
func (q Queues) guarantee(lockstep.Info) lockstep.Guarantee {
	return lockstep.Guarantee{Class: "a given execution",
		Assumes: []string{"weighted choices have no lower bound that does not depend on the system"}}
}

// New returns a new scheduler.
func (q Queues) New(info lockstep.Info) lockstep.Scheduler {
	return &shadow{Queues: q, queues: newQueues(info), supports: info.Supports}
}

type shadow struct {
	Queues
	*queues
	supports trace.Kinds
	rand     *rand.Rand
	weight   [actionEnd]int
	list     []choice
	note     func(choice) // for tests
}

// Reset begins a new run.
func (s *shadow) Reset(start *lockstep.Start) {
	s.rand = start.Rand
	s.queues.reset()
	s.weight = s.weights()
	s.bound[actDrop], s.bound[actDup], s.queues.distance = s.Drops, s.Dups, s.Distance
	if s.Swarm {
		s.drawMix()
	}
	for act, weight := range s.weight {
		s.never[act] = weight == 0
	}
}

// drawMix draws weights and bounds.
func (s *shadow) drawMix() {
	s.weight[actRun], s.weight[actCommit] = 5+s.rand.IntN(16), 5+s.rand.IntN(16)
	s.weight[actTimer], s.weight[actRequest] = 1+s.rand.IntN(5), 1+s.rand.IntN(5)
	s.weight[actDrop] = s.drawFault(&s.bound[actDrop], s.supports.Has(trace.Drop))
	s.weight[actDup] = s.drawFault(&s.bound[actDup], s.supports.Has(trace.Duplicate) && !s.fifo)
	s.weight[actSwap] = s.drawFault(&s.queues.distance, !s.fifo)
}

// drawFault draws the weight of a class of faults, which is 0 in one of three runs, and a bound up to the given one.
func (s *shadow) drawFault(bound *int, possible bool) int {
	weight, most := 1+s.rand.IntN(6), *bound
	if most > 0 {
		*bound = 1 + s.rand.IntN(most)
	}
	if s.rand.IntN(3) == 0 || !possible || most == 0 {
		return 0
	}
	return weight
}

// Report reports the weights and bounds drawn for the run.
func (s *shadow) Report(words bool) (a lockstep.SchedulerStats) {
	if words {
		a.Drawn = s.parameters()
	}
	return a
}

func (s *shadow) parameters() map[string]string {
	drawn := map[string]string{"drops": strconv.Itoa(s.bound[actDrop]), "dups": strconv.Itoa(s.bound[actDup]),
		"distance": strconv.Itoa(s.queues.distance)}
	for _, c := range shadowClasses {
		drawn[c.name] = strconv.Itoa(s.weight[c.act])
	}
	return drawn
}

// Next chooses the next step. It takes actions until one is a step of the engine.
func (s *shadow) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if s.Steps > 0 && turn.Steps() >= s.Steps {
		return false
	}
	s.observe(turn)
	for {
		s.list = s.choices(turn, s.list[:0])
		c, ok := s.draw()
		if !ok && s.Steps > 0 && rounds.Ticks(turn.Info()) { // time passes only when no action is possible
			*next = turn.Wait()
			return true
		}
		if !ok {
			return false
		}
		if s.note != nil {
			s.note(c)
		}
		if s.perform(turn, c, next) {
			return true
		}
	}
}

// draw draws a class by weight, then one of its choices.
func (s *shadow) draw() (choice, bool) {
	var of [actionEnd]int
	for _, c := range s.list {
		of[c.act]++
	}
	total := 0
	for act, n := range of {
		if n > 0 {
			total += s.weight[act]
		}
	}
	if total == 0 {
		return choice{}, false
	}
	at := s.rand.IntN(total)
	for act, n := range of {
		if n == 0 {
			continue
		}
		if at -= s.weight[act]; at < 0 {
			return s.nth(action(act), s.rand.IntN(n)), true
		}
	}
	panic("strategy: shadow drew beyond the total of its weights")
}

func (s *shadow) nth(act action, k int) choice {
	for _, c := range s.list {
		if c.act == act {
			if k == 0 {
				return c
			}
			k--
		}
	}
	panic("strategy: fewer choices than were counted")
}
