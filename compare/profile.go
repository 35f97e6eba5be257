package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Profile describes the runs of a strategy: a row of the papers' Table 2. Rounds and phases are averages over runs, and
// 0 for a strategy without rounds.
type Profile struct {
	Strategy string `json:"strategy"`
	Runs     int    `json:"runs"`
	// Rounds and QuorumRounds count the rounds of a run, and those whose kernel is a majority of the nodes.
	Rounds       float64 `json:"rounds"`
	QuorumRounds float64 `json:"rounds_quorum"`
	// Phases and QuorumPhases count the phases of the protocol, and those in which a majority of the nodes emitted the
	// given event.
	Phases       float64 `json:"phases"`
	QuorumPhases float64 `json:"phases_quorum"`
	Messages     float64 `json:"messages"` // delivered in a run
	Steps        float64 `json:"steps"`
	// Buggy counts the runs with a finding. Share is an exact interval for their probability with confidence 0.95. It
	// is missing for a strategy whose runs are not independent.
	Buggy int       `json:"buggy"`
	Share *Interval `json:"buggy_share,omitempty"`
}

// ProfileOf executes the runs of a plan and counts. A phase has a quorum if a majority of the nodes emitted the given
// type of event in it. In a system without tags, a phase is a round.
func ProfileOf(ctx context.Context, plan lockstep.Plan, event string) (Profile, error) {
	if plan.Strategy == nil || plan.System == nil {
		return Profile{}, errors.New("compare: a plan needs a System and a Strategy")
	}
	info, err := plan.System.Describe()
	if err != nil {
		return Profile{}, err
	}
	sum := &profiler{event: event}
	plan.KeepGoing, plan.Keep = true, 1
	plan.Observers = append(slices.Clip(plan.Observers), sum)
	result, err := lockstep.Explore(ctx, plan)
	if err != nil {
		return Profile{}, err
	}
	p := Profile{Strategy: result.Strategy, Runs: result.Runs, Buggy: result.Verdicts[trace.Fail]}
	if p.Runs == 0 {
		return p, ctx.Err()
	}
	n := float64(p.Runs)
	p.Rounds, p.QuorumRounds = float64(sum.rounds)/n, float64(sum.quorumRounds)/n
	p.Phases, p.QuorumPhases = float64(sum.phases)/n, float64(sum.quorumPhases)/n
	p.Messages, p.Steps = float64(sum.delivered)/n, float64(result.Steps)/n
	if independent(plan.Strategy, info) {
		share := Share(p.Buggy, p.Runs, DefaultConfidence)
		p.Share = &share
	}
	return p, nil
}

// profiler is the observer that sums the counts of runs.
type profiler struct {
	event string
	counts
}

type counts struct {
	rounds, quorumRounds, phases, quorumPhases, delivered int
}

// New returns a new watcher.
func (p *profiler) New(info lockstep.Info) lockstep.Watcher {
	return &profile{event: p.event, names: max(1, len(info.Rounds)), majority: info.Nodes/2 + 1}
}

// Collect adds a run.
func (p *profiler) Collect(_ int, noted any) {
	c := noted.(counts)
	p.rounds += c.rounds
	p.quorumRounds += c.quorumRounds
	p.phases += c.phases
	p.quorumPhases += c.quorumPhases
	p.delivered += c.delivered
}

// profile counts in one run after another.
type profile struct {
	event    string
	names    int // rounds of a phase
	majority int
	run      *lockstep.Run
	now      counts
	effect   lockstep.Nodes // nodes that emitted the event in this phase
}

// Reset begins a new run.
func (p *profile) Reset() { p.now, p.effect = counts{}, 0 }

// Observe counts the effects of the last step, in its round.
func (p *profile) Observe(run *lockstep.Run) {
	p.run = run
	if run.Settling() {
		return
	}
	p.open()
	if run.Last().Kind == trace.Deliver {
		p.now.delivered++
	}
	for _, e := range run.Events() {
		if e.Type == p.event && e.Node != 0 && p.now.rounds > 0 && p.effect.Len() < p.majority {
			if p.effect = p.effect.With(e.Node); p.effect.Len() == p.majority {
				p.now.quorumPhases++
			}
		}
	}
}

// open counts the rounds that were opened since its last call.
func (p *profile) open() {
	for _, round := range p.run.Rounds()[p.now.rounds:] {
		if p.now.rounds%p.names == 0 {
			p.now.phases++
			p.effect = 0
		}
		p.now.rounds++
		if round.Kernel.Len() >= p.majority {
			p.now.quorumRounds++
		}
	}
}

// Noted returns the counts of the run, including the empty rounds after its last step.
func (p *profile) Noted() any {
	p.open()
	return p.now
}

// WriteProfiles writes profiles as a Markdown table, with a heading for the column of strategies.
func WriteProfiles(w io.Writer, heading string, rows []Profile) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"| %s | runs | rounds | with quorum | phases | with quorum | messages | steps "+
			"| buggy | share of buggy runs (95%%) |\n",
		heading,
	)
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
		fmt.Fprintf(
			&b,
			"| `%s` | %d | %s | %.2f | %.1f | %d | %s |\n",
			p.Strategy,
			p.Runs,
			rounds,
			p.Messages,
			p.Steps,
			p.Buggy,
			share,
		)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
