package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// demo is the bug of the replicated log, found by a random walk: as it was found, shrunk, and in lockstep form.
var demo = sync.OnceValues(func() (v report.Views, err error) {
	ctx := context.Background()
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Strategy: strategy.DefaultWalk,
		Spec:     smr.Prefix,
		Seed:     1,
	}
	result, err := lockstep.Explore(ctx, plan)
	if err != nil {
		return v, err
	}
	v.Found = result.First().Trace
	small, err := shrink.Run(ctx, plan, v.Found, shrink.Options{})
	if err != nil {
		return v, err
	}
	v.Shrunk = small.Trace
	form, err := lockstepform.Form(ctx, plan, v.Found)
	if err != nil {
		return v, err
	}
	small, err = shrink.Run(ctx, plan, form.Trace, shrink.Options{Attempts: 5000})
	if err == nil {
		v.Lockstep = small.Trace
	}
	return v, err
})

func demoPage(b *bytes.Buffer) error {
	views, err := demo()
	if err != nil {
		return err
	}
	return report.Page(b, views, report.PageOptions{Properties: []string{"prefix"},
		Replay: "lockstep replay lockstep-out/prefix-seed1-run17.trace"})
}

func isolatedCells(t *trace.Trace) (cells int) {
	for _, r := range t.Rounds {
		cells += t.Header.Nodes - r.Kernel.Len()
	}
	return cells
}

func TestDemoPage(t *testing.T) {
	b := open(t, 1440, 860, demoPage)
	views, err := demo()
	if err != nil {
		t.Fatal(err)
	}
	form := views.Lockstep
	if got := text(t, b, "h1"); got != "FAIL prefix" {
		t.Errorf("heading %q", got)
	}
	if got, want := count(t, b, ".column[data-round]"), len(form.Rounds); got != want {
		t.Errorf("%d rounds, want %d", got, want)
	}
	if got, want := count(t, b, ".picture rect.iso"), isolatedCells(form); got != want || want == 0 {
		t.Errorf("%d isolated cells, want %d", got, want)
	}
	if got, want := count(t, b, ".arrow.lost"), lost(form); got != want || want == 0 {
		t.Errorf("%d lost messages, want %d", got, want)
	}
	finding := eval[bool](t, b, `(() => {
		const r = document.querySelector('#view-lockstep .column.finding').getBoundingClientRect();
		return r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight;
	})()`)
	if !finding {
		t.Error("the page does not open at the finding")
	}
	screenshot(t, b, "run-lockstep.png")
}

func lost(t *trace.Trace) (number int) {
	for _, r := range t.Records {
		if r.Step.Kind == trace.Drop {
			number++
		}
	}
	return number
}

func TestKeysMoveThroughRounds(t *testing.T) {
	b := open(t, 1200, 800, demoPage)
	views, _ := demo()
	last := len(views.Lockstep.Rounds)
	for _, c := range []struct {
		key  string
		want int // column; the start is column 0
	}{
		{kb.Home, 0},
		{kb.ArrowLeft, 0},
		{kb.ArrowRight, 1},
		{"l", 2},
		{"h", 1},
		{kb.End, last},
		{kb.ArrowRight, last},
		{kb.Home, 0},
		{"f", last},
	} {
		b.do(t, chromedp.KeyEvent(c.key))
		if got := eval[string](t, b, "document.body.dataset.column"); got != fmt.Sprint(c.want) {
			t.Errorf("after %q at column %s, want %d", c.key, got, c.want)
		}
	}
	b.do(t, chromedp.Click(chromedp.CSS("#prev")))
	if got, want := text(t, b, "#where"), "round 11 Propose"; got != want {
		t.Errorf("at %q, want %q", got, want)
	}
}

func TestClickShowsCausalPast(t *testing.T) {
	b := open(t, 1440, 860, demoPage)
	b.do(t, chromedp.Click(chromedp.CSS("#view-lockstep .cell.finding rect"), chromedp.NodeVisible))
	views, _ := demo()
	want := causalPast(views.Lockstep, len(views.Lockstep.Records)-1)
	if got := eval[string](t, b, "document.body.dataset.past"); got != fmt.Sprint(len(want)) {
		t.Errorf("%s steps in the causal past, want %d", got, len(want))
	}
	if got := text(t, b, "#detail-body"); !strings.Contains(got, "violates prefix") {
		t.Errorf("detail %q", got)
	}
	if dim := count(t, b, "#view-lockstep .arrow:not(.past)"); dim == 0 {
		t.Error("no message is outside the causal past")
	}
	screenshot(t, b, "run-causal-past.png")
	b.do(t, chromedp.KeyEvent(kb.Escape))
	if got := count(t, b, ".picture.focus"); got != 0 {
		t.Error("Escape does not clear the choice")
	}
}

