package shrink

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// calmer makes a long run of a system that moves by itself calm, by its timetable, and leaves out of that what it can: requests, faults,
// delays, and time in which nothing matters. Where no calm one fails it begins with the timetable of the run as it was. It reports whether there is one that fails.
func (s *shrinker) calmer(now script) (script, bool) {
	if !s.inTime(now) {
		return now, false
	}
	c := &clock{Player: lockstep.NewPlayer(trace.Script(now), nil)}
	if !s.fails(c) {
		return now, false
	}
	was := c.timetable(now, longer*s.info.Pace)
	t, ok := s.calm(was)
	if !ok {
		if t, ok = s.follow(was); !ok {
			return now, false
		}
		t = s.thin(t, acts)
	} else {
		s.settleLess(t)
		t = s.latest(t)
	}
	for before := -1; before != len(t.acts); {
		before = len(t.acts)
		t = s.thin(s.thin(s.thin(s.descend(t), acts), gaps), delays)
	}
	s.settleLess(t)
	again, err := s.bench.Record(context.WithoutCancel(s.ctx), s.number, t.scheduler(s))
	if err != nil {
		return now, s.broke(err)
	}
	now = actions(again)
	s.keep(now)
	return now, true
}

// inTime reports whether a script is a long run of a system that moves by itself, and repeats.
func (s *shrinker) inTime(now script) bool {
	return len(now) >= many && s.info.Repeats == lockstep.Exactly && s.info.Supports.Has(trace.Wait) && s.info.Supports.Has(trace.Deliver)
}

// stubborn is the number of tries in vain after which nothing more is left out by chance, and four times that for the first timetable that fails.
const stubborn = 60

