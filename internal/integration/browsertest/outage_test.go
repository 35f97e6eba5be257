package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/trace"
)

// stale returns a register's run with crashes and cuts, whose history fails the check at the end.
func stale() (*trace.Trace, error) {
	result, err := lockstep.Explore(
		context.Background(),
		lockstep.Plan{System: register.Cluster{Nodes: 3, Reads: register.Local},
			Strategy: strategy.Walk{Deliver: 8, Timer: 2, Request: 3, Crash: 1, Restart: 2, Cut: 1, Heal: 2, Steps: 40},
			Spec:     register.Linearizability, Runs: 20000, Seed: 2, Workers: 1},
	)
	if err != nil || result.First() == nil {
		return nil, fmt.Errorf("nothing found, %w", err)
	}
	return result.First().Trace, nil
}

// A finding of a check at the end marks its operations, and the key f highlights them with their causal past. Nodes
// that are down or cut off are shaded, and the history is linked.
func TestFindingAtTheEnd(t *testing.T) {
	tr, err := stale()
	if err != nil {
		t.Fatal(err)
	}
	steps := tr.Outcome.Finding.About
	if len(steps) < 2 {
		t.Fatalf("the finding is about steps %v", steps)
	}
	b := open(t, 1800, 900, func(out *bytes.Buffer) error {
		return report.Page(out, report.Views{Found: tr}, report.PageOptions{Pictures: []string{"stale-history.html"}})
	})
	screenshot(t, b, "run-outages.png")
	if down, cut := count(t, b, "rect.down"), count(t, b, "rect.cut"); down+cut == 0 {
		t.Error("nothing is shaded")
	}
	if got := count(t, b, `.pictures a[href="./stale-history.html"]`); got != 1 {
		t.Error("the history is not linked")
	}
	b.do(t, chromedp.KeyEvent("f"))
	past := map[int]bool{}
	for _, s := range steps {
		for i := range causalPast(tr, s) {
			past[i] = true
		}
	}
	if got := eval[string](t, b, "document.body.dataset.past"); got != fmt.Sprint(len(past)) {
		t.Errorf("%s steps in the causal past, want %d", got, len(past))
	}
	for _, s := range steps {
		if count(t, b, fmt.Sprintf(`.cell.about.past[data-step="%d"]`, s)) == 0 {
			t.Errorf("step %d is not marked", s)
		}
	}
	screenshot(t, b, "run-outages-finding.png")
}
