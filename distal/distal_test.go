package distal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestJSON checks the names that scripts rely on.
func TestJSON(t *testing.T) {
	r, remarks := distal.Explore(corpus.Example(t, "paxos_buggy"), distal.ExploreOptions{})
	if len(remarks.Errors()) > 0 {
		t.Fatal(remarks)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"verdict", "states", "phases_complete", "violation", "elapsed_ms", "states_per_sec"} {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing in %s", key, text)
		}
	}
	v, _ := got["violation"].(map[string]any)
	if got["verdict"] != "fail" || got["phases_complete"] != 2.0 || v["phase"] != 3.0 || v["round"] != 12.0 ||
		v["property"] == nil {
		t.Errorf("%s", text)
	}
}

func TestOptions(t *testing.T) {
	src := corpus.Example(t, "benor_fixed")
	for _, c := range []struct {
		opt  distal.Options
		want string // part of the error, or "verdict/nodes/phases/network/timeouts"
	}{
		{distal.Options{}, "pass/3/5/atleast(n - f)/eager"},
		{distal.Options{Test: "weak"}, "fail/3/2/any/eager"},
		{distal.Options{Test: "five", Phases: 1}, "pass/5/1/atleast(n - f)/eager"},
		{distal.Options{Network: "reliable", Timeouts: "free", Phases: 2}, "pass/3/2/reliable/free"},
		{distal.Options{Nodes: 4, Phases: 2, Params: map[string]int64{"f": 1}}, "pass/4/2/atleast(n - f)/eager"},
		{distal.Options{Test: "wek"}, "there is no test wek; there are [three five weak] (did you mean weak?)"},
		{distal.Options{Phases: -1}, "phases is -1; it must be at least 1"},
		{distal.Options{Nodes: 99}, "n is 99; it must be between 1 and 16"},
		{distal.Options{Network: "lossy"}, "unknown network lossy"},
		{distal.Options{Network: "atleast(m)"}, "unknown name m"},
		{distal.Options{Network: "atleast(("}, "expected an expression"},
		{distal.Options{Timeouts: "late"}, `timeouts are eager or free, not "late"`},
		{distal.Options{Params: map[string]int64{"g": 1}}, "no parameter g"},
	} {
		r, remarks := distal.Explore(src, distal.ExploreOptions{Options: c.opt})
		got := strings.Join([]string{r.Verdict, itoa(r.Nodes), itoa(r.Phases), r.Network, r.Timeouts}, "/")
		if errs := remarks.Errors(); len(errs) > 0 {
			got = errs.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s, want %s", c.opt, got, c.want)
		}
	}
}

func itoa(n int) string { return string(rune('0' + n)) }

// TestChosenNetwork wants remarks and claims to be about the network that is searched, wherever it was chosen.
func TestChosenNetwork(t *testing.T) {
	src := corpus.Example(t, "uniformvoting_fixed") // its own network is kernel
	for network, c := range map[string]struct {
		warnings int
		assumed  string
	}{
		"":           {2, "every node has heard what network kernel promises when it acts in a round or leaves it"},
		"any":        {0, ""},
		"atleast(2)": {2, "every node has heard what network atleast(2) promises when it acts in a round or leaves it"},
	} {
		r, remarks := distal.Explore(src, distal.ExploreOptions{Options: distal.Options{Network: network, Phases: 1}})
		if r.Claims.Assumed != c.assumed || len(remarks) != c.warnings {
			t.Errorf("network %q: assumed %q, remarks %v", network, r.Claims.Assumed, remarks)
		}
		if lines := strings.Join(r.Claims.Lines(), "\n"); !strings.Contains(lines, c.assumed) {
			t.Errorf("network %q: %s", network, lines)
		}
		for _, w := range remarks {
			if !strings.Contains(w.Text, "network "+r.Network+" ") {
				t.Errorf("network %s: %s", r.Network, w)
			}
		}
	}
}

