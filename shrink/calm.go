package shrink

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// calmer shrinks a long run of a system that progresses on its own. It converts the run into a calm timetable: messages
// are on time, and time passes when nothing is due. It then removes requests, faults, delays and irrelevant time. If no
// calm timetable fails, calmer begins with the timetable of the original run. It reports whether a failing timetable
// exists.
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
		t = s.thin(s.thin(s.thin(s.withoutGroups(s.descend(t)), acts), gaps), delays)
	}
	s.settleLess(t)
	again, err := s.runner.Record(context.WithoutCancel(s.ctx), s.number, t.scheduler(s))
	if err != nil {
		return now, s.broke(err)
	}
	now = actions(again)
	s.keep(now)
	return now, true
}

// eventful is the number of actions from which a run of a system that progresses on its own is worth a timetable.
const eventful = 100

// inTime reports whether a script is a run of a deterministic system that progresses on its own, and not a short one.
func (s *shrinker) inTime(now script) bool { return len(now) >= eventful && s.timed() }

// timed reports whether runs can be followed by times.
func (s *shrinker) timed() bool {
	return s.info.Determinism == lockstep.Deterministic && s.info.Supports.Has(trace.Wait) &&
		s.info.Supports.Has(trace.Deliver)
}

// stubborn is the number of unsuccessful attempts after which random removal stops. The search for the first failing
// timetable makes four times as many.
const stubborn = 60

// calm returns the first failing timetable among some that are calmer than the run. It puts all messages on time, then
// the original delays without losses, then random variations.
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

