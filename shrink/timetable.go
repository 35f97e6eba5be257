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
// script meet other messages than they were about.
type timetable struct {
	head  script // what the system draws when it starts
	acts  []moment
	late  []delay       // by the time of sending
	until lockstep.Time // its end
	slack lockstep.Time // after the end, in which nothing is done, for what comes later than it did; 0 where the end itself is judged
	asks  bool          // in which every request is given that waits, rather
	after bool          // acts come after the messages that are due at their time
	most  int           // steps that it may take
	is    string        // its size when it was run
}

// moment is an action that neither delivers nor waits, at its time. A request that is not to be had then is given as soon as it is.
type moment struct {
	at lockstep.Time
	trace.Action
}

// delay is how late the messages are that one node sends to another, from a time on, up to the next delay of the two.
type delay struct {
	from, to lockstep.Node
	sent, by lockstep.Time
}

func (t timetable) size() string { return t.is }

func (t timetable) scheduler(s *shrinker) lockstep.Scheduler {
	t.acts = slices.Clone(t.acts)
	s.teller = &teller{timetable: t}
	return s.teller
}

// teller is the scheduler of a timetable.
type teller struct {
	timetable
	at      int                          // the next act
	due     []int                        // acts whose time has come
	took    []int                        // and those that were taken
	lags    map[[2]lockstep.Node][]delay // of each link
	arrives []lockstep.Time              // by message: when it is to be delivered
	now     lockstep.Time
	taken   int           // steps
	lost    int           // messages dropped
	given   []moment      // requests that are not in the timetable
	again   lockstep.Time // when a request may be given again
}

// Reset begins a new run.
func (t *teller) Reset(s *lockstep.Start) {
	*t = teller{timetable: t.timetable, lags: map[[2]lockstep.Node][]delay{}}
	for _, d := range t.late {
		l := [2]lockstep.Node{d.from, d.to}
		t.lags[l] = append(t.lags[l], d)
	}
	if len(t.head) > 0 {
		s.Draws = t.head[0].Draws
	}
}

// Tell has nothing to tell.
func (t *teller) Tell(bool) lockstep.Account { return lockstep.Account{} }

// Next takes what is due: an act, the message that is due first, or a wait for what comes next.
func (t *teller) Next(run *lockstep.Run, next *lockstep.Step) bool {
	t.now, t.taken = run.Now(), run.Steps()
	for all := run.Messages(); len(t.arrives) < len(all); {
		t.arrives = append(t.arrives, t.now+t.lag(&all[len(t.arrives)]))
	}
	if run.Steps() >= t.most {
		return false
	}
	if !t.after && t.act(run, next) {
		return true
	}
	coming, ok := t.deliver(run, next)
	if ok || t.after && t.act(run, next) {
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
		t.ask(run, next)
		return true
	}
	*next = run.Wait()
	next.For = min(next.For, coming-t.now)
	return true
}

// lag is how late a message is that is sent now.
func (t *teller) lag(m *lockstep.Message) lockstep.Time {
	list := t.lags[[2]lockstep.Node{m.From, m.To}]
	i, _ := slices.BinarySearchFunc(list, t.now+1, func(d delay, now lockstep.Time) int { return cmp.Compare(d.sent, now) })
	if i == 0 {
		return 0
	}
	return list[i-1].by
}

// act takes the first act that is due and possible.
func (t *teller) act(run *lockstep.Run, next *lockstep.Step) bool {
	for ; t.at < len(t.acts) && t.acts[t.at].at <= t.now; t.at++ {
		t.due = append(t.due, t.at)
	}
	for k := 0; k < len(t.due); {
		a := &t.acts[t.due[k]]
		step := t.step(run, &a.Action)
		possible := run.Possible(step)
		if !possible && step.Kind == trace.Request {
			k++
			continue
		}
		at := t.due[k]
		t.due = slices.Delete(t.due, k, k+1)
		if possible {
			a.Step.Request = step.Request
			*next = step
			run.Recall(a.Draws)
			t.took = append(t.took, at)
			t.lost += btoi(step.Kind == trace.Drop)
			return true
		}
	}
	return false
}

