package suite

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/distal/conform"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Property is the name under which a campaign counts the rounds that were compared with a test.
const Property = "suite"

// Strategy executes tests: run i is test i. It is a spec, too: a run that diverges from its test has the verdict
// unknown, unless something else is found in it.
type Strategy struct {
	Dir   string
	tests *Tests
	log   *log
}

// log is what the runs so far did.
type log struct {
	mutex    sync.Mutex
	outcomes map[string]*outcome // by test
	test     string              // of the run under way
	states   bool                // what nodes show is compared with the model
	rounds   int                 // compared in the run under way
}

// outcome is what a run did with its test.
type outcome struct {
	diverged *model.Divergence
	ended    bool // the run came to the end of the test
}

// New makes a strategy of tests. It keeps what their runs do.
func New(dir string, tests *Tests) *Strategy {
	return &Strategy{Dir: dir, tests: tests, log: &log{outcomes: map[string]*outcome{}}}
}

// String is the strategy as text.
func (s *Strategy) String() string { return "suite:" + s.Dir }

// Runs is the number of tests.
func (s *Strategy) Runs() int { return len(s.tests.List) }

// Fit reports whether the messages of a system carry the rounds of the model, or have them as types.
func (s *Strategy) Fit(info lockstep.Info) (lockstep.Terms, error) {
	var names []string
	for _, r := range s.tests.Model.Program.Core.Rounds {
		names = append(names, r.Name)
	}
	switch n := s.tests.Model.Program.N; {
	case info.Nodes != n:
		return lockstep.Terms{}, fmt.Errorf("suite: the tests have %d nodes, and %s has %d; allowed: --nodes %d", n,
			info.Name, info.Nodes, n)
	case len(info.Rounds) > 0 && !slices.Equal(info.Rounds, names):
		return lockstep.Terms{}, fmt.Errorf("suite: the rounds of the model are %v, and those of the messages of %s %v; "+
			"a suite needs a model with the rounds of the messages", names, info.Name, info.Rounds)
	case len(info.Rounds) == 0 && !within(names, info.Types):
		return lockstep.Terms{}, fmt.Errorf("suite: the rounds of the model are %v, and the messages of %s have no rounds, "+
			"but the types %v; a suite needs a model whose rounds are types", names, info.Name, info.Types)
	}
	if err := info.Require("suite", rounds.Need(info)); err != nil {
		return lockstep.Terms{}, err
	}
	return lockstep.Terms{Runs: len(s.tests.List), Fixed: "the tests of " + s.Dir, Sequential: true, Events: true}, nil
}

// within reports whether all names are in a list.
func within(names, list []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(list, n) })
}

// New makes the scheduler, which executes the tests in their order.
func (s *Strategy) New(info lockstep.Info) lockstep.Scheduler {
	longest := 0
	for _, t := range s.tests.List {
		longest = max(longest, len(t.Rounds))
	}
	out := &scheduler{suite: s, typed: len(info.Rounds) == 0}
	out.driver = rounds.New(info, longest, out)
	out.driver.Isolates(rounds.CutOff)
	if see, err := conform.Observe(s.tests.Model.Program, info); err == nil {
		out.see = see
		s.log.mutex.Lock()
		s.log.states = true
		s.log.mutex.Unlock()
	}
	return out
}

// Result is what the runs so far did with the tests.
func (s *Strategy) Result() *model.Suite {
	s.log.mutex.Lock()
	defer s.log.mutex.Unlock()
	out := &model.Suite{Dir: s.Dir, States: s.log.states, Tests: len(s.tests.List), Diverged: []model.Divergence{}}
	for _, t := range s.tests.List {
		d, made := s.log.outcomes[t.Name]
		switch {
		case !made:
			out.NotRun++
		case d.diverged != nil:
			out.Diverged = append(out.Diverged, *d.diverged)
		case d.ended:
			out.Realized++
		default:
			out.Ended++
		}
	}
	return out
}