// causalPast computes the steps before a step by repeated passes over the trace.
func causalPast(t *trace.Trace, step int) map[int]bool {
	node := func(r *trace.Record) trace.Node {
		if r.Step.Kind == trace.Deliver {
			m, _ := t.Message(r.Step.Msg)
			return m.To
		}
		return r.Step.Node
	}
	past := map[int]bool{step: true}
	for grown := true; grown; {
		grown = false
		for i := range past {
			for j := range i {
				a, b := &t.Records[j], &t.Records[i]
				before := node(a) == node(b) && node(b) != 0
				for _, m := range a.Sent {
					before = before || b.Step.Kind == trace.Deliver && m.ID == b.Step.Msg
				}
				if before && !past[j] {
					past[j], grown = true, true
				}
			}
		}
	}
	return past
}

func TestSwitchChangesTheView(t *testing.T) {
	b := open(t, 1440, 860, demoPage)
	views, _ := demo()
	for _, c := range []struct {
		id      string
		columns int
	}{
		{"found", len(views.Found.Records)},
		{"shrunk", len(views.Shrunk.Records)},
		{"lockstep", len(views.Lockstep.Rounds) + 1},
	} {
		b.do(t, chromedp.Click(chromedp.CSS(`.views button[data-view="`+c.id+`"]`)))
		if got := count(t, b, "section.view"); got != 1 {
			t.Errorf("%d views are shown at once", got)
		}
		if got := count(t, b, "#view-"+c.id+" .column"); got != c.columns {
			t.Errorf("%s has %d columns, want %d", c.id, got, c.columns)
		}
		screenshot(t, b, "run-"+c.id+"-view.png")
	}
	b.do(t, chromedp.KeyEvent("2"))
	if got := count(t, b, "#view-shrunk"); got != 1 {
		t.Error("the key 2 does not show the second view")
	}
}

func TestDarkPrintAndTable(t *testing.T) {
	b := open(t, 1440, 860, demoPage)
	darken(t, b)
	screenshot(t, b, "run-dark.png")
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	if nav, fits := count(t, b, "nav, aside"),
		eval[bool](t, b, "document.querySelector('#view-lockstep .picture').getBoundingClientRect().right <= "+
			"innerWidth"); nav != 0 ||
		!fits {
		t.Errorf("in print %d controls are shown, and the picture fits: %v", nav, fits)
	}
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Click(chromedp.CSS("section.after:not([hidden]) summary"), chromedp.NodeVisible))
	views, _ := demo()
	if got, want := count(t, b, "tbody tr"), len(views.Lockstep.Records); got != want {
		t.Errorf("the table has %d rows, want %d", got, want)
	}
}

// longRun writes the page of a run of smr with a thousand steps, five nodes and all page options.
func longRun(b *bytes.Buffer) error {
	s := strategy.DefaultWalk
	s.Steps, s.Drop = 1000, 0
	t, err := lockstep.Record(context.Background(),
		lockstep.Plan{System: smr.Cluster{Nodes: 5}, Strategy: s, Spec: smr.Prefix, Seed: 3}, 0)
	if err != nil {
		return err
	}
	return report.Page(b, report.Views{Found: t}, report.PageOptions{})
}

// A run with tags and without a lockstep form opens by the rounds of its protocol, and one key shows its steps.
func TestByPhases(t *testing.T) {
	b := open(t, 1440, 860, longRun)
	shown := `[...document.querySelectorAll('section.view')].filter((s) => !s.hidden).map((s) => s.dataset.view).join()`
	if got := eval[string](t, b, shown); got != "phases" {
		t.Errorf("the page shows %s", got)
	}
	for _, what := range []string{"band", "column", "arrow", "cell"} {
		if count(t, b, "#view-phases ."+what) == 0 {
			t.Errorf("there is no %s", what)
		}
	}
	rounds := count(t, b, "#view-phases .column")
	screenshot(t, b, "run-phases.png")
	b.do(t, chromedp.KeyEvent("1"))
	if steps := count(t, b, "#view-found .column"); rounds >= steps {
		t.Errorf("%d rounds for %d steps", rounds, steps)
	}
	if got := eval[string](t, b, shown); got != "found" {
		t.Errorf("after the key the page shows %s", got)
	}
}

func TestThousandStepsRenderInTime(t *testing.T) {
	b := open(t, 1440, 860, longRun)
	b.do(t, chromedp.KeyEvent("1"))
	if got := count(t, b, "#view-found .column"); got != 1001 {
		t.Errorf("%d columns", got)
	}
	const millisecondsMax = 2000
	loaded := eval[float64](t, b, `new Promise((done) => {
		const wait = () => {
			const n = performance.getEntriesByType('navigation')[0];
			n.loadEventEnd > 0 ? requestAnimationFrame(() => done(n.loadEventEnd)) : setTimeout(wait, 5);
		};
		wait();
	})`)
	if loaded > millisecondsMax {
		t.Errorf("the page took %.0f ms", loaded)
	}
	t.Logf("loaded after %.0f ms", loaded)
	moved := eval[float64](t, b, `(() => {
		const start = performance.now();
		for (let i = 0; i < 20; i++) document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));
		document.body.getBoundingClientRect();
		return performance.now() - start;
	})()`)
	t.Logf("20 moves took %.0f ms", moved)
	screenshot(t, b, "run-1000.png")
}
