package lockstep

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// Source is a source of random numbers for the system's own draws: timeouts, slow storage, the point at which a crash
// strikes. Each draw belongs to the step that makes it and is recorded with it. So a run that is replayed without
// some step draws the same numbers in all other steps.
//
// In a run from its seed, draws come from a stream of the source's own. In a run that replays a trace or a changed
// trace, the step's recorded draws come first. Draws that are not recorded follow from the seed and the step's name,
// never from the number of earlier draws.
// Those about preemptions are 0: a changed run has no others than those recorded.
//
// Source is a source of math/rand/v2 as well, for code that wants one; IntN reads better in a trace and shrinks
// better. A Source is not safe for concurrent use.
type Source struct {
	// By is the node that draws from this source, for systems whose nodes draw in a nondeterministic order. Each node
	// then gets its own recorded draws again. It is 0 for systems whose draws are ordered.
	By Node
	// Goroutine is set for draws about preemptions, see [trace.Draw].
	Goroutine uint32

	out *Outbox
	pcg rand.PCG
	own *rand.Rand // draws from pcg
}

// Seed begins a new run; a deployment calls it in Reset. The stream distinguishes the sources of a deployment.
// Without an outbox, outside the engine, nothing is recorded.
func (s *Source) Seed(out *Outbox, seed, stream uint64) {
	if s.own == nil {
		s.own = rand.New(&s.pcg)
	}
	s.out = out
	s.pcg.Seed(seed, stream)
}

// IntN draws a number from 0 to n-1. It panics if n is less than 1.
func (s *Source) IntN(n int) int {
	if s.out == nil || !s.out.run.draws.on {
		return s.own.IntN(n)
	}
	return int(s.out.run.draw(func(r *rand.Rand) uint64 { return uint64(r.IntN(n)) }, s) % uint64(n))
}

// Uint64 draws any number.
func (s *Source) Uint64() uint64 {
	if s.out == nil || !s.out.run.draws.on {
		return s.pcg.Uint64()
	}
	return s.out.run.draw((*rand.Rand).Uint64, s)
}

// Source is a source for the draws of the step under way; it needs no seeding.
func (o *Outbox) Source() *Source {
	c := &o.run.source
	if c.out == nil {
		c.Seed(o, o.run.draws.seed, drawStream)
	}
	return c
}

// The streams of a run's seed that belong to the engine.
const (
	drawStream = 1<<63 + iota // of Outbox.Source
	nameStream                // of draws by the names of steps
)

// draws holds the draws of the steps of a run.
type draws struct {
	seed  uint64
	on    bool         // the run is recorded or rerun
	again bool         // the run replays a trace, unchanged or changed
	begun bool         // the step under way has drawn
	taken []trace.Draw // by the step under way
	given []trace.Draw // set by the chooser of the step; nil if there are none
	left  []trace.Draw // recorded draws that the step has not used yet
	// The remaining fields are for replayed runs: known has the draws of the trace.
	known  map[stepName][]trace.Draw
	counts map[uint64]int // steps of each name that have drawn
	name   stepName       // of the step under way
	pcg    rand.PCG
	rand   *rand.Rand
}

// stepName identifies a step that draws by its content: it is the nth of the equal steps.
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
func (d *draws) next() { d.begun, d.taken, d.left = false, d.taken[:0], d.left[:0] }

// record returns the draws of the step under way, for a recording; by node, if nodes drew.
func (d *draws) record() []trace.Draw {
	list := slices.Clone(d.taken)
	slices.SortStableFunc(list, func(a, b trace.Draw) int { return cmp.Compare(a.By, b.By) })
	return list
}

// fromTrace prepares for runs that replay the run of a trace.
func (d *draws) fromTrace(t *trace.Trace) {
	d.again, d.known, d.counts = true, map[stepName][]trace.Draw{}, map[uint64]int{}
	d.rand = rand.New(&d.pcg)
	var sent []*trace.Message
	for i := range t.Records {
		r := &t.Records[i]
		if len(r.Draws) > 0 {
			var m *trace.Message
			if id := int(r.Step.Msg); id >= 1 && id <= len(sent) {
				m = sent[id-1]
			}
			d.known[d.nameOf(&r.Step, m)] = r.Draws
		}
		for j := range r.Sent {
			sent = append(sent, &r.Sent[j].Message)
		}
	}
	clear(d.counts)
}

// nameOf is the name of a step that draws.
func (d *draws) nameOf(s *Step, m *trace.Message) stepName {
	h := mix.Hash(s.Kind)
	switch {
	case m != nil:
		h.Mix(uint64(m.From)<<8 | uint64(m.To))
		h.Text(m.Type)
		h.Mix(uint64(uint32(m.Tag.Phase))<<32 | uint64(uint32(m.Tag.Round)))
	case s.Kind == trace.Request: // whichever node receives it
		h.Mix(uint64(s.Request))
	default:
		h.Mix(uint64(s.Node))
		h.Mix(uint64(s.From))
		h.Mix(uint64(s.To))
	}
	name := uint64(h)
	d.counts[name]++
	return stepName{name, d.counts[name]}
}

// draw makes a draw of the step under way.
func (r *Run) draw(fresh func(*rand.Rand) uint64, c *Source) uint64 {
	d := &r.draws
	if !d.begun {
		d.begin(r)
	}
	var v uint64
	mine := func(x trace.Draw) bool { return x.By == c.By && x.Goroutine == c.Goroutine }
	switch at := slices.IndexFunc(d.left, mine); {
	case at >= 0:
		v = d.left[at].N
		d.left = slices.Delete(d.left, at, at+1)
	case d.again && c.Goroutine != 0:
		v = 0
	case d.again:
		v = fresh(d.unknown(c.By))
	default:
		v = fresh(c.own)
	}
	d.taken = append(d.taken, trace.Draw{By: c.By, N: v, Goroutine: c.Goroutine})
	return v
}

// unknown is the source for a draw without a recording. It follows from the seed and the step's name and, for a node,
// from the number of its draws in the step.
func (d *draws) unknown(by Node) *rand.Rand {
	if by != 0 {
		nth := uint64(1)
		for _, x := range d.taken {
			if x.By == by {
				nth++
			}
		}
		d.pcg.Seed(d.seed^d.name.alike^uint64(by)<<58, nameStream+uint64(d.name.nth)+nth<<32)
	}
	return d.rand
}

// begin looks up the recorded draws of the step under way, at its first draw.
func (d *draws) begin(r *Run) {
	d.begun, d.left = true, append(d.left[:0], d.given...)
	if !d.again {
		return
	}
	var m *trace.Message
	if r.Last().Msg != 0 {
		m = &r.messages[r.Last().Msg-1]
	}
	d.name = d.nameOf(r.Last(), m)
	if d.given == nil {
		d.left = append(d.left, d.known[d.name]...)
	}
	d.pcg.Seed(d.seed^d.name.alike, nameStream+uint64(d.name.nth))
}

// fromTrace prepares for runs that replay the run of a trace, unchanged or changed. The scenario moves nothing
// meanwhile: its steps are part of the trace.
func (r *Run) fromTrace(t *trace.Trace) {
	r.control.mute = true
	r.draws.fromTrace(t)
}
