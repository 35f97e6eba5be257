package levels

import (
	"errors"
	"slices"
	"sync"

	"github.com/lockstep-go/lockstep/distal/internal/spill"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/pool"
)

// part is a share of a shard that is reduced at once: the candidates whose hash is `pass` modulo `passes`. The number
// of passes is a function of the number of transitions, because the number of candidates depends on what workers
// filter.
type part struct {
	shard        int
	pass, passes uint32
}

// reduced are the distinct states of a part, in the order in which they were first met.
type reduced struct {
	states []uint32 // records of the level
	backs  []uint32 // coded origins
	stand  int64    // how many states they stand for
	worker int
	bytes  int64 // of the worker
	grown  int64 // of this one, by so many since it was last used
	err    error
}

func (r *reduced) size() int64 { return int64(cap(r.states)+cap(r.backs)) * 4 }

// merge reduces the shards to distinct states: the next level.
func (s *search) merge() error {
	passes := uint32(1)
	for (s.result.Transitions-s.before)/int64(s.shards) > int64(passes)*s.tune.pass && passes < 1<<hashBits {
		passes *= 2
	}
	var parts []part
	for i := range s.shards {
		for pass := range passes {
			parts = append(parts, part{i, pass, passes})
		}
	}
	next := s.store.Tape(s.n + 1)
	past := history{tape: s.store.Tape(1)}
	var failed error
	var level int64
	pool.Ordered(s.opt.Workers, len(parts), func(worker, i int) *reduced {
		w := s.workers[worker]
		r := s.spare.get(func() *reduced { return &reduced{} })
		before := r.size()
		r.err = w.merger.reduce(s.boxes(parts[i].shard), parts[i], r)
		r.stand = s.standFor(r.states)
		r.worker, r.bytes, r.grown = worker, w.bytes(), r.size()-before
		return r
	}, func(i int, r *reduced) bool {
		s.bytes[r.worker] = r.bytes
		s.spareBytes += r.grown
		first := next.Len()
		failed = errors.Join(r.err, next.Append(r.states), past.add(first, r.backs))
		if p := parts[i]; p.pass == p.passes-1 {
			for _, t := range s.boxes(p.shard) {
				t.Free()
			}
		}
		level += r.stand
		s.show.States += r.stand
		s.spare.put(r) // another worker may have it from here on
		s.result.Kept += next.Len() - first
		if failed == nil && next.Len() >= maxStates {
			failed = errors.New("a level has 2^40 states")
		}
		if failed == nil {
			failed = s.pause()
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	next.Seal()
	past.tape.Seal()
	s.cur = next
	s.past = append(s.past, past)
	s.result.Levels = append(s.result.Levels, level)
	return s.makeSpace()
}

// boxes are the outboxes of all workers for a shard.
func (s *search) boxes(shard int) []*spill.Tape {
	list := make([]*spill.Tape, len(s.workers))
	for i, w := range s.workers {
		list[i] = w.boxes[shard]
	}
	return list
}

// standFor counts the states for which the given records stand.
func (s *search) standFor(records []uint32) int64 {
	width := s.n + 1
	if s.opt.Canon == nil {
		return int64(len(records) / width)
	}
	sum := int64(0)
	var spare [maxNodes]uint32
	for ; len(records) > 0; records = records[width:] {
		sum += s.opt.Canon(spare[:copy(spare[:s.n], records)])
	}
	return sum
}

// makeSpace moves back pointers to the disk when the memory is half full: they are read only for a counterexample.
func (s *search) makeSpace() error {
	if s.show.Memory <= s.opt.Memory/2 {
		return nil
	}
	for _, h := range s.past {
		if err := h.tape.Evict(); err != nil {
			return err
		}
	}
	return nil
}

// merger reduces parts of shards. Its tables are used again and again.
type merger struct {
	n       int
	slots   []uint32 // open hash table: index plus one; 0: empty
	heads   []head
	states  []uint32 // those of the result being made; they are worked on here, not there, where another worker's are near
	origins []origin // by state
}

func (m *merger) bytes() int64 {
	sum := int64(cap(m.slots))*4 + int64(cap(m.origins))*16
	for _, h := range m.heads {
		sum += int64(cap(h.buf)) * 4
	}
	return sum
}

// head reads an outbox.
type head struct {
	tape    *spill.Tape
	page    int      // the next one
	records []uint32 // what is left of the page before
	parent  uint64   // of the first of them; none is past the end
	buf     []uint32
}

const none = 1 << 63

// advance continues with what is left of a page, or with the next one.
func (h *head) advance(rest []uint32, n int) (err error) {
	if h.records = rest; len(rest) == 0 {
		if h.page == h.tape.Pages() {
			h.parent = none
			return nil
		}
		if h.records, h.buf, err = h.tape.Page(h.page, h.buf); err != nil {
			return err
		}
		h.page++
	}
	h.parent = parentOf(h.records, n)
	return nil
}

// reduce finds the distinct states of a part. Of equal ones the one with the lowest cost stays, and of these the
// first: outboxes are read in the order of parents, as if one worker had filled one of them.
func (m *merger) reduce(boxes []*spill.Tape, p part, r *reduced) error {
	expected := int64(0)
	for len(m.heads) < len(boxes) {
		m.heads = append(m.heads, head{})
	}
	for i, t := range boxes {
		expected += t.Len() / int64(p.passes)
		h := &m.heads[i]
		h.tape, h.page = t, 0
		if err := h.advance(nil, m.n); err != nil {
			return err
		}
	}
	m.states = slices.Grow(r.states[:0], int(expected)*(m.n+1))
	m.origins = slices.Grow(m.origins[:0], int(expected))
	m.resize(int(min(expected, 1<<16)))
	for {
		next, limit := m.next()
		if next.parent == none {
			break
		}
		if err := next.advance(m.insertUpTo(next.records, limit, p), m.n); err != nil {
			return err
		}
	}
	r.states, r.backs = m.states, encode(m.origins, slices.Grow(r.backs[:0], len(m.origins)))
	return nil
}

// next finds the outbox with the first parent, and the first parent of the others.
func (m *merger) next() (first *head, limit uint64) {
	first, limit = &m.heads[0], none
	for i := range m.heads[1:] {
		h := &m.heads[1+i]
		if h.parent < first.parent {
			limit = first.parent
			first = h
		} else {
			limit = min(limit, h.parent)
		}
	}
	return first, limit
}

// insertUpTo inserts the records of a part up to a parent, and returns the rest.
func (m *merger) insertUpTo(records []uint32, limit uint64, p part) (rest []uint32) {
	for width := m.n + originWords; len(records) > 0; records = records[width:] {
		if limit != none && parentOf(records, m.n) >= limit {
			break
		}
		if p.passes == 1 || records[m.n+2]>>hashShift&(p.passes-1) == p.pass {
			m.insert(records[:width])
		}
	}
	return records
}

// resize makes an empty table for so many states.
func (m *merger) resize(states int) {
	size := 1 << 8
	for size < states*2 {
		size *= 2
	}
	if cap(m.slots) < size {
		m.slots = make([]uint32, size)
		return
	}
	m.slots = m.slots[:size]
	clear(m.slots)
}

// insert adds a candidate, or shortens the way to a state that is there.
func (m *merger) insert(candidate []uint32) {
	n := m.n
	vec := candidate[:n]
	cost := candidate[n+2] & maxCost
	mask := uint32(len(m.slots) - 1)
	at := uint32(mix.Words(vec)>>32) & mask
	for ; m.slots[at] != 0; at = (at + 1) & mask {
		i := int(m.slots[at]) - 1
		old := m.states[i*(n+1) : (i+1)*(n+1)]
		if !equal(old, vec) {
			continue
		}
		if cost < old[n] {
			old[n] = cost
			m.origins[i] = origin{parentOf(candidate, n), candidate[n+1]}
		}
		return
	}
	m.states = append(m.states, vec...)
	m.states = append(m.states, cost)
	m.origins = append(m.origins, origin{parentOf(candidate, n), candidate[n+1]})
	m.slots[at] = uint32(len(m.origins))
	if len(m.origins)*2 > len(m.slots) {
		m.grow()
	}
}

func (m *merger) grow() {
	m.resize(len(m.slots))
	mask := uint32(len(m.slots) - 1)
	for i := range m.origins {
		at := uint32(mix.Words(m.states[i*(m.n+1):i*(m.n+1)+m.n])>>32) & mask
		for m.slots[at] != 0 {
			at = (at + 1) & mask
		}
		m.slots[at] = uint32(i) + 1
	}
}

// equal compares a vector with the beginning of a record.
func equal(record, vec []uint32) bool {
	for i, v := range vec {
		if record[i] != v {
			return false
		}
	}
	return true
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
