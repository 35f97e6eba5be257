package shrink

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// schedule is a run in lock-step rounds, decomposed into removable parts.
type schedule struct {
	phases []phase
	active int // rounds that had messages when the schedule was run
	// exact says that timers fire only where they did, and that messages are delivered in the recorded order. Otherwise
	// both follow from the rules of rounds.
	exact bool
	// byCrash says that isolated nodes crash, in a system without messages.
	byCrash bool
	// afresh says that all nodes are down between phases.
	afresh bool
	// loose says that messages wait for the next round of their name.
	loose bool
	// apart is the behavior of isolated nodes.
	apart rounds.Isolation
}

// phase is a sequence of rounds after which isolated nodes reconnect.
type phase struct {
	rounds int
	start  []int // by node-1: the round of the phase from which the node is isolated; rounds means never
	lost   []loss
	acts   []act
	forged []forgery
	order  []link // if the schedule is exact: links in the order of their first deliveries
}

// counts reports whether the position of a message among those of its link matters.
func (p *phase) counts() bool {
	return len(p.forged) > 0 || slices.ContainsFunc(p.lost, func(l loss) bool { return l.nth > 0 })
}

// link is a link in one round of a phase.
type link struct {
	round    int
	from, to lockstep.Node
}

// loss is a link that loses messages, beyond isolation. It loses the nth message of the round, counted from 1, or all
// of them when nth is 0.
type loss struct {
	link
	nth int
}

// forgery is the nth message of a link, delivered with another body.
type forgery struct {
	link
	nth  int
	body string
}

// act is a step taken at the start of a round of a phase: a request, a crash and so on.
type act struct {
	round int
	step  lockstep.Step
	draws []trace.Draw // draws of the system in this step
}

// scheduleOf derives the schedule of a trace in rounds.
func scheduleOf(t *trace.Trace, exact bool, loose bool, apart rounds.Isolation) schedule {
	s := schedule{exact: exact, loose: loose, apart: apart}
	reader := scheduleReader{schedule: &s, trace: t, at: make([][2]int, len(t.Rounds)+1),
		sent: map[trace.ID]trace.Message{}, taken: map[int]map[link][]bool{}}
	for _, r := range t.Rounds {
		if len(s.phases) < r.Phase {
			s.phases = append(s.phases, phase{start: make([]int, t.Header.Nodes)})
		}
		p := &s.phases[len(s.phases)-1]
		reader.at[r.Number] = [2]int{len(s.phases) - 1, p.rounds}
		for n := range p.start {
			if p.start[n] == p.rounds && r.Kernel.Has(lockstep.Node(n+1)) {
				p.start[n]++
			}
		}
		p.rounds++
	}
	reader.cut = trace.NewLinks(t.Header.Nodes)
	took := func(kind trace.Kind) bool {
		return slices.ContainsFunc(t.Records, func(r trace.Record) bool { return r.Step.Kind == kind && !r.Settle })
	}
	reader.coarse = took(trace.Wait)
	s.byCrash = reader.coarse && !took(trace.Cut) && took(trace.Crash)
	s.afresh = s.byCrash && slices.ContainsFunc(t.Records, reader.begins)
	for i := range t.Records {
		reader.read(&t.Records[i])
	}
	reader.losses()
	return s
}

// scheduleReader adds the steps of a trace to the schedule of its rounds.
type scheduleReader struct {
	schedule *schedule
	trace    *trace.Trace
	at       [][2]int // by number of the round: phase, round of the phase
	sent     map[trace.ID]trace.Message
	taken    map[int]map[link][]bool // by phase: the messages of each link in order, true if lost
	coarse   bool                    // rounds are time intervals, and losses are cuts
	cut      trace.Links             // only if coarse
}

