package lockstep

import (
	"slices"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/novelty"
	"github.com/lockstep-go/lockstep/trace"
)

// pairsCriterion says what every campaign counts as something new.
const pairsCriterion = "a pair of consecutive steps and events at a node"

// Looking at every step takes a share of a fast system's time. So pairs are counted in the first runs and then in one
// of many. A system of which a process makes one run at a time is slow: there every run counts.
const (
	firstPaired = 256
	oneOfPaired = 64
)

// pairs is the observer that counts which pairs of consecutive steps and events at a node the runs of a campaign
// reached. A step counts by its kind or the type of its message, an event by its type.
type pairs struct{ sum novelty.Set }

func (*pairs) New(info Info) Watcher {
	return &pairWatcher{before: make([]mix.Hash, info.Nodes+1), every: info.Serial}
}

func (p *pairs) Collect(run int, noted any) { p.sum.Add(run, noted.([]uint64)) }

// pairWatcher collects the pairs of a run.
type pairWatcher struct {
	before []mix.Hash // by node: the last step or event
	every  bool       // run is observed
	known  places     // of the types
	met    map[uint64]struct{}
	list   []uint64
	latest [1 << latestBits]uint64 // pairs that were met, by their first bits: most pairs of a run are not new
}

const latestBits = 7

func (w *pairWatcher) observes(run int) bool {
	return w.every || run < firstPaired || run%oneOfPaired == 0
}

func (w *pairWatcher) Reset() {
	clear(w.before)
	clear(w.met)
	clear(w.latest[:])
	w.list = w.list[:0]
}

// Observe meets the last step, and then its events.
func (w *pairWatcher) Observe(r *Run) {
	last := r.Last()
	node, what := last.Node, mix.Hash(last.Kind)
	if last.Kind == trace.Deliver {
		m := r.Message(last.Msg)
		node = m.To
		what.Mix(w.hash(m.Type))
	}
	if node != 0 {
		w.meet(node, what)
	}
	for i := range r.events {
		e := &r.events[i]
		w.meet(e.Node, mix.Hash(w.hash(e.Type)))
	}
}

// hash is the hash of a type.
func (w *pairWatcher) hash(name string) uint64 {
	p := w.known.of(name)
	if !p.is(name) {
		p.learn(name)
	}
	return p.hash
}

// meet records what happened at a node.
func (w *pairWatcher) meet(node Node, what mix.Hash) {
	pair := w.before[node]
	w.before[node] = what
	pair.Mix(uint64(what))
	latest := &w.latest[uint64(pair)>>(64-latestBits)]
	if *latest == uint64(pair) {
		return
	}
	*latest = uint64(pair)
	if _, ok := w.met[uint64(pair)]; ok {
		return
	}
	if w.met == nil {
		w.met = map[uint64]struct{}{}
	}
	w.met[uint64(pair)] = struct{}{}
	w.list = append(w.list, uint64(pair))
}

// Noted returns the pairs of the run.
func (w *pairWatcher) Noted() any { return slices.Clone(w.list) }

// NextRun estimates the probability that the next run of the campaign reaches something new. It returns false if there
// is nothing to estimate: the campaign made every run that its strategy has, or ended with its first finding.
//
// What counts as new is a pair of consecutive steps or events at a node, whatever node it is. A step counts by its kind
// or by the type of the message that it delivers, an event by its type. A campaign that measures code coverage has a
// better criterion.
func (r *Result) NextRun() (novelty.Estimate, bool) {
	if r.Exhausted || r.Guarantee.Certain || r.endedEarly() || r.Novelty.Runs() < 2 {
		return novelty.Estimate{}, false
	}
	e := r.Novelty.Estimate()
	e.Criterion = pairsCriterion
	return e, true
}
