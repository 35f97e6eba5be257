package shrink

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// timetable is a run of a system that moves by itself, told by times instead of steps: when a client asks for something, when a fault
// strikes, and how late messages are. The rest is calm: a message arrives when it was sent, in the order of sending, and time passes
// where there is nothing else to do. So it still means the same when something is left out of it, whereas the steps behind a gap in a
// script meet other messages than they were about. As long as nothing is left out it is the run itself, step by step: what happens at one time
// has its order.
type timetable struct {
	head  script // what the system draws when it starts
	acts  []moment
	late  []delay    // by the time of sending
	waits []wait     // by time
	until trace.Time // its end
	slack trace.Time // after the end, in which nothing is done, for what comes later than it did; 0 where the end itself is judged
	asks  bool       // in which every request is given that waits, rather
	order order
	most  int    // steps that it may take
	is    string // its size when it was run
	has   extent // likewise
}

// order says which comes first of an act and a message that are due.
type order byte

const (
	asItWas order = iota // what came first in the run
	actsFirst
	actsLast
)

// place is when something happens in a run: at a time, and as which step, which orders what happens at one time.
type place struct {
	at   trace.Time
	step int // 0 where the run had nothing like it
}

func (p place) before(q place) bool { return cmp.Or(cmp.Compare(p.at, q.at), p.step-q.step) < 0 }

// moment is an action that neither delivers nor waits, in its place. A request that is not to be had then is given as soon as it is.
type moment struct {
	place
	trace.Action
}

// delay is how late a message is.
type delay struct {
	line
	sent, by trace.Time
	step     int // that delivered it
}

func (t timetable) size() string { return t.is }

func (t timetable) scheduler(s *shrinker) lockstep.Scheduler {
	t.acts = slices.Clone(t.acts)
	s.teller = &teller{timetable: t}
	return s.teller
}

// wait is that time passes from a time on: so much of it, unless something happens. It is what a run did where nothing was due, and does not say
// when the next was to be. That it ends by itself just when something happens may change which goroutine is first.
type wait struct{ at, most trace.Time }

// teller is the scheduler of a timetable.
type teller struct {
	timetable
	at      int   // the next act
	due     []int // acts whose time has come
	took    []int // and those that were taken
	lines   map[line]*traffic
	arrives []place // by message: when it is to be delivered
	names   trace.Namer
	now     trace.Time
	taken   int        // steps
	lost    int        // messages dropped
	given   []moment   // requests that are not in the timetable
	again   trace.Time // when a request may be given again
}

// line is on what messages travel: those of one type from a node to another.
type line struct {
	from, to lockstep.Node
	kind     string
}

func lineOf(m *trace.Message) line { return line{m.From, m.To, m.Type} }

// traffic is how late the messages of a line are, in the order of sending.
type traffic struct {
	late []delay
	next int // of the next message, rather
}

// Reset begins a new run.
func (t *teller) Reset(s *lockstep.Start) {
	*t = teller{timetable: t.timetable, lines: map[line]*traffic{}}
	for _, d := range t.late {
		l := t.traffic(d.line)
		l.late = append(l.late, d)
	}
	if len(t.head) > 0 {
		s.Draws = t.head[0].Draws
	}
}

// Tell has nothing to tell.
func (t *teller) Tell(bool) lockstep.Account { return lockstep.Account{} }

func (t *teller) traffic(on line) *traffic {
	l := t.lines[on]
	if l == nil {
		l = &traffic{}
		t.lines[on] = l
	}
	return l
}

// Next takes what is due: an act, the message that is due first, or a wait for what comes next.
func (t *teller) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
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
	next.For = t.long(min(next.For, coming-t.now))
	return true
}

// long is how long to wait now, where nothing comes for so long: as long as the run did then.
func (t *teller) long(free trace.Time) trace.Time {
	i, ok := slices.BinarySearchFunc(t.waits, t.now, func(w wait, now trace.Time) int { return cmp.Compare(w.at, now) })
	if ok && t.order == asItWas {
		return t.waits[i].most
	}
	return free
}

// arrival is the place of a message that is sent now. It has the delay after that of the message before it, if that is of about this time, and otherwise the one
// that is nearest in time: so each of some messages that are sent together is late by itself, as they were, though something is left out.
func (l *traffic) arrival(now, about trace.Time) place {
	if len(l.late) == 0 {
		return place{at: now}
	}
	i := l.next
	if i >= len(l.late) || l.late[i].sent > now+about || l.late[i].sent < now-about {
		i, _ = slices.BinarySearchFunc(l.late, now, func(d delay, now trace.Time) int { return cmp.Compare(d.sent, now) })
		if i == len(l.late) || i > 0 && now-l.late[i-1].sent < l.late[i].sent-now {
			i--
		}
	}
	l.next = i + 1
	return place{now + l.late[i].by, l.late[i].step}
}

// act takes the first act that is due and possible, unless a message comes before it. What is impossible when it is its turn is left out, but for
// requests.
func (t *teller) act(turn *lockstep.Turn, next *lockstep.Step, message place) bool {
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
			turn.Recall(a.Draws)
			t.took = append(t.took, at)
			t.lost += btoi(step.Kind == trace.Drop)
			return true
		}
	}
	return false
}

// yields reports whether an act comes after a message, both of which are due.
func (t *teller) yields(act, message place) bool {
	return t.order == actsLast || t.order == asItWas && message.before(act)
}

// step is the step of an act. One about a message that is not in flight is about the oldest of its type on its link.
func (t *teller) step(turn *lockstep.Turn, a *trace.Action) lockstep.Step {
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

// find is the message in flight of that name or, where there is none, the oldest of its type on its link; or 0.
func (t *teller) find(turn *lockstep.Turn, name trace.Name) trace.ID {
	if id := t.names.Find(name); id != 0 && turn.Message(id).Fate.OnItsWay() {
		return id
	}
	for _, id := range turn.InFlight() {
		if m := turn.Message(id); m.From == name.From && m.To == name.To && m.Type == name.Type {
			return id
		}
	}
	return 0
}

// ask gives a request that waits, to the nodes in turn, or waits until it is time to.
func (t *teller) ask(turn *lockstep.Turn, next *lockstep.Step) {
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

// waiting is the request to give where the one of a step is not to be had: of those that the node may have the last before it, as
// a client that has not asked for that one yet has asked for the one before; or the first of all.
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

// first is the delivery that is due first, and its place.
func (t *teller) first(turn *lockstep.Turn) (next lockstep.Step, at place) {
	at.at = math.MaxInt64
	for _, id := range turn.InFlight() {
		if !t.arrives[id-1].before(at) {
			continue
		}
		if step := (lockstep.Step{Kind: trace.Deliver, Msg: id}); turn.Possible(step) {
			next, at = step, t.arrives[id-1]
		}
	}
	return next, at
}

// followed is the timetable as it was run just now, without the acts that were not taken, with requests that were given in addition, and up to
// where the run failed; and whether the run of that is the same for certain.
func (t *teller) followed() (timetable, bool) {
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

// size is the size of the run that was made just now.
func (t *teller) size() string { return sizeOf(t.taken, t.lost, t.acts) }

// clock is the scheduler that plays a script and notes the times: of its actions, and of messages.
type clock struct {
	*lockstep.Player
	at    []trace.Time // of the actions taken
	late  []delay      // of the messages; step is 0 where none has taken it out of the network
	end   trace.Time
	ended bool // it failed after its last action
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

// timetable is the timetable of a script that was run just now. What has not arrived arrives after the end.
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
