package strategy

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/rounds"
)

// Uniform runs in lock-step rounds (Algorithm 1 of "Testing Consensus Implementations using Communication Closure"). In
// each round the nodes of a kernel receive each other's messages, and all other messages are lost.
//
// The rounds form phases of Period rounds. In every phase, a node may be isolated from one of the rounds until the end
// of the phase. At most Isolations such isolations happen in a run. Where the engine does not control single messages,
// a round is a time interval. Nodes outside the kernel are cut off or crashed during it.
type Uniform struct {
	// Period is the number of rounds after which isolated nodes reconnect. The value 0 means the rounds of a phase of
	// the protocol, or 4 if messages carry no tags.
	Period int `help:"rounds after which isolated nodes return; 0: the rounds of a phase"`
	// Isolations bounds the isolations of a run; Unbounded removes the bound.
	Isolations int `help:"isolations in a run; -1: no bound"`
	// Rounds is the length of a run. The value 0 means as many as the requests of the system take (Info.Waits), or 16
	// if they do not depend on time.
	Rounds int `help:"rounds of a run; 0: as many as the requests of the system take, or 16"`
	// Phases limits isolations to the first phases of a run, so that the later ones show whether the system recovers. 0
	// means that isolations may fall into any phase. The tool of the paper's authors has this bound, too.
	Phases int `help:"phases at the start of a run into which isolations fall; 0: all" range:"0.."`
	// Sampler selects how runs are drawn; the zero value is Exact.
	Sampler Sampler `help:"exact, paper, partial, every, effects or distinct"`
	// Isolated is what isolated nodes do, if the engine controls messages; the zero value is Frozen.
	Isolated Isolation `help:"frozen, cut or held: isolated nodes are paused, run without being heard, or are heard later"`
	// By is how nodes are isolated, if the engine does not control messages; the zero value is ByCut.
	By IsolationMethod `help:"cut, crash or restart: how nodes are isolated where the engine does not control messages; restart: crashes, and all nodes crash at the end of a phase"`
}

// DefaultUniform uses the parameters of the paper's Fig. 3, with the protocol's own period.
var DefaultUniform = Uniform{Isolations: 4, Rounds: 16}

// Sampler selects how a lock-step strategy draws from its space, which is the set of executions within its bounds.
type Sampler uint8

// The samplers.
const (
	// Exact draws every execution that the bound on isolations allows with the same probability.
	Exact Sampler = iota
	// Paper is Algorithm 1 as published, with exactly as many isolations as the bound. It first distributes them over the
	// phases, then draws the nodes for each phase, then a round for each node. So executions have different
	// probabilities. Without a bound, each node is isolated from any round of a phase, or not at all, with the same
	// probability.
	Paper
	// Every enumerates the space: run i executes the i-th execution, and a campaign ends when it has executed all of
	// them.
	Every
	// Partial is Paper, except that a node that was drawn for a phase may stay connected, as if a further round had been
	// drawn. So there are at most as many isolations as the bound. The paper's function f allows both readings: Paper
	// takes it as total, Partial as partial.
	Partial
	// EveryEffective enumerates the space like Every, and skips executions with an isolation that has no effect: in the
	// round in which it begins, it loses no message and stops no timer. Only a run shows this, so that runs are
	// sequential. It is called effects on the command line, and is for Uniform.
	EveryEffective
	// ExactEffective draws like Exact, and skips isolations of which it knows that they have no effect: in the round in
	// which they begin, they lose no message. It knows this if the messages of the round are already in flight when the
	// round begins. Each execution that it can draw is at least as probable as under Exact. It is called distinct on the
	// command line, and is for Uniform.
	ExactEffective
)

var samplerNames = []string{"exact", "paper", "every", "partial", "effects", "distinct"}

// Words lists the names of the samplers, for the parser of options.
func (Sampler) Words() []string { return samplerNames }

// String returns the name of the sampler.
func (s Sampler) String() string { return option.Word(samplerNames, int(s)) }

// Isolation says what isolated nodes do, if the engine controls messages.
type Isolation rounds.Isolation