// scheduler executes one test after the other.
type scheduler struct {
	typed  bool // messages have no tags: their types are rounds
	suite  *Strategy
	driver *rounds.Driver
	see    conform.Observer // nil: what nodes show is not compared with the model
	test   *Test
	round  int   // the index of the round under way; -1: none yet
	start  int   // the index of the timeout or request under way
	fired  int   // how often its timer fired
	sent   int   // messages before that
	base   int64 // the phases of messages are larger than those of the model by this
	based  bool  // base is known
	failed string
}

// Reset begins a test.
func (s *scheduler) Reset(start *lockstep.Start) {
	start.SeedOf = 0 // tests differ in their rounds alone
	s.test = &s.suite.tests.List[start.Run%len(s.suite.tests.List)]
	s.round, s.base, s.based, s.failed = -1, 0, false, ""
	s.driver.Reset(len(s.test.Rounds))
	if s.see != nil {
		s.see.Reset()
	}
	s.suite.log.begin(s.test.Name)
}

func (l *log) begin(test string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.test, l.rounds, l.outcomes[test] = test, 0, &outcome{}
}

// Next follows the events of the last step and chooses the next one.
func (s *scheduler) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if s.see != nil {
		events := turn.Events()
		for i := range events {
			if _, err := s.see.Event(&turn.Run, &events[i]); err != nil {
				s.diverge(int(events[i].Node), "an event that the model has", err.Error())
			}
		}
	}
	if s.driver.Next(turn, next) {
		return true
	}
	s.compare()
	s.suite.log.end(s.test.Name)
	return false
}

// Report names the test for the header of a trace.
func (s *scheduler) Report(bool) lockstep.SchedulerStats {
	if s.test == nil { // no run was made
		return lockstep.SchedulerStats{}
	}
	return lockstep.SchedulerStats{Drawn: map[string]string{"test": s.test.Name}}
}

// Open compares the round before with the model, and begins a round in which all nodes may hear each other.
func (s *scheduler) Open(round int, turn *lockstep.Turn) (int, lockstep.Nodes) {
	s.compare()
	s.round, s.start, s.fired = round, 0, 0
	return int(s.now().Tag.Phase), turn.All()
}

// now is the round under way.
func (s *scheduler) now() *Round { return &s.test.Rounds[s.round] }

// maxFirings is how often the timer of a node fires for one timeout: it may count ticks.
const maxFirings = 100

// Give takes what the round begins with, one after the other: a request, or the timer of a node until the node sends
// something.
func (s *scheduler) Give(turn *lockstep.Turn, next *lockstep.Step) bool {
	for ; s.start < len(s.now().Starts); s.start, s.fired = s.start+1, 0 {
		n := lockstep.Node(s.now().Starts[s.start].Node)
		if s.now().Starts[s.start].Request {
			if s.request(turn, n, next) {
				s.start++
				return true
			}
			continue
		}
		if s.fired == 0 {
			s.sent = len(turn.Messages())
		}
		acted := slices.ContainsFunc(turn.Messages()[s.sent:], func(m trace.Message) bool { return m.From == n })
		if acted || s.fired == maxFirings {
			continue
		}
		if turn.Timers().Has(n) {
			s.fired++
			next.Kind, next.Node = trace.Timer, n
			return true
		}
		s.diverge(int(n), "a timeout", "it has no timer")
	}
	return false
}

// request gives a node the first request that waits for it.
func (s *scheduler) request(turn *lockstep.Turn, n lockstep.Node, next *lockstep.Step) bool {
	for _, p := range turn.Pending() {
		if p.To.Has(n) {
			next.Kind, next.Request, next.Node = trace.Request, p.ID, n
			return true
		}
	}
	s.diverge(int(n), "a request", "no request waits for it")
	return false
}

// Fire fires no timer by the rules of rounds.
func (s *scheduler) Fire(lockstep.Nodes) lockstep.Nodes { return 0 }

// Loses loses what the test does not let a node hear.
func (s *scheduler) Loses(m *trace.Message) bool {
	return !s.belongs(m) || s.now().Hear[m.To-1]>>(m.From-1)&1 == 0
}

