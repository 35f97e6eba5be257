package lockstep

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/trace"
)

// schedule is a run in lock-step rounds, taken apart into what can be made smaller.
type schedule struct {
	phases []phase
	active int // rounds that had messages when it was run
}

// phase is a stretch of rounds after which isolated nodes return.
type phase struct {
	rounds int
	start  []int // by node-1: the round of the phase from which the node is isolated; rounds means never
	lost   []link
	gives  []give
}

// link is a link that loses its messages in one round of a phase, beyond isolation.
type link struct {
	round    int
	from, to Node
}

// give is a request given at the start of a round of a phase.
type give struct {
	round   int
	request int32
	node    Node
}

// scheduleOf reads the schedule of a trace in rounds.
func scheduleOf(t *trace.Trace) schedule {
	var s schedule
	at := make([][2]int, len(t.Rounds)+1) // round number -> phase, round of the phase
	for _, r := range t.Rounds {
		if len(s.phases) < r.Phase {
			s.phases = append(s.phases, phase{start: make([]int, t.Header.Nodes)})
		}
		p := &s.phases[len(s.phases)-1]
		at[r.Number] = [2]int{len(s.phases) - 1, p.rounds}
		for n := range p.start {
			if p.start[n] == p.rounds && r.Kernel.Has(Node(n+1)) {
				p.start[n]++
			}
		}
		p.rounds++
	}
	s.readSteps(t, at)
	return s
}

// readSteps adds the requests and the losses that isolation does not explain.
func (s *schedule) readSteps(t *trace.Trace, at [][2]int) {
	envelopes := map[ID]Message{}
	for i := range t.Records {
		r := &t.Records[i]
		for _, m := range r.Sent {
			envelopes[m.ID] = m.Message
		}
		if r.Round == 0 {
			continue
		}
		p, round := &s.phases[at[r.Round][0]], at[r.Round][1]
		switch r.Step.Kind {
		case trace.Request:
			p.gives = append(p.gives, give{round, r.Step.Request, r.Step.Node})
		case trace.Drop:
			m := envelopes[r.Step.Msg]
			l := link{round, m.From, m.To}
			if !p.isolates(m, round) && !slices.Contains(p.lost, l) {
				p.lost = append(p.lost, l)
			}
		}
	}
}

func (p *phase) isolated(n Node, round int) bool { return n != 0 && p.start[n-1] <= round }

func (p *phase) isolates(m Message, round int) bool {
	return p.isolated(m.From, round) || p.isolated(m.To, round)
}

func (s schedule) clone() schedule {
	c := schedule{phases: slices.Clone(s.phases)}
	for i := range c.phases {
		p := &c.phases[i]
		p.start, p.lost, p.gives = slices.Clone(p.start), slices.Clone(p.lost), slices.Clone(p.gives)
	}
	return c
}

func (s schedule) scheduler(w *worker) Scheduler {
	used, ok := w.sched.(*scheduled)
	if !ok {
		used = &scheduled{driver: NewRounds(w.info, 0)}
	}
	used.schedule, used.driver.number = s, 0
	for _, p := range s.phases {
		used.driver.number += p.rounds
	}
	return used
}

// scheduled is the scheduler of a schedule.
type scheduled struct {
	schedule
	driver *Rounds
	now    *phase
	round  int // of the phase
	given  int
}

func (s *scheduled) Reset(Start) { s.driver.Reset() }

func (s *scheduled) Next(r *Run, next *Step) bool { return s.driver.Next(r, s, next) }

func (s *scheduled) Rounds() []trace.Round { return s.driver.Rounds() }

func (s *scheduled) Open(round int, r *Run) (int, Nodes) {
	i := 0
	for i = range s.phases {
		s.now, s.round = &s.phases[i], round
		if round < s.now.rounds {
			break
		}
		round -= s.now.rounds
	}
	s.given = 0
	kernel := r.all
	for n := range kernel.All() {
		if s.now.isolated(n, s.round) {
			kernel = kernel.Without(n)
		}
	}
	return i + 1, kernel
}

func (s *scheduled) Loses(m *Message) bool {
	return s.now.isolates(*m, s.round) || slices.Contains(s.now.lost, link{s.round, m.From, m.To})
}

func (s *scheduled) Give(r *Run, next *Step) bool {
	for s.given < len(s.now.gives) {
		g := s.now.gives[s.given]
		s.given++
		possible := slices.ContainsFunc(r.pending, func(p Pending) bool { return p.ID == g.request && p.To.Has(g.node) })
		if g.round == s.round && possible && r.up.Has(g.node) {
			*next = Step{Kind: trace.Request, Request: g.request, Node: g.node}
			return true
		}
	}
	return false
}

// schedule shrinks a run in rounds.
func (s *shrinker) schedule(t *trace.Trace) (best candidate, was, is string, err error) {
	now := scheduleOf(t)
	if !s.fails(now) {
		return nil, "", "", s.notRepeated("rounds")
	}
	now = s.cutOff(now)
	was = now.size()
	for again := true; again; {
		if now, again = s.firstSmaller(now, now.smaller()); !again {
			now, again = s.firstSmaller(now, now.muchSmaller())
		}
	}
	now = s.smallest(now, now.all(&s.left))
	return now, was, now.size(), nil
}

