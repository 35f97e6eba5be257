package raftspec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// script is a system of three nodes that does nothing but report events, one in each step.
// It can be seen through, by what it says of itself.
type script struct {
	events []lockstep.Event
	view   *view
}

// view is what a script says beyond its events.
type view struct {
	follows lockstep.Node
	reaches uint64
	open    int
	calm    int
}

func (script) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "script", Nodes: 3, Supports: trace.KindsOf(trace.Timer)}, nil
}

func (s script) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return &player{script: s}, nil
}

// player reports the events of a script.
type player struct {
	script
	at int
}

func (p *player) Reset(_ context.Context, _ uint64, out *lockstep.Outbox) error {
	p.at = 0
	out.SetTimer(1, 1)
	return nil
}

func (p *player) Do(_ context.Context, _ *lockstep.Step, out *lockstep.Outbox) error {
	if p.at < len(p.events) {
		out.Event(p.events[p.at])
		p.at++
	}
	out.SetTimer(1, out.Now()+1)
	return nil
}

func (p *player) Capabilities() (a lockstep.Capabilities) {
	if p.view != nil {
		a.View = p.view
	}
	return a
}

func (*player) Close() error { return nil }

func (v *view) Follows(lockstep.Node) lockstep.Node   { return v.follows }
func (v *view) Reaches(lockstep.Node) uint64          { return v.reaches }
func (v *view) Answered() (answered, all int)         { return 5 - v.open, 5 }
func (v *view) Calm(_ lockstep.Nodes, ticks int) bool { return v.calm >= ticks }
func (v *view) Heeds(_, _ lockstep.Node) bool         { return true }
func (v *view) QuiescentAfter() trace.Time            { return 2 }

