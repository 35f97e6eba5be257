//go:build lockstep_overlay

package bubble_test

import (
	"fmt"
	newrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// A recorded run draws the same random numbers as one that is not recorded, although its log lines draw some, too. The
// engine finds a run that fails, reruns it recorded and compares: here the finding has the numbers drawn.
func TestLogsMoveNoDraws(t *testing.T) {
	lines := 0
	cluster := bubble.Cluster{Name: "drawing", Nodes: 2, Start: func(n *bubble.Node) error {
		for range 20 {
			n.Log("server", bubble.Info, func() string {
				lines++
				set := map[int]bool{1: true, 2: true, 3: true}
				text := fmt.Sprint(newrand.IntN(1000))
				for k := range set { // in a random order
					text += fmt.Sprint(" ", k)
				}
				return text
			})
			n.Emit("drew", newrand.IntN(1_000_000))
			time.Sleep(time.Second)
		}
		return nil
	}}
	fails := spec.OnEvent("drew", "drew", func(all *string, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if *all += fmt.Sprint(" ", e.Value); len(*all) > 100 {
			return &lockstep.Finding{Text: *all}
		}
		return nil
	})
	r := enginetest.Explore(t, lockstep.Plan{System: cluster, Spec: fails, Strategy: strategy.Walk{Wait: 1, Steps: 100},
		Seed: 1, Runs: 1})
	f := r.First()
	if f == nil || f.Flaky != "" {
		t.Fatalf("%+v", f)
	}
	recorded := 0
	for i := range f.Trace.Records {
		recorded += len(f.Trace.Records[i].Logs)
	}
	if recorded == 0 || lines != recorded {
		t.Errorf("%d lines are recorded, of %d that were formatted: only the recorded run formats any", recorded, lines)
	}
}

// A logger that is given a pointer prints an address, which differs in every process and rerun.
func TestLogsHaveNoAddresses(t *testing.T) {
	cluster := bubble.Cluster{Name: "pointing", Nodes: 1, Start: func(n *bubble.Node) error {
		n.LogPairs(bubble.Info, "starts", "at", new(int), "id", "0x8e9e05c52164694d")
		return nil
	}}
	tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 2}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := range tr.Records {
		for _, l := range tr.Records[i].Logs {
			texts = append(texts, l.Text)
		}
	}
	if want := []string{"starts at=0x(address) id=0x8e9e05c52164694d"}; !slices.Equal(texts, want) {
		t.Errorf("%q, want %q", texts, want)
	}
}
