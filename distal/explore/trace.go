package explore

import (
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// violation words the best find of the level just built; round is -1 for the initial states.
func (s *search) violation(phase, round int) {
	p := s.t.problems[s.best.problem]
	s.result.Verdict = Fail
	v := &Violation{Property: p.Property, Phase: phase, Text: p.Text, ActiveRounds: int(s.best.cost)}
	if round >= 0 {
		v.Round = (phase-1)*s.t.model.Rounds() + round + 1
		v.RoundName = s.t.model.Program.Checked.Rounds[round]
		v.Trace = s.trace(v.Round)
	}
	s.result.Violation = v
}

// trace walks back from the find to an initial state and then forward again, making each step anew.
func (s *search) trace(rounds int) []sequential.Row {
	ways := make([]origin, rounds)
	o := s.best.origin
	for i := rounds - 1; i >= 0; i-- {
		ways[i] = o
		o = (*s.past[i])[o.parent]
	}
	var vec []uint32
	var rows []sequential.Row
	for i, w := range ways {
		if i == 0 {
			vec = s.initial(w.parent)
		}
		tag := machine.Tag{Phase: int64(i/s.t.model.Rounds()) + 1, Round: i % s.t.model.Rounds()}
		var row sequential.Row
		vec, row = s.remake(newRound(s.t, tag), vec, w.choice)
		rows = append(rows, row)
	}
	return rows
}

// initial makes the level of initial states again and returns one of them.
func (s *search) initial(index uint32) []uint32 {
	fresh := &search{opt: s.opt, t: s.t, n: s.n, vec: make([]uint32, s.n), scratch: make([]uint32, s.n)}
	fresh.opt.Progress = nil
	fresh.start()
	return append([]uint32(nil), fresh.cur.set.key(int(index))...)
}

// remake finds the successor of vec with the given number and describes the round that leads to it.
func (s *search) remake(r *round, vec []uint32, choice uint32) ([]uint32, sequential.Row) {
	for p, id := range vec {
		s.alts[p] = r.begin(id)
		s.pick[p] = 0
	}
	for {
		first := s.ends(r)
		for mode := range s.t.model.Modes() {
			size := uint32(1)
			for p := range s.n {
				s.spans[p] = r.spans[first[p]+mode]
				size *= s.spans[p].to - s.spans[p].from
			}
			if choice < size {
				return s.describe(r, choice)
			}
			choice -= size
		}
		if !s.nextPick() {
			panic("explore: a successor that was met cannot be made again")
		}
	}
}

func (s *search) describe(r *round, choice uint32) ([]uint32, sequential.Row) {
	row := sequential.Row{Tag: r.tag, Nodes: make([]sequential.Cell, s.n)}
	vec := make([]uint32, s.n)
	for q := range s.n {
		size := s.spans[q].to - s.spans[q].from
		o := r.outs[s.spans[q].from+choice%size]
		choice /= size
		vec[q] = o.local
		row.Nodes[q] = s.t.cell(r.tag, &s.alts[q][s.pick[q]], o.mask, o.local,
			func(p int) uint32 { return s.alts[p][s.pick[p]].msgs[q] })
	}
	return vec, row
}

// cell describes one node's part in a round: it began with a, received the messages of the nodes in mask, and ended in
// the local state `after`. sent gives the message that each node sent to it.
func (t *table) cell(tag machine.Tag, a *alternative, mask uint64, after uint32, sent func(int) uint32) sequential.Cell {
	begun := t.locals[a.after]
	c := sequential.Cell{TimedOut: a.fired, Received: mask, State: t.locals[after].state}
	for to, m := range a.msgs {
		if m != 0 {
			c.Sent = t.payloads[m]
			c.SentTo |= 1 << to
		}
	}
	msgs := make([]uint32, t.n)
	for p := range msgs {
		msgs[p] = sent(p)
	}
	for _, st := range t.model.Update(begun.self, begun.state, tag, t.mailbox(tag, msgs, mask)) {
		if t.intern(begun.self, st.State) == after {
			c.Rule, c.Outputs = st.Rule, st.Outputs
			break
		}
	}
	return c
}
