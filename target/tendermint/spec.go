package tendermint

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Property is a set of properties, and a [lockstep.Spec]. A validator is correct as long as none of its messages is
// forged.
type Property uint16

// The properties.
const (
	// Running means that the state machine of a correct validator does not fail.
	Running Property = 1 << iota
	// Accountability applies when two correct validators decide differently. Then the sent votes must prove more than
	// a third of the validators guilty. A validator is guilty of two votes in one step, or of a vote against its own
	// lock without a polka that allows it. It precedes Agreement, which is violated in that case anyway.
	Accountability
	// Agreement means that no two correct validators decide differently at one height.
	Agreement
	// Validity means that correct validators decide only blocks proposed at that height.
	Validity
	// Quorum means that a correct validator decides on precommits of more than two thirds. All of them have valid
	// signatures, and correct validators did sign theirs.
	Quorum
	// OneVote means that a correct validator does not sign two different votes for one step of a round.
	OneVote
	// Locking means that a correct validator precommits a block only after a polka for it in the same round. After
	// that it prevotes another block only after a polka for another block, or for nil, in a later round up to that of
	// the prevote.
	Locking
	// StrictLocking is the rule of the algorithm as published (Buchman, Kwon, Milosevic: The latest gossip on BFT
	// consensus). The polka must be for that other block, and one for nil does not unlock. Tendermint and CometBFT
	// before 1.0 deviate from it.
	StrictLocking
	// Liveness is bounded: every correct validator decides again in a long enough settling stage. Such a stage lasts,
	// in virtual time, one second and an additional 50 milliseconds for each round of a height, or until another
	// validator decides four times. Liveness is checked only if at most a third of the validators are Byzantine and
	// connections are restored.
	Liveness
	// EvidenceIncluded applies when a correct validator received two votes of one validator for one step, at its
	// current height, and acknowledged a later one at that height. It must then complete two heights for each validator
	// without a crash. One of its blocks must have evidence against the Byzantine validator.
	EvidenceIncluded

	properties = iota
)

// Safety is the properties that hold in every run with at most a third of Byzantine validators, Everything all but
// StrictLocking.
const (
	Safety     = Running | Accountability | Agreement | Validity | Quorum | OneVote | Locking
	Everything = Safety | Liveness | EvidenceIncluded
)

var propertyNames = [properties]string{
	"running",
	"accountability",
	"agreement",
	"validity",
	"quorum",
	"one-vote",
	"locking",
	"strict-locking",
	"liveness",
	"evidence",
}

// Counts marks the properties that can be checked only with Byzantine validators, which a scenario decides.
func (p Property) Counts(lockstep.Info) (list []lockstep.Count) {
	for i, name := range propertyNames {
		if bit := Property(1 << i); p&bit != 0 {
			list = append(list, lockstep.Count{Name: name, Optional: bit == Accountability || bit == EvidenceIncluded})
		}
	}
	return list
}

