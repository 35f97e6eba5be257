package explore

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// RandomOptions of a random search.
type RandomOptions struct {
	Phases   int                 // length of a run in phases; at least 1
	Runs     int                 // how many runs; at least 1
	Deliver  float64             // chance that a message arrives when the network may lose it; 0 means 0.8
	Timeout  float64             // chance that a free timeout fires; 0 means 0.5
	Seed     uint64              // a run is a function of the seed and its number
	Memory   int64               // forget what was computed when it takes more bytes, about; 0 means DefaultMemory
	KeepOn   bool                // continue after a violation and count all
	Progress func(Progress) bool // called now and then with the runs in States; false stops
	_        struct{}
}

// RandomResult of a random search.
type RandomResult struct {
	Verdict    string     `json:"verdict"` // Fail, or Unknown: random runs prove nothing
	Runs       int        `json:"runs"`
	Rounds     int64      `json:"rounds"`
	Violations int        `json:"violations"`
	FirstRun   int        `json:"first_run"` // number of the first violating run, from 1; 0 when there is none
	Violation  *Violation `json:"violation,omitempty"`
}

type sampler struct {
	t      *table
	n      int
	opt    RandomOptions
	rounds []*exact
	starts [][]uint32
	rng    *rand.PCG
	cut    uint64 // of 256: below it a message arrives
	fire   uint64
	pool   uint64 // random bytes not yet used
	left   int
	alts   []*alternative
	key    []uint32
	vec    []uint32
	next   []uint32
	masks  []uint64
	active int
	broken *sequential.Problem // some node cannot even start
	wrong  []int               // by node: the problem it met in a round
	begun  []*machine.State    // where a run that is described began
}

// exact remembers what a round does with exact mailboxes: the key holds only messages that arrived.
type exact struct {
	t     *table
	tag   machine.Tag
	begun [][]alternative // by local state; nil: not known
	boxes *words          // (local state, messages by sender)
	list  [][]outcome
	idle  []int32 // by local state: index into list when nothing arrived, plus one; 0: not known
	count int     // of outcomes and alternatives
}

// Random makes independent random runs of the model. Timeouts and choices are drawn evenly unless weighted.
func Random(m *sequential.Model, opt RandomOptions) (RandomResult, error) {
	if opt.Phases < 1 || opt.Runs < 1 {
		return RandomResult{}, fmt.Errorf("phases is %d and runs is %d; both must be at least 1", opt.Phases, opt.Runs)
	}
	if opt.Deliver < 0 || opt.Deliver > 1 || opt.Timeout < 0 || opt.Timeout > 1 {
		return RandomResult{}, fmt.Errorf("deliver is %g and timeout is %g; both are chances between 0 and 1", opt.Deliver,
			opt.Timeout)
	}
	if opt.Memory == 0 {
		opt.Memory = DefaultMemory
	}
	s := newSampler(m, opt)
	out := RandomResult{Verdict: Unknown}
	if s.broken != nil {
		return RandomResult{Verdict: Fail, Runs: 1, Violations: 1, FirstRun: 1,
			Violation: &Violation{Property: s.broken.Property, Text: s.broken.Text}}, nil
	}
	for run := range opt.Runs {
		out.Runs++
		problem, rounds := s.run(run, nil)
		out.Rounds += int64(rounds)
		if problem != 0 {
			out.Violations++
			if out.FirstRun == 0 {
				out.Verdict, out.FirstRun = Fail, run+1
				out.Violation = s.violation(run, problem, rounds)
			}
			if !opt.KeepOn {
				break
			}
		}
		if run&1023 != 0 {
			continue
		}
		memory := s.bytes()
		if memory > opt.Memory {
			s = newSampler(m, opt) // tables are only memory of answers, so runs do not change
		}
		if opt.Progress != nil && !opt.Progress(Progress{States: int64(out.Runs), Phase: opt.Phases, Memory: memory}) {
			break
		}
	}
	return out, nil
}

