package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Partition generates the tests that "Why Is Random Testing Effective for Partition Tolerance Bugs?" studies (Majumdar,
// Niksic; POPL 2018). A run has a number of stages, each with one partition of the nodes: operations, the partition,
// operations under it, healing, operations. In between, the network is fair: messages are delivered in sending order,
// and timers fire when they are due.
//
// An operation is a waiting request, drawn from all waiting requests, given to a drawn node. Partitions are drawn
// uniformly from all of their kind, or taken in turn from a family.
//
// A goal is one choice of nodes to which a partition should do something, e.g. to separate node 1 from nodes 2 and 3. A
// [Criterion] is a set of goals that are alike, e.g. to separate any node from any two others. A partition covers a
// goal if it does that. A family is a set of partitions of which, for every goal of the criterion, at least one covers
// it.
//
// With a role, the goal is about the nodes that play the role when the partition begins. The strategy uses the first
// drawn partition that covers the goal. For example, criterion=isolate,role=leader isolates the current leader in a
// minority.
//
// With a partition sequence, its partitions replace the one partition of a stage. They follow each other directly,
// without healing. Each differs from the previous partition, and operations run under each of them. See
// [cover.ParsePartitionSequence] for the syntax, and [cover.Sampling] for the probability that such a run covers the
// sequence.
type Partition struct {
	// Criterion is what partitions should do to nodes. The guarantee is about the goals of the criterion, and the
	// family covers them. The zero value is Splitting.
	Criterion Criterion `help:"goal of a partition: split k nodes, separate k from l, isolate a node in a minority"`
	K         int       `help:"nodes to split (0: 2), or on the one side when separating (0: 1)"`
	L         int       `help:"nodes on the other side when separating (0: 1)"`
	// Balanced draws only partitions whose sides differ by at most one node. To isolate a node in a minority of an even
	// number n of nodes, the sides have n/2-1 and n/2+1 nodes instead: the paper calls such partitions semibalanced.
	Balanced bool `help:"only partitions whose sides differ by at most one node"`
	// Bridge is the number of further nodes that a goal names, beside its K and L. They must stay connected to all
	// sides.
	Bridge int `help:"further nodes of a goal, which stay connected to all sides"`
	// Family takes partitions in run order from a small family that covers every goal of the criterion, instead of
	// drawing them.
	Family bool `help:"walk through a small family that covers every goal, instead of drawing"`
	// Role and Other name roles that replace the nodes in the goal; Other is for separating only.
	Role  string `help:"the goal is about the nodes with this role, e.g. leader; empty: about any nodes"`
	Other string `help:"when separating by role, the role of the other side"`

	// Sequence is a partition sequence, in the syntax of cover.ParsePartitionSequence. It replaces the criterion and
	// its numbers.
	Sequence string `help:"partitions that follow each other directly, e.g. 2|2 then 1|3, instead of a criterion; see docs/concepts/coverage.md"`
	// Seek is for a partition sequence that names roles. When a partition of the sequence is due, the strategy draws
	// until a partition does what the sequence says, with the roles of that time. After 100 draws it takes the last.
	Seek bool `help:"draw until a partition does what the sequence says with the roles that nodes play by then"`

	Stages int `help:"partitions of a run, one after the other; of a partition sequence: how often it is run" range:"1.."`
	Before int `help:"operations before a partition or sequence" range:"0.."`
	During int `help:"operations under a partition, or under each partition of a sequence" range:"0.."`
	After  int `help:"operations after healing" range:"0.."`
	// Sides gives the operations under a partition to nodes of each side in turn, instead of to any node.
	Sides bool `help:"give the operations under a partition to each side in turn"`
	// Steps is the number of fair steps at the start, after each partition, each operation and each healing. There are
	// fewer if no step is possible. 0 means 40, or 2 if a step is a time interval.
	Steps int `help:"fair steps after each partition, operation and healing, and at the start (0: 40, or 2 where a step is a time interval)" range:"0.."`
	// Vary draws each of these numbers from 1..Steps, so that partitions and operations interrupt activity of the
	// system.
	Vary bool `help:"draw each number of fair steps from 1..steps"`
	// Wipe makes a partition lose the messages in flight across it; otherwise they are still delivered.
	Wipe bool `help:"a partition loses what is in flight across it"`
}

// DefaultPartition has three partitions into two sides.
var DefaultPartition = Partition{Stages: 3, Before: 1, During: 2, After: 1, Vary: true}

// The number of fair steps when Partition.Steps is zero. fairSteps is for messages that are delivered one by one.
// fairIntervals is for steps that are time intervals, in which servers agree.
const (
	fairSteps     = 40
	fairIntervals = 2
)

// Criterion says what a partition must do to some nodes: split all of them, separate two sets, or isolate a node in a
// minority. A goal of the criterion names the nodes.
type Criterion uint8

// The criteria of package cover.
const (
	Splitting         Criterion = iota // K nodes are all on different sides
	Separation                         // K nodes are on one side, L others on another
	MinorityIsolation                  // a node is on a side with less than half of the nodes
)

var criterionNames = []string{"split", "separate", "isolate"}

// Words lists the names of all criteria, for the parser of options.
func (Criterion) Words() []string { return criterionNames }

// String returns the name of the criterion.
func (c Criterion) String() string { return option.Word(criterionNames, int(c)) }

// String returns the strategy as written on the command line.
func (p Partition) String() string { return write("partition", p) }

// Fit returns the terms on which the strategy explores the system.
func (p Partition) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := fits("partition", p, info); err != nil {
		return lockstep.Terms{}, err
	}
	t := lockstep.Terms{Guarantee: p.guarantee(info), Order: &trace.Order{}}
	if p.Family && p.Role == "" {
		t.Measured = func(seen lockstep.RunStats) lockstep.Guarantee { return p.walked(info, seen) }
	}
	return t, nil
}

