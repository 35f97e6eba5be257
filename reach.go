package lockstep

import (
	"sync"

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

// firstMet is the size of a run's table of pairs before it grows: a power of two.
const firstMet = 256

// pairs is the observer that counts which pairs of consecutive steps and events at a node the runs of a campaign
// reached. A step counts by its kind or the type of its message, an event by its type.
type pairs struct {
	sum   novelty.Set
	lists sync.Pool // of *[]uint64, for the pairs of a run: fast systems would pay for a new list
}

func (p *pairs) New(info Info) Watcher {
	return &pairWatcher{lists: &p.lists, before: make([]mix.Hash, info.Nodes+1), every: info.Serial,
		met: make([]uint64, firstMet)}
}

func (p *pairs) Collect(run int, noted any) {
	p.sum.Add(run, *noted.(*[]uint64))
	p.lists.Put(noted)
}

// pairWatcher collects the pairs of a run.
type pairWatcher struct {
	lists  *sync.Pool
	before []mix.Hash // by node: the last step or event
	every  bool       // run is observed
	known  places     // of the types
	met    []uint64   // an open hash table of the pairs that were met, of which at least half is free; free is 0
	list   []uint64   // the same pairs in their order
}

func (w *pairWatcher) observes(run int) bool {
	return w.every || run < firstPaired || run%oneOfPaired == 0
}

func (w *pairWatcher) Reset() {
	clear(w.before)
	clear(w.met)
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
	key := max(uint64(pair), 1)
	if slot := w.slot(key); *slot == 0 {
		*slot = key
		w.list = append(w.list, key)
		if 2*len(w.list) > len(w.met) {
			w.grow()
		}
	}
}

// slot is the place of a pair in the table: where it is, or the free one where it belongs.
func (w *pairWatcher) slot(pair uint64) *uint64 {
	for i := pair; ; i++ {
		if s := &w.met[i&uint64(len(w.met)-1)]; *s == pair || *s == 0 {
			return s
		}
	}
}

// grow doubles the table.
func (w *pairWatcher) grow() {
	w.met = make([]uint64, 2*len(w.met))
	for _, pair := range w.list {
		*w.slot(pair) = pair
	}
}

// Noted returns the pairs of the run.
func (w *pairWatcher) Noted() any {
	list, _ := w.lists.Get().(*[]uint64)
	if list == nil {
		list = new([]uint64)
	}
	*list = append((*list)[:0], w.list...)
	return list
}

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
