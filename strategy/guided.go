package strategy

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/trace"
)

// Guided is coverage-guided: it keeps and mutates the schedules of another strategy, the inner one, that reached
// something new. The option By says what counts as new.
//
// A schedule is the sequence of random numbers that the inner strategy drew, with the seed of the system. A mutation
// draws some of these numbers again, or all from some point on, or continues with another schedule. It therefore stays
// within the bounds of the inner strategy. Runs build on each other, so one worker executes all of them. With several
// lineages, a worker executes the runs of one lineage in an epoch; lineages learn from each other after each epoch.
type Guided struct {
	// Inner is any strategy that draws its choices.
	Inner Inner `help:"the strategy whose schedules are kept and mutated, with ; between its options"`
	// Fresh is the share of runs without mutation. The guarantee of the inner strategy holds for these runs.
	Fresh float64 `help:"share of runs that mutate nothing, in (0,1]"`
	// Keep is the number of schedules kept.
	Keep int `help:"schedules kept at most" range:"1.."`
	// By says what counts as new.
	By Feature `help:"what counts as new: states of nodes (pairs where the system offers no fingerprints), pairs of consecutive steps at a node, code, or model"`
	// Lineages is the number of parts of the campaign that several workers, or machines, can execute at once. The
	// result depends on this number, and not on the number of workers. 0 means one.
	Lineages int `help:"parts of the campaign that can be made at once, and learn from each other after each epoch; 0: one" range:"0..1000"`
	// Epoch is the number of runs of a lineage in an epoch; 0 means DefaultEpoch.
	Epoch int `help:"runs of a lineage in an epoch; 0: 1000" range:"0.."`
}

// Feature is what a guided campaign looks for: what a run must reach first for its schedule to be kept.
type Feature uint8

// What counts as new. ByCode and ByModel need a plan that offers such features: see [lockstep.FeatureSource].
const (
	ByStates Feature = iota // a state of a node; as ByPairs if the system offers no fingerprints
	ByPairs                 // a pair of consecutive steps at a node, by type and sender of the message or by kind of step
	ByCode                  // a statement of the system, or how often it was executed
	ByModel                 // a state of a model that a spec follows beside the system, or a rule that it takes
)

var featureNames = []string{"states", "pairs", lockstep.CodeFeatures, lockstep.ModelFeatures}

// Words lists the names of the features, for the parser of options.
func (Feature) Words() []string { return featureNames }

// String returns the feature as written on the command line.
func (f Feature) String() string { return option.Word(featureNames, int(f)) }

// offered is the kind of features that the plan must offer; empty if the scheduler sees them for itself.
func (f Feature) offered() string {
	if f == ByCode || f == ByModel {
		return f.String()
	}
	return ""
}

// DefaultEpoch is the default number of runs that a lineage executes before it receives what the others have learned.
const DefaultEpoch = 1000

// DefaultGuided guides partial-order sampling.
var DefaultGuided = Guided{Inner: Inner{DefaultPOS}, Fresh: 0.25, Keep: 1000}

// String returns the strategy as written on the command line.
func (g Guided) String() string { return write("guided", g) }

// check reports an invalid option, or why the strategy does not fit the system.
func (g Guided) check(lockstep.Info) error {
	switch {
	case g.Inner.Strategy == nil:
		return fmt.Errorf("guided: inner is missing, e.g. inner=%s", DefaultGuided.Inner)
	case !(g.Fresh > 0 && g.Fresh <= 1):
		return fmt.Errorf("guided: fresh is %v, allowed is (0,1]", g.Fresh)
	case g.Epoch > 0 && g.Lineages < 2:
		return fmt.Errorf("guided: epoch is %d, but there is one lineage: set lineages to 2 or more", g.Epoch)
	}
	return nil
}

// Fit returns the terms on which the strategy explores the system: those of the inner strategy, for the share of runs
// without mutation.
func (g Guided) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := fits("guided", g, info); err != nil {
		return lockstep.Terms{}, err
	}
	t, err := g.Inner.Fit(info)
	if err != nil {
		return t, err
	}
	if t.Sequential {
		return t, fmt.Errorf("guided: inner=%s already learns from run to run", g.Inner)
	}
	t.Sequential, t.Runs, t.Guarantee, t.Features = true, 0, g.share(t.Guarantee), g.By.offered()
	if g.Lineages > 1 {
		t.Lineages, t.Epoch = g.Lineages, g.epoch()
	}
	if measured := t.Measured; measured != nil {
		t.Measured = func(seen lockstep.RunStats) lockstep.Guarantee { return g.share(measured(seen)) }
	}
	if learn := t.Learn; learn != nil {
		t.Learn = func(probe lockstep.Scheduler) lockstep.Strategy {
			g.Inner.Strategy = learn(probe)
			return g
		}
	}
	return t, nil
}

func (g Guided) epoch() int { return cmp.Or(g.Epoch, DefaultEpoch) }

func (g Guided) share(inner lockstep.Guarantee) lockstep.Guarantee {
	inner.PerRun *= g.Fresh
	inner.Assumes = append(slices.Clip(inner.Assumes),
		fmt.Sprintf("only the share %v of the runs counts, which mutate nothing", g.Fresh))
	return inner
}