func (d *scheduleReader) read(r *trace.Record) {
	for _, m := range r.Sent {
		d.sent[m.ID] = m.Message
	}
	if r.Round == 0 || r.Settle || r.Step.Kind == trace.Start {
		return
	}
	if d.coarse && d.readCoarse(r) {
		return
	}
	s, i, round := d.schedule, d.at[r.Round][0], d.at[r.Round][1]
	p, m := &s.phases[i], d.sent[r.Step.Msg]
	l := link{round, m.From, m.To}
	switch r.Step.Kind {
	case trace.Deliver, trace.Drop:
		if s.exact && !slices.Contains(p.order, l) {
			p.order = append(p.order, l)
		}
		if p.isolates(m, round) {
			return
		}
		if d.taken[i] == nil {
			d.taken[i] = map[link][]bool{}
		}
		d.taken[i][l] = append(d.taken[i][l], r.Step.Kind == trace.Drop)
	case trace.Replace:
		p.forged = append(p.forged, forgery{l, len(d.taken[i][l]) + 1, r.Body})
	case trace.Timer:
		names := len(d.trace.Header.Rounds)
		if byRule := names == 0 || (r.Round-1)%names == 0; byRule && !s.exact {
			return
		}
		p.acts = append(p.acts, act{round, r.Step, r.Draws})
	case trace.Duplicate:
	default:
		p.acts = append(p.acts, act{round, r.Step, r.Draws})
	}
}

// begins reports whether a record crashes a node at the beginning of a phase in which the node is not isolated.
func (d *scheduleReader) begins(r trace.Record) bool {
	if r.Step.Kind != trace.Crash || r.Round == 0 || r.Settle {
		return false
	}
	at := d.at[r.Round]
	return at[1] == 0 && !d.schedule.phases[at[0]].isolated(r.Step.Node, 0)
}

// readCoarse reads a step that a driver took for a round because the engine does not control messages, and reports
// whether it is one. Isolation follows from the kernel; other cuts are lost links.
func (d *scheduleReader) readCoarse(r *trace.Record) bool {
	p, round := &d.schedule.phases[d.at[r.Round][0]], d.at[r.Round][1]
	switch step := &r.Step; step.Kind {
	case trace.Cut, trace.Heal:
		d.cut.Switch(step)
	case trace.Wait:
		for from, to := range d.cut {
			for n := range to.All() {
				if !p.isolated(lockstep.Node(from), round) && !p.isolated(n, round) {
					p.lost = append(p.lost, loss{link{round, lockstep.Node(from), n}, 0})
				}
			}
		}
	case trace.Crash:
		return d.schedule.byCrash && p.isolated(step.Node, round) || d.schedule.afresh && round == 0
	case trace.Restart:
		return d.schedule.byCrash && !p.isolated(step.Node, round)
	default:
		return false
	}
	return true
}

// losses adds the lost messages: a whole link if no message of it was delivered in the round.
func (d *scheduleReader) losses() {
	for i := range d.schedule.phases {
		p := &d.schedule.phases[i]
		for _, l := range slices.SortedFunc(maps.Keys(d.taken[i]), link.compare) {
			lost := d.taken[i][l]
			if !slices.Contains(lost, false) {
				p.lost = append(p.lost, loss{l, 0})
				continue
			}
			for nth, yes := range lost {
				if yes {
					p.lost = append(p.lost, loss{l, nth + 1})
				}
			}
		}
		slices.SortFunc(p.lost, func(a, b loss) int {
			return slices.Compare([]int{a.round, int(a.from), int(a.to), a.nth},
				[]int{b.round, int(b.from), int(b.to), b.nth})
		})
	}
}

func (p *phase) isolated(n lockstep.Node, round int) bool { return n != 0 && p.start[n-1] <= round }

func (p *phase) isolates(m trace.Message, round int) bool {
	return p.isolated(m.From, round) || p.isolated(m.To, round)
}

func (s schedule) clone() schedule {
	s.phases = slices.Clone(s.phases)
	for i := range s.phases {
		p := &s.phases[i]
		p.start, p.lost, p.acts = slices.Clone(p.start), slices.Clone(p.lost), slices.Clone(p.acts)
		p.forged, p.order = slices.Clone(p.forged), slices.Clone(p.order)
	}
	return s
}

