package tendermint

import (
	"context"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// script is a system of four validators that only report events, one in each step, and those of calm in the settling
// stage.
type script struct {
	events, calm []lockstep.Event
}

func (script) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "script", Nodes: 4, Supports: trace.KindsOf(trace.Timer)}, nil
}

func (s script) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &player{script: s}, nil
}

// player reports the events of a script.
type player struct {
	script
	left []lockstep.Event
}

func (p *player) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	p.left = append(append([]lockstep.Event{}, p.events...), p.calm...)
	out.SetTimer(1, 1)
	return nil
}

func (p *player) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	if len(p.left) > 0 {
		out.Event(p.left[0])
		p.left = p.left[1:]
	}
	out.SetTimer(1, out.Now()+trace.Time(100*time.Millisecond))
	return nil
}

func (*player) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }
func (*player) Close() error                        { return nil }

// found is the property that a script violates, or nothing.
func (s script) found(t *testing.T, p Property, settle int) string {
	t.Helper()
	result := explore(
		t,
		lockstep.Plan{
			System:       s,
			Strategy:     strategy.Walk{Timer: 1},
			Spec:         p,
			Runs:         1,
			Steps:        max(1, len(s.events)),
			Settle:       settle,
			AllowVacuous: true,
		},
	)
	if f := result.First(); f != nil {
		return f.Finding.Property
	}
	return ""
}

func proposes(n lockstep.Node, height int64, round int32, block string) lockstep.Event {
	return lockstep.Event{
		Type:  EventPropose,
		Node:  n,
		Value: &Proposed{Height: height, Round: round, POL: -1, Block: block, By: n},
	}
}

// vote are votes of the same kind by each of the validators.
func vote(kind string, height int64, round int32, block string, by ...lockstep.Node) (list []lockstep.Event) {
	for _, n := range by {
		list = append(list,
			lockstep.Event{Type: kind, Node: n, Value: &Vote{Height: height, Round: round, Block: block, By: n}})
	}
	return list
}

func decides(n lockstep.Node, height int64, block string, by ...lockstep.Node) lockstep.Event {
	return lockstep.Event{
		Type:  EventCommit,
		Node:  n,
		Value: &Commit{Height: height, Block: block, Signers: trace.NodesOf(by...)},
	}
}

func joined(parts ...any) (list []lockstep.Event) {
	for _, p := range parts {
		switch p := p.(type) {
		case lockstep.Event:
			list = append(list, p)
		case []lockstep.Event:
			list = append(list, p...)
		}
	}
	return list
}

// height is a correct height, decided by all validators except those in without.
func height(h int64, block string, without ...lockstep.Node) []lockstep.Event {
	list := joined(proposes(1, h, 0, block), vote(EventPrevote, h, 0, block, 1, 2, 3, 4),
		vote(EventPrecommit, h, 0, block, 1, 2, 3, 4))
	for n := range (trace.AllNodes(4) &^ trace.NodesOf(without...)).All() {
		list = append(list, decides(n, h, block, 1, 2, 3, 4))
	}
	return list
}

