package lockstep

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/internal/pool"
)

// severally reports whether the strategy learns in several lineages.
func (b *BatchRunner) severally() bool { return b.plan.terms.Lineages > 1 }

// epoch is the first run of the epoch of a run.
func (b *BatchRunner) epoch(run int) int {
	all := b.plan.terms.Lineages * b.plan.terms.Epoch
	return run / all * all
}

// Learn passes to the batch runner what one lineage learned in one epoch. The number firstRun is that of the lineage's
// first run in the epoch. A batch runner needs this for all lineages of all earlier epochs before it makes runs. It
// already knows what its own runs learned. See [Learner].
func (b *BatchRunner) Learn(firstRun int, learned []byte) {
	if b.learned == nil {
		b.learned = map[int][]byte{}
	}
	b.learned[firstRun] = learned
}

// Learned returns what one lineage learned in one epoch, encoded by its scheduler. The number firstRun is that of the
// lineage's first run in the epoch. The result is nil if the batch runner does not know it.
func (b *BatchRunner) Learned(firstRun int) []byte { return b.learned[firstRun] }

// makeSeverally makes the runs of several lineages: those of one epoch concurrently, one epoch after the other.
func (c *campaign) makeSeverally(first int) {
	size, going := c.plan.terms.Epoch, true
	for going && first < c.end {
		if first%size != 0 {
			c.err = fmt.Errorf("lockstep: a lineage of %s begins at a multiple of %d runs, not at run %d",
				c.plan.Strategy, size, first)
			return
		}
		end := min(c.epoch(first)+c.plan.terms.Lineages*size, c.end)
		var learned [][]byte
		pool.Ordered(c.workers, (end-first+size-1)/size,
			func(worker, i int) batch { return c.make(worker, first+i*size, min(first+(i+1)*size, end)) },
			func(_ int, b batch) bool {
				learned = append(learned, b.learned)
				going = c.accept(b)
				return going
			})
		for i, l := range learned { // only now, when no worker reads it
			c.Learn(first+i*size, l)
		}
		first = end
	}
}

// teach brings the scheduler of a worker to the beginning of a run's epoch.
func (b *BatchRunner) teach(w *worker, run int) error {
	learner, ok := w.sched.(Learner)
	if !ok {
		return fmt.Errorf("lockstep: the scheduler of %s is no Learner, though it has %d lineages", b.plan.Strategy,
			b.plan.terms.Lineages)
	}
	var pcg rand.PCG
	source := func(run int) *rand.Rand {
		pcg.Seed(RunSeed(b.plan.Seed, run), 1)
		return rand.New(&pcg)
	}
	learner.Begin()
	for ; w.taught < b.epoch(run); w.taught += b.plan.terms.Lineages * b.plan.terms.Epoch {
		var lineages [][]byte
		for i := range b.plan.terms.Lineages {
			first := w.taught + i*b.plan.terms.Epoch
			learned, ok := b.learned[first]
			if !ok {
				return fmt.Errorf("lockstep: what was learned from run %d on is missing", first)
			}
			lineages = append(lineages, learned)
		}
		if err := learner.Learn(w.taught, lineages, source); err != nil {
			return fmt.Errorf("lockstep: what was learned from run %d on: %w", w.taught, err)
		}
	}
	return nil
}