// belongs reports whether a message is one of the round. The system may count phases from another number than the
// model: the first message of a run says from which.
func (s *scheduler) belongs(m *trace.Message) bool {
	tag := s.now().Tag
	if s.typed {
		return m.From >= 1 && m.Type == s.now().Name
	}
	if m.From < 1 || int(m.Tag.Round) != tag.Round {
		return false
	}
	if !s.based {
		s.based, s.base = true, int64(m.Tag.Phase)-tag.Phase
	}
	return int64(m.Tag.Phase)-s.base == tag.Phase
}

// Order compares the messages of the round with those that the model sends, and leaves them in their order.
func (s *scheduler) Order(turn *lockstep.Turn, mail []trace.ID) {
	round := s.now()
	sent := make([]uint64, len(round.Sent))
	for _, id := range mail {
		m := turn.Message(id)
		switch {
		case s.belongs(m):
			sent[m.From-1] |= 1 << (m.To - 1)
		case s.typed && m.From >= 1:
			s.diverge(int(m.From), s.sending(round.Sent[m.From-1]), fmt.Sprintf("%s to %d", m.Type, m.To))
		}
	}
	for n := range sent {
		if sent[n] != round.Sent[n] {
			s.diverge(n+1, s.sending(round.Sent[n]), s.sending(sent[n]))
		}
	}
}

// sending lists the nodes to which a node sends in this round.
func (s *scheduler) sending(to uint64) string {
	if to == 0 {
		return "no " + s.now().Name
	}
	return fmt.Sprintf("%s to %s", s.now().Name, nodesText(to))
}

// compare compares what nodes have shown with their states in the model at the end of the round under way.
func (s *scheduler) compare() {
	if s.round < 0 {
		return
	}
	s.suite.log.compared()
	if s.see == nil {
		return
	}
	for i, state := range s.now().States {
		if !s.see.Agrees(i+1, state) {
			s.diverge(i+1, s.suite.tests.Model.Program.FormatState(state), s.see.Text(i+1))
		}
	}
}

func (l *log) end(test string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.outcomes[test].ended = true
}

func (l *log) compared() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.rounds++
}

// diverge notes the first divergence of a run. What comes after it says little.
func (s *scheduler) diverge(node int, expected, observed string) {
	if s.failed != "" {
		return
	}
	d := &model.Divergence{Test: s.test.Name, Round: s.round + 1, Node: node, Expected: expected,
		Observed: strings.TrimSpace(observed)}
	if s.round >= 0 {
		d.Name = s.now().Name
	}
	s.failed = d.String()
	l := s.suite.log
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.outcomes[s.test.Name].diverged = d
}

// Spec gives runs that diverge from their test the verdict unknown.
func (s *Strategy) Spec() lockstep.Spec { return spec{s.log} }

type spec struct{ log *log }

// Properties names what is counted.
func (spec) Properties() []string { return []string{Property} }

// New makes a monitor.
func (s spec) New(lockstep.Info) lockstep.Monitor { return &monitor{log: s.log} }

// monitor reads what the scheduler has found. The strategy is sequential, so that both are of the same run.
type monitor struct {
	log     *log
	checked [1]int
}

// Reset begins a run.
func (*monitor) Reset() {}

// EventsOnly reports that no step matters.
func (*monitor) EventsOnly() bool { return true }

// Step finds nothing.
func (*monitor) Step(*lockstep.Run) *lockstep.Finding { return nil }

// End finds nothing.
func (*monitor) End(*lockstep.Run) *lockstep.Finding { return nil }

// Conclude says where the run diverged.
func (m *monitor) Conclude(bool) lockstep.Conclusion {
	m.log.mutex.Lock()
	defer m.log.mutex.Unlock()
	m.checked[0] = m.log.rounds
	c := lockstep.Conclusion{Checked: m.checked[:]}
	switch o := m.log.outcomes[m.log.test]; {
	case o == nil:
	case o.diverged != nil:
		c.Undecided = Property + ": " + o.diverged.String()
	case !o.ended:
		c.Undecided = fmt.Sprintf("%s: test %s ended before its last round; allow more steps", Property, m.log.test)
	}
	return c
}