// Each property fails on a run with one violation, and holds on a similar, correct run.
func TestSpecCanFail(t *testing.T) {
	begin := joined(proposes(1, 1, 0, "A"), vote(EventPrevote, 1, 0, "A", 1, 2, 3),
		vote(EventPrecommit, 1, 0, "A", 1, 2, 3))
	lock := joined(proposes(1, 1, 0, "A"), proposes(2, 1, 2, "B"), vote(EventPrevote, 1, 0, "A", 1, 2, 3),
		vote(EventPrecommit, 1, 0, "A", 1))
	for _, c := range []struct {
		name        string
		p           Property
		want        string
		right, also []lockstep.Event // also makes the run wrong
	}{
		{"the state machine gives up", Everything, "running", begin,
			joined(lockstep.Event{Type: EventFailure, Node: 1, Value: &Failure{Text: "oh"}})},
		{"a fork without a double vote", Safety, "accountability", joined(height(1, "A", 4), proposes(2, 1, 0, "B")),
			joined(decides(4, 1, "B", 1, 2, 3))},
		{"a fork", Agreement, "agreement", height(1, "A", 4), joined(decides(4, 1, "B", 1, 2, 3))},
		{"a block that no validator proposed", Safety, "validity", begin, joined(decides(1, 1, "C", 1, 2, 3))},
		{"a block of another height", Safety, "validity", height(1, "A"), joined(decides(1, 2, "A", 1, 2, 3))},
		{"two signatures of four", Safety, "quorum", begin, joined(decides(1, 1, "A", 1, 2))},
		{"a signature that was not given", Safety, "quorum", begin, joined(decides(1, 1, "A", 1, 2, 4))},
		{"two prevotes", Safety, "one-vote", begin, vote(EventPrevote, 1, 0, Nil, 2)},
		{"two precommits", Safety, "one-vote", begin, vote(EventPrecommit, 1, 0, Nil, 2)},
		{"a precommit without a polka", Safety, "locking",
			joined(proposes(1, 1, 0, "A"), vote(EventPrevote, 1, 0, "A", 1, 2)), vote(EventPrecommit, 1, 0, "A", 1)},
		{"a prevote against the lock", Safety, "locking", lock, vote(EventPrevote, 1, 2, "B", 1)},
		{"a prevote against the lock after a polka for nil", StrictLocking, "strict-locking",
			joined(lock, vote(EventPrevote, 1, 1, Nil, 2, 3, 4)), vote(EventPrevote, 1, 2, "B", 1)},
	} {
		if got := (script{events: c.right}).found(t, c.p, 0); got != "" {
			t.Errorf("%s: %s is violated before it", c.name, got)
		}
		if got := (script{events: joined(c.right, c.also)}).found(t, c.p, 0); got != c.want {
			t.Errorf("%s: found %q, want %s", c.name, got, c.want)
		}
	}
}

// The events that unlock a validator, by the rule of the library and by the published one.
func TestUnlocking(t *testing.T) {
	lock := joined(proposes(1, 1, 0, "A"), proposes(2, 1, 1, "B"), vote(EventPrevote, 1, 0, "A", 1, 2, 3),
		vote(EventPrecommit, 1, 0, "A", 1))
	against := vote(EventPrevote, 1, 2, "B", 1)
	for _, c := range []struct {
		name   string
		polka  []lockstep.Event
		weak   string
		strict string
	}{
		{"for that block", vote(EventPrevote, 1, 1, "B", 2, 3, 4), "", ""},
		{"for nil", vote(EventPrevote, 1, 1, Nil, 2, 3, 4), "", "strict-locking"},
		{"of two", vote(EventPrevote, 1, 1, "B", 3, 4), "locking", "strict-locking"},
		{"in the same round", vote(EventPrevote, 1, 2, "B", 2, 3, 4), "", "strict-locking"},
		{"too late", vote(EventPrevote, 1, 3, "B", 2, 3, 4), "locking", "strict-locking"},
	} {
		s := script{events: joined(lock, c.polka, against)}
		if weak, strict := s.found(t, Locking, 0), s.found(t, StrictLocking, 0); weak != c.weak || strict != c.strict {
			t.Errorf("a polka %s: %q and %q, want %q and %q", c.name, weak, strict, c.weak, c.strict)
		}
	}
}

