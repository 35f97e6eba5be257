package shrink

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// timetable describes a run of a system that progresses on its own by times instead of steps. It holds the times of
// client requests and faults, and the delays of messages. Everything else is calm. A message is delivered when it is
// sent, in sending order, and time passes when no act or message is due.
//
// A timetable keeps its meaning when parts of it are removed. In a script, the steps after a gap meet other messages
// than intended. Without removals the timetable reproduces the run step by step, because it also records the order of
// simultaneous events.
type timetable struct {
	head  script // draws of the system at its start
	acts  []moment
	late  []delay    // by the time of sending
	waits []wait     // by time
	until trace.Time // the end of the run
	// time after the end without acts, for failures later than in the original run; 0 if the end itself is checked
	slack trace.Time
	asks  bool // give every waiting request during the slack
	order order
	most  int    // maximum number of steps
	is    string // its size when it was run
	has   extent // its extent when it was run
}

// order selects whether an act or a message comes first if both are due.
type order byte

const (
	asItWas order = iota // the order in the original run
	actsFirst
	actsLast
)

// place is the position of an event in a run: its time and its step, which orders simultaneous events.
type place struct {
	at   trace.Time
	step int // 0 if the original run had no such step
}

func (p place) before(q place) bool { return cmp.Or(cmp.Compare(p.at, q.at), p.step-q.step) < 0 }

// moment is an action other than a delivery or a wait, with its position. A request that is not available then is given
// as soon as it is.
type moment struct {
	place
	trace.Action
}

// delay is the delay of a message.
type delay struct {
	line
	sent, by trace.Time
	step     int // the step that delivered it
}

func (t timetable) size() string { return t.is }

func (t timetable) scheduler(s *shrinker) lockstep.Scheduler {
	t.acts = slices.Clone(t.acts)
	s.timetabler = &timetabler{timetable: t}
	return s.timetabler
}

// wait lets time pass from a time on, at most this long; an event ends it earlier. It is the wait of the original run
// at this time, and does not depend on the next due time. A wait that ends exactly when an event happens may change
// which goroutine runs first.
type wait struct{ at, most trace.Time }

// timetabler is the scheduler of a timetable.
type timetabler struct {
	timetable
	at      int   // the next act
	due     []int // due acts
	took    []int // acts that were taken
	lines   map[line]*traffic
	arrives []place // by message: when it is due
	names   trace.Namer
	now     trace.Time
	taken   int        // steps taken
	lost    int        // messages dropped
	given   []moment   // requests that are not in the timetable
	again   trace.Time // earliest time of the next additional request
}

// line is a message type on a link from a node to another.
type line struct {
	from, to lockstep.Node
	kind     string
}

func lineOf(m *trace.Message) line { return line{m.From, m.To, m.Type} }

// traffic holds the delays of the messages of a line, in sending order.
type traffic struct {
	late []delay
	next int // index of the delay of the next message
}

// Reset begins a new run.
func (t *timetabler) Reset(s *lockstep.Start) {
	*t = timetabler{timetable: t.timetable, lines: map[line]*traffic{}}
	for _, d := range t.late {
		l := t.traffic(d.line)
		l.late = append(l.late, d)
	}
	if len(t.head) > 0 {
		s.Draws = t.head[0].Draws
	}
}

// Report reports nothing.
func (t *timetabler) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

func (t *timetabler) traffic(on line) *traffic {
	l := t.lines[on]
	if l == nil {
		l = &traffic{}
		t.lines[on] = l
	}
	return l
}

// Next takes the next due step: an act, the message that is due first, or a wait until the next event.
func (t *timetabler) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	t.now, t.taken = turn.Now(), turn.Steps()
	for all := turn.Messages(); len(t.arrives) < len(all); {
		m := &all[len(t.arrives)]
		t.names.Add(m)
		t.arrives = append(t.arrives, t.traffic(lineOf(m)).arrival(t.now, turn.Info().Pace))
	}
	if turn.Steps() >= t.most {
		return false
	}
	message, arrives := t.first(turn)
	coming := arrives.at
	if t.act(turn, next, arrives) {
		return true
	}
	if coming <= t.now {
		*next = message
		return true
	}
	if t.at < len(t.acts) {
		coming = min(coming, t.acts[t.at].at)
	}
	end := t.until + t.slack
	if t.asks {
		coming = min(coming, max(t.until, t.again))
	}
	if coming = min(coming, end); coming <= t.now {
		if t.now >= end {
			return false
		}
		t.ask(turn, next)
		return true
	}
	*next = turn.Wait()
	// nothing is due before, so that one wait does for several
	next.For = t.long(min(trace.Time(trace.MaxWait), coming-t.now))
	return true
}