// check makes one run of a script.
func check(t testing.TB, s script, promised lockstep.Spec) *lockstep.Result {
	t.Helper()
	r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: s, Strategy: strategy.Walk{Timer: 1},
		Spec: promised,
		Runs: 1, Steps: max(1, len(s.events)), Settle: 5, Workers: 1, AllowVacuous: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// found is the property that a script violates, and the text of the finding.
func found(t testing.TB, s script, promised lockstep.Spec) (property, text string) {
	t.Helper()
	if f := check(t, s, promised).First(); f != nil {
		return f.Finding.Property, f.Finding.Text
	}
	return "", ""
}

func role(n lockstep.Node, kind string, term uint64) lockstep.Event {
	return lockstep.Event{Type: kind, Node: n, Value: &raftspec.Role{Term: term}}
}

func leads(n lockstep.Node, term uint64) lockstep.Event { return role(n, raftspec.BecameLeader, term) }

// entries are "term data" in order from an index on.
func entries(from uint64, texts ...string) []raftspec.Entry {
	var list []raftspec.Entry
	for i, text := range texts {
		var term uint64
		var data string
		if _, err := fmt.Sscan(text, &term, &data); err != nil {
			panic(err)
		}
		list = append(list, raftspec.Entry{Index: from + uint64(i), Term: term, Data: []byte(data), Silent: data == "-"})
	}
	return list
}

func appends(n lockstep.Node, last uint64, list []raftspec.Entry) lockstep.Event {
	return lockstep.Event{Type: raftspec.EventAppend, Node: n, Value: &raftspec.Appended{Entries: list, Last: last}}
}

func applies(n lockstep.Node, e raftspec.Entry, state uint64) lockstep.Event {
	return lockstep.Event{Type: raftspec.EventApply, Node: n, Value: &raftspec.Applied{Entry: e, State: state}}
}

func commits(n lockstep.Node, term, index uint64) lockstep.Event {
	return lockstep.Event{Type: raftspec.EventCommit, Node: n, Value: &raftspec.Committed{Term: term, Index: index}}
}

func installs(n lockstep.Node, index, state uint64) lockstep.Event {
	return lockstep.Event{Type: raftspec.EventInstall, Node: n,
		Value: &raftspec.Installed{Index: index, Term: 1, State: state}}
}

func restarts(n lockstep.Node, base uint64, list []raftspec.Entry) lockstep.Event {
	return lockstep.Event{Type: raftspec.EventRestart, Node: n,
		Value: &raftspec.Restarted{Base: base, Last: base + uint64(len(list)),
			Entries: list, Term: 1, Applied: base, Conf: raftspec.Conf{Voters: trace.AllNodes(3)}}}
}

func clients(id int) []lockstep.Event {
	return []lockstep.Event{{Type: spec.EventCall, Value: &spec.Call{Client: 1, ID: id, Input: "put"}},
		{Type: spec.EventReturn, Node: 1, Value: &spec.Return{Client: 1, ID: id, Output: "done"}}}
}

// Each property is violated by a run that breaks it, and by no other of these.
func TestProperties(t *testing.T) {
	ab := entries(1, "1 a", "1 b")
	started := []lockstep.Event{restarts(1, 0, nil), restarts(2, 0, nil), restarts(3, 0, nil)}
	answered := slices.Concat(started, []lockstep.Event{leads(1, 1), appends(1, 0, ab), commits(1, 1, 2),
		applies(1, ab[0], 1), applies(1, ab[1], 2)}, clients(7))
	cut := &raftspec.Appended{Cut: 2, Leader: true}
	over := &raftspec.Appended{Entries: ab[1:], Last: 2, Leader: true}
	fine := &view{follows: 1, reaches: 9}
	led := []lockstep.Event{leads(1, 1), role(2, raftspec.BecameFollower, 1), role(3, raftspec.BecameFollower, 1)}
	for name, c := range map[string]struct {
		events []lockstep.Event
		view   *view
		want   string
	}{
		"one leader in a term": {[]lockstep.Event{leads(1, 1), leads(2, 2), leads(1, 3)}, nil, ""},
		"two leaders":          {[]lockstep.Event{leads(1, 1), leads(2, 1)}, nil, "election-safety"},
		"cut": {[]lockstep.Event{appends(1, 0, ab), {Type: raftspec.EventAppend, Node: 1, Value: cut}},
			nil, "leader-append-only"},
		"overwrite": {[]lockstep.Event{appends(1, 0, ab), {Type: raftspec.EventAppend, Node: 1, Value: over}},
			nil, "leader-append-only"},
		"follower overwrites": {[]lockstep.Event{appends(1, 0, ab), appends(1, 2, entries(2, "2 c"))}, nil, ""},
		"gap":                 {[]lockstep.Event{appends(1, 0, entries(2, "1 a"))}, nil, "log-matching"},
		"same entry, other log": {[]lockstep.Event{appends(1, 0, ab), appends(2, 0, entries(1, "1 x", "1 b"))}, nil,
			"log-matching"},
		"leader has it": {[]lockstep.Event{leads(1, 1), appends(1, 0, ab), commits(1, 1, 1), appends(2, 0, ab),
			leads(2, 2)}, nil, ""},
		"leader lacks it": {[]lockstep.Event{leads(1, 1), appends(1, 0, ab), commits(1, 1, 1), leads(2, 2)}, nil,
			"leader-completeness"},
		"commit after election": {[]lockstep.Event{leads(1, 1), appends(1, 0, ab), leads(2, 2), commits(1, 1, 1)}, nil,
			"leader-completeness"},
		"followers may know": {[]lockstep.Event{leads(1, 1), appends(1, 0, ab), leads(2, 2), commits(3, 1, 1)}, nil, ""},
		"leader lost it": {[]lockstep.Event{leads(1, 1), appends(1, 0, ab), commits(1, 1, 2), restarts(1, 0, ab[:1]),
			leads(1, 2)}, nil, "leader-completeness"},
		"in its snapshot": {[]lockstep.Event{leads(1, 1), appends(1, 0, ab), commits(1, 1, 1), applies(1, ab[0], 1),
			applies(1, ab[1], 2), installs(2, 2, 2), leads(2, 2)}, nil, ""},
		"apply twice": {[]lockstep.Event{appends(1, 0, ab), applies(1, ab[0], 1), applies(1, ab[0], 1)}, nil,
			"state-machine-safety"},
		"apply too far":          {[]lockstep.Event{appends(1, 0, ab), applies(1, ab[1], 1)}, nil, "state-machine-safety"},
		"pass over a silent one": {[]lockstep.Event{appends(1, 0, entries(1, "1 -", "1 b")), applies(1, ab[1], 1)}, nil, ""},
		"apply something else": {[]lockstep.Event{applies(1, ab[0], 1), applies(2, entries(1, "1 x")[0], 1)}, nil,
			"state-machine-safety"},
		"another state":         {[]lockstep.Event{applies(1, ab[0], 1), applies(2, ab[0], 2)}, nil, "state-machine-safety"},
		"another snapshot":      {[]lockstep.Event{applies(1, ab[0], 1), installs(2, 1, 2)}, nil, "state-machine-safety"},
		"acknowledged and kept": {slices.Concat(answered, []lockstep.Event{appends(2, 0, ab), leads(2, 2)}), nil, ""},
		"not on the disks":      {answered, &view{follows: 1, reaches: 1}, "durability"},
		"on the disks": {slices.Concat(answered, led[1:],
			[]lockstep.Event{appends(2, 0, ab), applies(2, ab[0], 1), applies(2, ab[1], 2), appends(3, 0, ab)}), fine, ""},
		"only one has it": {slices.Concat(answered, led[1:]), fine, "durability"},
		"logs differ": {slices.Concat(started, led, []lockstep.Event{appends(1, 0, ab), appends(2, 0, ab[:1])}),
			fine, "log-agreement"},
		"logs agree": {slices.Concat(started, led,
			[]lockstep.Event{appends(1, 0, ab), appends(2, 0, ab), appends(3, 0, ab)}), fine, ""},
		"a log is not that far": {slices.Concat(started, led, []lockstep.Event{appends(1, 0, ab)}), fine, "log-agreement"},
		"no node leads":         {started, fine, "liveness"},
		"no node follows":       {slices.Concat(started, led), &view{}, "liveness"},
		"not answered":          {slices.Concat(started, led), &view{follows: 1, open: 1}, "liveness"},
		"no calm":               {started, &view{calm: -1}, ""},
	} {
		property, text := found(t, script{c.events, c.view}, raftspec.Everything)
		if property != c.want {
			t.Errorf("%s: %s (%s), want %s", name, property, text, c.want)
		}
	}
}

// Learners and former voters neither campaign nor count, in both configurations while they are joint.
func TestMembership(t *testing.T) {
	a := entries(1, "1 a")
	conf := func(n lockstep.Node, c raftspec.Conf) lockstep.Event {
		return lockstep.Event{Type: raftspec.EventRestart, Node: n, Value: &raftspec.Restarted{Term: 1, Conf: c}}
	}
	all := raftspec.Conf{Voters: trace.AllNodes(3)}
	learner := raftspec.Conf{Voters: trace.NodesOf(1, 2), Learners: trace.NodesOf(3)}
	joint := raftspec.Conf{Voters: trace.NodesOf(1, 2), Outgoing: trace.NodesOf(3)}
	led := func(c raftspec.Conf, with ...lockstep.Node) []lockstep.Event {
		list := []lockstep.Event{conf(1, c), leads(1, 1), appends(1, 0, a)}
		for _, n := range with {
			list = append(list, appends(n, 0, a))
		}
		return append(list, commits(1, 1, 1))
	}
	for name, c := range map[string]struct {
		events []lockstep.Event
		want   string
	}{
		"voter campaigns":   {[]lockstep.Event{conf(1, all), role(1, raftspec.BecameCandidate, 2)}, ""},
		"learner campaigns": {[]lockstep.Event{conf(3, learner), role(3, raftspec.BecameCandidate, 2)}, "voters-campaign"},
		"learner asks first": {[]lockstep.Event{conf(3, learner), role(3, raftspec.BecamePreCandidate, 2)},
			"voters-campaign"},
		"leaves later":      {[]lockstep.Event{conf(3, joint), role(3, raftspec.BecameCandidate, 2)}, ""},
		"knows no members":  {[]lockstep.Event{role(3, raftspec.BecameCandidate, 2)}, ""},
		"two of three":      {led(all, 3), ""},
		"one of three":      {led(all), "voters-commit"},
		"a learner":         {led(learner, 3), "voters-commit"},
		"both voters":       {led(learner, 2), ""},
		"only the new ones": {led(joint, 2), "voters-commit"},
		"both groups":       {led(joint, 2, 3), ""},
		"another entry":     {append(led(all)[:3], appends(2, 0, entries(1, "2 x")), commits(1, 1, 1)), "voters-commit"},
	} {
		if property, text := found(t, script{events: c.events}, raftspec.Membership); property != c.want {
			t.Errorf("%s: %s (%s), want %s", name, property, text, c.want)
		}
	}
}

// A write that a client knows of is missed in the log of a leader though no node reported that it
// was committed.
func TestDurabilityWithoutCommits(t *testing.T) {
	ab := entries(1, "1 a", "1 b")
	events := slices.Concat([]lockstep.Event{leads(1, 1), appends(1, 0, ab), applies(1, ab[0], 1)}, clients(7),
		[]lockstep.Event{leads(2, 2)})
	if property, text := found(t, script{events: events}, raftspec.Everything); property != "durability" ||
		!strings.Contains(text, "put") {
		t.Errorf("%s: %s", property, text)
	}
}

// Within is liveness in fewer ticks than the system says.
func TestWithin(t *testing.T) {
	for calm, want := range map[int]string{11: "", 12: "liveness"} {
		if property, _ := found(t, script{view: &view{calm: calm}}, raftspec.Within(12)); property != want {
			t.Errorf("after %d ticks: %q, want %q", calm, property, want)
		}
	}
}

// Systems with time of their own are live by that.
func TestTimed(t *testing.T) {
	again := []lockstep.Event{leads(1, 1)}
	for _, c := range []struct {
		promised lockstep.Spec
		events   []lockstep.Event
		want     string
	}{
		{raftspec.HasLeader(1), nil, "liveness"},
		{raftspec.HasLeader(1), again, ""},
		{raftspec.HasLeader(1), append(again, role(1, raftspec.BecameFollower, 2)), "liveness"},
		{raftspec.HasLeader(100), nil, ""}, // the stage is too short
		{raftspec.LeaderStable(1), again, ""},
	} {
		if property, _ := found(t, script{events: c.events}, c.promised); property != c.want {
			t.Errorf("%v %v: %q, want %q", c.promised.Properties(), c.events, property, c.want)
		}
	}
}

// What is compared with nothing is not checked: the first log that has an entry, a leader
// that has a snapshot of what was committed, a snapshot of what no node has applied.
func TestCheckedOnlyWhatCouldFail(t *testing.T) {
	one := entries(1, "1 a")
	for name, c := range map[string]struct {
		property raftspec.Property
		events   []lockstep.Event
		want     int
	}{
		"three logs": {raftspec.LogMatching, []lockstep.Event{appends(1, 0, one), appends(2, 0, one),
			appends(3, 0, one)}, 2},
		"three snapshots": {raftspec.StateMachineSafety, []lockstep.Event{installs(1, 4, 6), installs(2, 4, 6),
			installs(3, 4, 6)}, 2},
		"in a snapshot": {raftspec.LeaderCompleteness, []lockstep.Event{leads(1, 1), appends(1, 0, one), commits(1, 1, 1),
			installs(2, 3, 1), leads(2, 2)}, 0},
		"in the log": {raftspec.LeaderCompleteness, []lockstep.Event{leads(1, 1), appends(1, 0, one), commits(1, 1, 1),
			appends(2, 0, one), leads(2, 2)}, 1},
	} {
		if r := check(t, script{events: c.events}, c.property); r.First() != nil || r.Checked[0].N != c.want {
			t.Errorf("%s: %v, checked %v, want %d", name, r.First(), r.Checked, c.want)
		}
	}
}

// The hashes of prefixes say what the logs themselves do: random logs that are appended to,
// cut, lost and replaced by snapshots, beside a copy of every log that is compared in full.
func TestLogsInFull(t *testing.T) {
	violated := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		events, want := randomLogs(r)
		property, text := found(t, script{events: events}, raftspec.LogMatching|raftspec.LeaderCompleteness)
		if property != want {
			t.Fatalf("seed %d: %s (%s), comparing in full says %q", seed, property, text, want)
		}
		if want != "" {
			violated++
		}
	}
	if violated < 50 || violated > 250 {
		t.Errorf("%d of 300 runs violate something: too few of one kind", violated)
	}
}