// In a settling stage every validator decides again: within the time, or before another has decided four times.
func TestLivenessCanFail(t *testing.T) {
	all, three := height(1, "A"), joined(height(1, "A", 4))
	for _, c := range []struct {
		name   string
		calm   []lockstep.Event
		settle int
		want   string
	}{
		{"all decide", all, 40, ""},
		{"no decision", nil, 40, "liveness"},
		{"one is left behind", three, 40, "liveness"},
		{"one is left behind, and it is early", joined(decides(1, 1, "A", 1, 2, 3)), 3, ""},
		{"one is left behind, and the others go on", joined(decides(1, 1, "A"), decides(1, 2, "A"), decides(1, 3, "A"),
			decides(1, 4, "A")), 5, "liveness"},
	} {
		begin := []lockstep.Event{{Type: EventStep, Node: 1, Value: &Step{Height: 1}}}
		if got := (script{begin, c.calm}).found(t, Liveness, c.settle); got != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}

// The spec finds validators guilty that voted twice in a step, or against the lock without an excuse.
func TestGuilty(t *testing.T) {
	prevote, precommit := false, true
	type sent struct {
		round     int32
		precommit bool
		block     string
		by        lockstep.Nodes
	}
	n := trace.NodesOf
	for name, c := range map[string]struct {
		sent []sent
		want lockstep.Nodes
	}{
		"no validator": {[]sent{{0, prevote, "A", n(1, 2, 3)}, {0, precommit, "A", n(1, 2, 3)},
			{1, prevote, Nil, n(1, 2, 3)}}, 0},
		"two votes": {[]sent{{0, prevote, "A", n(1, 2, 3)}, {0, prevote, "B", n(2, 3, 4)}},
			n(2, 3)},
		"for a block and for nil": {[]sent{{0, precommit, "A", n(1)}, {0, precommit, Nil, n(1)}}, n(1)},
		"amnesia":                 {[]sent{{0, precommit, "A", n(1, 2)}, {1, prevote, "B", n(2, 3)}}, n(2)},
		"the same block again":    {[]sent{{0, precommit, "A", n(1, 2)}, {1, prevote, "A", n(1, 2)}}, 0},
		"excused by a polka": {[]sent{{0, precommit, "A", n(1)}, {1, prevote, "B", n(2, 3, 4)},
			{2, prevote, "B", n(1)}}, 0},
		"excused by a polka for nil": {[]sent{{0, precommit, "A", n(1)}, {1, prevote, Nil, n(2, 3, 4)},
			{2, prevote, "B", n(1)}}, 0},
		"not excused by two": {[]sent{{0, precommit, "A", n(1)}, {1, prevote, "B", n(3, 4)},
			{2, prevote, "B", n(1)}}, n(1)},
		"excused by others in the round": {[]sent{{0, precommit, "A", n(1)}, {1, prevote, "B", n(1, 2, 3, 4)}}, 0},
		"not excused by its own vote":    {[]sent{{0, precommit, "A", n(1)}, {1, prevote, "B", n(1, 2, 3)}}, n(1)},
	} {
		m := &monitor{nodes: 4}
		m.Reset()
		for _, s := range c.sent {
			for by := range s.by.All() {
				m.enter(m.sent, at{5, s.round, s.precommit}, s.block, by)
				m.enter(m.sent, at{6, s.round, s.precommit}, "other", by) // irrelevant
			}
		}
		if got := m.guilty(5); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// forgetful is a spec that discards a part of its state after every step.
type forgetful struct {
	Property
	forget func(*monitor)
}

func (f forgetful) New(i lockstep.Info) lockstep.Monitor {
	return forgetfulMonitor{f.Property.New(i).(*monitor), f.forget}
}

type forgetfulMonitor struct {
	*monitor
	forget func(*monitor)
}

func (f forgetfulMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	finding := f.monitor.Step(run)
	f.forget(f.monitor)
	return finding
}

// The specs find missing evidence against a Byzantine validator that voted twice, and a fork that leaves no votes.
func TestUnreportedEvidence(t *testing.T) {
	blind := forgetful{Everything, func(m *monitor) { clear(m.proven) }}
	result := explore(
		t,
		lockstep.Plan{
			System:   Cluster{},
			Strategy: byzantineWalk,
			Scenario: RandomByzantine(1, 4),
			Spec:     blind,
			Runs:     2,
			Settle:   4000,
			Seed:     3,
		},
	)
	if f := result.First(); f == nil || f.Finding.Property != "evidence" {
		t.Errorf("without evidence in blocks: %+v", f)
	}
	blind = forgetful{Safety, func(m *monitor) { clear(m.sent) }}
	result = explore(
		t,
		lockstep.Plan{System: Cluster{}, Strategy: byzantineWalk, Scenario: RandomByzantine(2, 4), Spec: blind, Runs: 60,
			Seed: 1},
	)
	if f := result.First(); f == nil || f.Finding.Property != "accountability" {
		t.Errorf("a fork without votes: %+v", f)
	}
}

// The check names options that are out of range.
func TestOptions(t *testing.T) {
	for want, c := range map[string]Cluster{
		"pause is -1ns, it must be at least 1ns":                                            {Pause: -1},
		"disk is -1ns, it must not be negative":                                             {Disk: -1},
		"slow is 1.5, allowed are 0..1":                                                     {Slow: 1.5},
		"power is -1, allowed are 0..1":                                                     {Power: -1},
		"power is 0.5, which needs files=true: without files a power failure takes nothing": {Power: 0.5},
	} {
		if _, err := c.Describe(); err == nil || err.Error() != libraryName+": "+want {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}