// Properties names the checked properties.
func (p Property) Properties() []string {
	var list []string
	for i, name := range propertyNames {
		if p&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// New makes a monitor.
func (p Property) New(i lockstep.Info) lockstep.Monitor {
	return &monitor{what: p, nodes: i.Nodes, silent: i.Options["loss"] == Silent.String()}
}

// Timeout is the virtual time of a settling stage after which Liveness is checked. PerRound is the additional time
// for each round of a height. Ahead is the number of heights that another validator decides if the check comes
// earlier.
const (
	Ahead    = 4
	Timeout  = time.Second
	PerRound = 50 * time.Millisecond
)

// at is a step of a round.
type at struct {
	height    int64
	round     int32
	precommit bool
}

// ballot is the votes in a step of a round: the voters by block.
type ballot map[string]lockstep.Nodes

// monitor keeps the state of a run and checks it.
type monitor struct {
	what   Property
	nodes  int
	silent bool

	signed   map[at]ballot // by correct validators, and by Byzantine ones if sent
	sent     map[at]ballot // the sent ones
	got      map[gotten]string
	rounds   map[int64]int32 // the highest of each height
	proposed map[int64]map[string]bool
	decided  map[int64]map[lockstep.Node]*Commit
	height   []int64         // last decided by each validator
	is       []Step          // the current step of each validator
	began    []int64         // heights at the beginning of the settling stage
	since    trace.Time      // the time of that beginning
	heard    map[gotten]bool // votes that were delivered, whatever the height of their receiver
	pairs    map[double]map[gotten]bool
	doubles  map[double]bool // expected as evidence in a block
	proven   map[[2]int64]bool

	checked [properties]int
	list    []int
	found   *lockstep.Finding
	first   int
}

// gotten is a vote that a validator received.
type gotten struct {
	by lockstep.Node
	at at
	to lockstep.Node
}

// double is a pair of votes that a validator received. It may read them late, while it waits for its disk, and votes of
// a height that it has left are ignored. It has read them in time if it acknowledges, for their height, a vote that was
// delivered after them: it reads in order. Until then the pair has a list of these votes.
type double struct {
	by, seen lockstep.Node
	height   int64
}

func (d double) compare(e double) int {
	return cmp.Or(cmp.Compare(d.height, e.height), cmp.Compare(d.by, e.by), cmp.Compare(d.seen, e.seen))
}

// Reset begins a new run.
func (m *monitor) Reset() {
	*m = monitor{
		what:     m.what,
		nodes:    m.nodes,
		silent:   m.silent,
		list:     m.list,
		signed:   map[at]ballot{},
		sent:     map[at]ballot{},
		got:      map[gotten]string{},
		rounds:   map[int64]int32{},
		proposed: map[int64]map[string]bool{},
		decided:  map[int64]map[lockstep.Node]*Commit{},
		heard:    map[gotten]bool{},
		pairs:    map[double]map[gotten]bool{},
		doubles:  map[double]bool{},
		proven:   map[[2]int64]bool{},
		height:   make([]int64, m.nodes+1),
		is:       make([]Step, m.nodes+1),
	}
}

// Step checks the events of a step.
func (m *monitor) Step(run *lockstep.Run) *lockstep.Finding {
	if run.Settling() && m.began == nil {
		m.began, m.since = append([]int64{}, m.height...), run.Now()
	}
	m.found = nil
	if s := run.Last(); s.Kind == trace.Deliver { // before what the receiver sends in this step
		if msg, ok := run.Body(s.Msg).(*Message); ok && msg.IsVote() {
			m.follows(msg, run.Message(s.Msg).To)
		}
	}
	m.read(run)
	missed := false
	for i := range run.Events() {
		missed = missed || run.Events()[i].Type == EventMissed
		m.event(run, &run.Events()[i])
	}
	if s := run.Last(); s.Kind == trace.Deliver && !missed {
		if msg, ok := run.Body(s.Msg).(*Message); ok && msg.IsVote() {
			m.arrives(run, msg, run.Message(s.Msg).To)
		}
	}
	if s := run.Last(); s.Kind == trace.Crash { // its received votes are gone
		for d := range m.doubles { //lockstep:unordered independent
			if d.seen == s.Node {
				delete(m.doubles, d)
			}
		}
		for d := range m.pairs { //lockstep:unordered independent
			if d.seen == s.Node {
				delete(m.pairs, d)
			}
		}
	}
	return m.found
}

// read processes the messages of the step.
func (m *monitor) read(run *lockstep.Run) {
	for i := range run.Sent() {
		switch msg, ok := run.Body(run.Sent()[i].ID).(*Message); {
		case !ok:
		case msg.IsVote():
			m.enter(m.sent, msg.at(), msg.Block, msg.By)
		case msg.Kind == HasVote:
			m.acknowledges(run, run.Sent()[i].From, msg)
		}
	}
	s := run.Last()
	if s.Kind != trace.Replace {
		return
	}
	msg, ok := run.Body(s.Msg).(*Message)
	switch {
	case !ok:
	case msg.IsVote():
		m.enter(m.sent, msg.at(), msg.Block, msg.By)
		m.enter(m.signed, msg.at(), msg.Block, msg.By)
	case msg.Kind == Proposal:
		m.propose(msg.Height, msg.Block)
	}
}

func (m *Message) at() at { return at{m.Height, m.Round, m.Kind == Precommit} }

func (m *monitor) enter(ballots map[at]ballot, a at, block string, by lockstep.Node) {
	if ballots[a] == nil {
		ballots[a] = ballot{}
	}
	ballots[a][block] |= trace.NodesOf(by)
	m.rounds[a.height] = max(m.rounds[a.height], a.round)
}

// arrives records contradicting votes of rounds that their receiver has reached: it need not keep those of later ones.
func (m *monitor) arrives(run *lockstep.Run, msg *Message, to lockstep.Node) {
	if is := m.is[to]; is.Height != msg.Height || msg.Round > is.Round || run.Byzantine().Has(to) ||
		int(msg.By) > m.nodes || msg.By < 1 {
		return
	}
	key := gotten{msg.By, msg.at(), to}
	pair := double{msg.By, to, msg.Height}
	if was, ok := m.got[key]; ok && was != msg.Block && msg.By != to && run.Byzantine().Has(msg.By) &&
		m.pairs[pair] == nil {
		m.pairs[pair] = map[gotten]bool{}
	}
	m.got[key] = msg.Block
}

// follows notes a vote that is delivered for the first time, after pairs of its height.
func (m *monitor) follows(msg *Message, to lockstep.Node) {
	key := gotten{msg.By, msg.at(), to}
	if m.heard[key] {
		return
	}
	m.heard[key] = true
	for d, later := range m.pairs { //lockstep:unordered independent
		if d.seen == to && d.height == msg.Height {
			later[key] = true
		}
	}
}

// acknowledges expects evidence of the pairs that a validator has read before the vote that it acknowledges, at their
// height: late precommits are acknowledged at the next one.
func (m *monitor) acknowledges(run *lockstep.Run, n lockstep.Node, msg *Message) {
	commits := func(e lockstep.Event) bool { _, ok := e.Value.(*Commit); return ok && e.Node == n }
	if m.is[n].Height != msg.Height || slices.ContainsFunc(run.Events(), commits) {
		return
	}
	key := gotten{msg.By, at{msg.Height, msg.Round, msg.VoteType == Precommit}, n}
	for d, later := range m.pairs { //lockstep:unordered independent
		if d.seen == n && later[key] {
			m.doubles[d] = true
		}
	}
}

func (m *monitor) propose(height int64, block string) {
	if m.proposed[height] == nil {
		m.proposed[height] = map[string]bool{}
	}
	m.proposed[height][block] = true
}

// event checks one event.
func (m *monitor) event(run *lockstep.Run, e *lockstep.Event) {
	correct := !run.Byzantine().Has(e.Node)
	switch v := e.Value.(type) {
	case *Failure:
		m.check(Running, !correct, e.Node, "the state machine of validator %d failed: %s", e.Node, v.Text)
		if m.found != nil {
			m.found.Stack = v.Stack
		}
	case *Step:
		m.checked[bits.TrailingZeros16(uint16(Running))]++
		m.is[e.Node] = *v
	case *Proposed:
		m.propose(v.Height, v.Block)
	case *Vote:
		if e.Type == EventPrevote || e.Type == EventPrecommit {
			m.vote(run, e, v, correct)
		}
	case *Evidence:
		m.proven[[2]int64{int64(v.Against), v.At}] = true
	case *Commit:
		m.commit(run, e.Node, v, correct)
	}
}

// check counts a check, and records a violation; of several, that of the first property in order.
func (m *monitor) check(p Property, holds bool, node lockstep.Node, text string, args ...any) {
	i := bits.TrailingZeros16(uint16(p))
	m.checked[i]++
	if holds || m.what&p == 0 || m.found != nil && m.first <= i {
		return
	}
	m.first, m.found = i, &lockstep.Finding{
		Property: propertyNames[i],
		Nodes:    trace.NodesOf(node),
		Text:     fmt.Sprintf(text, args...),
	}
}

// vote checks a vote that a validator signed.
func (m *monitor) vote(run *lockstep.Run, e *lockstep.Event, v *Vote, correct bool) {
	a := at{v.Height, v.Round, e.Type == EventPrecommit}
	if correct {
		other := ""
		for block, by := range m.signed[a] { //lockstep:unordered at most one
			if block != v.Block && by.Has(e.Node) {
				other = block
			}
		}
		m.check(OneVote, other == "", e.Node, "validator %d signed the %s %s after one for %s", e.Node, e.Type, v,
			other)
		m.locking(run, e.Node, a, v.Block)
	}
	m.enter(m.signed, a, v.Block, e.Node)
}

// polka reports whether there may have been +2/3 of the prevotes of a round for a block: Byzantine validators may
// have voted for anything.
func (m *monitor) polka(run *lockstep.Run, height int64, round int32, block string) bool {
	voted := m.signed[at{height, round, false}][block] | run.Byzantine()
	return 3*voted.Len() > 2*m.nodes
}

// locking checks a vote against the earlier locks.
func (m *monitor) locking(run *lockstep.Run, n lockstep.Node, a at, block string) {
	if block == Nil {
		return
	}
	if a.precommit {
		m.check(Locking, m.polka(run, a.height, a.round, block), n,
			"validator %d precommitted %s in %d/%d without a polka", n, block, a.height, a.round)
		return
	}
	locked, round := m.lockOf(n, a)
	if locked == "" || locked == block {
		return
	}
	weak, strict := false, m.polka(run, a.height, round, block)
	// The library accepts a polka of the same round, too, which others may have before it votes.
	for r := round + 1; r <= a.round; r++ {
		strict = strict || r < a.round && m.polka(run, a.height, r, block)
		weak = weak || m.polka(run, a.height, r, Nil)
		for other := range m.proposed[a.height] { //lockstep:unordered any of them
			weak = weak || other != locked && m.polka(run, a.height, r, other)
		}
	}
	m.check(Locking, weak || strict, n,
		"validator %d, locked on %s in round %d, prevoted %s in %d/%d, and no polka unlocked it", n, locked, round,
		block, a.height, a.round)
	m.check(StrictLocking, strict, n,
		"validator %d, locked on %s in round %d, prevoted %s in %d/%d without a polka for that", n, locked, round,
		block, a.height, a.round)
}

// lockOf is the block that a validator precommitted last before a round, according to its signatures.
func (m *monitor) lockOf(n lockstep.Node, a at) (string, int32) {
	for r := a.round - 1; r >= 0; r-- {
		for block, by := range m.signed[at{a.height, r, true}] { //lockstep:unordered at most one
			if block != Nil && by.Has(n) {
				return block, r
			}
		}
	}
	return "", -1
}

// commit checks a decision.
func (m *monitor) commit(run *lockstep.Run, n lockstep.Node, c *Commit, correct bool) {
	m.height[n] = c.Height
	if !correct {
		return
	}
	m.check(Validity, m.proposed[c.Height][c.Block], n, "validator %d decided %s, which no validator proposed", n, c)
	m.check(Quorum, 3*c.Signers.Len() > 2*m.nodes, n, "validator %d decided %s, which is not more than two thirds", n,
		c)
	honest := c.Signers &^ run.Byzantine()
	m.check(Quorum, honest&^m.signed[at{c.Height, c.Round, true}][c.Block] == 0, n,
		"validator %d decided %s, but not all of these signed that", n, c)
	if m.decided[c.Height] == nil {
		m.decided[c.Height] = map[lockstep.Node]*Commit{}
	}
	for other := range run.All().All() {
		d := m.decided[c.Height][other]
		if d == nil || run.Byzantine().Has(other) {
			continue
		}
		if d.Block != c.Block {
			guilty := m.guilty(c.Height)
			m.check(Accountability, 3*guilty.Len() > m.nodes, n,
				"validators %d and %d decided %s and %s, and the votes prove only %s guilty", other, n, d, c, guilty)
		}
		m.check(Agreement, d.Block == c.Block, n, "validator %d decided %s, and validator %d had decided %s", n, c,
			other, d)
	}
	m.decided[c.Height][n] = c
}

// guilty are the validators that, according to the votes sent at a height, voted twice in a step or against their
// lock.
func (m *monitor) guilty(height int64) (guilty lockstep.Nodes) {
	for a, votes := range m.sent { //lockstep:unordered it makes a set
		if a.height != height {
			continue
		}
		for block, by := range votes { //lockstep:unordered it makes a set
			for other, also := range votes { //lockstep:unordered it makes a set
				if other != block {
					guilty |= by & also
				}
			}
			if a.precommit || block == Nil {
				continue
			}
			for r := range a.round { // those that precommitted another block before, without a polka in between
				for locked, holders := range m.sent[at{height, r, true}] { //lockstep:unordered it makes a set
					if locked == Nil || locked == block {
						continue
					}
					for n := range (holders & by).All() {
						if !m.excused(lock{height, r, locked}, a.round, block, n) {
							guilty |= trace.NodesOf(n)
						}
					}
				}
			}
		}
	}
	return guilty
}

// lock is a precommit of a block.
type lock struct {
	height int64
	round  int32
	block  string
}

// excused reports whether the sent votes contain a polka that allows a validator to prevote a block despite its lock.
// The polka is for a block other than the locked one, or for nil, in a later round up to that of the prevote. The
// prevote itself does not count.
func (m *monitor) excused(l lock, upto int32, block string, n lockstep.Node) bool {
	for r := l.round; r <= upto; r++ {
		for other, by := range m.sent[at{l.height, r, false}] { //lockstep:unordered any of them
			if r == upto {
				by &^= trace.NodesOf(n)
			}
			if other != l.block && (r > l.round || other == block) && 3*by.Len() > 2*m.nodes {
				return true
			}
		}
	}
	return false
}

// End checks properties that need time.
func (m *monitor) End(run *lockstep.Run) *lockstep.Finding {
	m.found = nil
	forged := run.Byzantine()
	if 3*forged.Len() >= m.nodes {
		return nil
	}
	for _, d := range slices.SortedFunc(maps.Keys(m.doubles), double.compare) {
		if !forged.Has(d.seen) && m.height[d.seen] >= d.height+2*int64(m.nodes) {
			m.check(
				EvidenceIncluded,
				m.proven[[2]int64{int64(d.by), d.height}],
				d.seen,
				"validator %d got two votes of validator %d at height %d, and no block up to height %d has evidence of it",
				d.seen,
				d.by,
				d.height,
				m.height[d.seen],
			)
		}
	}
	if run.Settled() && m.began != nil && !m.silent {
		m.progress(run, forged)
	}
	return m.found
}

// progress checks Liveness.
func (m *monitor) progress(run *lockstep.Run, forged lockstep.Nodes) {
	rounds := int32(0)
	for _, r := range m.rounds { //lockstep:unordered the highest
		rounds = max(rounds, r)
	}
	long := run.Now()-m.since >= trace.Time(Timeout+time.Duration(rounds)*PerRound)
	halted, places := true, []string(nil)
	for n := range (run.All() &^ forged).All() {
		long = long || m.height[n] >= m.began[n]+Ahead
		halted = halted && m.height[n] == m.began[n]
		places = append(places, fmt.Sprintf("validator %d at %s", n, &m.is[n]))
	}
	for n := range (run.All() &^ forged).All() {
		moved, took := m.height[n] > m.began[n], time.Duration(run.Now()-m.since)
		switch {
		case halted && long:
			m.check(Liveness, false, n, "no validator has decided anything in %v without faults: %s", took,
				strings.Join(places, ", "))
		case moved || long:
			m.check(Liveness, moved, n,
				"validator %d has decided nothing in %v without faults; it is at height %d, others have decided %d", n,
				took, m.is[n].Height, slices.Max(m.height))
		}
	}
}

// EventsOnly reports that steps without events are checked, too.
func (*monitor) EventsOnly() bool { return false }

// Conclude reports the number of checks.
func (m *monitor) Conclude(bool) lockstep.Conclusion {
	m.list = m.list[:0]
	for i, n := range m.checked {
		if m.what&(1<<i) != 0 {
			m.list = append(m.list, n)
		}
	}
	return lockstep.Conclusion{Checked: m.list}
}
