package levels

import (
	"errors"
	"sync/atomic"

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

func parentOf(candidate []uint32, n int) uint64 {
	return uint64(candidate[n]) | uint64(candidate[n+2]>>parentShift)<<32
}

// Pieces of a level: enough of them for each worker that none waits long for the last one, and none so small that it
// is not worth handing out.
const (
	piecesEach = 64
	smallest   = 64
)

// expand lets the workers put the successors of all states of the current level into their outboxes. Workers get
// piece after piece in order, so that what is in an outbox is in the order of its parents. The worker that is done
// with the last piece of a page drops it.
func (s *search) expand() error {
	pageLen, size := int64(s.cur.PageLen()), s.cur.Len()
	piece := min(pageLen, max(smallest, size/int64(piecesEach*s.opt.Workers)))
	each := (pageLen + piece - 1) / piece // pieces of a page
	left := make([]atomic.Int64, s.cur.Pages())
	jobs := int64(0)
	for page := range left {
		pieces := (min(pageLen, size-int64(page)*pageLen) + piece - 1) / piece
		left[page].Store(pieces)
		jobs += pieces
	}
	return pool.Each(s.opt.Workers, int(jobs), func(worker, job int) error {
		page, from := int64(job)/each, int64(job)%each*piece
		to := min(from+piece, pageLen, size-page*pageLen)
		if err := s.workers[worker].expandPage(int(page), int(from), int(to)); err != nil {
			return err
		}
		if left[page].Add(-1) == 0 {
			s.cur.Drop(int(page))
		}
		return nil
	})
}

// gather ends the expansion: what the workers found is put together.
func (s *search) gather() error {
	for _, w := range s.workers {
		if err := w.close(); err != nil {
			return err
		}
		if w.best.better(s.best) {
			s.best = w.best
		}
		w.best = nil
	}
	for _, w := range s.workers {
		if err := s.report(w); err != nil {
			return err
		}
	}
	return nil
}

// report adds to the counts what a worker has done since its last report, and returns what should end the search.
func (s *search) report(w *worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Transitions += w.made
	s.show.Done += w.done
	s.bytes[w.id] = w.bytes()
	w.words, w.made, w.done = 0, 0, 0
	switch {
	case s.ended != nil: // by another worker
	case w.trouble != nil:
		s.ended = w.trouble
	default:
		s.ended = s.pause()
	}
	return s.ended
}
