// Package levels explores a program round by round: a level is the set of global states at the end of a round.
//
// A state is met again only within its own level, because rounds only go forward. So duplicates need not be found at
// once. A level is made in two passes. First the states of the level before are expanded, and
// what comes out is put into one of several shards by a hash of its content. Then each shard is reduced to distinct
// states, compared exactly, in a hash table that fits into the processor's cache. Both passes stream:
// whatever does not fit into memory goes to disk and is read in order. No table of all states exists anywhere; what
// stays of a finished level are its back pointers, four bytes a state.
//
// Both passes are spread over workers. In the first each has an outbox for every shard, in which candidates are in the
// order of their parents; in the second a shard is one worker's, which reads the outboxes of all for it in that order.
// So levels come out the same, state by state, whatever the number of workers and the limits, and nothing but counting
// is done by one for all.
package levels

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/lockstep-go/lockstep/distal/internal/spill"
)

// Options of a search.
type Options struct {
	Rounds int // how many rounds to explore
	// rounds after which the program begins again; estimates compare a round with the one so long before
	Period   int
	Memory   int64               // limit in bytes, about
	Disk     int64               // limit of the temporary file in bytes; 0: none is used
	Dir      string              // where the temporary file is; empty: where the system has such files
	Workers  int                 // at least 1
	Progress func(Progress) bool // called now and then, by one worker at a time; false stops the search. nil: never called
	// Canon puts in place of a state the one that stands for all states like it, and says how many those are. Successors
	// of states that are alike must be alike, and so must be what is wrong with them. nil: every state stands for itself.
	// Several goroutines may call it at once.
	Canon func(state []uint32) int64
	tune  *tuning // for tests
}

// Progress is what a search has done so far.
type Progress struct {
	States   int64 // distinct states so far
	Round    int   // being explored
	Done     int64 // of the states of the level before it, so many are expanded
	Of       int64
	Estimate int64 // of the states when all rounds are explored, from the growth so far; 0: too early to say
	Memory   int64 // bytes in use, about
	Disk     int64 // bytes in use
}

// Result of a search. Everything but Memory and Disk is the same whatever the workers and the limits, if none is
// reached.
type Result struct {
	Levels      []int64 // distinct states without a problem, after each round; the first are the initial ones
	Kept        int64   // of these, so many were kept: each stands for all that are like it
	Transitions int64
	Memory      int64 // most bytes in use at once, about
	Disk        int64
	Stopped     error // the limit that was reached; nil: none
	Found       *Found
}

// Found is a way to a problem: a shortest one, of these one with the fewest rounds in which some node acts, and of
// these the first in the order of the search.
type Found struct {
	Problem int
	Active  int      // rounds in which some node acted
	Start   []uint32 // the initial state; nil when a node cannot even start
	Path    []Step
}

// ErrStopped says that Progress asked to stop.
var ErrStopped = errors.New("the search was stopped")

// maxStates is how many states a level can have: a parent has 40 bits in a candidate.
const maxStates = 1 << 40

// tuning are sizes. The order of states in a level, and with it the choice among equally good finds, depends on the
// first three, and nothing on the others.
type tuning struct {
	shard  int64 // states that a shard should have
	shards int   // most shards: each has a page in memory
	pass   int64 // candidates that are reduced at once
	batch  int   // words of candidates after which a worker reports
	page   int   // words of a page
	spill  bool  // full pages go to disk, if there is one, whatever the memory
}

// usual sizes: where memory is scarce, pages are small. Every worker has a page for each shard.
func usual(memory int64, workers int) tuning {
	t := tuning{shard: 1 << 15, shards: 1 << 10, pass: 1 << 16}
	t.page = int(min(max(memory/int64(t.shards)/int64(32+32*workers), 1<<10), spill.DefaultPage))
	t.batch = int(min(max(memory/256, 1<<12), 1<<20))
	return t
}

// origin is the way back: which state of the level before, and which of its successors.
type origin struct {
	parent uint64
	choice uint32
}

// find is a problem met in the level being made.
type find struct {
	problem int
	origin  origin
	cost    uint32
}

// better says whether f is to be reported rather than g.
func (f *find) better(g *find) bool {
	switch {
	case f == nil || g == nil:
		return f != nil
	case f.cost != g.cost:
		return f.cost < g.cost
	case f.origin.parent != g.origin.parent:
		return f.origin.parent < g.origin.parent
	}
	return f.origin.choice < g.origin.choice
}

type search struct {
	o       Oracle
	opt     Options
	tune    tuning
	n       int
	store   *spill.Store
	cur     *spill.Tape // records of n local states and the cost: fewest active rounds on a way there
	past    []history
	starts  [][]uint32
	workers []*worker
	memo    *memo
	spare   spare[*reduced]
	shards  int   // of the level being made
	before  int64 // transitions before it
	best    *find
	// What workers share.
	verdicts   verdicts
	mu         sync.Mutex
	bytes      []int64 // by worker
	spareBytes int64   // of what was reduced and will be used again
	ended      error   // what ends the search
	result     Result
	show       Progress
}

