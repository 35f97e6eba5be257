package shrink

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// schedule shrinks a run in rounds.
func (s *shrinker) schedule(t *trace.Trace) (was string, err error) {
	now, ok := s.read(t)
	if !ok {
		return "", s.notRepeated("rounds")
	}
	now = s.cutOff(now)
	s.keep(now)
	s.first = now.cost()
	was = now.size()
	for again := true; again; {
		if now, again = s.firstSmaller(now, now.smaller()); !again {
			now, again = s.firstSmaller(now, now.muchSmaller())
		}
	}
	s.smallest(now, now.all(s.first.isolations(), &s.left))
	return was, nil
}

// read returns the schedule of a run, and whether it fails. Timers, the order of delivery, the rounds of messages and
// the behavior of isolated nodes may deviate from the rules, and matter. The function uses the first interpretation
// that reproduces the run itself, or else the first that fails.
func (s *shrinker) read(t *trace.Trace) (now schedule, ok bool) {
	for _, but := range [...]struct {
		exact, loose bool
		apart        rounds.Isolation
	}{{}, {exact: true}, {apart: rounds.CutOff}, {apart: rounds.Held}, {loose: true}, {exact: true, loose: true},
		{exact: true, apart: rounds.Held}} {
		next := scheduleOf(t, but.exact, but.loose, but.apart)
		if !s.fails(next) {
			continue
		}
		if same := s.isRun(next, t); same || !ok {
			if now, ok = next, true; same {
				return now, true
			}
		}
		if s.info.Determinism == lockstep.BestEffort {
			return now, true
		}
	}
	return now, ok && s.fails(now) // rerun it, so that the state of the driver belongs to this schedule
}

// isRun reports whether a schedule reproduces a run, step by step.
func (s *shrinker) isRun(c schedule, t *trace.Trace) bool {
	if s.info.Determinism == lockstep.BestEffort {
		return false
	}
	again, err := s.runner.Record(s.ctx, s.number, c.scheduler(s))
	if err != nil {
		return s.broke(err)
	}
	return trace.Difference(t, again) == ""
}

// firstSmaller replaces a schedule by the first candidate that fails and is smaller, and reports whether there is one.
func (s *shrinker) firstSmaller(now schedule, candidates func(yield func(schedule) bool)) (schedule, bool) {
	for c := range candidates {
		if next, ok := s.improves(now, c); ok {
			return next, true
		}
	}
	return now, false
}

// smallest searches for the smallest failing schedule among a schedule and the candidates.
func (s *shrinker) smallest(now schedule, candidates func(yield func(schedule) bool)) {
	for c := range candidates {
		now, _ = s.improves(now, c)
	}
}

// improves returns the candidate, truncated at its failure, if it fails and is smaller than the schedule; otherwise it
// returns the schedule.
func (s *shrinker) improves(now, c schedule) (schedule, bool) {
	if s.fails(c) {
		c = s.cutOff(c)
		if cost := c.cost(); cost.less(now.cost()) && cost.within(s.first) && s.smallEnough(c) {
			s.keep(c)
			return c, true
		}
	}
	return now, false
}

// smallEnough reports whether the run of a schedule has no more steps than the original run; fewer rounds may have more
// steps. For slow systems, only the final check decides.
func (s *shrinker) smallEnough(c schedule) bool {
	if s.info.Determinism == lockstep.BestEffort {
		return true
	}
	t, err := s.runner.Record(s.ctx, s.number, c.scheduler(s))
	if err != nil {
		return s.broke(err)
	}
	return extentOf(t).shorter(s.was)
}

// cutOff removes the rounds that the latest failing run did not reach, with their actions.
func (s *shrinker) cutOff(c schedule) schedule {
	c = c.clone()
	c.active = s.rounds.driver.Active()
	left := s.rounds.driver.Opened()
	for i := range c.phases {
		p := &c.phases[i]
		if left < p.rounds {
			p.trim(left)
		}
		left -= p.rounds
		if left <= 0 {
			c.phases = c.phases[:i+1]
			break
		}
	}
	return c
}

// trim shortens a phase to a number of rounds.
func (p *phase) trim(rounds int) {
	p.rounds = rounds
	for n := range p.start {
		p.start[n] = min(p.start[n], rounds)
	}
	p.lost = slices.DeleteFunc(p.lost, func(l loss) bool { return l.round >= rounds })
	p.acts = slices.DeleteFunc(p.acts, func(a act) bool { return a.round >= rounds })
	p.forged = slices.DeleteFunc(p.forged, func(f forgery) bool { return f.round >= rounds })
	p.order = slices.DeleteFunc(p.order, func(l link) bool { return l.round >= rounds })
}