// long returns how long to wait now if no event is due for the given time: as long as the original run waited.
func (t *timetabler) long(free trace.Time) trace.Time {
	i, ok := slices.BinarySearchFunc(t.waits, t.now, func(w wait, now trace.Time) int { return cmp.Compare(w.at, now) })
	if ok && t.order == asItWas {
		return t.waits[i].most
	}
	return free
}

// arrival returns the due position of a message that is sent now. It uses the delay after that of the previous message
// if that delay is from about this time. Otherwise it uses the delay that is nearest in time. Therefore messages that
// are sent together keep their individual delays, even after removals.
func (t *traffic) arrival(now, about trace.Time) place {
	if len(t.late) == 0 {
		return place{at: now}
	}
	i := t.next
	if i >= len(t.late) || t.late[i].sent > now+about || t.late[i].sent < now-about {
		i, _ = slices.BinarySearchFunc(t.late, now,
			func(d delay, now trace.Time) int { return cmp.Compare(d.sent, now) })
		if i == len(t.late) || i > 0 && now-t.late[i-1].sent < t.late[i].sent-now {
			i--
		}
	}
	t.next = i + 1
	return place{now + t.late[i].by, t.late[i].step}
}

// act takes the first act that is due and possible, unless a message comes before it. An act that is impossible when it
// is due is skipped; a request waits until it is possible.
func (t *timetabler) act(turn *lockstep.Turn, next *lockstep.Step, message place) bool {
	for ; t.at < len(t.acts) && t.acts[t.at].at <= t.now; t.at++ {
		t.due = append(t.due, t.at)
	}
	for k := 0; k < len(t.due); {
		at := t.due[k]
		a := &t.acts[at]
		if message.at <= t.now && t.yields(a.place, message) {
			return false
		}
		step := t.step(turn, &a.Action)
		possible := turn.Possible(step)
		if !possible && step.Kind == trace.Request {
			k++
			continue
		}
		t.due = slices.Delete(t.due, k, k+1)
		if possible {
			a.Step.Request = step.Request
			*next = step
			turn.SetDraws(a.Draws)
			t.took = append(t.took, at)
			t.lost += mix.Bit(step.Kind == trace.Drop)
			return true
		}
	}
	return false
}

// yields reports whether an act comes after a message if both are due.
func (t *timetabler) yields(act, message place) bool {
	return t.order == actsLast || t.order == asItWas && message.before(act)
}

// step returns the step of an act. If its message is not in flight, it uses the oldest message of the same type on the
// same link.
func (t *timetabler) step(turn *lockstep.Turn, a *trace.Action) lockstep.Step {
	step := a.Step
	step.At = 0
	if step.Kind == trace.Request {
		step.Request = waiting(turn, step)
	}
	if a.Msg.Nth > 0 {
		if step.Msg = t.names.Find(a.Msg); !a.Again {
			step.Msg = t.find(turn, a.Msg)
		}
		if step.Kind == trace.Replace && step.Msg != 0 {
			step = turn.Forge(step.Msg, a.Body)
		}
	}
	return step
}

// find returns the message in flight with this name or, if there is none, the oldest of its type on its link; or 0.
func (t *timetabler) find(turn *lockstep.Turn, name trace.Name) trace.ID {
	if id := t.names.Find(name); id != 0 && turn.Message(id).Fate.OnItsWay() {
		return id
	}
	for _, id := range turn.FreeMessages() {
		if m := turn.Message(id); m.From == name.From && m.To == name.To && m.Type == name.Type {
			return id
		}
	}
	return 0
}

