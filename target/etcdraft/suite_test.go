package etcdraft_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep"
	distal "github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/suite"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/trace"
)

// The library does what its model says, message by message, in every test of a suite.
func TestSuite(t *testing.T) {
	text, err := os.ReadFile("../../examples/models/etcdraft.distal")
	if err != nil {
		t.Fatal(err)
	}
	for cover, tests := range map[distal.Cover]int{distal.CoverStates: 11, distal.CoverTransitions: 57} {
		made, remarks, err := suite.Generate(t.Context(), string(text), suite.Options{Cover: cover, Rounds: 12})
		if err != nil || made == nil {
			t.Fatal(err, remarks)
		}
		dir := t.TempDir()
		for name, content := range made.Files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		read, err := suite.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := suite.New(dir, read)
		result, err := lockstep.Explore(t.Context(), lockstep.Plan{Strategy: s,
			System: etcdraft.Cluster{Clients: etcdraft.None}, Spec: s.Spec(), Runs: s.Runs(), KeepGoing: true})
		if err != nil {
			t.Fatal(err)
		}
		r := s.Result()
		if made.Tests != tests || r.Realized != tests || !r.States || result.Verdicts[trace.Pass] != tests {
			t.Errorf("%s: %d tests, %v: %v", cover, made.Tests, result.Verdicts, r.Lines())
		}
	}
}
