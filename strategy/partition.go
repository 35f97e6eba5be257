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

// Partition makes tests of the kind that "Why Is Random Testing Effective for Partition
// Tolerance Bugs?" studies (Majumdar, Niksic; POPL 2018). A run has a number of stages,
// each with one partition of the nodes: operations, the partition, operations under it,
// healing, operations. In between the network is fair: messages arrive in the order of
// sending and alarms fire when they are due.
//
// An operation is a waiting request, drawn from all that wait, given to a node, drawn too.
// The partitions are drawn from all of their kind with equal chances, or taken one after
// the other from a family that covers every goal of the notion.
//
// With a role the nodes that play it when the partition comes are the goal: of the drawn
// partitions the first is taken that covers it. So notion=isolate,role=leader cuts off the
// leader in a minority, whoever it is by then.
//
// With a story its scenes take the place of the one partition of a stage: they follow each
// other directly, without healing, each with another partition than the one before, and with
// operations under each of them. See [cover.ParseStory] for the words, and [cover.Telling]
// for the chance that such a run covers the story.
type Partition struct {
	// Notion is what partitions are to do: the guarantee is about its goals, and the family
	// covers them. The zero value is Splitting.
	Notion Notion `help:"goal of a partition: split k nodes, separate k from l, isolate a node in a minority"`
	K      int    `help:"nodes to split (0: 2), or on the one side when separating (0: 1)"`
	L      int    `help:"nodes on the other side when separating (0: 1)"`
	// Balanced draws only partitions whose sides differ by at most one node (semibalanced
	// ones to isolate in an even number of nodes).
	Balanced bool `help:"only partitions whose sides differ by at most one node"`
	// Bridge is the number of nodes that a goal wants to be connected to every side.
	Bridge int `help:"nodes of a goal that stay connected to all sides"`
	// Family takes partition after partition from a small family that covers every goal, in
	// run order, instead of drawing.
	Family bool `help:"walk through a small family that covers every goal, instead of drawing"`
	// Role and Other name roles that take the places of nodes in the goal; Other is for
	// separating only.
	Role  string `help:"the goal is about the nodes with this role, e.g. leader; empty: about any nodes"`
	Other string `help:"when separating by role, the role of the other side"`

	// Story is a [cover.Story] in words. It takes the place of the notion and its numbers.
	Story string `help:"scenes that follow each other directly, e.g. 2|2 then 1|3, instead of a notion; see docs/cover.md"`
	// Seek takes, for each scene of a story, the first of the drawn partitions that covers
	// the scene as roles are played by then.
	Seek bool `help:"take only partitions that cover the story's scene as roles are played by then"`

	Stages int `help:"partitions of a run, one after the other; of a story: how often it is told" range:"1.."`
	Before int `help:"operations before a partition or story" range:"0.."`
	During int `help:"operations under a partition, or under each scene of a story" range:"0.."`
	After  int `help:"operations after healing" range:"0.."`
	// Sides gives the operations under a partition to nodes of each side in turn instead
	// of to any node.
	Sides bool `help:"give the operations under a partition to each side in turn"`
	// Steps is the number of fair steps at the start, after each partition, each operation
	// and each healing. Where nothing is left to happen, there are fewer. 0 stands for 40, or 2 where
	// a step is a stretch of time.
	Steps int `help:"fair steps after each partition, operation and healing, and at the start (0: 40, or 2 where a step is a stretch of time)" range:"0.."`
	// Vary draws each of these numbers from 1..Steps, so that partitions and operations
	// come in the middle of something.
	Vary bool `help:"draw each number of fair steps from 1..steps"`
	// Wipe makes a partition lose what is in flight across it; otherwise it still arrives.
	Wipe bool `help:"a partition loses what is in flight across it"`
}

// DefaultPartition has three partitions into two sides.
var DefaultPartition = Partition{Stages: 3, Before: 1, During: 2, After: 1, Vary: true}

// How many fair steps the zero of Partition.Steps stands for: where messages are delivered one by one, and where a step is
// a stretch of time, in which servers agree.
const (
	fairSteps     = 40
	fairStretches = 2
)

// Notion is what a partition is to do with the nodes of a goal.
type Notion uint8

// The notions of package cover.
const (
	Splitting  Notion = iota // all on different sides
	Separation               // some on one side, some on another
	Isolation                // on a side with less than half of the nodes
)

var notionNames = []string{"split", "separate", "isolate"}

// Words are the words of all.
func (Notion) Words() []string { return notionNames }