// check reports an invalid option, or why the strategy does not fit the system.
func (p Partition) check(info lockstep.Info) error {
	if err := p.checkRoles(info); err != nil {
		return err
	}
	var err error
	if p.Sequence != "" {
		err = p.checkSequence(info)
	} else {
		err = p.checkCriterion(info)
	}
	if err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	need := trace.KindsOf(trace.Cut, trace.Heal)
	if !rounds.Coarse(info) {
		need |= trace.KindsOf(trace.Deliver)
	}
	if p.Wipe {
		need |= trace.KindsOf(trace.Drop)
	}
	return info.Require("partition", need)
}

func (p Partition) checkRoles(info lockstep.Info) error {
	if p.Other != "" && (p.Criterion != Separation || p.Role == "") {
		return fmt.Errorf("partition: other is %s, it requires criterion=separate and a role", p.Other)
	}
	if p.Role != "" && p.Other == "" && p.Criterion == Separation {
		return fmt.Errorf("partition: role is %s, to separate it from something set other, too", p.Role)
	}
	for _, role := range []string{p.Role, p.Other} {
		if err := hasRole(info, role); role != "" && err != nil {
			return fmt.Errorf("partition: %w", err)
		}
	}
	return nil
}

// hasRole returns an error that lists the system's roles if role is not one of them.
func hasRole(info lockstep.Info, role string) error {
	if slices.Contains(info.Roles, role) {
		return nil
	}
	known := "none"
	if len(info.Roles) > 0 {
		known = strings.Join(info.Roles, ", ")
	}
	return fmt.Errorf("%s has no role %q, its roles are: %s", info.Name, role, known)
}

func (p Partition) checkCriterion(info lockstep.Info) error {
	if p.Seek {
		return fmt.Errorf("seek requires a partition sequence; for a criterion, set role")
	}
	criterion, space, err := p.Tested(info.Nodes)
	if err == nil && p.Family {
		_, err = cover.Build(criterion, space)
	}
	return err
}

func (p Partition) checkSequence(info lockstep.Info) error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"criterion", p.Criterion != 0},
		{"k", p.K != 0},
		{"l", p.L != 0},
		{"bridge", p.Bridge != 0},
		{"family", p.Family},
		{"role", p.Role != ""},
		{"sides", p.Sides},
	} {
		if f.set {
			return fmt.Errorf("%s does not go with a partition sequence, which says itself what is drawn", f.name)
		}
	}
	sequence, err := cover.ParsePartitionSequence(p.Sequence)
	if err != nil {
		return err
	}
	for _, role := range sequence.Roles() {
		if err := hasRole(info, role); err != nil {
			return err
		}
	}
	if _, err := sequence.Spaces(info.Nodes, p.Balanced); err != nil {
		return err
	}
	_, err = bare(sequence).Probability(cover.Sampling{Nodes: info.Nodes, Balanced: p.Balanced})
	return err
}

