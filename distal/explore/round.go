package explore

import "github.com/lockstep-go/lockstep/distal/machine"

// round remembers what one round of one phase does with local states: answers of the model, each asked for once.
type round struct {
	t       *table
	tag     machine.Tag
	sends   []int32 // by local state: index into alts plus one, 0 unknown
	alts    [][]alternative
	updates *words // (local state, messages by sender)
	spans   []span // by index in updates and mode
	outs    []outcome
	quiet   []int32 // by local state: what end returns when nothing was sent to it, plus one; 0 unknown
}

// alternative is one way in which a node can begin the round.
type alternative struct {
	after   uint32   // the local state once its messages are handed over
	msgs    []uint32 // by receiver
	fired   bool     // a timeout fired
	changed bool     // what properties see has changed
	problem int
}

type span struct{ from, to uint32 }

// outcome is one distinct way in which a node can end the round.
type outcome struct {
	local   uint32
	problem int32
	hash    uint64
	mask    uint64 // the senders of a smallest mailbox that leads here
	acted   bool
	changed bool
}

func newRound(t *table, tag machine.Tag) *round {
	return &round{t: t, tag: tag, updates: newWords(t.n+1, 1024)}
}

// begin lists how a node can begin the round.
func (r *round) begin(id uint32) []alternative {
	if int(id) < len(r.sends) {
		if i := r.sends[id]; i != 0 {
			return r.alts[i-1]
		}
	} else {
		r.sends = append(r.sends, make([]int32, len(r.t.locals)+64-len(r.sends))...)
	}
	l := r.t.locals[id]
	var alts []alternative
	for _, st := range r.t.model.Send(l.self, l.state, r.tag) {
		a := alternative{after: r.t.intern(l.self, st.State), msgs: make([]uint32, r.t.n), fired: st.Rule != nil}
		for _, s := range st.Out {
			m := r.t.message(machine.Message{Type: s.Type, Fields: s.Fields})
			for q := range r.t.n {
				if s.To&(1<<q) != 0 {
					a.msgs[q] = m
				}
			}
		}
		a.changed = r.t.locals[a.after].class != l.class
		a.problem = r.t.problem(st.Problem)
		alts = append(alts, a)
	}
	r.alts = append(r.alts, alts)
	r.sends[id] = int32(len(r.alts))
	return alts
}

// end finds the outcomes for a node that begins with the local state key[0] and to which key[1:] were sent; the result
// is the index of the span for the first mode, those of the other modes follow.
func (r *round) end(key []uint32) int {
	r.updates.roomy(func(i int) uint64 { return hashWords(r.updates.key(i)) })
	i, fresh := r.updates.insert(key, hashWords(key))
	modes := r.t.model.Modes()
	if fresh {
		for mode := range modes {
			r.compute(key, mode)
		}
	}
	return i * modes
}

// silence is end for a node to which nothing was sent: the most common case, found without hashing.
func (r *round) silence(key []uint32) int {
	id := int(key[0])
	if id < len(r.quiet) && r.quiet[id] != 0 {
		return int(r.quiet[id]) - 1
	}
	i := r.end(key)
	for id >= len(r.quiet) {
		r.quiet = append(r.quiet, 0)
	}
	r.quiet[id] = int32(i) + 1
	return i
}

// compute runs the model for every mailbox that the network allows and keeps the distinct outcomes. Smaller mailboxes
// come first, so that the mask of an outcome shows a smallest one.
func (r *round) compute(key []uint32, mode int) {
	l := r.t.locals[key[0]]
	var sent uint64
	for s, m := range key[1:] {
		if m != 0 {
			sent |= 1 << s
		}
	}
	from := len(r.outs)
	for got := uint64(0); ; got = (got - sent) & sent {
		if r.t.model.Allowed(mode, sent, got) {
			r.add(l, key[0], got, from, r.t.mailbox(r.tag, key[1:], got))
		}
		if got == sent {
			break
		}
	}
	r.spans = append(r.spans, span{uint32(from), uint32(len(r.outs))})
}

func (r *round) add(l local, before uint32, got uint64, from int, mailbox []machine.Message) {
	for _, st := range r.t.model.Update(l.self, l.state, r.tag, mailbox) {
		o := outcome{local: before, mask: got, acted: st.Rule != nil, problem: int32(r.t.problem(st.Problem))}
		if o.acted {
			o.local = r.t.intern(l.self, st.State)
		}
		o.hash = r.t.locals[o.local].hash
		o.changed = r.t.locals[o.local].class != l.class
		known := false
		for i := from; i < len(r.outs); i++ {
			if p := r.outs[i]; p.local == o.local && p.problem == o.problem {
				// An idle way to the same state is preferred: it keeps the round inactive.
				r.outs[i].acted = p.acted && o.acted
				known = true
			}
		}
		if !known {
			r.outs = append(r.outs, o)
		}
	}
}

func (r *round) bytes() int64 {
	return r.updates.bytes() + int64(cap(r.outs))*32 + int64(cap(r.sends))*4 + int64(len(r.alts))*int64(48+4*r.t.n)
}