// New returns a new scheduler.
func (g Guided) New(info lockstep.Info) lockstep.Scheduler {
	s := &guided{
		Guided: g,
		inner:  g.Inner.New(info),
		met:    map[mix.Hash]struct{}{},
		before: make([]uint64, info.Nodes+1),
	}
	s.rand = rand.New(&s.source)
	if g.Lineages > 1 {
		s.diary = &diary{}
	}
	return s
}

type guided struct {
	Guided
	inner  lockstep.Scheduler
	source stream
	rand   *rand.Rand // draws from source
	kept   []schedule
	met    map[mix.Hash]struct{}
	before []uint64 // by node: hash of its previous event
	news   int      // features first reached in this run
	seed   int      // number of the run whose seed this run uses
	run    int      // number of this run
	diary  *diary   // nil if there is one lineage
}

// schedule holds the numbers that a run drew, the number of the run whose seed it used, and its own number.
type schedule struct {
	drawn     []uint64
	seed, run int
}

// stream is a random source that replays a schedule, then draws.
type stream struct {
	fresh  *rand.Rand
	script []uint64
	used   []uint64
}

// maxSchedule bounds the numbers kept in a schedule. Mutations draw all later numbers again.
const maxSchedule = 1 << 14

// Uint64 returns the next number of the script, and a fresh number after its end.
func (s *stream) Uint64() uint64 {
	var v uint64
	if len(s.script) > 0 {
		v, s.script = s.script[0], s.script[1:]
	} else {
		v = s.fresh.Uint64()
	}
	if len(s.used) < maxSchedule {
		s.used = append(s.used, v)
	}
	return v
}

// Reset begins a new run.
func (g *guided) Reset(start *lockstep.Start) {
	if g.news > 0 {
		g.keep(start.Rand, schedule{slices.Clone(g.source.used), g.seed, g.run})
	}
	g.write()
	g.source.fresh, g.source.used = start.Rand, g.source.used[:0]
	g.source.script, g.seed = g.script(start.Rand, start.Run)
	g.run, g.news = start.Run, 0
	clear(g.before)
	start.SeedOf = g.seed
	g.inner.Reset(&lockstep.Start{Run: start.Run, Rand: g.rand})
}

// keep stores the schedule of a run that reached something new. A full store replaces a random schedule.
func (g *guided) keep(r *rand.Rand, now schedule) {
	if len(g.kept) < g.Keep {
		g.kept = append(g.kept, now)
		return
	}
	g.kept[r.IntN(len(g.kept))] = now
}

// script returns what a run draws first, a mutation of a schedule or nothing, and the number of the run whose seed it
// uses.
func (g *guided) script(r *rand.Rand, run int) ([]uint64, int) {
	if fresh := r.Float64() < g.Fresh; fresh || len(g.kept) == 0 {
		return nil, run
	}
	return g.mutant(r)
}

// mutant returns a mutation of a schedule and the number of the run whose seed that schedule used. Half of the time it
// picks one of the latest schedules.
func (g *guided) mutant(r *rand.Rand) ([]uint64, int) {
	base := pick(r, g.kept)
	if r.IntN(2) == 0 {
		base = pick(r, g.kept[len(g.kept)*3/4:])
	}
	m := slices.Clone(base.drawn)
	switch r.IntN(3) {
	case 0: // draw the rest again
		m = m[:r.IntN(len(m)+1)]
	case 1: // take the rest from another schedule
		at := r.IntN(len(m) + 1)
		m = m[:at]
		if other := pick(r, g.kept).drawn; at < len(other) {
			m = append(m, other[at:]...)
		}
	default: // draw some numbers again
		for range 1 + r.IntN(8) {
			if len(m) > 0 {
				m[r.IntN(len(m))] = r.Uint64()
			}
		}
	}
	return m, base.seed
}

// Next chooses the next step.
func (g *guided) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if g.By == ByStates || g.By == ByPairs {
		g.observe(turn)
	}
	return g.inner.Next(turn, next)
}

// observe looks for something new in the effect of the last step on its node.
func (g *guided) observe(turn *lockstep.Turn) {
	last := turn.Last()
	node, event := last.Node, uint64(last.Kind)
	if last.Kind == trace.Deliver {
		m := turn.Message(last.Msg)
		h := mix.Hash(m.From)
		h.Text(m.Type)
		node, event = m.To, uint64(h)
	}
	if node == 0 {
		return
	}
	states := g.By == ByStates
	if states && turn.Up().Has(node) {
		var state uint64
		if state, states = turn.Fingerprint(node); states {
			g.meet(node, state)
		}
	}
	if !states {
		g.meet(node, g.before[node], event)
		g.before[node] = event
	}
}

// ReachedFeatures looks for something new among the features of the run just made.
func (g *guided) ReachedFeatures(features []uint64) {
	for _, f := range features {
		g.meet(0, f)
	}
}

// maxMet bounds the memory of a guided campaign; beyond it, nothing counts as new.
const maxMet = 1 << 22

// meet records a state or pair at a node, or a feature of node 0, which is none.
func (g *guided) meet(node lockstep.Node, seen ...uint64) {
	key := mix.Hash(node)
	for _, v := range seen {
		key.Mix(v)
	}
	if _, ok := g.met[key]; !ok && len(g.met) < maxMet {
		g.met[key] = struct{}{}
		g.news++
		if g.diary != nil {
			g.diary.met = append(g.diary.met, uint64(key))
		}
	}
}

// Report reports the statistics of the inner strategy.
func (g *guided) Report(words bool) lockstep.SchedulerStats { return g.inner.Report(words) }
