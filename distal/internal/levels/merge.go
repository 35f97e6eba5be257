package levels

import (
	"errors"
	"slices"

	"github.com/lockstep-go/lockstep/distal/internal/spill"
	"github.com/lockstep-go/lockstep/internal/pool"
)

// part is a share of a shard that is reduced at once: the candidates whose hash is `pass` modulo `passes`. The number of passes
// is a function of the number of transitions, because the number of candidates depends on what workers filter.
type part struct {
	shard        int
	pass, passes uint32
}

// reduced are the distinct states of a part, in the order in which they were first met.
type reduced struct {
	states  []uint32 // records of the level
	origins []origin
	backs   []uint32 // coded origins
	stand   int64    // how many states they stand for
	worker  int
	bytes   int64
	err     error
}

func (r *reduced) size() int64 { return int64(cap(r.states)+cap(r.backs))*4 + int64(cap(r.origins))*16 }

// merge reduces the shards to distinct states: the next level.
func (s *search) merge() error {
	passes := uint32(1)
	for (s.result.Transitions-s.before)/int64(len(s.shards)) > int64(passes)*s.tune.pass && passes < 1<<hashBits {
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
	var used spare[*reduced]
	pool.Ordered(s.opt.Workers, len(parts), func(worker, i int) *reduced {
		w := s.workers[worker]
		r := used.get(func() *reduced { return &reduced{} })
		r.err = w.merger.reduce(s.shards[parts[i].shard], parts[i], r)
		r.stand = s.standFor(r.states)
		r.worker, r.bytes = worker, w.bytes()+3*r.size() // two more may be on their way
		return r
	}, func(i int, r *reduced) bool {
		s.bytes[r.worker] = r.bytes
		first := next.Len()
		failed = errors.Join(r.err, next.Append(r.states), past.add(first, r.backs))
		if p := parts[i]; p.pass == p.passes-1 {
			s.shards[p.shard].Free()
		}
		level += r.stand
		s.show.States += r.stand
		used.put(r) // another worker may have it from here on
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
	return s.makeRoom()
}

// standFor counts the states for which the given records stand.
func (s *search) standFor(records []uint32) int64 {
	width := s.n + 1
	if s.opt.Canon == nil {
		return int64(len(records) / width)
	}
	sum := int64(0)
	var room [maxNodes]uint32
	for ; len(records) > 0; records = records[width:] {
		sum += s.opt.Canon(room[:copy(room[:s.n], records)])
	}
	return sum
}

// makeRoom moves back pointers to the disk when the memory is half full: they are read only for a counterexample.
func (s *search) makeRoom() error {
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
	buf     []uint32
	states  []uint32 // those of the result being made; they are worked on here, not there, where another worker's are near
	origins []origin
}

func (m *merger) bytes() int64 { return int64(cap(m.slots)+cap(m.buf)) * 4 }

// reduce finds the distinct states of a part. Of equal ones the one with the lowest cost stays, and of these the first.
func (m *merger) reduce(t *spill.Tape, p part, r *reduced) error {
	expected := int(t.Len() / int64(p.passes))
	m.states = slices.Grow(r.states[:0], expected*(m.n+1))
	m.origins = slices.Grow(r.origins[:0], expected)
	m.resize(min(expected, 1<<16))
	for i := range t.Pages() {
		records, buf, err := t.Page(i, m.buf)
		m.buf = buf
		if err != nil {
			return err
		}
		for width := m.n + originWords; len(records) > 0; records = records[width:] {
			if p.passes == 1 || records[m.n+2]>>hashShift&(p.passes-1) == p.pass {
				m.insert(records[:width])
			}
		}
	}
	r.states, r.origins, r.backs = m.states, m.origins, encode(m.origins, r.backs[:0])
	return nil
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
	at := spread(vec) & mask
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
		at := spread(m.states[i*(m.n+1):i*(m.n+1)+m.n]) & mask
		for m.slots[at] != 0 {
			at = (at + 1) & mask
		}
		m.slots[at] = uint32(i) + 1
	}
}

// spread hashes a vector of numbers for the table alone: it may differ from run to run.
func spread(vec []uint32) uint32 {
	var h uint64
	for _, v := range vec {
		h = (h + uint64(v)) * 0x9e3779b97f4a7c15
	}
	return uint32(h >> 32)
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
