package levels

import (
	"math"

	"github.com/lockstep-go/lockstep/distal/internal/spill"
)

// worker expands states, and puts their successors into outboxes of its own, one for each shard.
type worker struct {
	s       *search
	o       Oracle
	n       int
	id      int
	m       *memo
	boxes   []*spill.Tape
	pages   [][]uint32 // by outbox: the page being written
	shift   uint       // of a hash, to the number of its shard
	salt    uint32
	buf     []uint32 // page that was read from disk
	best    *find
	merger  merger
	filter  filter
	words   int   // put into outboxes since the last report
	made    int64 // successors since then
	done    int64 // states expanded since then
	trouble error // of an outbox
	// The state being expanded. Each list is cut from an array of the worker itself: lists of their own would be small
	// neighbors in memory, and workers would slow each other down by writing to the same cache lines.
	starts     []start
	begun      []start // one of the ways in starts, by node
	pick       []int
	inbox      []uint32
	lists      [][]ending
	at         []int
	record     []uint32 // the candidate being made
	choice     uint64
	parentHigh uint32
	spare      struct {
		starts, begun [maxNodes]start
		pick, at      [maxNodes]int
		inbox         [maxNodes]uint32
		lists         [maxNodes][]ending
		record        [maxNodes + originWords]uint32
	}
	_ [64]byte
}

func newWorker(s *search, id int) *worker {
	n := s.n
	w := &worker{s: s, o: s.o, n: n, id: id, merger: merger{n: n}, filter: filter{n: n}}
	w.starts, w.begun, w.pick, w.at = w.spare.starts[:n], w.spare.begun[:n], w.spare.pick[:n], w.spare.at[:n]
	w.inbox, w.lists, w.record = w.spare.inbox[:n], w.spare.lists[:n], w.spare.record[:n+originWords]
	return w
}

// open prepares for a round with 2^bits shards, made from so many states.
func (w *worker) open(round, bits int, states int64, m *memo) {
	w.filter.open(states)
	w.m = m
	w.shift = uint(32 - bits)
	w.salt = uint32(round+2) * 0x9e3779b9
	w.boxes, w.pages = make([]*spill.Tape, 1<<bits), make([][]uint32, 1<<bits)
	for i := range w.boxes {
		w.boxes[i] = w.s.store.Tape(w.n + originWords)
	}
}

// close hands the last pages over.
func (w *worker) close() error {
	err := w.trouble
	for i, p := range w.pages {
		if e := w.boxes[i].End(p); err == nil {
			err = e
		}
	}
	w.pages, w.m = nil, nil
	return err
}

func (w *worker) bytes() int64 {
	return w.merger.bytes() + w.filter.bytes() + int64(cap(w.buf)+7*len(w.pages))*4
}

// expandPage expands the states of a page from one to another.
func (w *worker) expandPage(page, from, to int) error {
	records, buf, err := w.s.cur.Page(page, w.buf)
	w.buf = buf
	if err != nil {
		return err
	}
	n := w.n
	first := uint64(page) * uint64(w.s.cur.PageLen())
	for i := from; i < to; i++ {
		state := records[i*(n+1) : (i+1)*(n+1)]
		if err := w.expand(state[:n], first+uint64(i), state[n]); err != nil {
			return err
		}
		w.done++
	}
	return nil
}

// start makes the initial states. Their choice is the number of the combination, the first node's part changing
// fastest.
func (w *worker) start(starts [][]uint32) error {
	w.choice = 0
	w.from(0)
	for p, list := range starts {
		w.lists[p] = nil
		for _, local := range list {
			w.lists[p] = append(w.lists[p], newEnding(w.o, local, changed))
		}
	}
	return w.product(0, 0)
}

// from sets where the next candidates come from.
func (w *worker) from(parent uint64) {
	w.record[w.n] = uint32(parent)
	w.parentHigh = uint32(parent>>32) << parentShift
}

// expand makes the successors of a state. They are numbered in the order in which they are made, so that a number is
// enough to find one again.
func (w *worker) expand(state []uint32, parent uint64, cost uint32) error {
	several := false
	for p, local := range state {
		b := w.m.begin(local)
		w.starts[p], w.begun[p], w.pick[p] = b, b, 0
		several = several || b.count > 1
	}
	w.choice = 0
	w.from(parent)
	for {
		if several {
			for p, b := range w.starts {
				if b.count > 1 {
					w.begun[p] = w.m.ways.At(b.after, b.count)[w.pick[p]]
				}
			}
		}
		for mode := range w.m.modes {
			flags := w.middle(w.send(mode))
			if err := w.product(cost, flags); err != nil {
				return err
			}
		}
		if !several || !nextPick(w.pick, func(p int) int { return int(w.starts[p].count) }) {
			return nil
		}
	}
}

// nextPick moves to the next combination; size gives the number of possibilities at a place.
func nextPick(pick []int, size func(int) int) bool {
	for p := range pick {
		pick[p]++
		if pick[p] < size(p) {
			return true
		}
		pick[p] = 0
	}
	return false
}