func newSampler(m *sequential.Model, opt RandomOptions) *sampler {
	if opt.Deliver == 0 {
		opt.Deliver = 0.8
	}
	if opt.Timeout == 0 {
		opt.Timeout = 0.5
	}
	n := m.Program.N
	s := &sampler{t: newTable(m), n: n, opt: opt, rng: rand.NewPCG(0, 0), alts: make([]*alternative, n),
		key: make([]uint32, n+1), vec: make([]uint32, n), next: make([]uint32, n), wrong: make([]int, n),
		masks: make([]uint64, n),
		cut:   uint64(opt.Deliver*256 + 0.5), fire: uint64(opt.Timeout*256 + 0.5)}
	for i := range n {
		var ids []uint32
		for _, st := range m.Initial(i + 1) {
			if st.Problem != nil {
				s.broken = st.Problem
			}
			ids = append(ids, s.t.intern(i+1, st.State))
		}
		s.starts = append(s.starts, ids)
	}
	for k := range opt.Phases * m.Rounds() {
		tag := m.Tag(k)
		s.rounds = append(s.rounds, &exact{t: s.t, tag: tag, boxes: newWords(n+1, 256)})
	}
	return s
}

// bytes estimates the memory in use.
func (s *sampler) bytes() int64 {
	total := s.t.Bytes()
	for _, r := range s.rounds {
		total += r.boxes.bytes() + int64(cap(r.list)+cap(r.begun))*24 + int64(r.count)*48
	}
	return total
}

// byte draws eight random bits.
func (s *sampler) byte() uint64 {
	if s.left == 0 {
		s.pool, s.left = s.rng.Uint64(), 8
	}
	b := s.pool & 255
	s.pool >>= 8
	s.left--
	return b
}

// below draws a number below n.
func (s *sampler) below(n int) int {
	if n == 1 {
		return 0
	}
	hi, _ := bits.Mul64(s.rng.Uint64(), uint64(n))
	return int(hi)
}

// run makes one run and returns the problem it ends in, if any, and the number of rounds. With record set, each round
// is described.
func (s *sampler) run(number int, record func(sequential.Row)) (int, int) {
	s.rng.Seed(s.opt.Seed, uint64(number))
	s.left, s.active = 0, 0
	for i, ids := range s.starts {
		s.vec[i] = ids[s.below(len(ids))]
	}
	if record != nil {
		s.begun = nil
		for _, id := range s.vec {
			s.begun = append(s.begun, s.t.local(id).state)
		}
	}
	if p := s.t.Check(s.vec); p != 0 {
		return p, 0
	}
	for k, r := range s.rounds {
		problem := s.round(r)
		if record != nil {
			record(s.describe(r))
		}
		s.vec, s.next = s.next, s.vec
		if problem != 0 {
			return problem, k + 1
		}
	}
	return 0, len(s.rounds)
}

// round draws one round from s.vec to s.next.
func (s *sampler) round(r *exact) int {
	problem, changed, acted := 0, false, false
	for p, id := range s.vec {
		alts := r.begin(id)
		i := 0
		if len(alts) > 1 {
			i = s.alternative(alts)
		}
		a := &alts[i]
		s.alts[p] = a
		changed = changed || a.Changed
		problem = max(problem, a.Problem)
	}
	if problem == 0 && changed {
		for p := range s.n {
			s.next[p] = s.alts[p].After
		}
		problem = s.t.Check(s.next)
	}
	s.deliver()
	for q := range s.n {
		list := s.outcomes(r, q)
		o := &list[s.below(len(list))]
		s.next[q], s.wrong[q] = o.Local, o.Problem
		changed = changed || o.Changed
		acted = acted || o.Acted
		problem = max(problem, o.Problem)
	}
	if acted {
		s.active++
	}
	if problem == 0 && changed {
		problem = s.t.Check(s.next)
	}
	return problem
}

