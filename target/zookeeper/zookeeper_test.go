package zookeeper

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

var long = flag.Bool("long", false, "make many runs of servers")

// planned returns the plan of a scenario on a version.
func planned(t *testing.T, name, version string, warm bool) lockstep.Plan {
	t.Helper()
	sc, err := Targets[0].Scenario(name)
	if err != nil {
		t.Fatal(err)
	}
	system, err := Targets[0].Build(
		append(sc.Set, "version="+version, "start-timeout=5m", "refusal=3s", fmt.Sprint("warm=", warm)))
	if err != nil {
		t.Fatal(err)
	}
	return lockstep.Plan{
		System:   system,
		Spec:     Properties,
		Scenario: sc.Build(),
		Strategy: strategy.DefaultWalk,
		Settle:   Settle,
		Workers:  1,
		Scratch:  t.TempDir(),
	}
}

// The reported bugs occur on the versions that have them and not on others. The trace contains the servers' log lines
// beside the steps, and nothing is left of the servers.
func TestReported(t *testing.T) {
	outside.JVM(t)
	for _, c := range []struct {
		report, version string
		warm            bool
		property, words string // of the finding; words is a regular expression
	}{
		{"ZOOKEEPER-2832", "3.4.9", false, "equal-data", "has k0=101 k1=302"},
		{"ZOOKEEPER-3875", "3.5.8", true, "sequential-consistency", "read all in the end: k0=200 k1=301"},
		{"divergence", "3.5.8", true, "equal-data", "has k0=101 k1=302"},
		{"divergence", "3.9.5", false, "", ""},
		// the epoch in which it last reached a server: real time decides
		{"client-dropped", "3.5.8", true, "client-comes-back", "client 3 has seen 0x[234]00000000"},
	} {
		t.Run(c.report+" on "+c.version, func(t *testing.T) {
			plan := planned(t, c.report, c.version, c.warm)
			var tr *trace.Trace
			for attempt := range 3 { // on a loaded machine a server may log its write too late
				var err error
				if tr, err = lockstep.Record(t.Context(), plan, attempt); err != nil {
					t.Fatal(err)
				}
				if c.property == "" || tr.Outcome.Finding != nil {
					break
				}
			}
			f := tr.Outcome.Finding
			switch {
			case c.property == "" && tr.Outcome.Verdict != trace.Pass:
				t.Errorf("%+v: %v", tr.Outcome, f)
			case c.property != "" &&
				(f == nil || f.Property != c.property || !regexp.MustCompile(c.words).MatchString(f.Text)):
				t.Errorf("%+v: %v", tr.Outcome, f)
			}
			if !logged(tr, "LEADING") || !logged(tr, "FOLLOWING") {
				t.Error("the servers' log is not in the trace")
			}
			if left, err := os.ReadDir(plan.Scratch); err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}

// The divergence of 3.5.8 does not depend on which server follows server 2 when it leads with the write that it alone
// had logged. It requires that some server is away meanwhile.
func TestDivergesOtherwise(t *testing.T) {
	if !*long {
		t.Skip("one run of this kind is enough; -long makes more")
	}
	outside.JVM(t)
	lone := Away{Start: trace.NodesOf(3), Request: trace.NodesOf(1)}
	for name, away := range map[string][]Away{
		"3 away in between":             {lone, {Start: trace.NodesOf(3)}, {Start: trace.NodesOf(2)}},
		"no server away: no divergence": {lone, {}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planned(t, "divergence", "3.5.8", true)
			plan.Scenario = Schedule("otherwise", away...)
			tr, err := lockstep.Record(t.Context(), plan, 0)
			if err != nil {
				t.Fatal(err)
			}
			f := tr.Outcome.Finding
			t.Log(tr.Outcome.Verdict, f)
			if diverges := f != nil && f.Property == "equal-data"; diverges != (away[1].Start != 0) {
				t.Errorf("%v", f)
			}
		})
	}
}

func logged(tr *trace.Trace, words string) bool {
	for _, r := range tr.Records {
		for _, e := range r.Events {
			if e.Type == "log" && strings.Contains(e.Text, words) {
				return true
			}
		}
	}
	return false
}

// Isolation by cuts: the isolated server does not serve, the others agree without it, and it comes back.
func TestCuts(t *testing.T) {
	outside.JVM(t)
	plan := lockstep.Plan{
		System:   Cluster{Harness: "1:k0=1; 2:k0=2; 3:k1=3", StartTimeout: 5 * time.Minute},
		Spec:     Properties,
		Settle:   Settle,
		Workers:  1,
		Runs:     1,
		Scratch:  t.TempDir(),
		Strategy: strategy.Uniform{Period: 2, Rounds: 6, Isolations: 3, Sampler: strategy.Paper},
	}
	if *long {
		plan.Runs = 20
	}
	agrees(t, plan)
}

// agrees performs the runs of a plan, and expects all of them to pass. Servers run in real time. On a loaded machine
// one may not be ready in time, or may behave irreproducibly. agrees reruns an undecided campaign once.
func agrees(t *testing.T, plan lockstep.Plan) {
	t.Helper()
	for again := range 2 {
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		switch v := result.Verdict(); {
		case v == trace.Pass:
			return
		case v == trace.Fail || again > 0:
			t.Fatalf("%v, %v, %+v", result.Verdicts, result.Reasons, result.First())
		}
		t.Logf("undecided, so once more: %v, %v", result.Verdicts, result.Reasons)
	}
}

// The baseline makes each request in its time, and crashes or restarts a server every two seconds on average.
func TestBaseline(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	requests := []trace.Pending{{ID: 1, To: trace.NodesOf(2)}, {ID: 3, To: trace.NodesOf(3)}}
	faults := 0
	const draws = 1000
	for range draws {
		up, now := trace.AllNodes(3), trace.Time(0)
		for _, s := range baseline(r, requests, up) {
			switch s.Kind {
			case trace.Wait:
				now += s.For
			case trace.Request:
				if now != trace.Time(s.Request-1)*trace.Time(baselineStep) ||
					s.Node != requests[s.Request/2].To.First() {
					t.Fatalf("%s at %d", &s, now)
				}
			default:
				faults++
				if up.Has(s.Node) != (s.Kind == trace.Crash) {
					t.Fatalf("%s while %s are up", &s, up)
				}
				if up = up.With(s.Node); s.Kind == trace.Crash {
					up = up.Without(s.Node)
				}
			}
		}
		if now != 3*trace.Time(baselineStep) {
			t.Fatalf("it ends at %d", now)
		}
	}
	if mean := float64(faults) / draws; mean < 7.2 || mean > 7.8 { // 15 s / 2 s, and the deviation of the mean is 0.09
		t.Errorf("%v crashes and restarts in 15 s", mean)
	}
}

func TestHarness(t *testing.T) {
	for text, want := range map[string]string{
		"div": "2:k0=101; empty; 3:k1=302",
		"sc":  "2:k1=0?k1=101; empty; 1:k1=101?k0=200; 2:k1=0?k1=301; 1:k1=0?k0=400",
		"":    "empty", " 1 : k0 = 5 ; empty;": "1:k0=5; empty; empty",
	} {
		h, err := Parse(text)
		if err != nil || h.String() != want {
			t.Errorf("%q is %q, %v", text, h, err)
		}
		again, err := Parse(h.String())
		if err != nil || again.String() != want {
			t.Errorf("%q is %q, %v", h, again, err)
		}
	}
	for _, text := range []string{
		"0:k0=1", "1:k2=1", "1:k0", "k0=1", "1:k0=-1", "1:k0=1?", "1:k0=1,2:k0=1", "divergence",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), "is no step of a harness") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A random harness has the requested size, and all kinds of steps.
func TestDraw(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	conditions, nodes := 0, map[int]int{}
	for range 1000 {
		h := draw(r, 3, 5, 4)
		empty := 0
		for _, a := range h {
			nodes[a.Node]++
			if a.Node == 0 {
				empty++
			}
			if a.If {
				conditions++
			}
		}
		if again, err := Parse(h.String()); err != nil || again.String() != h.String() || len(h) != 5 || empty != 1 {
			t.Fatalf("%s, %v", h, err)
		}
	}
	if conditions < 1800 || conditions > 2200 || nodes[1] < 1200 || nodes[2] < 1200 || nodes[3] < 1200 {
		t.Errorf("%d of 4000 requests have a condition; servers %v", conditions, nodes)
	}
}

func TestSequential(t *testing.T) {
	call := func(client, id int, op operation) lockstep.Event {
		return lockstep.Event{Type: spec.EventCall, Value: &spec.Call{Client: client, ID: id, Input: op}}
	}
	answer := func(client, id int, output any) lockstep.Event {
		return lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: client, ID: id, Output: output}}
	}
	k0, k1 := operation{kind: read, key: 0}, operation{kind: read, key: 1}
	set := func(key, value int) operation { return operation{kind: write, key: key, arg: value} }
	end := operation{kind: final}
	for name, c := range map[string]struct {
		events []lockstep.Event
		right  bool
	}{
		"a write that is read in the end": {
			[]lockstep.Event{call(1, 1, set(0, 5)), answer(1, 1, "done"), call(2, 2, end), answer(2, 2, Data{5, 0})},
			true,
		},
		"a write that is lost": {[]lockstep.Event{
			call(1, 1, set(0, 5)),
			answer(1, 1, "done"),
			call(2, 2, end),
			answer(2, 2, Data{0, 0}),
		}, false},
		"a write that may be lost": {[]lockstep.Event{
			call(1, 1, set(0, 5)),
			call(2, 2, end),
			answer(2, 2, Data{0, 0}),
		}, true},
		"a write that may be there": {[]lockstep.Event{
			call(1, 1, set(0, 5)),
			call(2, 2, end),
			answer(2, 2, Data{5, 0}),
		}, true},
		"a stale read of another client": {[]lockstep.Event{
			call(1, 1, set(0, 5)),
			answer(1, 1, "done"),
			call(2, 2, k0),
			answer(2, 2, 0),
			call(2, 3, end),
			answer(2, 3, Data{5, 0}),
		}, true},
		"a stale read of its own": {[]lockstep.Event{
			call(1, 1, set(0, 5)),
			answer(1, 1, "done"),
			call(1, 2, k0),
			answer(1, 2, 0),
			call(2, 3, end),
			answer(2, 3, Data{5, 0}),
		}, false},
		"what the paper found": {[]lockstep.Event{
			call(2, 1, k1),
			answer(2, 1, 0),
			call(2, 2, set(1, 101)),
			call(1, 3, k1),
			answer(1, 3, 101),
			call(1, 4, set(0, 200)),
			answer(1, 4, "done"),
			call(2, 5, k1),
			answer(2, 5, 0),
			call(2, 6, set(1, 301)),
			answer(2, 6, "done"),
			call(1, 7, end),
			answer(1, 7, Data{200, 301}),
		}, false},
		"the same without the second read": {[]lockstep.Event{
			call(2, 1, k1),
			answer(2, 1, 0),
			call(2, 2, set(1, 101)),
			call(1, 3, k1),
			answer(1, 3, 101),
			call(1, 4, set(0, 200)),
			answer(1, 4, "done"),
			call(2, 6, set(1, 301)),
			answer(2, 6, "done"),
			call(1, 7, end),
			answer(1, 7, Data{200, 301}),
		}, true},
	} {
		result, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{
				System:   enginetest.Prepared(c.events),
				Spec:     Sequential,
				Strategy: strategy.Walk{Request: 1, Steps: 1},
				Runs:     1,
			},
		)
		if err != nil || (result.Verdict() == trace.Pass) != c.right {
			t.Errorf("%s: %v, %v", name, result.Verdicts, err)
		}
	}
}

