package lockstep

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/trace"
)

// Chance is a source for what a system draws by itself: time-outs, slow storage, where a
// crash strikes. Each draw belongs to the step in which it is made and is recorded with it, so
// that a run made again without some step draws the same in all others.
//
// In a run from its seed, draws come from a stream of the source's own. In one that a trace is
// played or changed in, the step's recorded draws come first; what is not recorded follows from
// the seed and the step's name, never from how many draws were made before.
//
// It is a source of math/rand/v2 as well, for code that wants one; IntN reads better in a
// trace and shrinks better. It is not for several goroutines.
type Chance struct {
	out *Outbox
	pcg rand.PCG
	own *rand.Rand // of pcg
}

// Seed begins a new run, in the deployment's Reset. The stream tells the sources of a
// deployment apart. Without an outbox, outside the engine, nothing is recorded.
func (c *Chance) Seed(out *Outbox, seed, stream uint64) {
	if c.own == nil {
		c.own = rand.New(&c.pcg)
	}
	c.out = out
	c.pcg.Seed(seed, stream)
}

// IntN draws a number from 0 to n-1. It panics if n is less than 1.
func (c *Chance) IntN(n int) int {
	if c.out == nil || !c.out.run.draws.on {
		return c.own.IntN(n)
	}
	return int(c.out.run.draw(func(r *rand.Rand) uint64 { return uint64(r.IntN(n)) }, c.own) % uint64(n))
}

// Uint64 draws any number.
func (c *Chance) Uint64() uint64 {
	if c.out == nil || !c.out.run.draws.on {
		return c.pcg.Uint64()
	}
	return c.out.run.draw((*rand.Rand).Uint64, c.own)
}

// Chance is a source that needs no seeding, for what the step under way draws.
func (o *Outbox) Chance() *Chance {
	c := &o.run.chance
	if c.out == nil {
		c.Seed(o, o.run.draws.seed, drawStream)
	}
	return c
}

// The streams of a run's seed that belong to the engine.
const (
	drawStream = 1<<63 + iota // Outbox.Chance
	nameStream                // draws by the names of steps
)

// draws are the draws of the steps of a run.
type draws struct {
	seed  uint64
	on    bool     // the run is recorded, or made again
	again bool     // the run is that of a trace, as it was or changed
	begun bool     // the step under way has drawn
	taken []uint64 // by the step under way
	given []uint64 // by the one who chose the step; nil where there is nothing to tell
	left  []uint64 // recorded draws that the step did not take yet
	// Where the run is made again:
	known  map[stepName][]uint64 // of the trace
	counts map[uint64]int        // steps of each name that have drawn
	pcg    rand.PCG
	rand   *rand.Rand
}

// stepName tells a step that draws apart from others by what it is: the nth of those alike.
type stepName struct {
	alike uint64
	nth   int
}

// reset begins a new run.
func (d *draws) reset(seed uint64, recording bool) {
	d.seed, d.on = seed, recording || d.again
	clear(d.counts)
	d.given = nil
	d.next()
}

// next begins the next step.
func (d *draws) next() { d.begun, d.taken, d.left = false, d.taken[:0], nil }

// retell prepares for the runs in which the run of a trace is made again.
func (d *draws) retell(t *trace.Trace) {
	d.again, d.known, d.counts = true, map[stepName][]uint64{}, map[uint64]int{}
	d.rand = rand.New(&d.pcg)
	var sent []*Message
	for i := range t.Records {
		r := &t.Records[i]
		if len(r.Draws) > 0 {
			var m *Message
			if id := int(r.Step.Msg); id >= 1 && id <= len(sent) {
				m = sent[id-1]
			}
			d.known[d.name(&r.Step, m)] = r.Draws
		}
		for j := range r.Sent {
			sent = append(sent, &r.Sent[j].Message)
		}
	}
	clear(d.counts)
}

// name is the name of a step that draws.
func (d *draws) name(s *Step, m *Message) stepName {
	h := uint64(s.Kind)
	mix := func(v uint64) {
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	switch {
	case m != nil:
		mix(uint64(m.From)<<8 | uint64(m.To))
		mix(hash(m.Type))
		mix(uint64(uint32(m.Tag.Phase))<<32 | uint64(uint32(m.Tag.Round)))
	case s.Kind == trace.Request: // whichever node it is given to
		mix(uint64(s.Request))
	default:
		mix(uint64(s.Node))
		mix(uint64(s.From))
		mix(uint64(s.To))
	}
	d.counts[h]++
	return stepName{h, d.counts[h]}
}

// draw makes a draw of the step under way.
func (r *Run) draw(fresh func(*rand.Rand) uint64, own *rand.Rand) uint64 {
	d := &r.draws
	if !d.begun {
		d.begin(r)
	}
	var v uint64
	switch {
	case len(d.left) > 0:
		v, d.left = d.left[0], d.left[1:]
	case d.again:
		v = fresh(d.rand)
	default:
		v = fresh(own)
	}
	d.taken = append(d.taken, v)
	return v
}

// begin looks up what is recorded of the step under way, when it draws first.
func (d *draws) begin(r *Run) {
	d.begun, d.left = true, d.given
	if !d.again {
		return
	}
	var m *Message
	if r.Last().Msg != 0 {
		m = &r.messages[r.Last().Msg-1]
	}
	name := d.name(r.Last(), m)
	if d.given == nil {
		d.left = d.known[name]
	}
	d.pcg.Seed(d.seed^name.alike, nameStream+uint64(name.nth))
}

// Recall tells what the step chosen next is to draw first. Whoever takes the steps of a
// recording again calls it for each of them.
func (r *Run) Recall(draws []uint64) {
	r.draws.given = draws
	r.draws.on = r.draws.on || len(draws) > 0
}

// retell prepares for runs in which that of a trace is made again, as it was or changed. The
// scenario moves nothing meanwhile: its steps are part of the trace.
func (r *Run) retell(t *trace.Trace) {
	r.hand.mute = true
	r.draws.retell(t)
}
