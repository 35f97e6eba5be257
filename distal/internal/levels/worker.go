package levels

import "math"

// worker expands states. It keeps what it has learned about the round.
type worker struct {
	o     Oracle
	n     int
	m     *memo
	shift uint // of a hash, to the number of its shard
	out   *batch
	flush func(*worker) error // empties the batch; nil: a full batch ends the work
	buf   []uint32            // page that was read from disk
	// Verdicts, kept over all rounds: a chain of classes from the last node to the second has a number, and that
	// with the class of the first node has a verdict.
	chains   index
	verdicts index
	merger   merger
	// The state being expanded.
	ways   [][]way
	pick   []int
	inbox  []uint32
	spans  []span
	first  []uint32
	at     []uint32
	record []uint32 // the candidate being made
	choice uint64
}

func newWorker(o Oracle) *worker {
	n := o.Nodes()
	return &worker{o: o, n: n, ways: make([][]way, n), pick: make([]int, n), inbox: make([]uint32, n),
		spans: make([]span, n), first: make([]uint32, n), at: make([]uint32, n), record: make([]uint32, n+originWords), merger: merger{o: o, n: n}}
}

// open prepares for a round with 2^bits shards.
func (w *worker) open(round, bits int, s *shared) {
	w.m = newMemo(w.o, round, s)
	w.shift = uint(64 - bits)
}

// begin prepares for a batch.
func (w *worker) begin(out *batch, flush func(*worker) error) { w.out, w.flush = out, flush }

func (w *worker) bytes() int64 {
	return w.m.bytes() + w.chains.bytes() + w.verdicts.bytes() + w.merger.bytes() + int64(cap(w.buf))*4
}

// page expands states of a page and says how far it came.
func (w *worker) page(s *search, page, from, to int) (int, error) {
	records, buf, err := s.cur.Page(page, w.buf)
	w.buf = buf
	if err != nil {
		return from, err
	}
	n := w.n
	first := uint64(page) * uint64(s.cur.PageLen())
	for i := from; i < to; i++ {
		if w.out.words >= batchWords && w.flush == nil {
			return i, nil
		}
		state := records[i*(n+1) : (i+1)*(n+1)]
		transitions, best := w.out.transitions, w.out.best
		full, err := w.expand(state[:n], first+uint64(i), state[n])
		if err != nil {
			return i, err
		}
		if full {
			w.out.forget(first+uint64(i), n)
			w.out.transitions, w.out.best = transitions, best
			return i, nil
		}
	}
	return to, nil
}

// start makes the initial states. Their choice is the number of the combination, the first node's part changing fastest.
func (w *worker) start(starts [][]uint32) error {
	w.choice = 0
	w.from(0, 0)
	w.m.outs = w.m.outs[:0]
	for p, list := range starts {
		w.spans[p].from = uint32(len(w.m.outs))
		for _, local := range list {
			out := newEnding(w.o, local)
			out.flags = changed
			w.m.outs = append(w.m.outs, out)
		}
		w.spans[p].to = uint32(len(w.m.outs))
	}
	_, err := w.product(0, 0, 0)
	return err
}

// from sets where the next candidates come from.
func (w *worker) from(parent uint64, cost uint32) {
	w.record[w.n] = uint32(parent)
	w.record[w.n+2] = uint32(parent>>32)<<16 | cost
}

