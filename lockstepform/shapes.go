package lockstepform

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Shapes describes the rounds of a system in a few runs in rounds.
type Shapes struct {
	Runs   int
	Rounds []Shape // by name, in the order of a phase; a single unnamed one if there are no tags
}

// Shape counts the rounds of one name by their senders and receivers. All messages from one node to another in a round
// count as one. A round without messages is not counted.
type Shape struct {
	Name     string
	OneToAll int // a single node sent
	AllToOne int // several nodes sent, all to the same node
	Other    int
}

// LeaderBased reports whether all rounds were one-to-all or all-to-one. If so, and as far as these runs show, every way
// to lose messages is equivalent to isolating nodes. See Theorem 5.3 of "Testing Consensus Implementations using
// Communication Closure".
func (s *Shapes) LeaderBased() bool {
	return !slices.ContainsFunc(s.Rounds, func(r Shape) bool { return r.Other > 0 })
}

// Advice recommends a strategy that is complete for the system.
func (s *Shapes) Advice() string {
	if s.LeaderBased() {
		return "all rounds are one-to-all or all-to-one: uniform is complete, " +
			"it makes every lossy synchronous execution within its bounds"
	}
	var names []string
	for _, r := range s.Rounds {
		if r.Other > 0 {
			share := fmt.Sprintf("%d of %d", r.Other, r.Other+r.OneToAll+r.AllToOne)
			if r.Name != "" {
				share = fmt.Sprintf("%s (%s)", r.Name, share)
			}
			names = append(names, share)
		}
	}
	return fmt.Sprintf(
		"rounds that are neither one-to-all nor all-to-one: %s. "+
			"uniform leaves out losses of single messages in them; lossy:period=%d makes them, too",
		strings.Join(names, ", "),
		max(len(s.Rounds), 1),
	)
}

// ShapesOf executes runs of a plan, whose strategy must run in lock-step rounds, and records senders and receivers.
// Losses cause rounds that fault-free runs do not have.
func ShapesOf(ctx context.Context, plan lockstep.Plan, runs int) (*Shapes, error) {
	if plan.System == nil {
		return nil, fmt.Errorf("lockstepform: a plan needs a System")
	}
	info, err := plan.System.Describe()
	if err != nil {
		return nil, err
	}
	if !info.Supports.Has(trace.Deliver) {
		return nil, fmt.Errorf("lockstepform: the engine does not deliver the messages of %s", info.Name)
	}
	out := &Shapes{Rounds: []Shape{{}}}
	if len(info.Rounds) > 0 {
		out.Rounds = make([]Shape, len(info.Rounds))
		for i, name := range info.Rounds {
			out.Rounds[i].Name = name
		}
	}
	plan.Spec, plan.Runs, plan.Settle, plan.KeepGoing, plan.Keep = nil, runs, 0, true, 1
	plan.Observers = append(slices.Clip(plan.Observers), &shapes{out: out})
	result, err := lockstep.Explore(ctx, plan)
	if err == nil && out.Runs > 0 &&
		!slices.ContainsFunc(out.Rounds, func(r Shape) bool { return r.OneToAll+r.AllToOne+r.Other > 0 }) {
		return nil, fmt.Errorf("lockstepform: %s makes no lock-step rounds, or no node sends in them", result.Strategy)
	}
	return out, err
}

// shapes is the observer that sums the counts of runs.
type shapes struct{ out *Shapes }

func (s *shapes) New(info lockstep.Info) lockstep.Watcher {
	return &shaping{rounds: make([]Shape, len(s.out.Rounds)), names: len(info.Rounds), sends: map[int]*sends{}}
}

func (s *shapes) Collect(_ int, noted any) {
	s.out.Runs++
	for i, r := range noted.([]Shape) {
		to := &s.out.Rounds[i]
		to.OneToAll, to.AllToOne, to.Other = to.OneToAll+r.OneToAll, to.AllToOne+r.AllToOne, to.Other+r.Other
	}
}

// shaping is the watcher of shapes.
type shaping struct {
	names  int
	sends  map[int]*sends // by index of the round
	phase  int32          // the latest phase of a delivered message
	rounds []Shape
}

// sends records the senders and receivers of a round, in the latest phase of any message.
type sends struct {
	phase    int32
	from, to trace.Nodes
}

func (s *shaping) Reset() {
	clear(s.sends)
	clear(s.rounds)
	s.phase = 0
}

// Observe records the messages sent, each in its round. A message sent after its round is over belongs to no round,
// unless its phase has not begun yet.
func (s *shaping) Observe(run *lockstep.Run) {
	if run.Settling() || len(run.Rounds()) == 0 && run.Last().Kind != trace.Start {
		return
	}
	now := max(len(run.Rounds())-1, 0)
	reply := run.Last().Kind == trace.Deliver
	if reply {
		s.phase = max(s.phase, run.Message(run.Last().Msg).Tag.Phase)
	}
	for _, m := range run.Sent() {
		due := now
		if s.names > 0 {
			due = now - now%s.names + int(m.Tag.Round)
		} else if reply {
			due++
		}
		if late := due < now || due == now && reply; late && s.names > 0 && m.Tag.Phase > s.phase {
			due += s.names // its phase has not begun yet
		} else if late {
			continue
		}
		at := s.sends[due]
		if at == nil {
			at = &sends{}
			s.sends[due] = at
		}
		if m.Tag.Phase > at.phase { // messages of earlier phases are lost
			*at = sends{phase: m.Tag.Phase}
		}
		if m.Tag.Phase < at.phase {
			continue
		}
		at.from, at.to = at.from.With(m.From), at.to.With(m.To)
	}
}

// Noted returns the shapes of the rounds of the run.
func (s *shaping) Noted() any {
	//lockstep:unordered they are only counted
	for due, at := range s.sends {
		r := &s.rounds[due%len(s.rounds)]
		switch {
		case at.from.Len() == 1:
			r.OneToAll++
		case at.to.Len() == 1:
			r.AllToOne++
		default:
			r.Other++
		}
	}
	return slices.Clone(s.rounds)
}
