package lockstep

import (
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// step takes the step chosen: it checks that the step is possible, keeps the books of the
// run, lets the system do its part and everyone look at it. An error is a mistake of whoever
// chose the step, or a broken deployment.
func (w *worker) step() (*Finding, error) {
	r := w.run
	s := r.next
	plain := r.plain(s)
	if !plain {
		if why := r.refusal(s); why != "" {
			return nil, fmt.Errorf("step %d (%s) is impossible: %s", r.steps+1, s, why)
		}
	}
	r.steps++
	r.last, r.next = s, r.last
	r.events = r.events[:0]
	r.sent = len(r.messages)
	r.vanished = r.vanished[:0]
	if r.draws.on {
		r.draws.next()
	}
	r.now = max(r.now, s.At)
	r.mix(uint64(s.Kind) | uint64(s.Node)<<4 | uint64(uint32(s.Msg))<<12 | uint64(uint32(s.Request))<<44)
	if plain {
		r.pass(s)
	} else {
		r.enter(s)
	}
	if w.watching {
		w.enters()
	}
	w.inSystem = true
	err := w.system.Do(w.ctx, s, &r.out)
	w.inSystem, r.draws.given = false, nil
	if err != nil {
		return nil, fmt.Errorf("%s: step %d (%s): %w", r.info.Name, r.steps, s, err)
	}
	r.keepLimits()
	switch {
	case !w.alone:
		return w.look()
	case w.events && len(r.events) == 0:
		return nil, nil
	default:
		return w.monitor.Step(r), nil
	}
}

// pass enters a plain step into the books: enter would do the same, after asking more.
func (r *Run) pass(s *Step) {
	m := &r.messages[s.Msg-1]
	if s.Kind == trace.Deliver {
		r.now = max(r.now, m.At)
		r.status[s.Msg-1] = delivered
	} else {
		r.lose(m.From, m.To)
		r.status[s.Msg-1] = lost
	}
	r.unfly(s.Msg)
}

// enter enters a step into the books.
func (r *Run) enter(s *Step) {
	switch s.Kind {
	case trace.Deliver:
		r.now = max(r.now, r.messages[s.Msg-1].At)
		r.takeOut(s.Msg, delivered)
	case trace.Drop:
		r.lose(r.messages[s.Msg-1].From, r.messages[s.Msg-1].To)
		r.takeOut(s.Msg, lost)
	case trace.Duplicate:
		r.duplicate(s.Msg)
	case trace.Replace:
		r.replace(s)
	case trace.Alarm:
		r.alarms, r.rang = r.alarms.Without(s.Node), ""
		r.now = max(r.now, r.alarmAt[s.Node])
	case trace.Crash:
		r.up = r.up.Without(s.Node)
		r.alarms = r.alarms.Without(s.Node)
		r.faults.Crashed = r.faults.Crashed.With(s.Node)
	case trace.Restart:
		r.up = r.up.With(s.Node)
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

// keepLimits ends a run that has gone beyond a limit.
func (r *Run) keepLimits() {
	if len(r.flying) > r.limits.InFlight || r.now > r.limits.Time {
		r.overdo()
	}
}

func (r *Run) overdo() {
	r.over = fmt.Sprintf("time beyond %d", r.limits.Time)
	if len(r.flying) > r.limits.InFlight {
		r.over = fmt.Sprintf("more than %d messages in flight", r.limits.InFlight)
	}
}

func (r *Run) duplicate(id ID) {
	r.faults.Duplicated++
	m := &r.messages[id-1]
	copied := r.send(m.From, m.To, m.Type, m.Tag, m.At, m.Body)
	r.messages[copied-1].Copy = id
}

// replace prepares a message for another body.
func (r *Run) replace(s *Step) {
	m := &r.messages[s.Msg-1]
	if m.From != 0 {
		r.faults.Forged = r.faults.Forged.With(m.From)
	}
	r.bodies++
	m.Body = r.bodies
	r.mix(hash(r.forged[s.Request]))
}

func (r *Run) switchLinks(s *Step) {
	r.mix(uint64(s.From))
	r.mix(uint64(s.To))
	r.mix(uint64(btoi(s.OneWay)))
	r.faults.Cut += btoi(s.Kind == trace.Cut)
	set := func(from, to Nodes) {
		for n := range (from & r.all).All() {
			if s.Kind == trace.Cut {
				r.cut[n] |= to.Without(n)
			} else {
				r.cut[n] &^= to
			}
		}
	}
	set(s.From, s.To)
	if !s.OneWay {
		set(s.To, s.From)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