func (s schedule) scheduler(k *shrinker) lockstep.Scheduler {
	if k.rounds == nil {
		k.rounds = &scheduled{taken: map[link]int{}}
		k.rounds.driver = rounds.New(k.info, 0, k.rounds)
		switch {
		case s.afresh:
			k.rounds.driver.Afresh()
		case s.byCrash:
			k.rounds.driver.ByCrash()
		}
	}
	k.rounds.driver.Loosely(s.loose)
	k.rounds.driver.Isolates(s.apart)
	k.rounds.schedule = s
	return k.rounds
}

// scheduled is the scheduler of a schedule.
type scheduled struct {
	schedule
	driver   *rounds.Driver
	now      *phase
	round    int // round of the phase
	acted    int
	counting bool // the position of a message among those of its link matters
	// messages of each link that were delivered or lost in this round, if their positions matter
	taken map[link]int
	after lockstep.Step // step to take after a forgery
}

func (s *scheduled) Reset(*lockstep.Start) {
	number := 0
	for _, p := range s.phases {
		number += p.rounds
	}
	s.driver.Reset(number)
	s.after = lockstep.Step{}
}

func (s *scheduled) Report(bool) lockstep.SchedulerStats { return lockstep.SchedulerStats{} }

func (s *scheduled) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if s.after.Kind != trace.Start {
		*next, s.after = s.after, lockstep.Step{}
		return true
	}
	if !s.driver.Next(turn, next) {
		return false
	}
	if next.Kind == trace.Deliver && len(s.now.forged) > 0 {
		m := turn.Message(next.Msg)
		l := link{s.round, m.From, m.To}
		for _, f := range s.now.forged {
			if f.link == l && f.nth == s.taken[l] {
				s.after = *next
				*next = turn.Forge(next.Msg, f.body)
				break
			}
		}
	}
	return true
}

func (s *scheduled) Open(round int, turn *lockstep.Turn) (int, lockstep.Nodes) {
	i := 0
	for i = range s.phases {
		s.now, s.round = &s.phases[i], round
		if round < s.now.rounds {
			break
		}
		round -= s.now.rounds
	}
	s.acted = 0
	if s.counting = s.now.counts(); s.counting {
		clear(s.taken)
	}
	kernel := turn.All()
	for n := range kernel.All() {
		if s.now.isolated(n, s.round) {
			kernel = kernel.Without(n)
		}
	}
	return i + 1, kernel
}

func (s *scheduled) Loses(m *trace.Message) bool {
	if len(s.now.lost) == 0 && !s.counting {
		return false
	}
	l, nth := link{s.round, m.From, m.To}, 0
	if s.counting {
		s.taken[l]++
		nth = s.taken[l]
	}
	for _, x := range s.now.lost {
		if x.link == l && (x.nth == 0 || x.nth == nth) {
			return true
		}
	}
	return false
}

func (s *scheduled) Give(turn *lockstep.Turn, next *lockstep.Step) bool {
	for s.acted < len(s.now.acts) {
		a := s.now.acts[s.acted]
		s.acted++
		if a.round == s.round && turn.Possible(a.step) {
			*next = a.step
			turn.SetDraws(a.draws)
			return true
		}
	}
	return false
}

func (s *scheduled) Fire(byRule lockstep.Nodes) lockstep.Nodes {
	if s.exact {
		return 0
	}
	return byRule
}

func (s *scheduled) Order(turn *lockstep.Turn, mail []trace.ID) {
	if !s.exact {
		return
	}
	place := func(id trace.ID) int {
		m := turn.Message(id)
		return slices.Index(s.now.order, link{s.round, m.From, m.To})
	}
	rounds.Sort(mail, place)
}

// compare orders links by round, sender and receiver.
func (l link) compare(m link) int {
	return cmp.Or(l.round-m.round, int(l.from)-int(m.from), int(l.to)-int(m.to))
}