// calm is the first timetable that fails of some that are calmer than the run: with all messages on time, as late as they were with none lost; then others by chance.
func (s *shrinker) calm(t timetable) (timetable, bool) {
	onTime, late := t, t
	late.acts = slices.DeleteFunc(slices.Clone(t.acts), func(m moment) bool { return m.Msg.Nth > 0 })
	onTime.acts, onTime.late = late.acts, nil
	for _, next := range []timetable{onTime, late} {
		for _, next.order = range []order{actsFirst, actsLast} {
			if next, ok := s.follow(next); ok {
				return next, true
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 * stubborn {
		next := late
		if len(late.acts) > 0 && random.IntN(2) == 0 {
			next = late.last(max(len(late.acts)>>random.IntN(4), 1), s.info.Pace)
		}
		if next, ok := s.follow(next.otherwise(random).varied(random, s.info.Pace)); ok {
			return next, true
		}
	}
	return t, false
}

// latest leaves out all but the last acts, few of them at first. What a run fails for happened last, as a rule; but who is first then depends
// on everything before, so each number is tried with other times, too.
func (s *shrinker) latest(t timetable) timetable {
	const least, tries = 4, 32
	random := rand.New(rand.NewPCG(5, 6))
	for n := least; n < len(t.acts); n *= 2 {
		for try := 0; try < tries && s.goesOn(); try++ {
			next := t.last(n, s.info.Pace)
			if try > 0 {
				next = next.varied(random, s.info.Pace)
			}
			if try%4 == 3 {
				next = next.otherwise(random)
			}
			if next, ok := s.follow(next); ok && next.less(t) {
				return next
			}
		}
	}
	return t
}

// lead is the number of paces after which the first act comes at the latest, where others were left out before it.
const lead = 20

// last is a timetable of so many acts, the last ones, without the time before them.
func (t timetable) last(n int, pace trace.Time) timetable {
	t.acts = t.acts[len(t.acts)-n:]
	if from, at := lead*pace, t.acts[0].at; at > from {
		t = t.close(gap{from, at})
	}
	return t
}

// descend leaves out of a timetable what it can, by chance. Which of the members of a real cluster is first depends on everything before:
// a race that is lost without half of the requests may be won without the other half, or a moment later.
func (s *shrinker) descend(t timetable) timetable {
	random := rand.New(rand.NewPCG(3, 4))
	for idle := 0; idle < stubborn && len(t.acts) > 0 && s.goesOn(); idle++ {
		next := t.poorer(random)
		if random.IntN(2) == 0 {
			next = next.varied(random, s.info.Pace)
		}
		if random.IntN(3) == 0 {
			next = next.otherwise(random)
		}
		if next, ok := s.follow(next); ok && next.less(t) {
			t, idle = next, -1
		}
	}
	return t
}

// goesOn reports whether there may be another try.
func (s *shrinker) goesOn() bool { return s.left > 0 && s.err == nil && s.ctx.Err() == nil }

// follow runs a timetable and reports whether it fails. What was not taken of it is left out, and requests that were given though it does not have them are
// put into it, if it fails then, too.
func (s *shrinker) follow(t timetable) (timetable, bool) {
	if !s.fails(t) {
		return t, false
	}
	t.is, t.has = s.teller.size(), s.teller.extent()
	next, same := s.teller.followed()
	next.is, next.has = t.is, t.has
	if !same && s.fails(next) {
		next.is, next.has = s.teller.size(), s.teller.extent()
		same = true
	}
	if same {
		t = next
	} else if t.asks {
		return t, false
	}
	s.keep(t)
	return t, true
}

// settleLess shortens the settling stage.
func (s *shrinker) settleLess(t timetable) {
	const most = 3 // values to try before it is long enough
	for shorter := true; shorter; {
		shorter = false
		tried := 0
		for n := range lower(uint64(s.settle)) {
			if n == 0 || tried == most { // without one it was tried before
				continue
			}
			tried++
			s.bench.Settle(int(n))
			if s.fails(t) {
				s.settle, shorter = int(n), true
				t.is, t.has = s.teller.size(), s.teller.extent()
				s.keep(t)
				break
			}
		}
		s.bench.Settle(s.settle)
	}
}

// less orders timetables: fewer acts, then fewer delays, then less time.
func (t timetable) less(u timetable) bool {
	return cmp.Or(len(t.acts)-len(u.acts), delays.count(t)-delays.count(u), cmp.Compare(t.until, u.until)) < 0
}

// poorer is a timetable without some of its acts: a stretch of them, or some of the requests.
func (t timetable) poorer(random *rand.Rand) timetable {
	if random.IntN(2) == 0 {
		size := max(len(t.acts)>>(1+random.IntN(4)), 1)
		at := random.IntN(len(t.acts) - size + 1)
		return acts.without(t, at, at+size)
	}
	share := 2 + random.IntN(6)
	t.acts = slices.DeleteFunc(slices.Clone(t.acts), func(m moment) bool {
		return m.Step.Kind == trace.Request && random.IntN(share) > 0 == (share < 5)
	})
	return t
}

// A varied timetable has acts that are later by less than jitter paces; any may fail so many paces later than the run did.
const (
	jitter = 0.2
	longer = 100
)

// otherwise is a timetable with no message late, or as it was, whose acts come before or after the messages that are due then, and which ends with other requests
// or without.
func (t timetable) otherwise(random *rand.Rand) timetable {
	if random.IntN(2) == 0 {
		t.late = nil
	}
	t.order = order(random.IntN(3))
	t.asks = random.IntN(4) == 0
	return t
}

// varied is a timetable with other times: each act is a little later than it was, or comes after less time.
func (t timetable) varied(random *rand.Rand, pace trace.Time) timetable {
	t.acts = slices.Clone(t.acts)
	worst := random.IntN(2) == 0
	parts := 1 + random.Int64N(4)
	is, was := trace.Time(0), trace.Time(0)
	for i := range t.acts {
		m := &t.acts[i]
		if worst && m.Step.Kind == trace.Crash && len(m.Draws) > 1 { // what the first draw chooses is as bad as it can be
			m.Draws = raised(slices.Clone(m.Draws), 1)
		}
		is += (m.at-was)*trace.Time(1+random.Int64N(parts))/trace.Time(parts) + trace.Time(jitter*random.Float64()*float64(pace))
		was, m.at = m.at, is
	}
	t.until = is + max(t.until-was, 0)
	return t
}

// part is something that a timetable has a number of, and may do without.
type part struct {
	count   func(timetable) int
	without func(t timetable, from, to int) timetable
}

// thin leaves out stretches of a part, long ones first, as long as the run still fails; the last of them first, since up to where something is left out the run
// is the same.
func (s *shrinker) thin(t timetable, p part) timetable {
	for size := p.count(t); size > 0; size /= 2 {
		for end := p.count(t); end > 0 && s.goesOn(); end -= size {
			next, ok := s.follow(p.without(t, max(end-size, 0), end))
			if ok && next.less(t) {
				t = next
				end = min(end, p.count(t)+size)
			}
		}
	}
	return t
}

// acts are requests and faults.
var acts = part{
	count: func(t timetable) int { return len(t.acts) },
	without: func(t timetable, from, to int) timetable {
		t.acts = slices.Delete(slices.Clone(t.acts), from, to)
		return t
	},
}

// delays are those that are not 0.
var delays = part{
	count: func(t timetable) (n int) {
		for _, d := range t.late {
			n += btoi(d.by > 0)
		}
		return n
	},
	without: func(t timetable, from, to int) timetable {
		t.late = slices.Clone(t.late)
		n := 0
		for i := range t.late {
			if d := &t.late[i]; d.by > 0 {
				if n >= from && n < to {
					d.by = 0
				}
				n++
			}
		}
		return t
	},
}

// gaps are the times between acts, and after the last of them.
var gaps = part{
	count: func(t timetable) int { return len(t.gaps()) },
	without: func(t timetable, from, to int) timetable {
		for _, g := range slices.Backward(t.gaps()[from:to]) {
			t = t.close(g)
		}
		return t
	},
}

// close is a timetable without a gap.
func (t timetable) close(g gap) timetable {
	t.acts, t.late = slices.Clone(t.acts), slices.Clone(t.late)
	t.waits = slices.DeleteFunc(slices.Clone(t.waits), func(w wait) bool { return w.at >= g.from && w.at < g.to })
	t.until = g.closed(t.until)
	for i := range t.waits {
		t.waits[i].at = g.closed(t.waits[i].at)
	}
	for i := range t.acts {
		t.acts[i].at = g.closed(t.acts[i].at)
	}
	for i := range t.late {
		t.late[i].sent = g.closed(t.late[i].sent)
	}
	return t
}

// gap is a time without acts.
type gap struct{ from, to trace.Time }

// gaps are the times between acts, and after the last of them.
func (t timetable) gaps() (list []gap) {
	from := trace.Time(0)
	for _, m := range append(slices.Clone(t.acts), moment{place: place{at: t.until}}) {
		if m.at > from {
			list = append(list, gap{from, m.at})
			from = m.at
		}
	}
	return list
}

// closed is what a time becomes when the gap is not there.
func (g gap) closed(at trace.Time) trace.Time {
	if at >= g.to {
		return at - (g.to - g.from)
	}
	return min(at, g.from)
}