// latest removes all but the last acts, and first tries to keep only a few. The cause of a failure is usually near the
// end. Which node comes first in a race depends on everything before, so each number of acts is also tried with other
// times.
func (s *shrinker) latest(t timetable) timetable {
	const least, attempts = 4, 32
	random := rand.New(rand.NewPCG(5, 6))
	for n := least; n < len(t.acts); n *= 2 {
		for try := 0; try < attempts && s.continues(); try++ {
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

// lead is the number of paces before the first act, if earlier acts were removed.
const lead = 20

// last returns a timetable of the last n acts, without the time before them.
func (t timetable) last(n int, pace trace.Time) timetable {
	t.acts = t.acts[len(t.acts)-n:]
	if from, at := lead*pace, t.acts[0].at; at > from {
		t = t.close(gap{from, at})
	}
	return t
}

// descend removes random parts of a timetable. Which member of a real cluster comes first depends on everything before.
// A race that is lost without one half of the requests may be won without the other half, or a moment later.
func (s *shrinker) descend(t timetable) timetable {
	random := rand.New(rand.NewPCG(3, 4))
	for idle := 0; idle < t.worth() && len(t.acts) > 0 && s.continues(); idle++ {
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

// A timetable with at most readable acts can be followed by a reader; it is not worth many more attempts to find one
// with fewer. One with more is worth persistent attempts.
const (
	readable   = 11
	persistent = 1500
)

// worth is the number of unsuccessful attempts after which random removal of parts of a timetable stops.
func (t timetable) worth() int {
	if len(t.acts) > readable {
		return persistent
	}
	return stubborn
}

// requestGroups lists the requests that belong together, by their numbers: those of a client or of a task of the
// operator, and those with the same operation. It reads them from the texts of the requests.
func requestGroups(t *trace.Trace) [][]int32 {
	ids := map[string][]int32{}
	var order []string
	add := func(key string, id int32) {
		if len(ids[key]) == 0 {
			order = append(order, key)
		}
		ids[key] = append(ids[key], id)
	}
	for i := range t.Records {
		r := &t.Records[i]
		if r.Step.Kind != trace.Request {
			continue
		}
		_, text, _ := strings.Cut(r.Text, " ")
		if at := strings.LastIndex(text, " ("); at > 0 { // of the operator: "compact (7)"
			text = text[:at]
			add(text, r.Step.Request)
			continue
		}
		client, rest, _ := strings.Cut(text, " ")
		kind, _, _ := strings.Cut(rest, " ")
		add(client, r.Step.Request)
		add("* "+kind, r.Step.Request)
	}
	list := make([][]int32, 0, len(order))
	for _, key := range order {
		list = append(list, ids[key])
	}
	slices.SortStableFunc(list, func(a, b []int32) int { return len(b) - len(a) })
	return list
}

// withoutGroups removes whole groups of requests, the largest first: all of a client, of a watcher or of an operation.
func (s *shrinker) withoutGroups(t timetable) timetable {
	if len(t.acts) <= readable {
		return t
	}
	random := rand.New(rand.NewPCG(7, 8))
	const attempts = 3 // the second and third with other times
	for _, g := range s.groups {
		for try := 0; try < attempts && s.continues(); try++ {
			next := t
			next.acts = slices.DeleteFunc(slices.Clone(t.acts), func(m moment) bool {
				return m.Step.Kind == trace.Request && slices.Contains(g, m.Step.Request)
			})
			if len(next.acts) == len(t.acts) || len(next.acts) == 0 {
				break
			}
			if try > 0 {
				next = next.varied(random, s.info.Pace)
			}
			if next, ok := s.follow(next); ok && next.less(t) {
				t = next
				break
			}
		}
	}
	return t
}

// continues reports whether another attempt is allowed.
func (s *shrinker) continues() bool { return s.left > 0 && s.err == nil && s.ctx.Err() == nil }

// follow runs a timetable and reports whether it fails. It removes the acts that were not taken. It also adds the
// requests that were given in addition, if the resulting timetable fails, too.
func (s *shrinker) follow(t timetable) (timetable, bool) {
	if !s.fails(t) {
		return t, false
	}
	t.is, t.has = s.timetabler.size(), s.timetabler.extent()
	next, same := s.timetabler.followed()
	next.is, next.has = t.is, t.has
	if !same && s.fails(next) {
		next.is, next.has = s.timetabler.size(), s.timetabler.extent()
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
	const most = 3 // values to try until the stage is long enough
	for shorter := true; shorter; {
		shorter = false
		tried := 0
		for n := range lower(uint64(s.settle)) {
			if n == 0 || tried == most { // a run without a settling stage was tried before
				continue
			}
			tried++
			s.runner.Settle(int(n))
			if s.fails(t) {
				s.settle, shorter = int(n), true
				t.is, t.has = s.timetabler.size(), s.timetabler.extent()
				s.keep(t)
				break
			}
		}
		s.runner.Settle(s.settle)
	}
}

// less orders timetables: fewer requests and faults, then fewer delays, then less time.
func (t timetable) less(u timetable) bool {
	return cmp.Or(len(t.acts)-len(u.acts), delays.count(t)-delays.count(u), cmp.Compare(t.until, u.until)) < 0
}

// poorer returns a timetable without a random interval of its acts, or without some of the requests.
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

// The acts of a varied timetable move by less than jitter paces. Any timetable may fail up to longer paces later than
// the original run.
const (
	jitter = 0.2
	longer = 100
)

// otherwise returns a timetable with random changes. It may remove all delays. It may move acts before or after the
// messages that are due at the same time. It may add requests at the end.
func (t timetable) otherwise(random *rand.Rand) timetable {
	if random.IntN(2) == 0 {
		t.late = nil
	}
	t.order = order(random.IntN(3))
	t.asks = random.IntN(4) == 0
	return t
}

// varied returns a timetable with other times: each act is slightly delayed, or comes after less time.
func (t timetable) varied(random *rand.Rand, pace trace.Time) timetable {
	t.acts = slices.Clone(t.acts)
	worst := random.IntN(2) == 0
	parts := 1 + random.Int64N(4)
	is, was := trace.Time(0), trace.Time(0)
	for i := range t.acts {
		m := &t.acts[i]
		// make the choice of the first draw as bad as possible
		if worst && m.Step.Kind == trace.Crash && len(m.Draws) > 1 {
			m.Draws = raised(slices.Clone(m.Draws), 1)
		}
		is += (m.at-was)*trace.Time(1+random.Int64N(parts))/trace.Time(
			parts) + trace.Time(jitter*random.Float64()*float64(pace))
		was, m.at = m.at, is
	}
	t.until = is + max(t.until-was, 0)
	return t
}

// part is a removable kind of element of a timetable.
type part struct {
	count   func(timetable) int
	without func(t timetable, from, to int) timetable
}

// thin removes intervals of a part, long ones first, while the run still fails. It begins at the end, because the run
// up to a removal stays the same.
func (s *shrinker) thin(t timetable, p part) timetable {
	for size := p.count(t); size > 0; size /= 2 {
		for end := p.count(t); end > 0 && s.continues(); end -= size {
			next, ok := s.follow(p.without(t, max(end-size, 0), end))
			if ok && next.less(t) {
				t = next
				end = min(end, p.count(t)+size)
			}
		}
	}
	return t
}

// acts is the part of requests and faults.
var acts = part{
	count: func(t timetable) int { return len(t.acts) },
	without: func(t timetable, from, to int) timetable {
		t.acts = slices.Delete(slices.Clone(t.acts), from, to)
		return t
	},
}

// delays is the part of nonzero delays.
var delays = part{
	count: func(t timetable) (n int) {
		for _, d := range t.late {
			n += mix.Bit(d.by > 0)
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

// gaps is the part of times between acts, and after the last act.
var gaps = part{
	count: func(t timetable) int { return len(t.gaps()) },
	without: func(t timetable, from, to int) timetable {
		for _, g := range slices.Backward(t.gaps()[from:to]) {
			t = t.close(g)
		}
		return t
	},
}

// close returns a timetable without a gap.
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

// gap is a period without acts.
type gap struct{ from, to trace.Time }

// gaps returns the periods between acts, and after the last act.
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

// closed maps a time to the timetable without the gap.
func (g gap) closed(at trace.Time) trace.Time {
	if at >= g.to {
		return at - (g.to - g.from)
	}
	return min(at, g.from)
}