func TestIntroduce(t *testing.T) {
	number := binary.BigEndian.AppendUint64(nil, 3)
	modern := binary.BigEndian.AppendUint64(nil, 1<<64-65536)
	modern = binary.BigEndian.AppendUint32(append(modern, number...), 9)
	modern = append(modern, "host:port"...)
	for _, greeting := range [][]byte{number, modern} {
		in, out := bytes.NewReader(append(greeting, "rest"...)), &bytes.Buffer{}
		if err := introduce(in, out); err != nil || !bytes.Equal(out.Bytes(), number) || in.Len() != 4 {
			t.Errorf("%q became %q, %d bytes are left, %v", greeting, out, in.Len(), err)
		}
		for k := range greeting {
			if err := introduce(bytes.NewReader(greeting[:k]), &bytes.Buffer{}); err == nil {
				t.Errorf("%d bytes of %q are taken", k, greeting)
			}
		}
	}
	modern[16] = 0xff
	if err := introduce(bytes.NewReader(modern), &bytes.Buffer{}); err == nil ||
		!strings.Contains(err.Error(), "greeting") {
		t.Error(err)
	}
}

// The trace keeps each log line about consensus between servers once.
func TestRelevant(t *testing.T) {
	for line, want := range map[string]bool{
		"INFO QuorumPeer: LEADING":                                                          true,
		"INFO Leader: LEADING - LEADER ELECTION TOOK - 0 MS":                                false,
		"INFO LearnerHandler: Sending DIFF zxid=0x200000001 for peer sid: 1":                true,
		"INFO Learner: Getting a snapshot from leader 0x200000001":                          true,
		"WARN QuorumPeer: PeerState set to LOOKING":                                         false,
		"INFO CommitProcessor: Shutting down":                                               false,
		"ERROR LearnerHandler: Unexpected exception causing shutdown while sock still open": false,
		"ERROR QuorumPeer: Unable to load database on disk":                                 true,
		"INFO FastLeaderElection: Notification: LOOKING (my state)":                         false,
	} {
		if relevant(line) != want {
			t.Errorf("%s: %v", line, !want)
		}
	}
}