// bare returns a partition sequence without its operations; the strategy does not know which operations are drawn.
func bare(sequence cover.PartitionSequence) cover.PartitionSequence {
	sequence = slices.Clone(sequence)
	for i := range sequence {
		sequence[i].Ops = nil
	}
	return sequence
}

// Tested returns what the options say for this number of nodes: the criterion whose goals the partitions must cover,
// and the space of partitions from which the strategy draws. A coverage report measures how many of these goals the
// runs have covered.
func (p Partition) Tested(nodes int) (cover.Criterion, cover.Space, error) {
	return cover.Params{Criterion: p.Criterion.String(), Nodes: nodes, K: p.K, L: p.L, Balanced: p.Balanced,
		Bridge: p.Bridge}.Tested()
}

// guarantee returns the probability that one of the partitions of a run covers a goal, by the theorems of package
// cover.
func (p Partition) guarantee(info lockstep.Info) lockstep.Guarantee {
	if p.Sequence != "" {
		return p.sequenceGuarantee(info)
	}
	criterion, space, err := p.Tested(info.Nodes)
	if err != nil {
		return lockstep.Guarantee{Class: "a goal", Assumes: []string{err.Error()}}
	}
	chance, _ := cover.ProbabilityOf(criterion, space) // Tested has already checked that this succeeds
	one, _ := chance.P.Float64()
	class := fmt.Sprintf("a given goal of %v", criterion)
	if p.Stages > 1 {
		class += fmt.Sprintf(" with one of its %d partitions", p.Stages)
	}
	g := lockstep.Guarantee{Class: class, Space: chance.Goals,
		PerRun:  atLeastOnce(one, p.Stages),
		Assumes: []string{"operations and the number of fair steps are not part of the goal"}}
	switch {
	case p.Role != "" && p.Criterion == MinorityIsolation:
		g.Class, g.Space = fmt.Sprintf("the node with the role %s in a minority", p.Role), nil
		g.PerRun = atLeastOnce(one, attempts)
		g.Assumes = append(g.Assumes, "just one node plays the role when the partition comes")
	case p.Role != "":
		g.Space, g.PerRun = nil, 0
		g.Assumes = []string{"how many nodes play a role is not known before"}
	case p.Family:
		runs := p.walk(criterion, space)
		g.PerRun = 1 / float64(runs)
		g.Assumes = append(g.Assumes,
			fmt.Sprintf("a run with a number drawn at random: any %d runs in a row cover every goal", runs))
	}
	return g
}

// walk returns the number of consecutive runs that cover the whole family.
func (p Partition) walk(criterion cover.Criterion, space cover.Space) int {
	family, _ := cover.Build(criterion, space) // check has already built the family
	return (len(family.Partitions) + p.Stages - 1) / p.Stages
}

// walked returns the guarantee of a walk through a family for the executed runs. It is certain if the runs covered the
// whole family and every partition took effect.
func (p Partition) walked(info lockstep.Info, seen lockstep.RunStats) lockstep.Guarantee {
	g := p.guarantee(info)
	criterion, space, err := p.Tested(info.Nodes)
	if g.Certain = err == nil && seen.Runs >= p.walk(criterion, space) &&
		seen.Hits == seen.Runs*p.Stages; g.Certain {
		g.Class = fmt.Sprintf("a given goal of %v", criterion)
	}
	return g
}

// sequenceGuarantee returns the probability that a sampling covers the sequence's partitions.
func (p Partition) sequenceGuarantee(info lockstep.Info) lockstep.Guarantee {
	sequence, err := cover.ParsePartitionSequence(p.Sequence)
	if err != nil {
		return lockstep.Guarantee{Class: "the partition sequence", Assumes: []string{err.Error()}}
	}
	g := lockstep.Guarantee{Class: fmt.Sprintf("the partition sequence %v", sequence),
		Assumes: []string{"operations and the number of fair steps are not part of the goal",
			"something happens under each partition"}}
	if p.Seek {
		g.Assumes = append(g.Assumes, "how often a partition is found is not known before")
		return g
	}
	if len(sequence.Roles()) > 0 {
		g.Assumes = append(g.Assumes, "each role is played by one node, and no two by the same")
	}
	if chance, err := bare(sequence).Probability(cover.Sampling{Nodes: info.Nodes, Balanced: p.Balanced}); err == nil {
		one, _ := chance.P.Float64()
		g.PerRun = atLeastOnce(one, p.Stages)
	}
	return g
}

