package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/suite"
	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// made writes a suite of a model into a directory.
func made(t *testing.T, file string, o suite.Options) (dir string, s *suite.Suite) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, remarks, err := suite.Generate(t.Context(), string(text), o)
	if err != nil || s == nil {
		t.Fatal(err, remarks)
	}
	dir = t.TempDir()
	for name, content := range s.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir, s
}

// run executes a suite on a system.
func run(t *testing.T, dir string, system lockstep.System) (*suite.Strategy, *lockstep.Result) {
	t.Helper()
	tests, err := suite.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := suite.New(dir, tests)
	result, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: system, Strategy: s, Spec: s.Spec(), Runs: s.Runs(), KeepGoing: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, result
}

const log = "../../examples/models/replicatedlog.distal"

// A program that runs message by message is an implementation of itself, so that it realizes every test. One with a bug
// does not, and no run that diverges passes.
func TestPrograms(t *testing.T) {
	const fixed, buggy = "../../examples/distal/paxos_fixed.distal", "../../examples/distal/paxos_buggy.distal"
	for _, cover := range explore.Covers() {
		dir, made := made(t, fixed, suite.Options{Instance: distal.Options{Timeouts: "free"}, Cover: cover, Rounds: 12})
		s, result := run(t, dir, system.Program{File: fixed})
		if r := s.Result(); r.Realized != made.Tests || r.Tests != made.Tests || !r.States {
			t.Errorf("%s: %v", cover, r.Lines())
		}
		if result.Verdicts[trace.Pass] != made.Tests {
			t.Errorf("%s: %v", cover, result.Verdicts)
		}
		if cover != explore.CoverTransitions {
			continue
		}
		s, result = run(t, dir, system.Program{File: buggy})
		r := s.Result()
		if len(r.Diverged) == 0 || result.Verdicts[trace.Unknown] != len(r.Diverged) {
			t.Errorf("the buggy program: %v, %v", result.Verdicts, r.Lines())
		}
	}
}

// Systems with and without tags realize the tests of their models.
func TestModels(t *testing.T) {
	for _, c := range []struct {
		model  string
		system lockstep.System
		o      suite.Options
	}{
		{"replicatedlog", smr.Cluster{Nodes: 3}, suite.Options{Cover: explore.CoverTransitions, Rounds: 12}},
		{"raft", raft.Cluster{Nodes: 3}, suite.Options{Cover: explore.CoverTransitions, Rounds: 12}},
		{"raftrequests", raft.Cluster{Nodes: 3, Requests: 8},
			suite.Options{Cover: explore.CoverStates, Rounds: 12, Requests: []int{60}}},
	} {
		dir, made := made(t, "../../examples/models/"+c.model+".distal", c.o)
		if requests := strings.Count(fmt.Sprint(made.Files), "\nrequest "); (requests > 0) != (len(c.o.Requests) > 0) {
			t.Errorf("%s: the tests have %d requests", c.model, requests)
		}
		s, result := run(t, dir, c.system)
		if r := s.Result(); r.Realized != made.Tests || !r.States || result.Verdicts[trace.Pass] != made.Tests {
			t.Errorf("%s: %d tests, %v: %v", c.model, made.Tests, result.Verdicts, r.Lines())
		}
	}
}

// The models keep their own properties.
func TestProperties(t *testing.T) {
	files, err := filepath.Glob("../../examples/models/*.distal")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		results, remarks := distal.Tests(string(text), distal.ExploreOptions{})
		if len(results) == 0 {
			t.Errorf("%s has no tests: %v", file, remarks)
		}
		for _, r := range results {
			if !r.OK {
				t.Errorf("%s: %s: %s %s", file, r.Test, r.Verdict, r.Reason)
			}
		}
	}
}

// Without tags, a message of a type that is not the round's is a divergence: here the model has two types swapped.
func TestTypes(t *testing.T) {
	text, err := os.ReadFile("../../examples/models/raft.distal")
	if err != nil {
		t.Fatal(err)
	}
	swapped := strings.NewReplacer("AppendResp", "Append", "Append", "AppendResp").Replace(string(text))
	file := filepath.Join(t.TempDir(), "swapped.distal")
	if err := os.WriteFile(file, []byte(swapped), 0o666); err != nil {
		t.Fatal(err)
	}
	dir, made := made(t, file, suite.Options{Cover: explore.CoverStates, Rounds: 4})
	s, _ := run(t, dir, raft.Cluster{Nodes: 3})
	r := s.Result()
	if len(r.Diverged) == 0 || r.Realized+len(r.Diverged) != made.Tests {
		t.Errorf("%v", r.Lines())
	}
	for _, d := range r.Diverged {
		if !strings.HasPrefix(d.Expected, "AppendResp to ") || !strings.HasPrefix(d.Observed, "Append to ") {
			t.Errorf("%s", &d)
		}
	}
}

