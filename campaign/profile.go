package campaign

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Profile is what the runs of a strategy are like: a row of the papers' Table 2. Rounds
// and phases are averages over runs, and 0 for a strategy that does not go in rounds.
type Profile struct {
	Strategy string `json:"strategy"`
	Runs     int    `json:"runs"`
	// Rounds and QuorumRounds count the rounds of a run, and those whose kernel is a
	// majority of the nodes.
	Rounds       float64 `json:"rounds"`
	QuorumRounds float64 `json:"rounds_quorum"`
	// Phases and QuorumPhases count the phases of the protocol, and those in which a
	// majority of the nodes had the event asked for.
	Phases       float64 `json:"phases"`
	QuorumPhases float64 `json:"phases_quorum"`
	Messages     float64 `json:"messages"` // delivered in a run
	Steps        float64 `json:"steps"`
	// Buggy counts the runs with a finding, and Share is an exact interval for their
	// probability with confidence 0.95. It is missing for a strategy whose runs are not
	// independent.
	Buggy int       `json:"buggy"`
	Share *Interval `json:"buggy_share,omitempty"`
}

// ProfileOf makes the runs of a plan and counts. A phase has a quorum when a majority of
// the nodes let the outside see the event of the type given in it; a phase of a system
// without tags is a round.
func ProfileOf(ctx context.Context, plan lockstep.Plan, event string) (Profile, error) {
	if plan.Runs == 0 {
		plan.Runs = lockstep.DefaultRuns
	}
	if plan.Strategy == nil {
		return Profile{}, fmt.Errorf("campaign: the plan has no Strategy")
	}
	given := plan.Strategy
	counter := &counter{Strategy: given, event: event, runs: make([]counts, plan.Runs)}
	plan.Strategy, plan.KeepGoing, plan.Keep, plan.Workers = counter, true, 1, 1
	result, err := lockstep.Explore(ctx, plan)
	if err != nil {
		return Profile{}, err
	}
	p := Profile{Strategy: result.Strategy, Runs: result.Runs, Buggy: result.Verdicts[trace.Fail]}
	if p.Runs == 0 {
		return p, ctx.Err()
	}
	var sum counts
	for _, c := range counter.runs[:p.Runs] {
		sum.add(c)
	}
	n := float64(p.Runs)
	p.Rounds, p.QuorumRounds = float64(sum.rounds)/n, float64(sum.quorumRounds)/n
	p.Phases, p.QuorumPhases = float64(sum.phases)/n, float64(sum.quorumPhases)/n
	p.Messages, p.Steps = float64(sum.delivered)/n, float64(result.Steps)/n
	if independent(given, counter.info) {
		share := Share(p.Buggy, p.Runs, DefaultConfidence)
		p.Share = &share
	}
	return p, nil
}

// counter is a strategy that counts what the runs of another one are like.
type counter struct {
	lockstep.Strategy
	event string
	info  lockstep.Info
	runs  []counts
}

type counts struct {
	rounds, quorumRounds, phases, quorumPhases, delivered int
}

func (c *counts) add(d counts) {
	c.rounds += d.rounds
	c.quorumRounds += d.quorumRounds
	c.phases += d.phases
	c.quorumPhases += d.quorumPhases
	c.delivered += d.delivered
}

// New implements [lockstep.Strategy].
func (c *counter) New(info lockstep.Info) lockstep.Scheduler {
	c.info = info
	return &counting{Scheduler: c.Strategy.New(info), counter: c, info: info}
}

// Sequential implements [lockstep.Sequential]: one scheduler makes the runs, and the
// recorder does not count one twice.
func (c *counter) Sequential() bool { return true }

// Probe implements [lockstep.Learner].
func (c *counter) Probe() lockstep.Strategy {
	if l, ok := c.Strategy.(lockstep.Learner); ok {
		return l.Probe()
	}
	return nil
}

// Learn implements [lockstep.Learner].
func (c *counter) Learn(probe lockstep.Scheduler) lockstep.Strategy {
	c.Strategy = c.Strategy.(lockstep.Learner).Learn(probe)
	return c
}

// counting counts along with a scheduler.
type counting struct {
	lockstep.Scheduler
	counter *counter
	info    lockstep.Info
	now     *counts
	number  int            // of the run
	known   int            // rounds counted
	effect  lockstep.Nodes // nodes that had the event in this phase
}

// Reset implements [lockstep.Scheduler].
func (c *counting) Reset(start lockstep.Start) {
	c.Scheduler.Reset(start)
	c.now, c.number, c.known, c.effect = &c.counter.runs[start.Run], start.Run, 0, 0
}

// Next implements [lockstep.Scheduler].
func (c *counting) Next(run *lockstep.Run, next *lockstep.Step) bool {
	majority := c.info.Nodes/2 + 1
	if run.Last().Kind == trace.Deliver {
		c.now.delivered++
	}
	for _, e := range run.Events() {
		if e.Type == c.counter.event && e.Node != 0 && c.known > 0 {
			if before := c.effect.Len(); before < majority {
				c.effect = c.effect.With(e.Node)
				if c.effect.Len() == majority && before < majority {
					c.now.quorumPhases++
				}
			}
		}
	}
	ok := c.Scheduler.Next(run, next)
	if r, is := c.Scheduler.(lockstep.RoundScheduler); is {
		for _, round := range r.Rounds()[c.known:] {
			if c.known%max(1, len(c.info.Rounds)) == 0 {
				c.now.phases++
				c.effect = 0
			}
			c.known++
			c.now.rounds++
			if round.Kernel.Len() >= majority {
				c.now.quorumRounds++
			}
		}
	}
	return ok
}

// SeedOf implements [lockstep.Reseeder].
func (c *counting) SeedOf() int {
	if r, ok := c.Scheduler.(lockstep.Reseeder); ok {
		return r.SeedOf()
	}
	return c.number
}

// Done implements [lockstep.Searcher].
func (c *counting) Done() bool {
	s, ok := c.Scheduler.(lockstep.Searcher)
	return ok && s.Done()
}

// Reached implements [lockstep.Searcher].
func (c *counting) Reached() string {
	if s, ok := c.Scheduler.(lockstep.Searcher); ok {
		return s.Reached()
	}
	return ""
}

// WriteProfiles writes profiles as a table in Markdown, under a heading for the column of
// strategies.
func WriteProfiles(w io.Writer, heading string, rows []Profile) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | runs | rounds | with quorum | phases | with quorum | messages | steps | buggy | share of buggy runs (95%%) |\n", heading)
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, p := range rows {
		rounds := "- | - | - | -"
		if p.Rounds > 0 {
			rounds = fmt.Sprintf("%.2f | %.2f | %.2f | %.2f", p.Rounds, p.QuorumRounds, p.Phases, p.QuorumPhases)
		}
		share := "-"
		if p.Share != nil {
			share = fmt.Sprintf("%.4f to %.4f", p.Share.Low, p.Share.High)
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %.2f | %.1f | %d | %s |\n", p.Strategy, p.Runs, rounds, p.Messages, p.Steps, p.Buggy, share)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