// String is the notion's word.
func (n Notion) String() string { return option.Word(notionNames, int(n)) }

// UnmarshalText reads a notion's word.
func (n *Notion) UnmarshalText(text []byte) error {
	i, err := option.WordIndex("notion", notionNames, text)
	*n = Notion(i)
	return err
}

// String is the strategy as written on the command line.
func (p Partition) String() string { return write("partition", p) }

// Fit says on which terms the strategy explores such a system.
func (p Partition) Fit(info lockstep.Info) (lockstep.Terms, error) {
	if err := fits("partition", p, info); err != nil {
		return lockstep.Terms{}, err
	}
	t := lockstep.Terms{Guarantee: p.guarantee(info), Order: &trace.Order{}}
	if p.Family && p.Role == "" {
		t.Measured = func(seen lockstep.Seen) lockstep.Guarantee { return p.walked(info, seen) }
	}
	return t, nil
}

// check reports what is wrong with the options, or why the system does not fit.
func (p Partition) check(info lockstep.Info) error {
	if err := p.checkRoles(info); err != nil {
		return err
	}
	var err error
	if p.Story != "" {
		err = p.checkStory(info)
	} else {
		err = p.checkNotion(info)
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
	if p.Other != "" && (p.Notion != Separation || p.Role == "") {
		return fmt.Errorf("partition: other is %s, it goes with notion=separate and a role", p.Other)
	}
	if p.Role != "" && p.Other == "" && p.Notion == Separation {
		return fmt.Errorf("partition: role is %s, to separate it from something set other, too", p.Role)
	}
	for _, role := range []string{p.Role, p.Other} {
		if err := hasRole(info, role); role != "" && err != nil {
			return fmt.Errorf("partition: %w", err)
		}
	}
	return nil
}

// hasRole reports an error that lists the system's roles if this is not one of them.
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

func (p Partition) checkNotion(info lockstep.Info) error {
	if p.Seek {
		return fmt.Errorf("seek goes with a story; for a notion, set role")
	}
	notion, space, err := p.Tested(info.Nodes)
	if err == nil && p.Family {
		_, err = cover.Build(notion, space)
	}
	return err
}

func (p Partition) checkStory(info lockstep.Info) error {
	for _, f := range []struct {
		name string
		set  bool
	}{{"notion", p.Notion != 0}, {"k", p.K != 0}, {"l", p.L != 0}, {"bridge", p.Bridge != 0}, {"family", p.Family}, {"role", p.Role != ""}, {"sides", p.Sides}} {
		if f.set {
			return fmt.Errorf("%s does not go with a story, which says itself what is drawn", f.name)
		}
	}
	story, err := cover.ParseStory(p.Story)
	if err != nil {
		return err
	}
	for _, role := range story.Roles() {
		if err := hasRole(info, role); err != nil {
			return err
		}
	}
	if _, err := story.Spaces(info.Nodes, p.Balanced); err != nil {
		return err
	}
	_, err = bare(story).Chance(cover.Telling{Nodes: info.Nodes, Balanced: p.Balanced})
	return err
}

// bare is a story without its operations, of which a strategy does not know what is drawn.
func bare(story cover.Story) cover.Story {
	story = slices.Clone(story)
	for i := range story {
		story[i].Ops = nil
	}
	return story
}

// Tested returns the notion whose goals the partitions are to cover on so many nodes and
// the space that they are drawn from.
func (p Partition) Tested(nodes int) (cover.Notion, cover.Space, error) {
	return cover.Params{Notion: p.Notion.String(), Nodes: nodes, K: p.K, L: p.L, Balanced: p.Balanced, Bridge: p.Bridge}.Tested()
}

// guarantee is the chance that one of the partitions of a run covers a goal, by the theorems
// of package cover.
func (p Partition) guarantee(info lockstep.Info) lockstep.Guarantee {
	if p.Story != "" {
		return p.storyGuarantee(info)
	}
	notion, space, err := p.Tested(info.Nodes)
	if err != nil {
		return lockstep.Guarantee{Class: "a goal", Assumes: []string{err.Error()}}
	}
	chance, _ := cover.ChanceOf(notion, space) // Tested has asked the same
	one, _ := chance.P.Float64()
	class := fmt.Sprintf("a given goal of %v", notion)
	if p.Stages > 1 {
		class += fmt.Sprintf(" with one of its %d partitions", p.Stages)
	}
	g := lockstep.Guarantee{Class: class, Space: chance.Goals,
		PerRun:  atLeastOnce(one, p.Stages),
		Assumes: []string{"operations and the length of fair stretches are not part of the goal"}}
	switch {
	case p.Role != "" && p.Notion == Isolation:
		g.Class, g.Space = fmt.Sprintf("the node with the role %s in a minority", p.Role), nil
		g.PerRun = atLeastOnce(one, tries)
		g.Assumes = append(g.Assumes, "just one node plays the role when the partition comes")
	case p.Role != "":
		g.Space, g.PerRun = nil, 0
		g.Assumes = []string{"how many nodes play a role is not known before"}
	case p.Family:
		runs := p.walk(notion, space)
		g.PerRun = 1 / float64(runs)
		g.Assumes = append(g.Assumes, fmt.Sprintf("a run with a number drawn at random: any %d runs in a row cover every goal", runs))
	}
	return g
}

// walk is the number of runs in a row that go through the whole family.
func (p Partition) walk(notion cover.Notion, space cover.Space) int {
	family, _ := cover.Build(notion, space) // Check has built it, too
	return (len(family.Partitions) + p.Stages - 1) / p.Stages
}

// walked is the guarantee of a walk through a family for the runs made: it is certain where they
// went through all of it, and every partition came about.
func (p Partition) walked(info lockstep.Info, seen lockstep.Seen) lockstep.Guarantee {
	g := p.guarantee(info)
	notion, space, err := p.Tested(info.Nodes)
	if g.Certain = err == nil && seen.Runs >= p.walk(notion, space) && seen.Changes == seen.Runs*p.Stages; g.Certain {
		g.Class = fmt.Sprintf("a given goal of %v", notion)
	}
	return g
}

// storyGuarantee is the chance that a telling covers the story's partitions.
func (p Partition) storyGuarantee(info lockstep.Info) lockstep.Guarantee {
	story, err := cover.ParseStory(p.Story)
	if err != nil {
		return lockstep.Guarantee{Class: "the story", Assumes: []string{err.Error()}}
	}
	g := lockstep.Guarantee{Class: fmt.Sprintf("the partitions of the story %v", story),
		Assumes: []string{"operations and the length of fair stretches are not part of the goal", "something happens under each partition"}}
	if p.Seek {
		g.Assumes = append(g.Assumes, "how often a partition is found is not known before")
		return g
	}
	if len(story.Roles()) > 0 {
		g.Assumes = append(g.Assumes, "each role is played by one node, and no two by the same")
	}
	if chance, err := bare(story).Chance(cover.Telling{Nodes: info.Nodes, Balanced: p.Balanced}); err == nil {
		one, _ := chance.P.Float64()
		g.PerRun = atLeastOnce(one, p.Stages)
	}
	return g
}

// atLeastOnce is the probability that independent trials have at least one hit.
func atLeastOnce(p float64, trials int) float64 {
	if p >= 1 {
		return 1
	}
	return -math.Expm1(float64(trials) * math.Log1p(-p))
}

// New makes a scheduler.
func (p Partition) New(info lockstep.Info) lockstep.Scheduler {
	s := &partitioner{Partition: p, scenes: 1}
	if s.Steps == 0 {
		if s.Steps = fairSteps; rounds.Coarse(info) {
			s.Steps = fairStretches
		}
	}
	if err := s.prepare(info.Nodes); err != nil {
		panic("strategy: partition was not checked: " + err.Error())
	}
	return s
}

// prepare makes what partitions are drawn from: a sampler for each scene, or a family.
func (s *partitioner) prepare(nodes int) error {
	if s.Story != "" {
		story, err := cover.ParseStory(s.Story)
		if err != nil {
			return err
		}
		spaces, err := story.Spaces(nodes, s.Balanced)
		s.story, s.scenes = story, len(story)
		for _, space := range spaces {
			var sampler *cover.Sampler
			if sampler, err = cover.NewSampler(space); err != nil {
				break
			}
			s.samplers = append(s.samplers, sampler)
		}
		return err
	}
	notion, space, err := s.Tested(nodes)
	if err != nil {
		return err
	}
	if s.Family {
		family, err := cover.Build(notion, space)
		s.family = family.Partitions
		return err
	}
	sampler, err := cover.NewSampler(space)
	s.samplers = []*cover.Sampler{sampler}
	return err
}

// tries is how many partitions are looked at for one that covers the goal of a role.
const tries = 100

// moment is a part of a stage.
type moment uint8

const (
	before moment = iota
	cutting
	during
	healing
	after
	stageEnd
)

// partitioner goes through the stages of a run.
type partitioner struct {
	Partition
	story    cover.Story
	scenes   int              // of a stage; without a story there is one
	samplers []*cover.Sampler // by scene
	family   []cover.Partition
	rand     *rand.Rand
	fair     fair

	drawn []cover.Partition // for each stage, one for each scene; roles may replace it
	first int               // number of the run's first partition in the walk through the family
	stage int
	scene int
	at    moment
	given int              // operations at this moment
	sides []lockstep.Nodes // of the partition in force or to be cut
	cuts  int              // sides that are cut off already
	made  int              // partitions that came about in this run
}

// Reset begins a new run.
func (s *partitioner) Reset(start *lockstep.Start) {
	s.rand, s.fair = start.Rand, fair{}
	s.stage, s.scene, s.at, s.given, s.sides, s.cuts, s.made = 0, 0, before, 0, s.sides[:0], 0, 0
	s.drawn = s.drawn[:0]
	if s.family != nil {
		s.first = start.Run % len(s.family) * (s.Stages % len(s.family))
	}
	for i := range s.Stages * s.scenes {
		s.drawn = append(s.drawn, s.draw(i, i%s.scenes))
	}
	s.rest()
}

// draw is the run's i-th partition. Within a story it is another than the one before.
func (s *partitioner) draw(i, scene int) cover.Partition {
	if s.family != nil {
		return s.family[(s.first+i)%len(s.family)]
	}
	for {
		p := s.samplers[scene].Draw(s.rand)
		if scene == 0 || p != s.drawn[i-1] {
			return p
		}
	}
}

// Tell tells what was drawn for the run, and how many partitions came about.
func (s *partitioner) Tell(words bool) (a lockstep.Account) {
	a.Seen = lockstep.Seen{Runs: 1, Changes: s.made}
	if words {
		a.Drawn = s.parameters()
	}
	return a
}

func (s *partitioner) parameters() map[string]string {
	if s.Role != "" || s.Seek { // not known before they are made
		return nil
	}
	var texts []string
	for _, p := range s.drawn {
		texts = append(texts, p.String())
	}
	return map[string]string{"partitions": strings.Join(texts, " ")}
}

// rest begins a fair stretch.
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
			s.scene, s.at = 0, before
			continue
		default:
			if s.operate(turn, next) {
				s.given++
				s.rest()
				return true
			}
			s.given = 0
			if s.at == during && s.scene+1 < s.scenes {
				s.scene++
				s.at = cutting
				continue
			}
		}
		s.at++
	}
	return false
}