// What isolated nodes do.
const (
	// Frozen nodes are paused: their timers do not fire, and messages from and to them are lost.
	Frozen = Isolation(rounds.Frozen)
	// CutOff nodes run, so that their timers fire, but messages from and to them are lost.
	CutOff = Isolation(rounds.CutOff)
	// Held nodes run, and messages from and to them are not lost. They are delivered when the nodes reconnect.
	Held = Isolation(rounds.Held)
)

var apartNames = []string{"frozen", "cut", "held"}

// Words lists the names of all behaviors, for the parser of options.
func (Isolation) Words() []string { return apartNames }

// String returns the name of the behavior.
func (i Isolation) String() string { return option.Word(apartNames, int(i)) }

// IsolationMethod is the way to isolate a node if the engine does not control messages.
type IsolationMethod uint8

// The ways to isolate a node.
const (
	// ByCut cuts the links of the node, or crashes it if links cannot be cut.
	ByCut IsolationMethod = iota
	// ByCrash crashes the node and restarts it when it reconnects.
	ByCrash
	// ByRestart crashes all nodes at the end of each phase. The next phase begins with the start of the nodes that are
	// not isolated in its first round. A node whose isolation begins in a later round crashes then. The paper's tests of
	// ZooKeeper do so.
	ByRestart
)

var meansNames = []string{"cut", "crash", "restart"}

// Words lists the names of all methods, for the parser of options.
func (IsolationMethod) Words() []string { return meansNames }

// String returns the name of the method.
func (i IsolationMethod) String() string { return option.Word(meansNames, int(i)) }

// String returns the strategy as written on the command line.
func (u Uniform) String() string { return write("uniform", u) }

// Fit returns the terms on which the strategy explores the system.
func (u Uniform) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := fits("uniform", u, info); err != nil {
		return lockstep.Terms{}, err
	}
	t := lockstep.Terms{
		Guarantee:  u.guarantee(info),
		Runs:       u.runs(info),
		Fixed:      givenRequests(info),
		Sequential: u.Sampler == EveryEffective,
		Sweeps:     true,
	}
	if u.Sampler == ExactEffective {
		t.Measured = func(seen lockstep.RunStats) lockstep.Guarantee { return u.distinctGuarantee(info, seen) }
	}
	return t, nil
}

// check reports an invalid option, or why the strategy does not fit the system.
func (u Uniform) check(info lockstep.Info) error {
	u = u.of(info)
	if err := checkSpace("uniform", "isolations", info.Nodes, u.Rounds, u.Period, u.Isolations); err != nil {
		return err
	}
	if err := u.checkPhases(info.Nodes); err != nil {
		return err
	}
	if err := checkWaits("uniform", u.Rounds, info); err != nil {
		return err
	}
	if err := checkSampler("uniform", u.Sampler, u.space(info.Nodes)); err != nil {
		return err
	}
	if u.Isolated != Frozen && rounds.Coarse(info) {
		return fmt.Errorf(
			"uniform: isolated=%s is for systems whose messages the engine controls; it does not control those of %s: use "+
				"the option by",
			u.Isolated,
			info.Name,
		)
	}
	if u.By != ByCut && !rounds.Coarse(info) {
		return fmt.Errorf(
			"uniform: by=%s is for systems whose messages are not in the engine's hands; those of %s are lost one by one",
			u.By,
			info.Name,
		)
	}
	return info.Require("uniform", rounds.NeedIsolation(info, u.By != ByCut))
}

// checkPhases rejects more isolations than the phases with isolations allow.
func (u Uniform) checkPhases(nodes int) error {
	if u.Phases > 0 && u.Isolations > nodes*u.Phases {
		return fmt.Errorf("uniform: isolations is %d, but %d nodes in the first %d phases allow 0..%d, or %d for no bound",
			u.Isolations, nodes, u.Phases, nodes*u.Phases, Unbounded)
	}
	return nil
}

// checkWaits rejects a run of time intervals that ends before the requests of a system do.
func checkWaits(strategy string, count int, info lockstep.Info) error {
	if count >= 1 && count < info.Waits && rounds.Coarse(info) {
		return fmt.Errorf(
			"%s: rounds is %d, but the requests of %s with these options take %d rounds: allowed are %d and more",
			strategy, count, info.Name, info.Waits, info.Waits)
	}
	return nil
}

