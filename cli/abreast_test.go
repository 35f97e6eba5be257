package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/distal/conform"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/smr"
)

// aloneVariable names the directory in which the processes of a campaign leave their process IDs.
const aloneVariable = "LOCKSTEP_TEST_ALONE"

// alone is a system of which a process can have only one instance.
type alone[S lockstep.System] struct{ System S }

func (a alone[S]) Describe() (lockstep.Info, error) {
	info, err := a.System.Describe()
	info.Serial = true
	return info, err
}

func (a alone[S]) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	if err := os.WriteFile(filepath.Join(os.Getenv(aloneVariable), fmt.Sprint(os.Getpid())), nil, 0o600); err != nil {
		return nil, err
	}
	if _, err := p.Dir(); err != nil {
		return nil, err
	}
	return a.System.Deploy(ctx, p)
}

var aloneApp = App{
	Targets: []target.Target{
		target.Of("alone", "one in a process", alone[smr.Cluster]{smr.Cluster{Nodes: 3, Bug: true}}, smr.Prefix),
		target.Of("alone-raft", "one in a process", alone[raft.Cluster]{raft.Cluster{Nodes: 3, Requests: 2}},
			raftspec.Safety),
	},
	Conform: func(file string) (*Model, error) {
		s, err := conform.Load(file)
		if err != nil {
			return nil, err
		}
		list := func(taken []machine.Transition) (out []model.Transition) {
			for _, v := range taken {
				out = append(out, model.Transition{Rule: s.Rules()[v.Rule], Before: v.Before, After: v.After})
			}
			return out
		}
		return &Model{Spec: s, Fits: s.Fits,
			Visits: func() *model.Visits { v := s.Take(); return &model.Visits{Runs: v.Runs, Transitions: list(v.List)} },
			Reach: func(ctx context.Context, info lockstep.Info) (*model.Reach, error) {
				reached, bound, _, err := s.Reach(ctx, info)
				return &model.Reach{Model: s.Name(), Rules: s.Rules(), Bound: bound, Transitions: list(reached)}, err
			}}, nil
	},
}

// runAlone runs a campaign and returns its result without the times, and the processes that made the runs.
func runAlone(t *testing.T, args ...string) (result map[string]any, processes []string) {
	t.Helper()
	dir, scratch := t.TempDir(), t.TempDir()
	t.Setenv(aloneVariable, dir)
	t.Setenv("TMPDIR", scratch)
	var out, errOut bytes.Buffer
	args = append([]string{"run", "--json"}, args...)
	if status := aloneApp.execute(context.Background(), "lockstep", args, &out, &errOut); status == statusFailure {
		t.Fatalf("%q: %s", args, errOut.String())
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"elapsed_ms", "runs_per_sec", "steps_per_sec", "curve"} {
		delete(result, name)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%q leaves %v, %v", args, left, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		processes = append(processes, e.Name())
	}
	return result, processes
}

// TestProcesses checks a system of which a process can have one instance. Each worker is a process, and the result is
// the same.
func TestProcesses(t *testing.T) {
	tier.NotShort(t)
	conformed, err := filepath.Abs("../examples/distal/raftlog_fixed.distal")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	self := fmt.Sprint(os.Getpid())
	visited := false
	for _, flags := range [][]string{
		{"alone", "--runs", "300", "--keep-going"},
		{"alone", "--runs", "300"},
		{"alone", "--runs", "40", "--coverage", "--closure", "--keep-going"},
		{"alone-raft", "--runs", "8", "--strategy", "walk:deliver=40,drop=2,timer=10,crash=1,restart=2,steps=600",
			"--conform", conformed},
	} {
		want, by := runAlone(t, append(flags, "--workers", "1")...)
		if len(by) != 1 || by[0] != self || want["digest"] == nil || want["runs"] == 0.0 {
			t.Errorf("%q: one worker is %v, of which this is %s; %v", flags, by, self, want)
		}
		got, by := runAlone(t, append(flags, "--workers", "3")...)
		others := 0
		for _, p := range by {
			if p != self { // this process shrinks and measures
				others++
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: with processes %v, without %v", flags, got, want)
		}
		if m, ok := got["model"].(map[string]any); ok { // what the runs of all processes visited
			visited = m["transitions"].(map[string]any)["visited"].(float64) > 20
		}
		if others < 1 || others > 3 {
			t.Errorf("%q: made by %v", flags, by)
		}
	}
	if !visited {
		t.Error("no campaign says what it visited of its model")
	}
}
