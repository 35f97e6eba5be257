package lockstep

import (
	"fmt"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// checkEvery is the number of steps after which a run checks whether it should end.
const checkEvery = 1 << 10

// drive takes the chooser's steps until there are no more, and before each of them those of the scenario. It checks
// that a step is possible, updates the state of the run, lets the system perform the step, and lets all observers
// look at it. A bug of the chooser or a broken deployment breaks the run.
func (w *worker) drive(by chooser, end int) bool {
	r := w.run
	s, last := r.next(), r.Last()
	for r.left = 0; r.left > 0 || w.continues(end); {
		*s = Step{}
		if len(r.queue) == 0 || !r.unqueue(s) {
			ok := by.Next(w.turn, s)
			r.between, r.before = r.between[:0], r.before[:0]
			if w.keep {
				w.note(ok)
			}
			if !ok {
				if !w.idle() {
					return true
				}
				continue
			}
			if r.until > 0 {
				if !w.sweep(last, end) {
					return false
				}
				continue
			}
		}
		m := r.plain(s)
		if m == nil {
			if why := r.refusal(s); why != "" {
				return r.impossible(s, why)
			}
		}
		r.steps++
		r.left--
		r.turn ^= 1
		r.sent, r.events, r.vanished = len(r.messages), r.events[:0], r.vanished[:0]
		r.logs = r.logs[:0]
		if r.draws.on {
			r.draws.next()
		}
		switch {
		case m == nil:
			r.mix(uint64(s.Kind) | uint64(s.Node)<<4 | uint64(uint32(s.Msg))<<12 | uint64(uint32(s.Request))<<44)
			r.enter(s)
		default: // equivalent to enter, with fewer checks
			r.now = max(r.now, s.At)
			r.mix(plainHash(s.Kind, m.ID))
			m.Fate = r.fate(m, s.Kind)
			r.unfly(m.ID)
		}
		if w.watching {
			w.enters()
		}
		w.inSystem = true
		err := w.system.Do(w.ctx, s, &r.out)
		w.inSystem = false
		if r.draws.on {
			r.draws.given = nil
		}
		if err != nil {
			return r.discarded(s, err)
		}
		r.keepLimits()
		if (!w.calm || w.pairing || len(r.events) > 0) && !w.observe() {
			return false
		}
		s, last = last, s
	}
	return r.broken == nil
}

// sweep takes the steps that the scheduler left to the engine, as drive would, in place of the last step. It asks no
// chooser, no observer but the one of pairs sees a step without events, and nothing keeps a message back.
func (w *worker) sweep(s *Step, end int) bool {
	r := w.run
	*s = Step{}
	for r.landed < len(r.flying) {
		id := r.flying[r.landed]
		if id > r.until {
			break
		}
		if r.left <= 0 && !w.continues(end) {
			return r.broken == nil
		}
		s.Msg = id
		r.steps++
		r.left--
		r.landed++
		r.sent, r.events, r.vanished = len(r.messages), r.events[:0], r.vanished[:0]
		r.logs = r.logs[:0]
		m := &r.messages[id-1]
		if !r.whole && r.leaves(m) || r.loses != nil && r.loses(m) {
			s.Kind = trace.Drop
		} else {
			s.Kind = trace.Deliver
		}
		r.mix(plainHash(s.Kind, id))
		m.Fate = r.fate(m, s.Kind)
		if w.watching {
			w.enters()
		}
		w.inSystem = true
		err := w.system.Do(w.ctx, s, &r.out)
		w.inSystem = false
		if err != nil {
			return r.discarded(s, err)
		}
		r.keepLimits()
		if (w.pairing || len(r.events) > 0) && !w.observe() {
			return false
		}
	}
	r.until = 0
	return r.broken == nil
}

// leaves reports whether a message leaves the kernel of the sweep. A client, which has no number, is never outside.
func (r *Run) leaves(m *trace.Message) bool {
	return !r.kernel.Has(m.To) || !r.kernel.Has(m.From) && m.From != 0
}

// continues reports whether a run continues after the end of its stage, or at a step where it checks whether it should
// end.
func (w *worker) continues(end int) bool {
	r := w.run
	if r.ended || r.steps >= end {
		return false
	}
	if err := w.ctx.Err(); err != nil {
		return r.breaks(err)
	}
	r.left = min(end-r.steps, checkEvery)
	return true
}

// chooser chooses steps: a scheduler, or the settler.
type chooser interface {
	Next(*Turn, *Step) bool
}

// breaks ends the run with an error.
func (r *Run) breaks(err error) bool {
	r.broken = err
	return false
}

// impossible ends the run at a step that cannot be taken.
func (r *Run) impossible(s *Step, why string) bool {
	return r.breaks(fmt.Errorf("step %d (%s) is impossible: %s", r.steps+1, s, why))
}

// discarded ends the run at a step that the system could not take.
func (r *Run) discarded(s *Step, err error) bool {
	return r.breaks(fmt.Errorf("%s: step %d (%s): %w", r.info.Name, r.steps, s, err))
}

// plainHash is the contribution to the digest of a step that names only a message.
func plainHash(kind trace.Kind, id trace.ID) uint64 { return uint64(kind) | uint64(uint32(id))<<12 }

// fate is the new fate of a message that is delivered or dropped. Only this method and lost define the consequences for
// the run. The compiler inlines it.
func (r *Run) fate(m *trace.Message, by trace.Kind) trace.Fate {
	if by == trace.Drop {
		return r.lost(m)
	}
	r.now = max(r.now, m.At)
	return trace.Delivered
}

// lost is the fate of a dropped message. It is rare, and apart from fate so that fate is cheap.
//
//go:noinline
func (r *Run) lost(m *trace.Message) trace.Fate {
	r.lose(m.From, m.To)
	return trace.Lost
}

// enter updates the state of the run for a step.
func (r *Run) enter(s *Step) {
	r.now = max(r.now, s.At)
	switch s.Kind {
	case trace.Deliver, trace.Drop:
		if s.Kind == trace.Deliver && r.lines.order != nil {
			r.lines.deliver(r.messages, s.Msg)
		}
		r.takeOut(s.Msg, r.fate(&r.messages[s.Msg-1], s.Kind))
	case trace.Duplicate:
		r.duplicate(s.Msg)
	case trace.Replace:
		r.replace(s)
	case trace.Timer:
		r.timers, r.fired = r.timers.Without(s.Node), ""
		r.now = max(r.now, r.timerAt[s.Node])
	case trace.Crash:
		r.setUp(r.up.Without(s.Node))
		r.timers = r.timers.Without(s.Node)
		r.faults.crashed = r.faults.crashed.With(s.Node)
	case trace.Restart:
		r.setUp(r.up.With(s.Node))
	case trace.Request:
		p, _ := r.takePending(s.Request)
		r.given = p.Text
		r.requests++
	case trace.Cut, trace.Heal:
		r.switchLinks(s)
	case trace.Wait:
		r.mix(uint64(s.For))
		r.now += s.For
	}
}

// keepLimits ends a run that exceeds a limit.
func (r *Run) keepLimits() {
	if len(r.flying)-r.landed > r.maxInFlight || r.now > r.maxTime {
		r.exceeds()
	}
}

func (r *Run) exceeds() {
	r.end(fmt.Sprintf("time beyond %d", r.maxTime))
	if len(r.FreeMessages()) > r.maxInFlight {
		r.end(fmt.Sprintf("more than %d messages in flight%s", r.maxInFlight, r.flood()))
	}
}

// flood names the type and the sender of more than half of the messages in flight, if there are such.
func (r *Run) flood() string {
	type kind struct {
		what string
		from Node
	}
	counts, all := map[kind]int{}, r.FreeMessages()
	for _, id := range all {
		k := kind{r.messages[id-1].Type, r.messages[id-1].From}
		if counts[k]++; 2*counts[k] > len(all) {
			return fmt.Sprintf(", most of them %s from node %d", k.what, k.from)
		}
	}
	return ""
}

func (r *Run) duplicate(id trace.ID) {
	r.faults.duplicated++
	m := &r.messages[id-1]
	copied := r.send(m.From, m.To, m.Type, m.Tag, m.At, m.Body)
	r.messages[copied-1].Copy = id
}

// replace prepares a message for another body.
func (r *Run) replace(s *Step) {
	m := &r.messages[s.Msg-1]
	if m.From != 0 {
		r.faults.byzantine = r.faults.byzantine.With(m.From)
	}
	r.bodies++
	m.Body = r.bodies
	r.mixText(r.forged[s.Request])
}

func (r *Run) switchLinks(s *Step) {
	r.mix(uint64(s.From))
	r.mix(uint64(s.To))
	r.mix(uint64(mix.Bit(s.OneWay)))
	r.cut.Switch(s)
}