// Executions returns how many executions the strategy can draw with the sampler Exact, for this number of nodes. Each
// has the same probability, so that the guarantee for one run is one over this number. A Period of 0 counts as 4
// rounds. Fit must have succeeded.
func (u Uniform) Executions(nodes int) *big.Int {
	return u.of(lockstep.Info{}).space(nodes).size()
}

// of returns the strategy with the period and the rounds of a system, if it has none of its own.
func (u Uniform) of(info lockstep.Info) Uniform {
	if u.Period == 0 {
		u.Period = phaseLength(info)
	}
	if u.Rounds == 0 {
		u.Rounds = cmp.Or(info.Waits, DefaultUniform.Rounds)
	}
	return u
}

// runs returns the number of runs that cover the whole space, or 0.
func (u Uniform) runs(info lockstep.Info) int { return u.of(info).space(info.Nodes).runs(u.Sampler) }

// guarantee returns what one run guarantees.
func (u Uniform) guarantee(info lockstep.Info) lockstep.Guarantee {
	u = u.of(info)
	g := guarantee(u.space(info.Nodes), u.Sampler,
		fmt.Sprintf("%d-periodic uniform execution of %d rounds", u.Period, u.Rounds), "isolations")
	if u.Phases > 0 {
		g.Class += fmt.Sprintf(" in the first %d phases", u.Phases)
	}
	if u.Isolated == Held {
		g.Assumes[0] = "messages wait as the rounds say, so that runs are not lossy-synchronous; nothing else is random"
	}
	return g
}

// New returns a new scheduler.
func (u Uniform) New(info lockstep.Info) lockstep.Scheduler {
	u = u.of(info)
	s := &isolator{
		breaker:  newBreaker(info, u.Rounds, u.space(info.Nodes), u.Sampler),
		isolated: make([]lockstep.Nodes, u.Rounds),
	}
	s.Driver = rounds.New(info, u.Rounds, s)
	s.frozen, s.names = u.Isolated == Frozen, len(info.Rounds)
	s.distinct.blind = u.Isolated == Held || rounds.Coarse(info)
	s.Driver.Isolates(rounds.Isolation(u.Isolated))
	if u.Sampler != EveryEffective {
		s.Driver.ByRules()
	}
	switch u.By {
	case ByCrash:
		s.Driver.ByCrash()
	case ByRestart:
		s.Driver.Afresh()
	}
	return s
}

// space returns the space of isolations, which ends with the last phase that may have one.
func (u Uniform) space(nodes int) *space {
	rounds := u.Rounds
	if u.Phases > 0 && u.Phases <= rounds/u.Period {
		rounds = u.Phases * u.Period
	}
	return newSpace(nodes, rounds, u.Period, u.Isolations)
}

// isolator is the scheduler of Uniform.
type isolator struct {
	breaker
	isolated []lockstep.Nodes // by round
	effects  effects
	distinct sifted
	frozen   bool           // the timers of isolated nodes do not fire
	armed    lockstep.Nodes // nodes whose timers were armed when the round began
	names    int            // rounds of a protocol phase
}

// Reset begins a new run.
func (s *isolator) Reset(start *lockstep.Start) {
	s.breaker.Reset(start)
	if s.sampler == EveryEffective {
		start.SeedOf = 0
		s.effects.begin(s.space, s.breakage)
	}
	clear(s.isolated)
	if s.sampler == ExactEffective {
		s.beginDistinct()
	}
	for i, from := range s.starts {
		if from != whole {
			phase, n := i/s.sites, lockstep.Node(i%s.sites+1)
			rounds := s.isolated[phase*s.space.period:][:s.space.length(phase)]
			for round := int(from); round < len(rounds); round++ {
				rounds[round] = rounds[round].With(n)
			}
		}
	}
}

// Open begins a round.
func (s *isolator) Open(round int, turn *lockstep.Turn) (int, lockstep.Nodes) {
	s.open(round)
	switch s.sampler {
	case EveryEffective:
		s.armed = turn.Timers()
	case ExactEffective:
		s.armed = turn.Timers()
		s.begin(turn)
	}
	return s.phase + 1, turn.All() &^ s.isolated[round]
}