// step is the step of an act. One about a message is about the oldest of its type on its link.
func (t *teller) step(run *lockstep.Run, a *trace.Action) lockstep.Step {
	step := a.Step
	step.At = 0
	if step.Kind == trace.Request {
		step.Request = waiting(run, step)
	}
	if a.Msg.Nth > 0 {
		for _, id := range run.InFlight() {
			if m := run.Message(id); m.From == a.Msg.From && m.To == a.Msg.To && m.Type == a.Msg.Type {
				step.Msg = id
				break
			}
		}
		if step.Kind == trace.Replace && step.Msg != 0 {
			step = run.Forge(step.Msg, a.Body)
		}
	}
	return step
}

// ask gives a request that waits, to the nodes in turn, or waits until it is time to.
func (t *teller) ask(run *lockstep.Run, next *lockstep.Step) {
	for _, p := range run.Pending() {
		if to := p.To & run.Up(); to != 0 {
			*next = lockstep.Step{Kind: trace.Request, Request: p.ID, Node: to.Nth(len(t.given) % to.Len())}
			t.given = append(t.given, moment{t.now, trace.Action{Step: *next}})
			t.again = t.now + run.Info().Pace
			return
		}
	}
	*next = run.Wait()
}

// waiting is the request to give where the one of a step is not to be had: of those that the node may have the last before it, as
// a client that has not asked for that one yet has asked for the one before; or the first of all.
func waiting(run *lockstep.Run, step lockstep.Step) int32 {
	best := int32(0)
	for _, p := range run.Pending() {
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

// deliver delivers the message that is due first, if it is due, and says when that is.
func (t *teller) deliver(run *lockstep.Run, next *lockstep.Step) (first lockstep.Time, ok bool) {
	first = math.MaxInt64
	for _, id := range run.InFlight() {
		if t.arrives[id-1] >= first {
			continue
		}
		if step := (lockstep.Step{Kind: trace.Deliver, Msg: id}); run.Possible(step) {
			first, *next = t.arrives[id-1], step
		}
	}
	return first, first <= t.now
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
	at    []lockstep.Time // of the actions taken
	sent  []lockstep.Time // of the messages
	late  []delay
	ended bool // it failed after its last action
}

func (c *clock) scheduler(*shrinker) lockstep.Scheduler { return c }
func (c *clock) size() string                           { return "" }

// Reset begins a new run.
func (c *clock) Reset(s *lockstep.Start) {
	c.Player.Reset(s)
	c.at, c.sent, c.late, c.ended = make([]lockstep.Time, len(c.Took())), c.sent[:0], nil, false
}

// Next takes the next action.
func (c *clock) Next(run *lockstep.Run, next *lockstep.Step) bool {
	now := run.Now()
	for len(c.sent) < len(run.Messages()) {
		c.sent = append(c.sent, now)
	}
	ok := c.Player.Next(run, next)
	if !ok {
		c.ended = true
		return false
	}
	c.at = append(c.at, now)
	if next.Msg != 0 {
		m := run.Message(next.Msg)
		c.late = append(c.late, delay{m.From, m.To, c.sent[m.ID-1], now - c.sent[m.ID-1]})
	}
	return true
}

// timetable is the timetable of a script that was run just now.
func (c *clock) timetable(a script, slack lockstep.Time) timetable {
	t := timetable{head: a[:a.head()], late: c.late, most: 2 * len(a)}
	if !c.ended {
		t.slack = slack
	}
	for i, k := range c.Took() {
		t.until = c.at[i]
		switch a[k].Step.Kind {
		case trace.Start, trace.Deliver, trace.Wait:
		default:
			t.acts = append(t.acts, moment{c.at[i], a[k]})
		}
	}
	slices.SortStableFunc(t.late, func(a, b delay) int { return cmp.Compare(a.sent, b.sent) })
	return t
}
