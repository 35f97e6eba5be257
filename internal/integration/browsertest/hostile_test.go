package browsertest

import (
	"bytes"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/lockstep-go/lockstep/report"
)

// Texts that would run if a browser parsed them as markup. They leave a mark if they run.
var hostile = []string{
	`<script>window.pwned = 1</script>`, `</script><script>window.pwned = 1</script>`,
	`<img src=x onerror="window.pwned = 1">`,
	`"><svg onload="window.pwned = 1">`, `' onmouseover='window.pwned = 1' x='`, `<!--<script>window.pwned = 1`,
	`javascript:window.pwned=1`,
	"\u2028window.pwned = 1//", `<iframe srcdoc="<script>parent.pwned = 1</script>">`, "\xff<b>\x00",
	`<style>*{display:none}</style>`,
}

func TestHostileTextsStayTexts(t *testing.T) {
	views, err := demo()
	if err != nil {
		t.Fatal(err)
	}
	run := *views.Lockstep
	run.Records = append(run.Records[:0:0], run.Records...)
	for i := range run.Records {
		text := hostile[i%len(hostile)]
		rec := &run.Records[i]
		rec.Text = text
		rec.States = append(rec.States[:0:0], rec.States...)
		for j := range rec.States {
			rec.States[j].Text = text + " a=" + text
		}
		rec.Sent = append(rec.Sent[:0:0], rec.Sent...)
		for j := range rec.Sent {
			rec.Sent[j].Text, rec.Sent[j].Type = text, text
		}
		rec.Events = append(rec.Events[:0:0], rec.Events...)
		for j := range rec.Events {
			rec.Events[j].Text, rec.Events[j].Type = text, text
		}
	}
	finding := *run.Outcome.Finding
	finding.Property, finding.Text, finding.Stack = hostile[0], hostile[2], hostile[1]
	run.Outcome.Finding = &finding
	run.Header.Target, run.Header.Strategy, run.Header.Shrunk = hostile[3], hostile[4], hostile[5]
	b := open(t, 1200, 800, func(b *bytes.Buffer) error {
		return report.Page(b, report.Views{Found: &run, Lockstep: &run},
			report.PageOptions{Title: hostile[1], Note: hostile[2], Replay: hostile[4], Properties: hostile})
	})
	b.do(t, chromedp.Click(chromedp.CSS("#view-lockstep .cell rect"), chromedp.NodeVisible), chromedp.KeyEvent("1"))
	check := eval[string](
		t,
		b,
		`String(window.pwned) + ' ' + document.scripts.length + ' ' + document.querySelectorAll('img, iframe, b').length`,
	)
	if check != "undefined 2 0" {
		t.Errorf("marks, scripts and foreign elements: %s", check)
	}
	if got := text(t, b, "h1"); got != "FAIL "+hostile[0] {
		t.Errorf("heading %q", got)
	}
}