// TestCheckJSON checks that remarks and conditions read as words.
func TestCheckJSON(t *testing.T) {
	r, remarks := distal.Check(corpus.Example(t, "twophase_buggy"))
	text, err := json.Marshal(struct {
		Result  distal.CheckResult
		Remarks distal.Remarks
	}{r, remarks})
	for _, want := range []string{`"status":"proved"`, `"status":"watched at run time"`, `"severity":"warning"`,
		`"line":36`,
		`"sequential":true`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in %s (%v)", want, text, err)
		}
	}
}

// TestRandom finds the bug of Paxos at random, with a trace.
func TestRandom(t *testing.T) {
	r, remarks := distal.Explore(corpus.Example(t, "paxos_buggy"),
		distal.ExploreOptions{Options: distal.Options{Phases: 5},
			Random: &explore.RandomOptions{Runs: 5000, Seed: 1}})
	if len(remarks.Errors()) > 0 || r.Verdict != explore.Fail || r.Random.FirstRun == 0 ||
		!strings.Contains(r.Trace, "Promise") {
		t.Errorf("%+v %v", r, remarks)
	}
}

// TestRefused names rule and condition for every verb that needs a round structure.
func TestRefused(t *testing.T) {
	src := strings.Replace(corpus.Example(t, "paxos_fixed"), "	send Ack(ballot, last, log) to m.from",
		"	send Ack(ballot, last, log) to m.from\n	last := 1", 1)
	const want = "40:2: error: upon Prepare breaks condition 5"
	result, remarks := distal.Check(src)
	if result.Sequential || !strings.Contains(remarks.Error(), want) {
		t.Errorf("check: %v", remarks)
	}
	verbs := map[string]func() distal.Remarks{
		"rounds":  func() distal.Remarks { _, r := distal.Rounds(src); return r },
		"seq":     func() distal.Remarks { _, r := distal.Seq(src, distal.Options{}); return r },
		"export":  func() distal.Remarks { _, r := distal.Export(src, distal.Options{}); return r },
		"explore": func() distal.Remarks { _, r := distal.Explore(src, distal.ExploreOptions{}); return r },
	}
	for name, verb := range verbs {
		if r := verb(); !strings.Contains(r.Error(), want) {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// TestNamesInAnyScript takes a program with a byte order mark and names that are not ASCII through every verb.
func TestNamesInAnyScript(t *testing.T) {
	const src = "\uFEFFprotocol Größe(n = 3)\nmessage Wert { фаза: int, v: int } tag (фаза, Wert)\nrounds Wert\n" +
		"state { фаза: int = 1 größe: int = 0 }\noutput int\ninit { send Wert(фаза, id(self)) to all }\n" +
		"upon Wert λ with .фаза == фаза times all do { größe := (max 値 in λ by (値.v)).v output größe }\n" +
		"network reliable\nproperty Größte: forall p in all: p.output == none or p.output == some(n)\n"
	everyVerb(src)
	f, _ := distal.Fmt(src)
	for _, text := range []string{src, f.Text} {
		r, remarks := distal.Explore(text, distal.ExploreOptions{Options: distal.Options{Phases: 1}})
		if len(remarks) > 0 || r.Verdict != explore.Pass || r.Protocol != "Größe" {
			t.Errorf("%s %v", r.Verdict, remarks)
		}
	}
}

// everyVerb runs all verbs on a text; none may panic, whatever the text.
func everyVerb(src string) {
	distal.Check(src)
	distal.Fmt(src)
	distal.Rounds(src)
	opt := distal.Options{Nodes: 2, Phases: 1}
	distal.Seq(src, opt)
	distal.Export(src, opt)
	calls := 0
	distal.Explore(src, distal.ExploreOptions{Options: opt, Memory: 1 << 20, Progress: func(explore.Progress) bool {
		calls++
		return calls < 20
	}})
	distal.Explore(src, distal.ExploreOptions{Options: opt, Random: &explore.RandomOptions{Runs: 3}})
}

// TestMutants runs every verb on programs in which words have been exchanged.
func TestMutants(t *testing.T) {
	tier.NotShort(t)
	for seed, p := range corpus.Generated(6) {
		words := strings.Fields(p.Source)
		for i := range words {
			j := (i*31 + seed*17) % len(words)
			mutant := append(append(append([]string(nil), words[:i]...), words[j]), words[i+1:]...)
			everyVerb(strings.Join(mutant, " "))
		}
	}
}

// FuzzVerbs looks for a text on which some verb panics or does not end.
func FuzzVerbs(f *testing.F) {
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, src string) { everyVerb(src) })
}

// TestBothWays makes runs of the sequential form of every example that output something, shortest and random ones, and
// wants each to be reproduced message by message. That asynchronous runs are found in the sequential form is tested in
// package async.
func TestBothWays(t *testing.T) {
	tier.NotShort(t)
	followed := 0
	for _, e := range corpus.Examples(t) {
		src := e.Source + "\nproperty Silent: forall p in all: p.output == none\n"
		for _, timeouts := range []string{"free", "eager"} {
			if timeouts == "eager" && strings.HasPrefix(e.Name, "raftlog") {
				continue // all nodes campaign at once, and none is elected
			}
			opt := distal.Options{Timeouts: timeouts, Phases: 2}
			r, remarks := distal.Explore(src, distal.ExploreOptions{Options: opt})
			switch {
			case r.Verdict == explore.Fail && r.Replayed:
				followed++
			case r.Verdict == explore.Pass && timeouts == "eager" && e.Name == "raftlog_fixed":
				// All nodes campaign at once, again and again: none gets a majority.
			default:
				t.Errorf("%s, %s: %s %s %v", e.Name, timeouts, r.Verdict, r.Reason, remarks.Errors())
			}
			for seed := range uint64(10) {
				r, _ := distal.Explore(src, distal.ExploreOptions{Options: opt,
					Random: &explore.RandomOptions{Runs: 50, Seed: seed}})
				if r.Random.Violations > 0 && !r.Replayed {
					t.Errorf("%s, %s, seed %d: %s", e.Name, timeouts, seed, r.Reason)
				}
				followed += r.Random.Violations
			}
		}
	}
	if followed < 200 {
		t.Errorf("only %d runs were followed", followed)
	}
}

// A search is called a proof only where the page on Distal calls it one.
func TestBound(t *testing.T) {
	const program = `protocol Wave(n = 2)
message Go { k: int } tag (k, Go)
rounds Go
state { k: int = 1 }
init { send Go(k) to all }
upon Go ms with .k == k times all do { k := k + 1 send Go(k) to all }
`
	for _, c := range []struct {
		property, want string
		options        distal.Options
	}{
		{"property Small: forall p in all: p.k < 99", "2 phases proved", distal.Options{Phases: 2}},
		{"property Small: forall p in all: p.k < 99", "1 phase proved", distal.Options{Phases: 1}},
		{"property Small: forall p in all: p.k < 99", "2 phases searched: network reliable",
			distal.Options{Phases: 2, Network: "reliable"}},
		{"property Small: forall p in all: p.k < 99", "2 phases searched: eager timeouts",
			distal.Options{Phases: 2, Timeouts: "eager"}},
		{"property Near: forall p, q in all: p.k <= q.k + 1", "2 phases searched: Near between rounds only",
			distal.Options{Phases: 2}},
	} {
		r, remarks := distal.Explore(program+c.property+"\n", distal.ExploreOptions{Options: c.options})
		if got := r.Bound(); r.Verdict != explore.Pass || got != c.want {
			t.Errorf("%s %+v: %s, %q, want %q; %v", c.property, c.options, r.Verdict, got, c.want, remarks)
		}
	}
}

// A program that promises nothing cannot pass; an assertion of its own is a promise.
func TestNothingPromised(t *testing.T) {
	const program = `protocol Wave(n = 2)
message Go { k: int } tag (k, Go)
rounds Go
state { k: int = 1 }
init { send Go(k) to all }
upon Go ms with .k == k times all do { %s k := k + 1 send Go(k) to all }
`
	for body, want := range map[string]string{"": explore.Vacuous, "assert small: k < 99": explore.Pass,
		"assert small: k < 2": explore.Fail} {
		r, remarks := distal.Explore(fmt.Sprintf(program, body), distal.ExploreOptions{Options: distal.Options{Phases: 2}})
		if r.Verdict != want {
			t.Errorf("%q: %s (%s), want %s; %v", body, r.Verdict, r.Reason, want, remarks)
		}
	}
}