// cost orders schedules: fewer rounds, then fewer rounds with messages, then fewer isolations and lost links together.
// Fewer lost links, fewer requests and other acts, later isolations, and smaller draws follow.
type cost [7]int

func (c cost) less(d cost) bool { return slices.Compare(c[:], d[:]) < 0 }

func (c cost) isolations() int { return c[2] - c[3] }

// within reports whether there are no more rounds, isolations, lost links and acts.
func (c cost) within(d cost) bool {
	return c[0] <= d[0] && c.isolations() <= d.isolations() && c[3] <= d[3] && c[4] <= d[4]
}

func (s schedule) cost() cost {
	c := cost{1: s.active}
	for _, p := range s.phases {
		c[0] += p.rounds
		c[2] += len(p.lost)
		c[3] += len(p.lost)
		c[4] += len(p.acts) + len(p.forged)
		for _, a := range p.acts {
			c[6] += weight(a.draws)
		}
		for _, start := range p.start {
			if start < p.rounds {
				c[2]++
				c[5] += p.rounds - start
			}
		}
	}
	return c
}

func (s schedule) size() string {
	c := s.cost()
	text := fmt.Sprintf("%s, %s (%d with messages), %s", words.Count(len(s.phases), "phase"),
		words.Count(c[0], "round"), c[1], words.Count(c.isolations(), "isolation"))
	if c[3] > 0 {
		text += fmt.Sprintf(", %d lost %s", c[3], words.Plural(c[3], "link"))
	}
	requests := 0
	for _, p := range s.phases {
		for _, a := range p.acts {
			requests += mix.Bit(a.step.Kind == trace.Request)
		}
	}
	if requests > 0 {
		text += ", " + words.Count(requests, "request")
	}
	if c[4] > requests {
		text += fmt.Sprintf(", %d other %s", c[4]-requests, words.Plural(c[4]-requests, "step"))
	}
	return text
}

// smaller yields the schedules that are one move smaller. A move removes a phase, an isolation, a lost link, a request
// or a round, or makes an isolation later. After the removal of a phase, nodes may take each other's roles. Therefore
// smaller also lists the schedules whose later phases have the nodes rotated.
func (s schedule) smaller() func(yield func(schedule) bool) {
	return func(yield func(schedule) bool) {
		if s.exact && !yield(s.byRule()) {
			return
		}
		for i := range s.phases {
			for turn := range len(s.phases[i].start) {
				if !yield(s.withoutPhase(i, turn)) {
					return
				}
			}
		}
		for i := range s.phases {
			if !s.smallerPhase(i, yield) {
				return
			}
		}
	}
}

// byRule leaves timers and the order of delivery to the rules of rounds.
func (s schedule) byRule() schedule {
	c := s.clone()
	c.exact = false
	for i := range c.phases {
		p := &c.phases[i]
		p.order = nil
		p.acts = slices.DeleteFunc(p.acts, func(a act) bool { return a.step.Kind == trace.Timer })
	}
	return c
}

func (s schedule) smallerPhase(i int, yield func(schedule) bool) bool {
	p := &s.phases[i]
	for j := range p.acts {
		if !yield(s.edit(i, func(p *phase) { p.acts = slices.Delete(p.acts, j, j+1) })) {
			return false
		}
	}
	for j := range p.forged {
		if !yield(s.edit(i, func(p *phase) { p.forged = slices.Delete(p.forged, j, j+1) })) {
			return false
		}
	}
	for j := range p.lost {
		if !yield(s.edit(i, func(p *phase) { p.lost = slices.Delete(p.lost, j, j+1) })) {
			return false
		}
	}
	for n, start := range p.start {
		for later := p.rounds; later > start; later-- { // first without the isolation, then as late as possible
			if !yield(s.edit(i, func(p *phase) { p.start[n] = later })) {
				return false
			}
		}
	}
	for j := range p.acts {
		if !s.simplerAct(i, j, yield) {
			return false
		}
	}
	return p.rounds < 2 || yield(s.edit(i, func(p *phase) { p.trim(p.rounds - 1) }))
}

// simplerAct yields the schedules with smaller draws in an act.
func (s schedule) simplerAct(i, j int, yield func(schedule) bool) bool {
	for k, v := range s.phases[i].acts[j].draws {
		for less := range lower(v.N) {
			if !yield(s.edit(i, func(p *phase) { p.acts[j].draws = with(p.acts[j].draws, k, less) })) {
				return false
			}
		}
	}
	return true
}