// operate gives a request to a node, as long as there are operations left at this moment.
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

// cut makes the partition: each side is cut off from those after it, and healed within itself
// where the partition before had cut it. Then what is in flight across it is lost, where that
// is wanted.
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
		for _, id := range turn.InFlight() {
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

// choose settles which partition comes now. Where roles are the goal, it looks for one
// that covers it.
func (s *partitioner) choose(turn *lockstep.Turn) {
	i := s.stage*s.scenes + s.scene
	for k := 0; k < tries && !s.covers(turn, s.drawn[i]); k++ {
		if s.family != nil {
			s.drawn[i] = s.draw(i+k, s.scene)
		} else {
			s.drawn[i] = s.draw(i, s.scene)
		}
	}
	s.sides = s.sides[:0]
	for _, side := range s.drawn[i].Sides() {
		s.sides = append(s.sides, lockstep.Nodes(side))
	}
}

// covers reports whether a partition does what is wanted of it with the roles as they are
// played now; where nothing is wanted, any does.
func (s *partitioner) covers(turn *lockstep.Turn, p cover.Partition) bool {
	if s.scene > 0 && p == s.drawn[s.stage*s.scenes+s.scene-1] { // which was drawn anew
		return false
	}
	if s.Seek {
		return s.story[s.scene].Covers(p, func(role string) cover.Set { return cover.Set(turn.Playing(role)) })
	}
	goal := s.goal(turn)
	return goal.A == 0 || goal.CoveredBy(p)
}

// goal is the goal of the roles as they are played now, if there are any.
func (s *partitioner) goal(turn *lockstep.Turn) (goal cover.Goal) {
	if s.Role == "" {
		return goal
	}
	goal.Kind = [...]cover.Kind{Splitting: cover.Splits, Separation: cover.Separates, Isolation: cover.Isolates}[s.Notion]
	goal.A = cover.Set(turn.Playing(s.Role))
	if s.Other != "" {
		goal.B = cover.Set(turn.Playing(s.Other))
	}
	return goal
}