// A request that no client makes is a divergence, and one that is no timeout of the model an error.
func TestRequests(t *testing.T) {
	const model = "../../examples/models/raftrequests.distal"
	dir, made := made(t, model, suite.Options{Cover: explore.CoverStates, Rounds: 8, Requests: []int{60}})
	s, _ := run(t, dir, raft.Cluster{Nodes: 3})
	r := s.Result()
	if len(r.Diverged) == 0 || r.Realized+len(r.Diverged) != made.Tests {
		t.Errorf("%v", r.Lines())
	}
	for _, d := range r.Diverged {
		if d.Expected != "a request" || d.Observed != "no request waits for it" || d.Name != "Append" || d.Round != 7 {
			t.Errorf("%s", &d)
		}
	}
	text, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = suite.Generate(t.Context(), string(text),
		suite.Options{Cover: explore.CoverStates, Rounds: 4, Requests: []int{61}})
	if err == nil || err.Error() != "line 61 has no timeout that can be a request; allowed: 51, 60" {
		t.Errorf("%v", err)
	}
}

// A system that sends what the model does not is reported with the node and both sides.
func TestDiverges(t *testing.T) {
	dir, made := made(t, log, suite.Options{Cover: explore.CoverStates, Rounds: 8})
	// A leader without commands proposes the log as it is, where the model appends the ballot.
	s, result := run(t, dir, smr.Cluster{Nodes: 3, Requests: 1})
	r := s.Result()
	if len(r.Diverged) == 0 || r.Realized+len(r.Diverged) != made.Tests ||
		result.Verdicts[trace.Unknown] != len(r.Diverged) {
		t.Fatalf("%v: %v", result.Verdicts, r.Lines())
	}
	for _, d := range r.Diverged {
		if d.Name != "Promise" || d.Round%4 != 0 || !strings.Contains(d.Expected, "output=[") || d.Observed == "" {
			t.Errorf("%s", &d)
		}
	}
}

// Every test that loses a line, or has another state, is an error at a line, or a test; nothing panics.
func TestReadDamaged(t *testing.T) {
	dir, made := made(t, log, suite.Options{Cover: explore.CoverKinds, Rounds: 8})
	read := func(text string) error {
		damaged := filepath.Join(dir, "001.test")
		if err := os.WriteFile(damaged, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := suite.Read(dir)
		return err
	}
	lines := strings.Split(made.Files["001.test"], "\n")
	refused := 0
	for i, line := range lines {
		without := strings.Join(append(append([]string(nil), lines[:i]...), lines[i+1:]...), "\n")
		err := read(without)
		_ = read(strings.Join(lines[:i], "\n"))
		word, _, _ := strings.Cut(line, " ")
		if word == "state" || word == "suite" || word == "protocol" || word == "timeout" {
			refused++
			if err == nil || !strings.Contains(err.Error(), "001.test:") {
				t.Errorf("without line %d (%s): %v", i+1, line, err)
			}
		}
		if word == "state" {
			other := append([]string(nil), lines...)
			other[i] = strings.Replace(line, "ballot=", "ballot=7", 1)
			err := read(strings.Join(other, "\n"))
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("001.test:%d: node", i+1)) ||
				!strings.Contains(err.Error(), "; allowed: ") {
				t.Errorf("line %d changed: %v", i+1, err)
			}
		}
	}
	if refused < 5 {
		t.Errorf("only %d lines were left out", refused)
	}
	for _, text := range []string{"", "x", "suite 1", "suite 1\nprotocol Other\n",
		"suite 1\nprotocol ReplicatedLog\nparam n\n", "suite 1\nprotocol ReplicatedLog\nparam n=99\n",
		"suite 1\nprotocol ReplicatedLog\n", "suite 1\nprotocol ReplicatedLog\nround 1 Prepare\nhear 1: x",
		"suite 1\nprotocol ReplicatedLog\nround 1 Prepare\nhear",
		"suite 1\nprotocol ReplicatedLog\nnoise"} {
		if err := read(text); err == nil || !strings.Contains(err.Error(), "001.test") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A model that waits for the end of rounds is refused.
func TestRefused(t *testing.T) {
	text, err := os.ReadFile("../../examples/distal/lastvoting_fixed.distal")
	if err != nil {
		t.Fatal(err)
	}
	_, remarks, err := suite.Generate(t.Context(), string(text), suite.Options{Cover: explore.CoverStates, Rounds: 4})
	if err == nil || !strings.Contains(err.Error(), "waits for the end of a round") {
		t.Errorf("%v %v", err, remarks)
	}
}
