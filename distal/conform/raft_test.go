package conform_test

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/conform"
	"github.com/lockstep-go/lockstep/distal/machine"
	examples "github.com/lockstep-go/lockstep/examples/distal"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/trace"
)

// everything combines all faults.
func everything(steps int) strategy.Walk {
	return strategy.Walk{Deliver: 40, Drop: 2, Duplicate: 1, Timer: 10, Request: 1, Crash: 1, Restart: 2, Cut: 1,
		Heal: 2, Steps: steps}
}

func model(t *testing.T, name string, o conform.Options) *conform.Spec {
	t.Helper()
	text, err := examples.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := conform.New(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRaft checks that a correct Raft conforms to the model, and that its runs exercise every rule of it.
func TestRaft(t *testing.T) {
	for _, c := range []struct{ nodes, runs, percent int }{
		{3, tier.Pick(60, 2000), 99}, {5, tier.Pick(0, 200), 90}, // more nodes reach the limits of the search more often
	} {
		if testing.Short() {
			c.runs /= 6
		}
		if c.runs == 0 {
			continue
		}
		s := model(t, "raftlog_fixed", conform.Options{})
		result := enginetest.Explore(t, lockstep.Plan{System: raft.Cluster{Nodes: c.nodes, Requests: 6},
			Strategy: everything(1500), Spec: s, Runs: c.runs, Seed: 5})
		if f := result.First(); f != nil {
			t.Fatalf("%d nodes, run %d: %s\n%s", c.nodes, f.Run, f.Finding, f.Trace.Pictures[0].Data)
		}
		if result.Verdicts[trace.Pass]*100 < result.Runs*c.percent {
			t.Errorf("%d nodes: %v, %v", c.nodes, result.Verdicts, result.Reasons)
		}
		rules := map[int]bool{}
		for _, v := range s.Take().List {
			rules[v.Rule] = true
		}
		if len(rules) != len(s.Rules()) {
			t.Errorf("%d nodes: %d of %d rules", c.nodes, len(rules), len(s.Rules()))
		}
		if again := s.Take(); again.Runs != 0 || len(again.List) != 0 {
			t.Errorf("%d nodes: taken twice: %v", c.nodes, again)
		}
		t.Logf("%d nodes: %v", c.nodes, result.Verdicts)
	}
}

// change changes an event, and reports whether it did.
type change func(e *lockstep.Event) bool

// misreporting follows the events of a Raft that misreports once.
type misreporting struct {
	conform.Observer
	change change
	done   bool
}

func (m *misreporting) Reset() { m.done = false; m.Observer.Reset() }

func (m *misreporting) Event(run *lockstep.Run, e *lockstep.Event) (bool, error) {
	changed := *e
	if !m.done && run.Steps() > 100 {
		m.done = m.change(&changed)
	}
	return m.Observer.Event(run, &changed)
}

func misreport(what change) *conform.Mapping {
	m := conform.Raft
	m.New = func(p *machine.Program, info lockstep.Info) (conform.Observer, error) {
		o, err := conform.Raft.New(p, info)
		return &misreporting{Observer: o, change: what}, err
	}
	return &m
}

// TestMisreports checks that a Raft that does one thing wrong, once, does not conform, with and without what the
// mapping promises of the model.
func TestMisreports(t *testing.T) {
	tier.NotShort(t)
	for name, what := range map[string]change{
		"a follower leads": func(e *lockstep.Event) bool {
			ok := e.Type == raftspec.BecameFollower
			if ok {
				e.Type = raftspec.BecameLeader
			}
			return ok
		},
		"a node commits more": func(e *lockstep.Event) bool {
			c, ok := e.Value.(*raftspec.Committed)
			if ok {
				e.Value = &raftspec.Committed{Term: c.Term, Index: c.Index + 1}
			}
			return ok
		},
		"an entry of another term": func(e *lockstep.Event) bool {
			a, ok := e.Value.(*raftspec.Appended)
			if ok = ok && len(a.Entries) > 0 && a.Entries[0].Term > 1; ok {
				b := *a
				b.Entries = append([]raftspec.Entry(nil), a.Entries...)
				b.Entries[0].Term--
				e.Value = &b
			}
			return ok
		},
		"a leader drops an entry": func(e *lockstep.Event) bool {
			a, ok := e.Value.(*raftspec.Appended)
			if ok = ok && a.Leader && a.Last > 0; ok {
				e.Value = &raftspec.Appended{Cut: a.Last, Last: a.Last, Leader: true}
			}
			return ok
		},
	} {
		s := model(t, "raftlog_fixed", conform.Options{Mapping: misreport(what)})
		result := enginetest.Explore(t, lockstep.Plan{System: raft.Cluster{Nodes: 3, Requests: 6},
			Strategy: everything(600), Spec: s, Runs: 20, Seed: 9, KeepGoing: true})
		if n := result.Verdicts[trace.Fail]; n < 15 {
			t.Errorf("%s: found in %d of 20 runs: %v %v", name, n, result.Verdicts, result.Reasons)
		}
	}
}

// doubting is in doubt about every event.
type doubting struct{ conform.Observer }

func (d doubting) Event(run *lockstep.Run, e *lockstep.Event) (bool, error) {
	known, err := d.Observer.Event(run, e)
	if known && err == nil {
		err = conform.Doubt{Text: "this may be so"}
	}
	return known, err
}

// TestDoubts checks that a run is inconclusive, and no finding, if the mapping is in doubt about the event that no
// behavior explains. Doubt about events that a behavior explains changes nothing.
func TestDoubts(t *testing.T) {
	follower := func(e *lockstep.Event) bool {
		ok := e.Type == raftspec.BecameFollower
		if ok {
			e.Type = raftspec.BecameLeader
		}
		return ok
	}
	nothing := func(*lockstep.Event) bool { return false }
	for _, c := range []struct {
		change change
		want   trace.Verdict
	}{{nothing, trace.Pass}, {follower, trace.Unknown}} {
		m := conform.Raft
		m.New = func(p *machine.Program, info lockstep.Info) (conform.Observer, error) {
			o, err := misreport(c.change).New(p, info)
			return doubting{o}, err
		}
		result := enginetest.Explore(t, lockstep.Plan{System: raft.Cluster{Nodes: 3, Requests: 6},
			Strategy: everything(600), Spec: model(t, "raftlog_fixed", conform.Options{Mapping: &m}), Runs: 10, Seed: 9,
			KeepGoing: true})
		if result.Verdicts[trace.Fail] > 0 || result.Verdicts[c.want] < 8 {
			t.Errorf("%v: %v %v", c.want, result.Verdicts, result.Reasons)
		}
	}
}

// TestPromises checks that what the mapping promises of the model changes no verdict, only the effort.
func TestPromises(t *testing.T) {
	tier.NotShort(t)
	commits := func(e *lockstep.Event) bool {
		c, ok := e.Value.(*raftspec.Committed)
		if ok {
			e.Value = &raftspec.Committed{Term: c.Term, Index: c.Index + 1}
		}
		return ok
	}
	honest := func(*lockstep.Event) bool { return false }
	for _, l := range []change{honest, commits} {
		m := misreport(l)
		var all [2][]trace.Verdict
		for i, larger := range [][]string{m.Larger, nil} {
			used := *m
			used.Larger = larger
			s := model(t, "raftlog_fixed", conform.Options{Mapping: &used, Limits: conform.Limits{States: 20000}})
			for seed := range uint64(12) {
				result := enginetest.Explore(t, lockstep.Plan{System: raft.Cluster{Nodes: 3, Requests: 3},
					Strategy: everything(160), Spec: s, Runs: 1, Seed: seed})
				all[i] = append(all[i], result.Verdict())
			}
		}
		same := 0
		for i := range all[0] {
			if all[0][i] == all[1][i] {
				same++
			} else if all[1][i] != trace.Unknown {
				t.Errorf("seed %d: %v, and without promises %v", i, all[0][i], all[1][i])
			}
		}
		if same < 6 {
			t.Errorf("only %d runs could be compared: %v %v", same, all[0], all[1])
		}
	}
}

// TestInconclusive checks that a run of which the model or the mapping knows too little does not pass.
func TestInconclusive(t *testing.T) {
	for _, c := range []struct {
		name, why string
		spec      *conform.Spec
		system    raft.Cluster
	}{
		{"members change", "members change", model(t, "raftlog_fixed", conform.Options{}),
			raft.Cluster{Nodes: 3, Changes: "remove 3; add 3; remove 3; add 3; remove 3; add 3"}},
		{"a limit", "not all were looked at", model(t, "raftlog_fixed", conform.Options{Limits: conform.Limits{States: 1}}),
			raft.Cluster{Nodes: 3, Requests: 6}},
		{"another model", "needs the variables term and log", model(t, "paxos_fixed", conform.Options{}),
			raft.Cluster{Nodes: 3, Requests: 6}},
	} {
		result := enginetest.Explore(t, lockstep.Plan{System: c.system, Strategy: everything(1500), Spec: c.spec, Runs: 10,
			Seed: 1})
		if result.Verdicts[trace.Unknown] == 0 || result.Findings() > 0 {
			t.Errorf("%s: %v", c.name, result.Verdicts)
		}
		for why := range result.Reasons {
			if !strings.Contains(why, c.why) {
				t.Errorf("%s: %s", c.name, why)
			}
		}
	}
}

// TestRefused checks the errors of programs that are no models.
func TestRefused(t *testing.T) {
	const lockstepForm = `lockstep protocol P(n = 2)

message A { p: int } tag (p, A)

rounds A

state {
	x: int = 0
}

round A {
	send {
		send A(now()) to all
	}
	deliver
	update {
		x := len(received(A))
	}
}
`
	for text, want := range map[string]string{"protocol P(n = 3": "", lockstepForm: "lock-step"} {
		if _, err := conform.New(text, conform.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := conform.Load("missing.distal"); err == nil || !strings.Contains(err.Error(), "missing.distal") {
		t.Error(err)
	}
	text, err := examples.Source("raftlog_fixed")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conform.New(text, conform.Options{Limits: conform.Limits{States: -1}}); err == nil {
		t.Error("a negative limit was accepted")
	}
	if _, err := conform.New(text, conform.Options{Params: map[string]int64{"size": 3}}); err == nil {
		t.Error("an unknown parameter was accepted")
	}
}