// atLeastOnce returns the probability that independent trials have at least one hit.
func atLeastOnce(p float64, trials int) float64 {
	if p >= 1 {
		return 1
	}
	return -math.Expm1(float64(trials) * math.Log1p(-p))
}

// New returns a new scheduler.
func (p Partition) New(info lockstep.Info) lockstep.Scheduler {
	s := &partitioner{Partition: p, perStage: 1}
	if s.Steps == 0 {
		if s.Steps = fairSteps; rounds.Coarse(info) {
			s.Steps = fairIntervals
		}
	}
	if err := s.prepare(info.Nodes); err != nil {
		panic("strategy: partition was not checked: " + err.Error())
	}
	return s
}

// prepare creates the source of the partitions: a sampler for each partition, or a family.
func (s *partitioner) prepare(nodes int) error {
	if s.Sequence != "" {
		sequence, err := cover.ParsePartitionSequence(s.Sequence)
		if err != nil {
			return err
		}
		spaces, err := sequence.Spaces(nodes, s.Balanced)
		s.sequence, s.perStage = sequence, len(sequence)
		for _, space := range spaces {
			var sampler *cover.Sampler
			if sampler, err = cover.NewSampler(space); err != nil {
				break
			}
			s.samplers = append(s.samplers, sampler)
		}
		return err
	}
	criterion, space, err := s.Tested(nodes)
	if err != nil {
		return err
	}
	if s.Family {
		family, err := cover.Build(criterion, space)
		s.family = family.Partitions
		return err
	}
	sampler, err := cover.NewSampler(space)
	s.samplers = []*cover.Sampler{sampler}
	return err
}

// attempts is how many partitions the strategy draws to find one that covers the goal of a role.
const attempts = 100

// moment is one part of a stage.
type moment uint8

const (
	before moment = iota
	cutting
	during
	healing
	after
	stageEnd
)

// partitioner executes the stages of a run.
type partitioner struct {
	Partition
	sequence cover.PartitionSequence
	perStage int              // partitions of a stage; 1 without a partition sequence
	samplers []*cover.Sampler // by partition
	family   []cover.Partition
	rand     *rand.Rand
	fair     fair

	drawn     []cover.Partition // for each stage, one for each partition; a role may replace it
	first     int               // number of the run's first partition in the walk through the family
	stage     int
	goalIndex int
	at        moment
	given     int              // operations given at this moment
	sides     []lockstep.Nodes // sides of the partition in force, or of the next one
	cuts      int              // sides that are already cut off
	made      int              // partitions that took effect in this run
}

// Reset begins a new run.
func (s *partitioner) Reset(start *lockstep.Start) {
	s.rand, s.fair = start.Rand, fair{}
	s.stage, s.goalIndex, s.at, s.given, s.sides, s.cuts, s.made = 0, 0, before, 0, s.sides[:0], 0, 0
	s.drawn = s.drawn[:0]
	if s.family != nil {
		s.first = start.Run % len(s.family) * (s.Stages % len(s.family))
	}
	for i := range s.Stages * s.perStage {
		s.drawn = append(s.drawn, s.draw(i, i%s.perStage))
	}
	s.rest()
}

// draw returns the run's i-th partition. Within a partition sequence it differs from the previous one.
func (s *partitioner) draw(i, goalIndex int) cover.Partition {
	if s.family != nil {
		return s.family[(s.first+i)%len(s.family)]
	}
	for {
		p := s.samplers[goalIndex].Draw(s.rand)
		if goalIndex == 0 || p != s.drawn[i-1] {
			return p
		}
	}
}

// Report reports what was drawn for the run, and how many partitions took effect.
func (s *partitioner) Report(words bool) (a lockstep.SchedulerStats) {
	a.Stats = lockstep.RunStats{Runs: 1, Hits: s.made}
	if words {
		a.Drawn = s.parameters()
	}
	return a
}

func (s *partitioner) parameters() map[string]string {
	if s.Role != "" || s.Seek { // not known in advance
		return nil
	}
	var texts []string
	for _, p := range s.drawn {
		texts = append(texts, p.String())
	}
	return map[string]string{"partitions": strings.Join(texts, " ")}
}

// rest begins a fair part of the run.
func (s *partitioner) rest() {
	steps := s.Steps
	if s.Vary {
		steps = 1 + s.rand.IntN(s.Steps)
	}
	s.fair.begin(steps)
}