// firstSmaller replaces a schedule by the first of the candidates that fails and is
// smaller, and reports whether there was one.
func (s *shrinker) firstSmaller(now schedule, candidates func(yield func(schedule) bool)) (schedule, bool) {
	for c := range candidates {
		if next, ok := s.improves(now, c); ok {
			return next, true
		}
	}
	return now, false
}

// smallest is the smallest of a schedule and the candidates that fail.
func (s *shrinker) smallest(now schedule, candidates func(yield func(schedule) bool)) schedule {
	for c := range candidates {
		now, _ = s.improves(now, c)
	}
	return now
}

// improves is the candidate, cut off where it failed, if it fails and is smaller than
// the schedule, else the schedule.
func (s *shrinker) improves(now, c schedule) (schedule, bool) {
	if s.fails(c) {
		if c = s.cutOff(c); c.cost().less(now.cost()) {
			return c, true
		}
	}
	return now, false
}

// cutOff drops the rounds that the failing run just made did not reach, and what was
// planned for them.
func (s *shrinker) cutOff(c schedule) schedule {
	c = c.clone()
	ran := s.worker.sched.(*scheduled)
	c.active = ran.driver.active
	left := len(ran.driver.opened)
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

// trim shortens a phase to so many rounds.
func (p *phase) trim(rounds int) {
	p.rounds = rounds
	for n := range p.start {
		p.start[n] = min(p.start[n], rounds)
	}
	p.lost = slices.DeleteFunc(p.lost, func(l link) bool { return l.round >= rounds })
	p.gives = slices.DeleteFunc(p.gives, func(g give) bool { return g.round >= rounds })
}

// cost orders schedules: fewer rounds, then fewer rounds with messages, then fewer
// isolations and lost links together, fewer lost links, fewer requests, and later
// isolations.
type cost [6]int

func (c cost) less(d cost) bool { return slices.Compare(c[:], d[:]) < 0 }

func (s schedule) cost() cost {
	c := cost{1: s.active}
	for _, p := range s.phases {
		c[0] += p.rounds
		c[2] += len(p.lost)
		c[3] += len(p.lost)
		c[4] += len(p.gives)
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
	text := fmt.Sprintf("%d phases, %d rounds (%d with messages), %d isolations", len(s.phases), c[0], c[1], c[2]-c[3])
	if c[3] > 0 {
		text += fmt.Sprintf(", %d lost links", c[3])
	}
	if c[4] > 0 {
		text += fmt.Sprintf(", %d requests", c[4])
	}
	return text
}

// smaller yields the schedules that are one move smaller: without a phase, without an
// isolation, a lost link or a request, with a later isolation, without a round. After a
// phase is gone the nodes may play each other's parts, so that what follows is tried
// with the nodes renamed in a circle as well.
func (s schedule) smaller() func(yield func(schedule) bool) {
	return func(yield func(schedule) bool) {
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

func (s schedule) smallerPhase(i int, yield func(schedule) bool) bool {
	p := &s.phases[i]
	for j := range p.gives {
		if !yield(s.edit(i, func(p *phase) { p.gives = slices.Delete(p.gives, j, j+1) })) {
			return false
		}
	}
	for j := range p.lost {
		if !yield(s.edit(i, func(p *phase) { p.lost = slices.Delete(p.lost, j, j+1) })) {
			return false
		}
	}
	for n, start := range p.start {
		for later := p.rounds; later > start; later-- { // never first, then as late as possible
			if !yield(s.edit(i, func(p *phase) { p.start[n] = later })) {
				return false
			}
		}
	}
	return p.rounds < 2 || yield(s.edit(i, func(p *phase) { p.trim(p.rounds - 1) }))
}

// muchSmaller yields schedules that are a phase smaller and differ in one isolation:
// what the phase did for the failure may be done by a single isolation elsewhere.
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

// spare is how many isolations more than the present schedule has are worth trying: they
// may spare a phase or keep rounds empty.
const spare = 2

// all yields every schedule with at most as many phases, a bounded number of isolations
// and no other losses, few isolations first, as far as the tries left allow.
func (s schedule) all(left *int) func(yield func(schedule) bool) {
	return func(yield func(schedule) bool) {
		most := s.cost()[2] + spare
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

// ways is the number of ways to isolate so many nodes in a schedule that isolates none.
func (s schedule) ways(isolations int) float64 {
	cells, ways := float64(len(s.phases)*len(s.phases[0].start)), 1.0
	for i := range isolations {
		ways *= (cells - float64(i)) / float64(i+1) * float64(s.phases[0].rounds)
	}
	return ways
}

// isolate yields the schedules with so many isolations more, at cells from the given on.
// What it yields is valid until the next.
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

// withoutPhase removes a phase and renames the nodes in all later ones by turn.
func (s schedule) withoutPhase(i, turn int) schedule {
	c := s.clone()
	c.phases = slices.Delete(c.phases, i, i+1)
	for j := i; j < len(c.phases) && turn > 0; j++ {
		p := &c.phases[j]
		n := len(p.start)
		renamed := func(x Node) Node {
			if x == 0 {
				return 0
			}
			return Node((int(x)-1+turn)%n + 1)
		}
		start := slices.Clone(p.start)
		for k, v := range start {
			p.start[(k+turn)%n] = v
		}
		for k := range p.lost {
			p.lost[k].from, p.lost[k].to = renamed(p.lost[k].from), renamed(p.lost[k].to)
		}
	}
	return c
}