// Search explores every behavior. Its error is only that of the options.
func Search(o Oracle, opt Options) (Result, error) {
	if opt.Rounds < 0 || opt.Period < 1 || opt.Workers < 1 || opt.Memory < 0 || opt.Disk < 0 {
		return Result{}, fmt.Errorf("levels: %d rounds, period %d, %d workers, %d bytes of memory, %d of disk", opt.Rounds,
			opt.Period, opt.Workers, opt.Memory, opt.Disk)
	}
	if o.Nodes() < 1 || o.Nodes() > maxNodes {
		return Result{}, fmt.Errorf("levels: %d nodes; there must be between 1 and %d", o.Nodes(), maxNodes)
	}
	s := newSearch(o, opt)
	defer s.store.Close() //nolint:errcheck // nothing in there is needed any more
	s.result.Stopped = s.run()
	return s.result, nil
}

func newSearch(o Oracle, opt Options) *search {
	s := &search{o: o, opt: opt, n: o.Nodes(), tune: usual(opt.Memory, opt.Workers)}
	if opt.tune != nil {
		s.tune = *opt.tune
	}
	memory := opt.Memory
	if s.tune.spill {
		memory = 0
	}
	s.store = spill.Open(spill.Options{Memory: memory, Disk: opt.Disk, Dir: opt.Dir, Page: s.tune.page})
	for id := range opt.Workers {
		s.workers = append(s.workers, newWorker(s, id))
	}
	s.bytes = make([]int64, len(s.workers))
	return s
}

func (s *search) run() error {
	if err := s.start(); err != nil || s.result.Found != nil {
		return err
	}
	for round := range s.opt.Rounds {
		if err := s.step(round); err != nil {
			return err
		}
		if s.best != nil {
			return s.found(round + 1)
		}
	}
	return nil
}

// found makes the way to the best find again.
func (s *search) found(rounds int) error {
	f := &Found{Problem: s.best.problem, Active: int(s.best.cost)}
	var err error
	f.Start, f.Path, err = s.path(rounds)
	if err == nil {
		s.result.Found = f
	}
	return err
}

// start makes the level of initial states: the product of what each node can start with.
func (s *search) start() error {
	for node := range s.n {
		list, problem := s.o.Initial(node)
		if problem != 0 {
			s.result.Found = &Found{Problem: problem}
			return nil
		}
		s.starts = append(s.starts, list)
	}
	s.open(-1, 0)
	if err := s.workers[0].start(s.starts); err != nil {
		return err
	}
	if err := s.gather(); err != nil {
		return err
	}
	if err := s.merge(); err != nil {
		return err
	}
	if s.best != nil {
		return s.found(0)
	}
	return nil
}

// step makes the next level from the current one.
func (s *search) step(round int) error {
	s.open(round, s.cur.Len())
	if err := s.expand(); err != nil {
		return err
	}
	if err := s.gather(); err != nil {
		return err
	}
	s.cur.Free()
	return s.merge()
}

// open prepares shards and workers for a level made from `size` states.
func (s *search) open(round int, size int64) {
	bits := 0
	// a level is often half as large again as the one before
	for size>>bits > s.tune.shard*2/3 && 1<<bits < s.tune.shards {
		bits++
	}
	s.shards = 1 << bits
	s.memo = newMemo(s.o, round)
	for _, w := range s.workers {
		w.open(round, bits, size, s.memo)
	}
	s.before = s.result.Transitions
	s.show = Progress{States: s.show.States, Round: max(round, 0), Of: size}
	s.show.Estimate = estimate(s.result.Levels, s.show.States, s.opt.Rounds+1, s.opt.Period)
}

// pause looks at the memory and reports to the caller how far the search is.
func (s *search) pause() error {
	fixed := s.o.Bytes() + s.memo.bytes() + s.verdicts.bytes() + s.spareBytes
	for _, b := range s.bytes {
		fixed += b
	}
	if !s.tune.spill {
		s.store.Limit(max(0, s.opt.Memory-fixed))
	}
	s.show.Memory, s.show.Disk = fixed+s.store.Memory(), s.store.Disk()
	s.result.Memory = max(s.result.Memory, s.show.Memory)
	s.result.Disk = max(s.result.Disk, s.show.Disk)
	if fixed > s.opt.Memory {
		return fmt.Errorf("%w by tables and buffers alone", spill.ErrMemory)
	}
	if s.opt.Progress != nil && !s.opt.Progress(s.show) {
		return ErrStopped
	}
	return nil
}

// estimate foretells the number of states in `total` levels, of which some are known and have `states` together: each
// will be to the one a period before as the newest is.
func estimate(known []int64, states int64, total, period int) int64 {
	last := len(known) - 1
	if last < period+1 || known[last-period] == 0 {
		return 0
	}
	growth := float64(known[last]) / float64(known[last-period])
	sum := float64(states)
	for k := last - period + 1; k <= last; k++ {
		more := float64((total - 1 - k) / period) // levels that will follow this one after whole periods
		if growth == 1 {
			sum += float64(known[k]) * more
		} else {
			sum += float64(known[k]) * growth * (math.Pow(growth, more) - 1) / (growth - 1)
		}
	}
	return int64(math.Min(sum, 1<<62))
}