// send lets the nodes begin in the way that was picked, and finds for each how it can end.
func (w *worker) send(mode uint32) (flags uint32) {
	for q := range w.inbox {
		w.inbox[q] = mode
	}
	for p := range w.begun {
		b := &w.begun[p]
		if flags&wrong == 0 { // of several problems the first
			flags |= b.flags
		}
		if b.sent == 0 {
			continue
		}
		// What goes to all goes into equal inboxes: one look for all of them.
		var box, sealed, joined uint32
		for q, e := range w.m.sent.At(b.sent, uint32(w.n)) {
			if e == 0 {
				continue
			}
			if e != sealed || w.inbox[q] != box {
				box, sealed = w.inbox[q], e
				joined = w.m.join(box, e|uint32(p))
			}
			w.inbox[q] = joined
		}
	}
	for q, box := range w.inbox {
		w.lists[q] = w.m.end(w.begun[q].after, box)
	}
	return flags
}

// middle checks the state between the two halves of a round, where what Check sees has changed.
func (w *worker) middle(flags uint32) uint32 {
	if flags&changed == 0 || flags&wrong != 0 {
		return flags
	}
	state := make([]uint32, w.n)
	for p := range w.begun {
		state[p] = w.begun[p].after
	}
	if found := w.o.Check(state); found != 0 {
		flags |= uint32(found) << problemShift
	}
	return flags
}

// product makes every combination of the endings in w.lists. The first node's part changes fastest.
func (w *worker) product(cost, before uint32) error {
	clear(w.at)
	list := w.lists[0]
	for {
		var hash uint32
		flags := before
		for p := 1; p < w.n; p++ {
			o := &w.lists[p][w.at[p]]
			w.record[p] = o.local
			hash += o.hash
			flags |= o.flags
		}
		if w.choice+uint64(len(list)) > math.MaxUint32 {
			return errSuccessors
		}
		for i := range list {
			o := &list[i]
			w.record[0] = o.local
			f := flags | o.flags
			c := cost
			if f&acted != 0 && c < maxCost {
				c++
			}
			if f&(changed|wrong) == 0 || !w.bad(o, f, c, before) {
				w.put(hash+o.hash, c)
			}
			w.choice++
		}
		w.made += int64(len(list))
		if w.words >= w.s.tune.batch || w.trouble != nil {
			if err := w.s.report(w); err != nil {
				return err
			}
		}
		p := 1
		for ; p < w.n; p++ {
			w.at[p]++
			if w.at[p] < len(w.lists[p]) {
				break
			}
			w.at[p] = 0
		}
		if p >= w.n {
			return nil
		}
	}
}

// put adds the candidate in w.record, or the one that stands for it.
func (w *worker) put(hash, cost uint32) {
	if w.s.opt.Canon == nil {
		w.add(hash, cost)
		return
	}
	var keep [maxNodes]uint32
	copy(keep[:], w.record[:w.n])
	w.s.opt.Canon(w.record[:w.n])
	hash = 0
	for _, local := range w.record[:w.n] {
		h, _ := w.o.Local(local)
		hash += uint32(h >> 32)
	}
	w.add(hash, cost)
	copy(w.record, keep[:w.n])
}

// add puts the candidate in w.record into its shard.
func (w *worker) add(hash, cost uint32) {
	n := w.n
	// Mixed in another way in each round: states in which nothing happens would otherwise all move to one shard, and those
	// in which the same happens to one other.
	hash = (hash ^ w.salt) * 0x2c1b3c6d
	hash = (hash ^ hash>>13) * 0x297a2d39
	if !w.filter.off && w.filter.double(w.record[:n], cost, hash) {
		return
	}
	w.record[n+1] = uint32(w.choice)
	w.record[n+2] = w.parentHigh | hash&(1<<hashBits-1)<<hashShift | cost
	shard := hash >> w.shift
	if p := w.pages[shard]; len(p)+len(w.record) <= cap(p) {
		w.pages[shard] = append(p, w.record...)
		return
	}
	w.turn(shard)
}

// turn puts the candidate in w.record at the top of a new page.
func (w *worker) turn(shard uint32) {
	w.words += len(w.pages[shard])
	p, err := w.boxes[shard].Turn(w.pages[shard])
	if err != nil && w.trouble == nil {
		w.trouble = err
	}
	w.pages[shard] = append(p, w.record...)
}

// bad says whether the candidate has a problem, and if so, remembers the best one.
func (w *worker) bad(o *ending, flags, cost, before uint32) bool {
	found := int(before >> problemShift)
	if flags&wrong != 0 && found == 0 {
		found = int(o.flags >> problemShift)
		for p := 1; p < w.n && found == 0; p++ {
			found = int(w.lists[p][w.at[p]].flags >> problemShift)
		}
	}
	if found == 0 {
		found = w.check(o)
	}
	if found == 0 {
		return false
	}
	parent := uint64(w.record[w.n]) | uint64(w.parentHigh>>parentShift)<<32
	f := &find{found, origin{parent, uint32(w.choice)}, cost}
	if f.better(w.best) {
		w.best = f
	}
	return true
}

// check asks what is wrong with the global state in w.record, once for each combination of classes.
func (w *worker) check(o *ending) int {
	v := &w.s.verdicts
	chain := uint32(0)
	for p := w.n - 1; p > 0; p-- {
		chain = v.chain(chain, w.lists[p][w.at[p]].class)
	}
	return v.verdict(chain, o.class, func() int { return w.o.Check(w.record[:w.n]) })
}