// Runs of the default strategy have as many rounds as the harness, and a strategy that omits some of its steps is
// refused.
func TestRoundsOfHarness(t *testing.T) {
	for _, c := range []struct{ strategy, harness, want string }{
		{Targets[0].Strategy, "div", "execution of 6 rounds"},
		{Targets[0].Strategy, "sc", "execution of 10 rounds"},
		{Targets[0].Strategy, "random", "execution of 10 rounds"},
		{"uniform:period=2,isolations=4,rounds=12,by=restart", "sc", "execution of 12 rounds"},
		{
			"uniform:period=2,isolations=4,rounds=6,by=restart",
			"random",
			"uniform: rounds is 6, but the requests of zookeeper with these options take 10 rounds: allowed are 10 and more",
		},
		{"lossy:rounds=6", "sc", "lossy: rounds is 6, but the requests of zookeeper with these options take 10 rounds"},
	} {
		system, err := Targets[0].Build([]string{"harness=" + c.harness, "steps=5", "requests=4"})
		if err != nil {
			t.Fatal(err)
		}
		info, err := system.Describe()
		if err != nil {
			t.Fatal(err)
		}
		s, err := strategy.Parse(c.strategy)
		if err != nil {
			t.Fatal(err)
		}
		terms, err := s.Fit(info)
		if got := fmt.Sprint(terms.Guarantee.Class, err); !strings.Contains(got, c.want) {
			t.Errorf("%s with %s: %s instead of %s", c.strategy, c.harness, got, c.want)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"harness=4:k0=1"}, "4:k0=1 names server 4, and there are 3"},
		{[]string{"harness=what"}, `"what" is no step of a harness`},
		{[]string{"nodes=9"}, "nodes is 9, allowed are 1..7"},
		{[]string{"harness=random", "requests=9"}, "requests is 9, at most the number of steps, 3, is allowed"},
		{[]string{"tick=1us"}, "tick is 1µs, it must be at least 1ms"},
	} {
		system, err := Targets[0].Build(c.set)
		if err == nil {
			_, err = system.Describe()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.set, err)
		}
	}
	if info, err := (Cluster{}).Describe(); err != nil || info.Options["version"] != "3.5.8" {
		t.Errorf("%+v, %v", info, err)
	}
}