// alternative draws whether a timeout fires, and which of its outcomes.
func (s *sampler) alternative(alts []alternative) int {
	if alts[0].fired == nil {
		if s.byte() >= s.fire {
			return 0
		}
		return 1 + s.below(len(alts)-1)
	}
	return s.below(len(alts))
}

// deliver draws for each node whose messages arrive, within what the network allows.
func (s *sampler) deliver() {
	m := s.t.model
	mode := s.below(len(m.Network.Modes))
	for q := range s.n {
		var sent, got uint64
		for p := range s.n {
			if s.alts[p].Sent[q] == 0 {
				continue
			}
			sent |= 1 << p
			if s.byte() < s.cut {
				got |= 1 << p
			}
		}
		for !m.Network.Allowed(mode, q, sent, got) {
			// Too much is lost: bring back one lost message after the other until it is enough.
			lost := sent &^ got
			for skip := s.below(bits.OnesCount64(lost)); skip > 0; skip-- {
				lost &= lost - 1
			}
			got |= lost & -lost
		}
		s.masks[q] = got
	}
}

// outcomes of node q for what it has received.
func (s *sampler) outcomes(r *exact, q int) []outcome {
	id, mask := s.alts[q].After, s.masks[q]
	if mask == 0 && int(id) < len(r.idle) && r.idle[id] != 0 {
		return r.list[r.idle[id]-1]
	}
	s.key[0] = id
	for p := range s.n {
		s.key[p+1] = 0
		if mask&(1<<p) != 0 {
			s.key[p+1] = s.alts[p].Sent[q]
		}
	}
	i := r.outcomes(s.key)
	if mask == 0 {
		for int(id) >= len(r.idle) {
			r.idle = append(r.idle, 0)
		}
		r.idle[id] = int32(i) + 1
	}
	return r.list[i]
}

// begin lists how a node can begin the round.
func (e *exact) begin(id uint32) []alternative {
	for int(id) >= len(e.begun) {
		e.begun = append(e.begun, nil)
	}
	if e.begun[id] == nil {
		e.begun[id] = e.t.begin(e.tag, id)
		e.count += len(e.begun[id])
	}
	return e.begun[id]
}

// outcomes finds, for exactly the messages in the key, the index of the span of outcomes.
func (e *exact) outcomes(key []uint32) int {
	i, fresh := e.boxes.insert(key, mix.Words(key))
	if fresh {
		var got uint64
		for p, m := range key[1:] {
			if m != 0 {
				got |= 1 << p
			}
		}
		outs := e.t.receive(e.tag, key[0], key[1:], got, nil)
		e.list = append(e.list, outs)
		e.count += len(outs)
	}
	return i
}

func (s *sampler) describe(r *exact) sequential.Row {
	row := sequential.Row{Tag: r.tag, Nodes: make([]sequential.Cell, s.n)}
	for q := range s.n {
		sent := make([]uint32, s.n)
		for p := range s.n {
			sent[p] = s.alts[p].Sent[q]
		}
		row.Nodes[q] = s.t.cell(r.tag, s.alts[q], s.masks[q], s.next[q], s.wrong[q], sent)
	}
	return row
}

// violation makes the violating run again and describes it.
func (s *sampler) violation(run, problem, rounds int) *Violation {
	var rows []sequential.Row
	var start []*machine.State
	s.run(run, func(r sequential.Row) {
		if rows == nil {
			start = s.begun
		}
		rows = append(rows, r)
	})
	p := s.t.problems[problem]
	v := &Violation{Property: p.Property, Pos: p.Pos, Text: p.Text, Round: rounds, ActiveRounds: s.active, Start: start,
		Trace: rows}
	if rounds > 0 {
		last := s.t.tag(rounds - 1)
		v.Phase, v.RoundName = int(last.Phase), s.t.model.Program.Round(last)
	}
	return v
}
