package bubble

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/lockstep-go/lockstep"
)

// Chance is a source for what a node, or the run, draws by itself: as [lockstep.Chance], but for any
// number of goroutines. A draw belongs to the step in which it is made and is recorded with it, so
// that leaving out a step moves no draw of another, and shrinking lowers it: 0 should be the
// mildest. It is a source of math/rand/v2 as well.
//
// What is drawn when the run is over, by goroutines that are ending or were given up, is
// recorded nowhere.
type Chance struct {
	lot    *lot
	stream uint64
	source lockstep.Chance
	late   bool // it was seeded anew, apart from the engine
}

// The streams of a run's seed: those of lives are below, those of clusters as they choose.
const (
	diskStream  = 1 << 32 // and the node: what system calls on files suffer
	stepStream  = 1 << 33 // what befalls nodes in a step
	splitStream = 1 << 40 // where writes to sockets are split
)

// lot is what all sources of a run share.
type lot struct {
	mutex sync.Mutex
	out   *lockstep.Outbox // nil without an engine
	seed  uint64
	over  bool
}

// begin is called at the start of the run.
func (l *lot) begin(seed uint64, out *lockstep.Outbox) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.seed, l.out = seed, out
}

// end takes the engine away from the sources, which may outlive the run.
func (l *lot) end() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.over = true
}

// share lets the engine and goroutines see what the other noted of draws. It is called by the
// engine when it is their turn, and when it is its own.
func (l *lot) share() {
	l.mutex.Lock()
	l.mutex.Unlock() //nolint:staticcheck // to have had the lock is enough
}

// chance makes the source of a stream, for draws of a node or, where it is 0, of the engine.
func (l *lot) chance(by lockstep.Node, stream uint64) *Chance {
	c := &Chance{lot: l, stream: stream}
	c.source.By = by
	c.source.Seed(l.out, l.seed, stream)
	return c
}

// own is the source to draw from. The caller has the lock.
func (c *Chance) own() *lockstep.Chance {
	if c.lot.over && !c.late {
		c.late = true
		c.source.Seed(nil, c.lot.seed, c.stream)
	}
	return &c.source
}

// IntN draws a number from 0 to n-1. It panics if n is less than 1.
func (c *Chance) IntN(n int) int {
	c.lot.mutex.Lock()
	defer c.lot.mutex.Unlock()
	return c.own().IntN(n)
}

// Uint64 draws any number.
func (c *Chance) Uint64() uint64 {
	c.lot.mutex.Lock()
	defer c.lot.mutex.Unlock()
	return c.own().Uint64()
}

// strikes draws whether something happens that does in a share of cases.
func (c *Chance) strikes(share float64) bool {
	const parts = 1_000_000
	return share > 0 && c.IntN(parts) >= parts-int(math.Ceil(share*parts))
}

// rand is the source for code that wants one of math/rand/v2.
func (c *Chance) rand() *rand.Rand { return rand.New(c) }