// breaker is the common part of lock-step strategies over a space.
type breaker struct {
	rounds.Rules
	*rounds.Driver
	rounds  int // of a run
	space   *space
	sampler Sampler
	dist    *distributions
	*breakage
	rand *rand.Rand
	calendar
	requests
}

func newBreaker(info lockstep.Info, rounds int, s *space, sampler Sampler) breaker {
	b := breaker{
		rounds:   rounds,
		space:    s,
		sampler:  sampler,
		breakage: s.newBreakage(),
		requests: requests{every: betweenRequests(info), inTurn: sampler == Every || sampler == EveryEffective},
	}
	if sampler == Paper || sampler == Partial {
		b.dist = s.distributions()
	}
	return b
}

// Reset begins a new run.
func (b *breaker) Reset(start *lockstep.Start) {
	b.rand = start.Rand
	b.requests.reset()
	b.Driver.Reset(b.rounds)
	switch b.sampler {
	case Paper, Partial:
		b.space.paper(b.rand, b.breakage, b.dist, b.sampler == Partial)
	case Every:
		start.SeedOf = 0 // only the rounds differ from run to run
		b.space.unrank(uint64(start.Run)%b.space.size().Uint64(), b.breakage)
	default:
		b.space.exact(b.rand, b.breakage)
	}
}

// Report reports nothing.
func (b *breaker) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

// breaks reports whether the phase of the current round may have breaks.
func (b *breaker) breaks() bool { return b.phase < b.space.phases() }

func (b *breaker) open(round int) {
	b.calendar.open(round, b.space.period)
	b.requests.open()
}

// calendar is the position in a run of rounds: a phase and a round in it, both counted from 0.
type calendar struct{ phase, round int }

// open advances to the round with an index, given the number of rounds of a phase. Rounds come in order, and counting
// them is cheaper than dividing.
func (c *calendar) open(round, period int) {
	if c.round++; round == 0 {
		*c = calendar{}
	} else if c.round == period {
		*c = calendar{phase: c.phase + 1}
	}
}

// Give chooses a request that a node receives at the start of a round.
func (b *breaker) Give(turn *lockstep.Turn, next *lockstep.Step) bool {
	return b.requests.give(b.rand, turn, next)
}

// checkSampler reports why a sampler does not fit the space or the system.
func checkSampler(strategy string, sampler Sampler, s *space) error {
	if (sampler == EveryEffective || sampler == ExactEffective) && strategy != "uniform" {
		return fmt.Errorf("%s: sampler=%s is for uniform", strategy, sampler)
	}
	if sampler == ExactEffective && s.small == nil {
		return fmt.Errorf("%s: sampler=distinct cannot count %s executions, at most 2^64", strategy, s.size())
	}
	if (sampler == Every || sampler == EveryEffective) && s.small == nil {
		return fmt.Errorf("%s: sampler=%s cannot walk through %s executions, at most 2^64", strategy, sampler, s.size())
	}
	return nil
}

// guarantee returns what a sampler guarantees on a space.
func guarantee(s *space, sampler Sampler, class, sites string) lockstep.Guarantee {
	g := lockstep.Guarantee{Assumes: []string{"messages are lost as the rounds say; nothing else is random"}}
	g.Class = fmt.Sprintf("a given %s with at most %d %s", class, s.bound, sites)
	if s.free {
		g.Class = fmt.Sprintf("a given %s with any number of %s", class, sites)
	}
	g.Space = s.size()
	g.PerRun = inverse(g.Space)
	if (sampler == Paper || sampler == Partial) && !s.free {
		if sampler == Paper {
			g.Class = fmt.Sprintf("a given %s with exactly %d %s", class, s.bound, sites)
			g.Space = s.exactly()
		}
		ways := s.rarest(sampler == Partial)
		g.PerRun = inverse(ways.Mul(ways, s.distributions().size(s.bound)))
	}
	if sampler == Every {
		g.Assumes = append(g.Assumes, fmt.Sprintf("run i makes the i-th execution: %s runs make all of them", s.size()))
	}
	return g
}

func inverse(n *big.Int) float64 {
	f, _ := new(big.Rat).SetFrac(big.NewInt(1), n).Float64()
	return f
}
