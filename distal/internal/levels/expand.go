package levels

import (
	"errors"
	"math"
	"sync"

	"github.com/lockstep-go/lockstep/internal/pool"
)

// originWords follow the vector in a candidate: the parent's low word, the choice, and, from the high bits to the low
// ones, the rest of the parent, some bits of the hash, and the cost.
const (
	originWords = 3
	hashShift   = 16
	hashBits    = 8
	parentShift = hashShift + hashBits
)

// maxCost is where the count of active rounds stays.
const maxCost = 1<<16 - 1

var errSuccessors = errors.New("a state has more than 4294967295 successors")

// batch is what the expansion of some states came to: candidates for the next level, by shard.
type batch struct {
	runs        [][]uint32
	words       int
	transitions int64
	best        *find
	next        int // the first state that was not expanded, because the batch was full
	bytes       int64
	worker      int
	err         error
}

func (b *batch) reset() {
	for i := range b.runs {
		b.runs[i] = b.runs[i][:0]
	}
	b.words, b.transitions, b.best, b.next, b.err = 0, 0, nil, 0, nil
}

func parentOf(candidate []uint32, n int) uint64 {
	return uint64(candidate[n]) | uint64(candidate[n+2]>>parentShift)<<32
}

// spare keeps things to be used again.
type spare[T any] struct {
	mu   sync.Mutex
	list []T
}

func (s *spare[T]) get(make func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.list) - 1; last >= 0 {
		x := s.list[last]
		s.list = s.list[:last]
		return x
	}
	return make()
}

func (s *spare[T]) put(x T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, x)
}

// newBatch gets an empty batch. Runs begin with room for what is expected, all in one piece of memory.
func (s *search) newBatch() *batch {
	return s.spare.get(func() *batch {
		b := &batch{runs: make([][]uint32, len(s.shards))}
		room := make([]uint32, len(s.shards)*s.room)
		for i := range b.runs {
			b.runs[i] = room[i*s.room : i*s.room : (i+1)*s.room]
		}
		return b
	})
}

// expand puts the successors of all states of the current level into the shards. A few states go first: how many
// successors they have says how many states make a batch.
func (s *search) expand() error {
	first := int(min(int64(s.tune.probe), s.cur.Len()))
	if err := s.expandPart(0, first, first); err != nil || int64(first) == s.cur.Len() {
		return err
	}
	words := int64(1)
	for _, t := range s.shards {
		words += t.Len() * int64(s.n+originWords)
	}
	size := min(int64(s.cur.PageLen()), max(1, int64(s.tune.batch)/4*int64(first)/words))
	s.room = (s.n + originWords) * int(4+2*size*words/int64(first*len(s.shards)*(s.n+originWords)))
	return s.expandPart(first, math.MaxInt, int(size))
}

// expandPart expands the states from `from` to `to`, in batches of so many or fewer. `to` is in the first page or past
// the end.
func (s *search) expandPart(from, to, size int) error {
	pageLen := s.cur.PageLen()
	pieces := (pageLen + size - 1) / size
	pages := s.cur.Pages()
	if to <= pageLen {
		pages = 1
	}
	// states of a job, counted within its page
	bounds := func(job int) (page, a, b int) {
		page = job / pieces
		a = job % pieces * size
		b = min(a+size, pageLen, to-page*pageLen, int(s.cur.Len())-page*pageLen)
		return page, max(a, from-page*pageLen), b
	}
	var failed error
	do := func(worker, job int) *batch {
		page, a, b := bounds(job)
		out := s.newBatch()
		w := s.workers[worker]
		w.begin(out, nil)
		out.next = max(a, b)
		if a < b {
			out.next, out.err = w.page(s, page, a, b)
		}
		out.worker = worker
		return w.finish()
	}
	take := func(job int, out *batch) bool {
		page, a, b := bounds(job)
		next, err := out.next, out.err // collect hands the batch on
		failed = errors.Join(err, s.collect(out.worker, out))
		if failed == nil && next < max(a, b) {
			failed = s.rest(page, next, b)
		}
		if failed == nil && job%pieces == pieces-1 && b == pageLen {
			s.cur.Drop(page)
		}
		s.show.Done += int64(max(0, b-a))
		return failed == nil
	}
	workers := s.opt.Workers
	if s.cur.Len() < 4*int64(s.tune.probe) {
		workers = 1
	}
	pool.Ordered(workers, pages*pieces, do, take)
	return failed
}

// rest expands states for which a batch had no room: in the calling goroutine, which can empty the batch at any time.
func (s *search) rest(page, from, to int) error {
	w := s.workers[len(s.workers)-1]
	w.begin(s.newBatch(), s.collectDirect)
	_, err := w.page(s, page, from, to)
	return errors.Join(err, s.collect(len(s.workers)-1, w.finish()))
}

// collect appends a batch to the shards.
func (s *search) collect(worker int, b *batch) error {
	for i, run := range b.runs {
		if len(run) > 0 {
			if err := s.shards[i].Append(run); err != nil {
				return err
			}
		}
	}
	s.result.Transitions += b.transitions
	if b.best.better(s.best) {
		s.best = b.best
	}
	s.bytes[worker] = b.bytes + 2*4*2*int64(b.words) // slices grow by doubling, and another one is on its way
	if b.words <= 2*s.tune.batch {                   // larger ones are not worth keeping
		b.reset()
		s.spare.put(b)
	}
	return s.pause()
}

// collectDirect empties the batch of the worker of the calling goroutine.
func (s *search) collectDirect(w *worker) error {
	err := s.collect(len(s.workers)-1, w.finish())
	w.begin(s.newBatch(), w.flush)
	return err
}