// Next chooses the next step.
func (s *partitioner) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	for s.stage < s.Stages || s.fair.left > 0 {
		if s.fair.next(turn, next) {
			return true
		}
		if s.stage == s.Stages {
			return false
		}
		switch s.at {
		case cutting:
			if s.cut(turn, next) {
				return true
			}
			s.made++
			s.rest()
		case healing:
			s.rest()
			if anyCut(turn) {
				next.Kind, next.From, next.To = trace.Heal, turn.All(), turn.All()
				s.at++
				return true
			}
		case stageEnd:
			s.stage++
			s.goalIndex, s.at = 0, before
			continue
		default:
			if s.operate(turn, next) {
				s.given++
				s.rest()
				return true
			}
			s.given = 0
			if s.at == during && s.goalIndex+1 < s.perStage {
				s.goalIndex++
				s.at = cutting
				continue
			}
		}
		s.at++
	}
	return false
}

// operate gives a request to a node while operations are left at this moment.
func (s *partitioner) operate(turn *lockstep.Turn, next *lockstep.Step) bool {
	nodes := turn.All()
	if s.at == during && s.Sides {
		nodes = s.sides[s.given%len(s.sides)]
	}
	if s.given >= [...]int{before: s.Before, during: s.During, after: s.After}[s.at] || givableTo(turn, nodes) == 0 {
		return false
	}
	giveTo(s.rand, turn, nodes, next)
	return true
}

// cut applies the partition. It cuts each side off from the sides after it, and heals links within a side that the
// previous partition cut. Then, with Wipe, it drops the messages in flight across the partition.
func (s *partitioner) cut(turn *lockstep.Turn, next *lockstep.Step) bool {
	if s.cuts == 0 {
		s.choose(turn)
	}
	if s.cuts++; s.cuts < len(s.sides) {
		next.Kind, next.From = trace.Cut, s.sides[s.cuts-1]
		for _, side := range s.sides[s.cuts:] {
			next.To |= side
		}
		return true
	}
	for _, side := range s.sides {
		if cutWithin(turn, side) {
			next.Kind, next.From, next.To = trace.Heal, side, side
			return true
		}
	}
	if s.Wipe {
		for _, id := range turn.FreeMessages() {
			if m := turn.Message(id); m.From != 0 && turn.Cut(m.From).Has(m.To) {
				next.Kind, next.Msg = trace.Drop, id
				return true
			}
		}
	}
	s.cuts = 0
	return false
}

// cutWithin reports whether a link between two of the nodes is cut.
func cutWithin(turn *lockstep.Turn, nodes lockstep.Nodes) bool {
	for n := range nodes.All() {
		if turn.Cut(n)&nodes != 0 {
			return true
		}
	}
	return false
}

// choose determines the next partition. If roles are the goal, it searches for one that covers it.
func (s *partitioner) choose(turn *lockstep.Turn) {
	i := s.stage*s.perStage + s.goalIndex
	for k := 0; k < attempts && !s.covers(turn, s.drawn[i]); k++ {
		if s.family != nil {
			s.drawn[i] = s.draw(i+k, s.goalIndex)
		} else {
			s.drawn[i] = s.draw(i, s.goalIndex)
		}
	}
	s.sides = s.sides[:0]
	for _, side := range s.drawn[i].Sides() {
		s.sides = append(s.sides, lockstep.Nodes(side))
	}
}

// covers reports whether a partition covers the goal with the current roles. Without a goal, every partition does.
func (s *partitioner) covers(turn *lockstep.Turn, p cover.Partition) bool {
	// the previous partition, which was drawn again
	if s.goalIndex > 0 && p == s.drawn[s.stage*s.perStage+s.goalIndex-1] {
		return false
	}
	if s.Seek {
		return s.sequence[s.goalIndex].Covers(p, func(role string) cover.Set { return cover.Set(turn.Playing(role)) })
	}
	goal := s.goal(turn)
	return goal.A == 0 || goal.CoveredBy(p)
}

// goal returns the goal of the current roles, if there are any.
func (s *partitioner) goal(turn *lockstep.Turn) (goal cover.PartitionGoal) {
	if s.Role == "" {
		return goal
	}
	goal.Kind = [...]cover.Kind{Splitting: cover.Splits, Separation: cover.Separates,
		MinorityIsolation: cover.Isolates}[s.Criterion]
	goal.A = cover.Set(turn.Playing(s.Role))
	if s.Other != "" {
		goal.B = cover.Set(turn.Playing(s.Other))
	}
	return goal
}
