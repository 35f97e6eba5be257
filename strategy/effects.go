package strategy

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// effects walks through a space and skips executions that make no difference. An isolation that begins in a round in
// which it loses nothing has the same effect as one that begins a round later. After the last round of a phase it has
// the same effect as none. Consider the executions with the same isolations up to the end of that phase. None of them
// must run: the later execution represents each of them, and is in the space, too. The remaining executions may still
// include some with equal effects.
//
// The messages in flight in a round depend only on the isolations before it. The walk caches them. In the order of
// ranks, the execution without further isolations comes first.
type effects struct {
	rank uint64 // of this run
	next uint64 // rank of the next run
	idle int    // the first phase with an isolation that made no difference, or -1
	made int    // runs without such an isolation
	left uint64 // skipped executions
	open bool   // this run is not counted yet
	size uint64

	met map[string]traffic // by the isolations before a round, and the round
	key []byte
}

// traffic is the traffic of a round if no node were isolated from this round on.
type traffic struct {
	to     []lockstep.Nodes // receivers by sender; sender 0: clients
	timers lockstep.Nodes   // nodes whose timers would fire
}

// maxTraffic bounds the size of the cache.
const maxTraffic = 1 << 20

// matters reports whether excluding a node from the given kernel makes a difference.
func (t *traffic) matters(n lockstep.Node, kernel lockstep.Nodes) bool {
	if t.timers.Has(n) || t.to[n]&kernel != 0 || t.to[0].Has(n) {
		return true
	}
	for from := range kernel.All() {
		if t.to[from].Has(n) {
			return true
		}
	}
	return false
}

// begin sets b to the next execution that may make a difference.
func (e *effects) begin(s *space, b *breakage) {
	e.close(s)
	if e.met == nil {
		e.met, e.size = map[string]traffic{}, s.size().Uint64()
	}
	e.rank, e.idle, e.open = e.next, -1, true
	s.unrank(e.rank%e.size, b)
}

// seek advances next to the next execution that is not known to have the effect of another.
func (e *effects) seek(s *space, b *breakage) {
	for e.next < e.size {
		s.unrank(e.next, b)
		phase := e.idleIn(s, b)
		if phase < 0 {
			return
		}
		from, size := s.block(e.next, phase)
		e.left += from + size - e.next
		e.next = from + size
	}
}

// idleIn returns the first phase with an isolation that is known to make no difference, or -1.
func (e *effects) idleIn(s *space, b *breakage) int {
	for p := range s.phases() {
		starts := b.starts[p*s.sites : (p+1)*s.sites]
		for round := range s.length(p) {
			kernel, begin := split(starts, round)
			if begin == 0 {
				continue
			}
			t, ok := e.met[string(e.before(b, p, round))]
			if !ok {
				return -1
			}
			for n := range begin.All() {
				if !t.matters(n, kernel.With(n)) {
					return p
				}
			}
		}
	}
	return -1
}

// split returns the kernel of a round of a phase, and the nodes whose isolation begins in it.
func split(starts []int8, round int) (kernel, begin lockstep.Nodes) {
	for i, from := range starts {
		switch {
		case int(from) > round:
			kernel = kernel.With(lockstep.Node(i + 1))
		case int(from) == round:
			begin = begin.With(lockstep.Node(i + 1))
		}
	}
	return kernel, begin
}

// before returns the isolations before a round as a map key.
func (e *effects) before(b *breakage, phase, round int) []byte {
	e.key = append(e.key[:0], byte(phase), byte(phase>>8), byte(phase>>16), byte(round))
	for i, from := range b.starts[:(phase+1)*b.sites] {
		if i >= phase*b.sites && int(from) >= round {
			from = whole
		}
		e.key = append(e.key, byte(from))
	}
	return e.key
}

// idles records that an isolation of a phase made no difference.
func (e *effects) idles(phase int) {
	if e.idle < 0 {
		e.idle = phase
	}
}

// close counts the run that just ended.
func (e *effects) close(s *space) {
	if !e.open {
		return
	}
	e.open, e.next = false, e.rank+1
	if e.idle < 0 {
		e.made++
		return
	}
	from, size := s.block(e.rank, e.idle)
	e.next = from + size
	e.left += e.next - e.rank
}

// finish counts the run that just ended and finds the next one.
func (e *effects) finish(s *space, b *breakage) {
	if e.open {
		e.close(s)
		e.seek(s, b)
	}
}

// report reports the progress of the walk.
func (e *effects) report(words bool) (a lockstep.SchedulerStats) {
	a.Done = e.next >= e.size
	if words {
		a.Reached = fmt.Sprintf("%d of %d executions, of which %d were made and %d have the effect of another", e.next,
			e.size, e.made, e.left)
		if a.Done {
			a.Reached = "complete to this bound: " + a.Reached
		}
	}
	return a
}

// block returns the range of ranks whose elements agree up to the end of a phase.
func (s *space) block(rank uint64, phase int) (from, size uint64) {
	left, at := s.bound, rank
	for p := 0; p <= phase; p++ {
		i := 0
		for ; at >= s.small[p][left][i]; i++ {
			at -= s.small[p][left][i]
		}
		left -= i
		size = s.smallAtMost[p+1][left]
		at %= size
	}
	return rank - at, size
}

// Report reports the progress of a walk by effects.
func (s *isolator) Report(words bool) lockstep.SchedulerStats {
	switch s.sampler {
	case EveryEffective:
	case ExactEffective:
		return s.reportDistinct(words)
	default:
		return s.breaker.Report(words)
	}
	s.effects.finish(s.space, s.breakage)
	return s.effects.report(words)
}

// Order keeps the order of sending. With the sampler EveryEffective, it records the traffic of the round, and checks
// whether the isolations that begin in it lose a message.
func (s *isolator) Order(turn *lockstep.Turn, mail []trace.ID) {
	if s.sampler != EveryEffective || !s.breaks() {
		return
	}
	t := traffic{to: make([]lockstep.Nodes, s.sites+1)}
	fires := s.frozen && (s.names == 0 || (s.Opened()-1)%s.names == 0)
	if fires {
		if t.timers = s.armed | turn.Timers(); turn.Info().OneClock {
			t.timers = turn.All()
		}
	}
	for _, id := range mail {
		m := turn.Message(id)
		t.to[m.From] = t.to[m.From].With(m.To)
	}
	kernel, begin := split(s.starts[s.phase*s.sites:(s.phase+1)*s.sites], s.round)
	// otherwise the timer of an isolated node did not fire
	if (begin == 0 || !fires) && len(s.effects.met) < maxTraffic {
		s.effects.met[string(s.effects.before(s.breakage, s.phase, s.round))] = t
	}
	for n := range begin.All() {
		if !t.matters(n, kernel.With(n)) {
			s.effects.idles(s.phase)
		}
	}
}