// randomLogs is a run of three logs up to its first violation, and which that is.
func randomLogs(r *rand.Rand) (events []lockstep.Event, violates string) {
	var logs [4][]string // by node: "term data"
	prefix := func(n, k int) string { return strings.Join(logs[n][:k], ",") }
	type place struct {
		index int
		term  string
	}
	seen := map[place]string{}
	var commit []string // "prefix" committed in term i, by the only leader of it
	term := uint64(0)
	for length := 4 + r.IntN(16); len(events) < length; {
		n := 1 + r.IntN(3)
		switch k := len(logs[n]); r.IntN(8) {
		case 0: // the next leader
			term++
			events = append(events, leads(lockstep.Node(n), term))
			for _, c := range commit {
				if p := strings.Count(c, ",") + 1; p > k || prefix(n, p) != c {
					return events, "leader-completeness"
				}
			}
			if k > 0 && r.IntN(2) == 0 {
				at := 1 + r.IntN(k)
				events = append(events, commits(lockstep.Node(n), term, uint64(at)))
				commit = append(commit, prefix(n, at))
			}
		case 1: // a crash loses the tail
			logs[n] = logs[n][:r.IntN(k+1)]
			events = append(events, restarts(lockstep.Node(n), 0, entries(1, logs[n]...)))
		default: // what another log has, or something new
			from := r.IntN(k + 1)
			list := []string{fmt.Sprintf("%d %c", 1+r.IntN(3), 'a'+r.IntN(8)/7)}
			if m := 1 + r.IntN(3); len(logs[m]) > from && r.IntN(6) > 0 {
				list = slices.Clone(logs[m][from:])
			}
			logs[n] = append(slices.Clone(logs[n][:from]), list...)
			events = append(events, appends(lockstep.Node(n), uint64(k), entries(uint64(from+1), list...)))
			for i := from; i < len(logs[n]); i++ {
				t, _, _ := strings.Cut(logs[n][i], " ")
				at := place{i, t}
				if was, ok := seen[at]; ok && was != prefix(n, i+1) {
					return events, "log-matching"
				}
				seen[at] = prefix(n, i+1)
			}
		}
	}
	return events, ""
}

func ExampleProperty() {
	promised := raftspec.Safety | raftspec.Durability
	fmt.Println(strings.Join(promised.Properties(), ", "))
	// Output: election-safety, leader-append-only, log-matching, leader-completeness, state-machine-safety, durability
}

func ExampleAppended() {
	e := raftspec.Entry{Index: 2, Term: 1, Data: []byte("x=1")}
	fmt.Println(&raftspec.Appended{Entries: []raftspec.Entry{e},
		Words: func(e raftspec.Entry) string { return string(e.Data) }})
	fmt.Println(&raftspec.Applied{Entry: e})
	fmt.Println(raftspec.Conf{Voters: trace.NodesOf(1, 2), Outgoing: trace.NodesOf(1, 3), Learners: trace.NodesOf(4)})
	// Output:
	// [1/2 x=1]
	// [1/2 3 bytes]
	// 1,2&1,3 learners=4
}