// ask gives a waiting request, to the nodes in turn, or waits until the next one.
func (t *timetabler) ask(turn *lockstep.Turn, next *lockstep.Step) {
	for _, p := range turn.Pending() {
		if to := p.To & turn.Up(); to != 0 {
			*next = lockstep.Step{Kind: trace.Request, Request: p.ID, Node: to.Nth(len(t.given) % to.Len())}
			t.given = append(t.given, moment{place{at: t.now}, trace.Action{Step: *next}})
			t.again = t.now + turn.Info().Pace
			return
		}
	}
	*next = turn.Wait()
}

// waiting returns a substitute for the request of a step that is not available. Among the requests that the node may
// receive it prefers the last one before it. A client that has not sent this request yet has sent the previous one.
// Otherwise it returns the first.
func waiting(turn *lockstep.Turn, step lockstep.Step) int32 {
	best := int32(0)
	for _, p := range turn.Pending() {
		if !p.To.Has(step.Node) {
			continue
		}
		switch below, is := p.ID <= step.Request, best <= step.Request; {
		case best == 0, below && !is, below && p.ID > best, !below && !is && p.ID < best:
			best = p.ID
		}
	}
	return cmp.Or(best, step.Request)
}

// first returns the delivery that is due first, and its position.
func (t *timetabler) first(turn *lockstep.Turn) (next lockstep.Step, at place) {
	at.at = math.MaxInt64
	for _, id := range turn.FreeMessages() {
		if !t.arrives[id-1].before(at) {
			continue
		}
		if step := (lockstep.Step{Kind: trace.Deliver, Msg: id}); turn.Possible(step) {
			next, at = step, t.arrives[id-1]
		}
	}
	return next, at
}

// followed returns the timetable as it was just run: without the acts that were not taken, with the additional
// requests, and ending at the failure. It also reports whether a run of the result is certainly the same.
func (t *timetabler) followed() (timetable, bool) {
	now := t.timetable
	slices.Sort(t.took)
	now.acts = make([]moment, len(t.took))
	for i, k := range t.took {
		now.acts[i] = t.acts[k]
	}
	now.acts = append(now.acts, t.given...)
	now.asks = false
	if t.slack > 0 {
		now.until = t.now
	}
	return now, t.at == len(t.took) && len(t.given) == 0
}

// size returns the size of the latest run.
func (t *timetabler) size() string { return sizeOf(t.taken, t.lost, t.acts) }

// clock is the scheduler that replays a script and records the times of its actions and messages.
type clock struct {
	*lockstep.Player
	at    []trace.Time // times of the actions taken
	late  []delay      // delays of the messages; step is 0 if no action removed the message from the network
	end   trace.Time
	ended bool // the run failed after its last action
}

func (c *clock) scheduler(*shrinker) lockstep.Scheduler { return c }
func (c *clock) size() string                           { return "" }

// Reset begins a new run.
func (c *clock) Reset(s *lockstep.Start) {
	c.Player.Reset(s)
	c.at, c.late, c.ended = make([]trace.Time, len(c.Took())), nil, false
}

// Next takes the next action.
func (c *clock) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	c.end = turn.Now()
	for all := turn.Messages(); len(c.late) < len(all); {
		m := &all[len(c.late)]
		c.late = append(c.late, delay{line: lineOf(m), sent: c.end})
	}
	if c.ended = !c.Player.Next(turn, next); c.ended {
		return false
	}
	c.at = append(c.at, c.end)
	if next.Msg != 0 {
		d := &c.late[next.Msg-1]
		d.by, d.step = c.end-d.sent, len(c.at)
	}
	return true
}

// timetable returns the timetable of the script that was just run. Undelivered messages become due after the end.
func (c *clock) timetable(a script, slack trace.Time) timetable {
	t := timetable{head: a[:a.head()], late: c.late, until: c.end, most: 2 * len(a)}
	if !c.ended {
		t.slack = slack
	}
	for i, k := range c.Took() {
		switch a[k].Step.Kind {
		case trace.Start, trace.Deliver:
		case trace.Wait:
			t.waits = append(t.waits, wait{c.at[i], a[k].Step.For})
		default:
			t.acts = append(t.acts, moment{place{c.at[i], i + 1}, a[k]})
		}
	}
	for i := range t.late {
		if d := &t.late[i]; d.step == 0 {
			d.by, d.step = c.end+1-d.sent, len(c.at)+1
		}
	}
	return t
}
