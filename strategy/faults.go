package strategy

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// never is an instant that is never reached.
const never = instant(math.MaxInt64)

// faults is the fault timeline of a run in virtual time: a sequence of link faults and a sequence of crashes,
// independent of each other.
type faults struct {
	gap   instant
	wipes bool

	links   []linkFault // pending link faults, next first
	linkAt  instant     // when the next one begins or the current one ends
	present lockstep.Step
	toggles int // how often the current one still changes between down and up
	broken  bool

	crashes   int // pending crashes
	crashAt   instant
	restartAt instant
	down      lockstep.Node // the node crashed by this timeline

	lost []trace.ID // messages in flight across a cut that was just made
}

type linkFault uint8

const (
	cutInTwo linkFault = iota
	cutOneWay
	flapping
)

// flaps is how often a flapping link goes down.
const flaps = 4

// begin draws the order of the faults, and the times at which the first ones begin.
func (f *faults) begin(r *rand.Rand, mix Delay, unit instant, wipes bool) {
	*f = faults{gap: unit.times(mix.Gap), wipes: wipes, links: f.links[:0], lost: f.lost[:0],
		linkAt: never, crashAt: never, restartAt: never, crashes: mix.Crashes}
	for kind, n := range [...]int{mix.Cuts, mix.OneWay, mix.Flaps} {
		for range n {
			f.links = append(f.links, linkFault(kind))
		}
	}
	r.Shuffle(len(f.links), func(i, j int) { f.links[i], f.links[j] = f.links[j], f.links[i] })
	if len(f.links) > 0 {
		f.linkAt = Exponential.draw(r, f.gap)
	}
	if f.crashes > 0 {
		f.crashAt = Exponential.draw(r, f.gap)
	}
}

// rescale shortens the time until pending faults when the unit of time gets shorter.
func (f *faults) rescale(now, unit, before instant) {
	f.gap = instant(0).shrink(f.gap, unit, before)
	for _, at := range [...]*instant{&f.linkAt, &f.crashAt, &f.restartAt} {
		if *at != never {
			*at = now.shrink(*at, unit, before)
		}
	}
}

// fault returns the next step of the timeline if it comes before the given time, and advances the clock to it. If no
// other event is pending, only a restart can make the system progress.
func (f *faults) fault(turn *lockstep.Turn, r *rand.Rand, before instant, now *instant, next *lockstep.Step) bool {
	if before == never {
		if f.down == 0 {
			return false
		}
		f.linkAt = never
	}
	at := min(f.linkAt, f.crashAt, f.restartAt)
	if at == never || at > before {
		return false
	}
	*now = max(*now, at)
	switch at {
	case f.restartAt:
		return f.restart(turn, r, *now, next)
	case f.crashAt:
		return f.crash(turn, r, *now, next)
	default:
		return f.changeLinks(turn, r, *now, next)
	}
}

func (f *faults) restart(turn *lockstep.Turn, r *rand.Rand, now instant, next *lockstep.Step) bool {
	node := f.down
	f.down, f.restartAt = 0, never
	if f.crashes > 0 {
		f.crashAt = now + Exponential.draw(r, f.gap)
	}
	if turn.Up().Has(node) { // a scenario restarted it
		return false
	}
	next.Kind, next.Node = trace.Restart, node
	return true
}

// crash crashes a node, provided that the nodes that are down remain a minority.
func (f *faults) crash(turn *lockstep.Turn, r *rand.Rand, now instant, next *lockstep.Step) bool {
	f.crashes--
	f.crashAt = never
	nodes := turn.Info().Nodes
	if nodes-turn.Up().Len() >= (nodes-1)/2 {
		return false
	}
	f.down = pickNode(r, turn.Up())
	f.restartAt = now + Exponential.draw(r, f.gap)
	next.Kind, next.Node = trace.Crash, f.down
	return true
}

// changeLinks begins or ends a link fault.
func (f *faults) changeLinks(turn *lockstep.Turn, r *rand.Rand, now instant, next *lockstep.Step) bool {
	if f.toggles == 0 {
		if !f.draw(turn, r) {
			f.linkAt = never
			return false
		}
	}
	f.toggles--
	f.broken = !f.broken
	length := f.gap
	if f.toggles > 1 {
		length /= flaps
	}
	f.linkAt = now + Exponential.draw(r, length)
	if f.toggles == 0 && len(f.links) == 0 {
		f.linkAt = never
	}
	*next = f.present
	next.Kind = trace.Heal
	if f.broken {
		next.Kind = trace.Cut
		if f.wipes {
			f.crossing(turn, next)
		}
	}
	return true
}

// draw draws the links of the next fault.
func (f *faults) draw(turn *lockstep.Turn, r *rand.Rand) bool {
	all := turn.All()
	if all.Len() < 2 || len(f.links) == 0 {
		return false
	}
	kind := f.links[0]
	f.links = f.links[1:]
	part := lockstep.Nodes(1 + r.Uint64N(uint64(all)-1)) // neither empty nor all
	f.present = lockstep.Step{From: part, To: all &^ part, OneWay: kind == cutOneWay}
	f.toggles = 2
	if kind == flapping {
		a := pickNode(r, all)
		f.present.From = trace.NodesOf(a)
		f.present.To = trace.NodesOf(pickNode(r, all.Without(a)))
		f.toggles = 2 * flaps
	}
	return true
}

// crossing records the messages in flight on the links of a cut.
func (f *faults) crossing(turn *lockstep.Turn, cut *lockstep.Step) {
	f.lost = f.lost[:0]
	for _, id := range turn.FreeMessages() {
		m := turn.Message(id)
		if m.From != 0 && (cut.From.Has(m.From) && cut.To.Has(m.To) ||
			!cut.OneWay && cut.To.Has(m.From) && cut.From.Has(m.To)) {
			f.lost = append(f.lost, id)
		}
	}
}

// wipe drops the next of the messages that were in flight across a cut.
func (f *faults) wipe(turn *lockstep.Turn, next *lockstep.Step) bool {
	for len(f.lost) > 0 {
		id := f.lost[0]
		f.lost = slices.Delete(f.lost, 0, 1)
		if turn.IsFree(id) {
			next.Kind, next.Msg = trace.Drop, id
			return true
		}
	}
	return false
}
