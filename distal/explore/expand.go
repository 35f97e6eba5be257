package explore

import "math"

// expand adds the successors of the i-th state of the current level to the next one. Successors are numbered in the
// order in which they are made, so that a number is enough to find one again.
func (s *search) expand(r *round, i uint32) {
	state := s.cur.set.key(int(i))
	several := false
	for p, id := range state {
		s.alts[p] = r.begin(id)
		s.pick[p] = 0
		several = several || len(s.alts[p]) > 1
	}
	choice := uint32(0)
	for {
		choice = s.combine(r, i, choice)
		if s.stop || !several || !s.nextPick() {
			return
		}
	}
}

// nextPick moves to the next combination of ways to begin the round.
func (s *search) nextPick() bool {
	for p := range s.pick {
		s.pick[p]++
		if s.pick[p] < len(s.alts[p]) {
			return true
		}
		s.pick[p] = 0
	}
	return false
}

// combine takes one way to begin the round and makes the product of the nodes' outcomes, for every mode of the
// network.
func (s *search) combine(r *round, parent, choice uint32) uint32 {
	changed := false
	problem := 0
	for p := range s.n {
		a := &s.alts[p][s.pick[p]]
		changed = changed || a.changed
		problem = max(problem, a.problem)
	}
	first := s.ends(r)
	for mode := range s.t.model.Modes() {
		for p := range s.n {
			s.spans[p] = r.spans[first[p]+mode]
		}
		choice = s.product(r, parent, choice, changed, problem)
	}
	return choice
}

// ends looks up, for every node, where its outcomes are.
func (s *search) ends(r *round) [16]int {
	var first [16]int
	for q := range s.n {
		s.key[0] = s.alts[q][s.pick[q]].after
		heard := uint32(0)
		for p := range s.n {
			m := s.alts[p][s.pick[p]].msgs[q]
			s.key[p+1] = m
			heard |= m
		}
		if heard == 0 {
			first[q] = r.silence(s.key)
		} else {
			first[q] = r.end(s.key)
		}
	}
	return first
}

// product makes every combination of the outcomes in s.spans.
func (s *search) product(r *round, parent, choice uint32, changedBefore bool, problemBefore int) uint32 {
	for p := range s.n {
		s.at[p] = s.spans[p].from
	}
	cost := s.cur.cost[parent]
	for {
		var hash uint64
		changed, acted, problem := changedBefore, false, problemBefore
		for p, at := range s.at {
			o := &r.outs[at]
			s.vec[p] = o.local
			hash += o.hash
			changed = changed || o.changed
			acted = acted || o.acted
			if o.problem != 0 {
				problem = int(o.problem)
			}
		}
		c := cost
		if acted && c < 1<<16-1 {
			c++
		}
		s.meet(hash, c, origin{parent, choice}, changed, problem)
		choice++
		s.look()
		if s.stop || choice == math.MaxUint32 {
			s.stop = true
			return choice
		}
		p := 0
		for ; p < s.n; p++ {
			s.at[p]++
			if s.at[p] < s.spans[p].to {
				break
			}
			s.at[p] = s.spans[p].from
		}
		if p == s.n {
			return choice
		}
	}
}

// meet takes the successor in s.vec: a violation is noted, anything else goes into the next level.
func (s *search) meet(hash uint64, cost uint16, o origin, changed bool, problem int) {
	s.result.Transitions++
	if problem == 0 && changed {
		problem = s.t.judge(s.vec, s.scratch)
	}
	if problem == 0 {
		s.insert(hash, cost, o)
		return
	}
	if s.best == nil || cost < s.best.cost {
		s.best = &find{problem, o, cost}
	}
}

// insert adds s.vec to the next level, or shortens the way to it.
func (s *search) insert(hash uint64, cost uint16, o origin) bool {
	l := s.next
	if s.opt.Fingerprints {
		if !l.mark(hash) {
			return false
		}
		l.set.keys = append(l.set.keys, s.vec...)
		l.set.count++
		l.cost = append(l.cost, cost)
		*l.back = append(*l.back, o)
		return true
	}
	l.set.roomy(func(i int) uint64 { return s.hash(l.set.key(i)) })
	i, fresh := l.set.insert(s.vec, hash)
	if fresh {
		l.cost = append(l.cost, cost)
		*l.back = append(*l.back, o)
	} else if cost < l.cost[i] {
		l.cost[i] = cost
		(*l.back)[i] = o
	}
	return fresh
}

// hash of a global state: the sum of its local states' hashes.
func (s *search) hash(vec []uint32) uint64 {
	var h uint64
	for _, id := range vec {
		h += s.t.locals[id].hash
	}
	return h
}

// mark enters a fingerprint and says whether it is new.
func (l *level) mark(hash uint64) bool {
	if hash == 0 {
		hash = 1
	}
	if len(l.cost)*3 >= len(l.finger)*2 {
		old := l.finger
		l.finger = make([]uint64, len(old)*2)
		for _, h := range old {
			if h != 0 {
				l.place(h)
			}
		}
	}
	return l.place(hash)
}

func (l *level) place(hash uint64) bool {
	mask := uint64(len(l.finger) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		switch l.finger[at] {
		case 0:
			l.finger[at] = hash
			return true
		case hash:
			return false
		}
	}
}
