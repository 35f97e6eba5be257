package levels

import (
	"errors"

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

// expand lets the workers put the successors of all states of the current level into their outboxes. Workers are handed
// piece after piece in order, so that what is in an outbox is in the order of its parents.
func (s *search) expand() error {
	pageLen, size := s.cur.PageLen(), s.cur.Len()
	piece := int(min(int64(pageLen), max(smallest, size/int64(piecesEach*s.opt.Workers))))
	pieces := (pageLen + piece - 1) / piece
	bounds := func(job int) (page, from, to int) {
		page, from = job/pieces, job%pieces*piece
		return page, from, int(min(int64(from+piece), int64(pageLen), size-int64(page)*int64(pageLen)))
	}
	do := func(worker, job int) error {
		return s.workers[worker].expandPage(bounds(job))
	}
	var failed error
	take := func(job int, err error) bool {
		if page, _, to := bounds(job); to == pageLen {
			s.cur.Drop(page)
		}
		failed = err
		return err == nil
	}
	jobs := (s.cur.Pages()-1)*pieces + (int(size-int64(s.cur.Pages()-1)*int64(pageLen))+piece-1)/piece
	pool.Ordered(s.opt.Workers, jobs, do, take)
	return failed
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
