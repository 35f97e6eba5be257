package strategy

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Lossy runs in lock-step rounds and loses any set of the messages of a round. Without a period, each message is lost
// with probability Loss. With a period, links break. In every phase of Period rounds, each link may break in one of the
// rounds and stays broken until the end of the phase. At most Losses links break in a run. Where the engine does not
// control single messages, a link that loses its messages is cut for the round.
type Lossy struct {
	// Rounds is the length of a run.
	Rounds int `help:"rounds of a run"`
	// Loss is the probability that a message is lost, without a period. With 0.5, every set of lost messages of a round
	// has the same probability.
	Loss float64 `help:"probability of losing a message, in [0,1], where there is no period" range:"0..1"`
	// Period is the number of rounds after which broken links work again; 0 means that messages are lost one by one.
	Period int `help:"rounds after which broken links work again; 0: lose single messages"`
	// Losses bounds how many links break in a run, with a period; Unbounded removes the bound. It does not count
	// messages.
	Losses int `help:"broken links in a run, with a period; -1: no bound"`
	// Sampler selects how runs are drawn, with a period; the zero value is Exact.
	Sampler Sampler `help:"exact, paper, partial or every, with a period"`
}

// DefaultLossy loses fewer messages than it delivers. With a loss of 0.5, hardly any phase of a protocol succeeds.
var DefaultLossy = Lossy{Rounds: 16, Loss: 0.2}

// String returns the strategy as written on the command line.
func (l Lossy) String() string { return write("lossy", l) }

// Fit returns the terms on which the strategy explores the system.
func (l Lossy) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := fits("lossy", l, info); err != nil {
		return lockstep.Terms{}, err
	}
	return lockstep.Terms{
		Guarantee: l.guarantee(info),
		Runs:      l.runs(info),
		Fixed:     givenRequests(info),
		Sweeps:    true,
	}, nil
}

// check reports an invalid option, or why the strategy does not fit the system.
func (l Lossy) check(info lockstep.Info) error {
	if err := checkWaits("lossy", l.Rounds, info); err != nil {
		return err
	}
	if l.Period == 0 {
		if l.Losses != 0 || l.Sampler != Exact {
			return fmt.Errorf("lossy: losses and sampler need a period of at least 1")
		}
		if err := checkSpace("lossy", "losses", 1, l.Rounds, 1, 0); err != nil {
			return err
		}
		return info.Require("lossy", rounds.Need(info))
	}
	if err := checkSpace("lossy", "losses", info.Nodes*info.Nodes, l.Rounds, l.Period, l.Losses); err != nil {
		return err
	}
	if err := checkSampler("lossy", l.Sampler, l.space(info.Nodes)); err != nil {
		return err
	}
	return info.Require("lossy", rounds.Need(info))
}

// runs returns the number of runs that cover the whole space, or 0.
func (l Lossy) runs(info lockstep.Info) int {
	if l.Period == 0 {
		return 0
	}
	return l.space(info.Nodes).runs(l.Sampler)
}

// guarantee returns what one run guarantees.
func (l Lossy) guarantee(info lockstep.Info) lockstep.Guarantee {
	if l.Period > 0 {
		return guarantee(l.space(info.Nodes), l.Sampler,
			fmt.Sprintf("%d-periodic lossy execution of %d rounds", l.Period, l.Rounds), "broken links")
	}
	links := info.Nodes * info.Nodes * l.Rounds
	return lockstep.Guarantee{
		Class:   fmt.Sprintf("a given set of lost messages in %d rounds", l.Rounds),
		Space:   new(big.Int).Lsh(big.NewInt(1), uint(links)),
		PerRun:  math.Pow(min(l.Loss, 1-l.Loss), float64(links)),
		Assumes: []string{"at most one message on each link in a round"},
	}
}

// New returns a new scheduler.
func (l Lossy) New(info lockstep.Info) lockstep.Scheduler {
	if l.Period > 0 {
		s := &linkBreaker{breaker: newBreaker(info, l.Rounds, l.space(info.Nodes), l.Sampler), nodes: info.Nodes}
		s.Driver = rounds.New(info, l.Rounds, s)
		s.Driver.InOrder()
		return s
	}
	s := &loser{
		loss:     l.Loss,
		rounds:   l.Rounds,
		period:   max(1, len(info.Rounds)),
		requests: requests{every: betweenRequests(info)},
	}
	s.Driver = rounds.New(info, l.Rounds, s)
	s.Driver.InOrder()
	return s
}

func (l Lossy) space(nodes int) *space { return newSpace(nodes*nodes, l.Rounds, l.Period, l.Losses) }

// linkBreaker breaks links.
type linkBreaker struct {
	breaker
	nodes int
}

// Open begins a round.
func (l *linkBreaker) Open(round int, turn *lockstep.Turn) (int, lockstep.Nodes) {
	l.open(round)
	return l.phase + 1, turn.All()
}

// Loses reports whether a message is lost in this round.
func (l *linkBreaker) Loses(m *trace.Message) bool {
	return m.From != 0 && l.broken(l.phase, l.round, int(m.From-1)*l.nodes+int(m.To-1))
}

// loser loses single messages.
type loser struct {
	rounds.Rules
	*rounds.Driver
	rounds int
	period int // rounds of a phase
	loss   float64
	rand   *rand.Rand
	calendar
	requests
}

// Reset begins a new run.
func (l *loser) Reset(start *lockstep.Start) {
	l.rand = start.Rand
	l.requests.reset()
	l.Driver.Reset(l.rounds)
}

// Report reports nothing.
func (l *loser) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

// Open begins a round.
func (l *loser) Open(round int, turn *lockstep.Turn) (int, lockstep.Nodes) {
	l.calendar.open(round, l.period)
	l.requests.open()
	return l.phase + 1, turn.All()
}

// Loses reports whether a message is lost in this round.
func (l *loser) Loses(*trace.Message) bool { return l.rand.Float64() < l.loss }

// Give chooses a request that a node receives at the start of a round.
func (l *loser) Give(turn *lockstep.Turn, next *lockstep.Step) bool {
	return l.requests.give(l.rand, turn, next)
}