// expand makes the successors of a state. They are numbered in the order in which they are made, so that a number is
// enough to find one again. It reports whether the batch was full before the last of them.
func (w *worker) expand(state []uint32, parent uint64, cost uint32) (full bool, err error) {
	several := false
	for p, local := range state {
		w.ways[p] = w.m.begin(local)
		w.pick[p] = 0
		several = several || len(w.ways[p]) > 1
	}
	w.choice = 0
	w.from(parent, cost)
	for {
		flags, problem := w.send()
		if flags&changed != 0 && problem == 0 {
			if problem = w.begun(); problem != 0 {
				flags |= wrong
			}
		}
		for mode := range uint32(w.m.modes) {
			for p, first := range w.first {
				w.spans[p] = w.m.spans[first+mode]
			}
			if full, err = w.product(cost, flags, problem); full || err != nil {
				return full, err
			}
		}
		if !several || !nextPick(w.pick, func(p int) int { return len(w.ways[p]) }) {
			return false, nil
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

// send lets the nodes begin in the way that was picked, and finds for each where its possible endings are.
func (w *worker) send() (flags uint32, problem int32) {
	clear(w.inbox)
	for p, i := range w.pick {
		b := &w.ways[p][i]
		if b.changed {
			flags |= changed
		}
		if b.problem != 0 && problem == 0 {
			flags |= wrong
			problem = b.problem
		}
		if b.silent {
			continue
		}
		// What goes to all goes into equal inboxes: one look for all of them.
		var inbox, sealed, joined uint32
		for q, e := range b.sent {
			if e == 0 {
				continue
			}
			if e != sealed || w.inbox[q] != inbox {
				inbox, sealed = w.inbox[q], e
				joined = w.m.join(inbox, e|uint32(p))
			}
			w.inbox[q] = joined
		}
	}
	for q, inbox := range w.inbox {
		after := w.ways[q][w.pick[q]].after
		if inbox == 0 {
			w.first[q] = w.m.silence(after)
		} else {
			w.first[q] = w.m.end(after, inbox)
		}
	}
	return flags, problem
}

// begun judges the state between the two halves of a round.
func (w *worker) begun() int32 {
	state := make([]uint32, w.n)
	for p, i := range w.pick {
		state[p] = w.ways[p][i].after
	}
	return int32(w.o.Judge(state))
}

// product makes every combination of the endings in w.spans. The first node's part changes fastest.
func (w *worker) product(cost, before uint32, problem int32) (full bool, err error) {
	outs := w.m.outs
	for p, s := range w.spans {
		w.at[p] = s.from
	}
	list := outs[w.spans[0].from:w.spans[0].to]
	for {
		var hash uint64
		flags := before
		for p := 1; p < w.n; p++ {
			o := &outs[w.at[p]]
			w.record[p] = o.local
			hash += o.hash
			flags |= o.flags
		}
		if w.choice+uint64(len(list)) > math.MaxUint32 {
			return false, errSuccessors
		}
		for i := range list {
			o := &list[i]
			w.record[0] = o.local
			f := flags | o.flags
			c := cost
			if f&acted != 0 && c < maxCost {
				c++
			}
			if f&(changed|wrong) == 0 || !w.bad(o, f, c, problem) {
				w.add(hash+o.hash, c)
			}
			w.choice++
		}
		w.out.transitions += int64(len(list))
		if w.out.words >= batchWords {
			if w.flush == nil && w.out.words >= 4*batchWords {
				return true, nil
			}
			if w.flush != nil {
				if err := w.flush(w); err != nil {
					return false, err
				}
			}
		}
		p := 1
		for ; p < w.n; p++ {
			w.at[p]++
			if w.at[p] < w.spans[p].to {
				break
			}
			w.at[p] = w.spans[p].from
		}
		if p >= w.n {
			return false, nil
		}
	}
}

// add puts the candidate in w.record into its shard.
func (w *worker) add(hash uint64, cost uint32) {
	n := w.n
	w.record[n+1] = uint32(w.choice)
	w.record[n+2] = w.record[n+2]&^maxCost | cost
	run := &w.out.runs[hash>>w.shift]
	*run = append(*run, w.record...)
	w.out.words += len(w.record)
}

// bad says whether the candidate has a problem, and if so, remembers the best one.
func (w *worker) bad(o *ending, flags, cost uint32, problem int32) bool {
	found := int(problem)
	if flags&wrong != 0 && found == 0 {
		found = int(o.problem)
		for p := 1; p < w.n && found == 0; p++ {
			found = int(w.m.outs[w.at[p]].problem)
		}
	}
	if found == 0 {
		found = w.judge(o)
	}
	if found == 0 {
		return false
	}
	f := &find{found, origin{parentOf(w.record, w.n), uint32(w.choice)}, cost}
	if f.better(w.out.best) {
		w.out.best = f
	}
	return true
}

// judge asks what is wrong with the global state in w.record, once for each combination of classes.
func (w *worker) judge(o *ending) int {
	chain := uint32(0)
	for p := w.n - 1; p > 0; p-- {
		key := uint64(chain+1)<<32 | uint64(w.m.outs[w.at[p]].class)
		next, ok := w.chains.find(key)
		if !ok {
			next = uint32(w.chains.count) + 1
			w.chains.put(key, next)
		}
		chain = next
	}
	key := uint64(chain+1)<<32 | uint64(o.class)
	verdict, ok := w.verdicts.find(key)
	if !ok {
		verdict = uint32(w.o.Judge(w.record[:w.n]))
		w.verdicts.put(key, verdict)
	}
	return int(verdict)
}