// muchSmaller yields schedules that are a phase smaller and differ in one isolation. A single isolation elsewhere may
// replace the effect of the phase.
func (s schedule) muchSmaller() func(yield func(schedule) bool) {
	return func(yield func(schedule) bool) {
		for i := range s.phases {
			for turn := range len(s.phases[i].start) {
				if !s.withoutPhase(i, turn).different(yield) {
					return
				}
			}
		}
		s.oneForOne(yield)
	}
}

// different yields the schedules that differ in one isolation.
func (s schedule) different(yield func(schedule) bool) bool {
	for i := range s.phases {
		p := &s.phases[i]
		for n, was := range p.start {
			for start := range p.rounds + 1 {
				if start != was && !yield(s.edit(i, func(p *phase) { p.start[n] = start })) {
					return false
				}
			}
		}
	}
	return true
}

// oneForOne yields the schedules without one isolation and with another changed.
func (s schedule) oneForOne(yield func(schedule) bool) {
	for i := range s.phases {
		p := &s.phases[i]
		for n, was := range p.start {
			if was == p.rounds {
				continue
			}
			if !s.edit(i, func(p *phase) { p.start[n] = p.rounds }).different(yield) {
				return
			}
		}
	}
}

// spare is how many isolations more than those of the current schedule are worth trying, up to the number in the
// original run. They may save a phase or keep rounds empty.
const spare = 2

// all yields every schedule with at most as many phases, at most limit isolations and no other losses. Schedules with
// few isolations come first, as far as the remaining attempts allow.
func (s schedule) all(limit int, left *int) func(yield func(schedule) bool) {
	return func(yield func(schedule) bool) {
		most := min(s.cost()[2]+spare, limit)
		for phases := 1; phases <= len(s.phases); phases++ {
			empty := s.clone()
			empty.phases = empty.phases[:phases]
			for i := range empty.phases {
				p := &empty.phases[i]
				p.rounds, p.lost = s.phases[0].rounds, nil
				for n := range p.start {
					p.start[n] = p.rounds
				}
			}
			for isolations := 0; isolations <= most; isolations++ {
				if empty.ways(isolations) > float64(*left) {
					break
				}
				if !empty.isolate(0, isolations, yield) {
					return
				}
			}
		}
	}
}

// ways returns the number of ways to add this number of isolations to a schedule without isolations.
func (s schedule) ways(isolations int) float64 {
	cells, ways := float64(len(s.phases)*len(s.phases[0].start)), 1.0
	for i := range isolations {
		ways *= (cells - float64(i)) / float64(i+1) * float64(s.phases[0].rounds)
	}
	return ways
}

// isolate yields the schedules with this number of additional isolations, at cells from the given one on. A yielded
// schedule is valid until the next one.
func (s schedule) isolate(cell, isolations int, yield func(schedule) bool) bool {
	if isolations == 0 {
		return yield(s)
	}
	nodes := len(s.phases[0].start)
	for ; cell < len(s.phases)*nodes; cell++ {
		for start := s.phases[0].rounds - 1; start >= 0; start-- {
			s.phases[cell/nodes].start[cell%nodes] = start
			if !s.isolate(cell+1, isolations-1, yield) {
				return false
			}
		}
		s.phases[cell/nodes].start[cell%nodes] = s.phases[0].rounds
	}
	return true
}

func (s schedule) edit(i int, change func(*phase)) schedule {
	c := s.clone()
	change(&c.phases[i])
	return c
}

// withoutPhase removes a phase and rotates the nodes in all later phases by turn.
func (s schedule) withoutPhase(i, turn int) schedule {
	c := s.clone()
	c.phases = slices.Delete(c.phases, i, i+1)
	for j := i; j < len(c.phases) && turn > 0; j++ {
		p := &c.phases[j]
		n := len(p.start)
		renamed := func(x lockstep.Node) lockstep.Node {
			if x == 0 {
				return 0
			}
			return lockstep.Node((int(x)-1+turn)%n + 1)
		}
		start := slices.Clone(p.start)
		for k, v := range start {
			p.start[(k+turn)%n] = v
		}
		for k := range p.lost {
			p.lost[k].from, p.lost[k].to = renamed(p.lost[k].from), renamed(p.lost[k].to)
		}
		for k := range p.acts {
			if a := &p.acts[k].step; a.Kind != trace.Request { // the node of a request does not change
				a.Node, p.acts[k].draws = renamed(a.Node), byOthers(p.acts[k].draws, renamed)
			}
		}
		for k := range p.order {
			p.order[k].from, p.order[k].to = renamed(p.order[k].from), renamed(p.order[k].to)
		}
		for k := range p.forged {
			p.forged[k].from, p.forged[k].to = renamed(p.forged[k].from), renamed(p.forged[k].to)
		}
	}
	return c
}
