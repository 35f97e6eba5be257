package report_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/internal/pagetest"
	"github.com/lockstep-go/lockstep/trace"
)

// occurrences counts the occurrences of a text in a page.
func occurrences(page, text string) int { return strings.Count(page, text) }

func TestPageShowsEverything(t *testing.T) {
	page := pagetest.Write(t, func(w io.Writer) error {
		return report.Page(w, report.Views{Lockstep: sample(true)},
			report.PageOptions{Properties: []string{"agreement", "validity"}, Replay: "lockstep replay x"})
	})
	for what, want := range map[string]int{
		"data-round=":                       4,
		`class="iso"`:                       2, // one cell of the picture, one of the strip
		"is isolated in round 2":            1,
		" lost\" data-step=":                1,
		" forged\" data-step=":              1,
		"1 forged, of 2":                    2, // above the picture and the table
		"◆ node 2":                          1,
		"◆ node 1":                          0,
		`class="arrow request`:              1,
		`class="answer"`:                    1,
		`class="cross"`:                     1,
		`class="tick"`:                      1,
		"<caption>lock-step form":           1,
		"lockstep replay x":                 1,
		"up to 2000 steps":                  1,
		"node 2 decided 2, node 1 had 9</t": 1,
	} {
		if got := occurrences(page, what); got != want {
			t.Errorf("%q stands there %d times, want %d", what, got, want)
		}
	}
	if strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Error("the page names another address")
	}
}

func TestPageOpensAtTheEasiestView(t *testing.T) {
	free, rounds := sample(false), sample(true)
	for _, c := range []struct {
		views report.Views
		want  string
	}{
		{report.Views{Found: free}, "found"},
		{report.Views{Found: free, Shrunk: free}, "shrunk"},
		{report.Views{Found: rounds, Shrunk: rounds}, "shrunk"},
		{report.Views{Found: free, Shrunk: free, Lockstep: rounds}, "lockstep"},
		{report.Views{Found: rounds, Shrunk: free}, "found"},
	} {
		page := pagetest.Write(t, func(w io.Writer) error { return report.Page(w, c.views, report.PageOptions{}) })
		if !strings.Contains(page, `data-open="`+c.want+`"`) {
			t.Errorf("%+v does not open at %s", c.views, c.want)
		}
	}
	if err := report.Page(io.Discard, report.Views{}, report.PageOptions{}); err == nil {
		t.Error("a page without a run was written")
	}
}

func TestPageSaysWhatIsCut(t *testing.T) {
	tr := sample(false)
	for len(tr.Records) < 50 {
		tr.Records = append(tr.Records,
			trace.Record{Number: len(tr.Records), Step: trace.Step{Kind: trace.Timer, Node: 1}, Text: "1 timer"})
	}
	tr.Outcome.Finding.Step = 49
	page := pagetest.Write(t, func(w io.Writer) error {
		return report.Page(w, report.Views{Found: tr}, report.PageOptions{MaxSteps: 20})
	})
	if !strings.Contains(page, "the last 20 of 50: the first 30 are lines of text") {
		t.Error("the page does not say that steps are left out")
	}
	if got := occurrences(page, `<g class="column`); got != 20 {
		t.Errorf("%d columns", got)
	}
}

// The data of the page gives for every step the step that sent its message.
func TestPageDataHoldsCauses(t *testing.T) {
	page := pagetest.Write(t, func(w io.Writer) error {
		return report.Page(w, report.Views{Found: sample(false)}, report.PageOptions{})
	})
	_, scripts := pagetest.Tags(page)
	var views []struct {
		ID      string
		Finding int
		Steps   []struct{ N, C, X, Cause int }
	}
	if err := json.Unmarshal([]byte(scripts[0]), &views); err != nil {
		t.Fatal(err)
	}
	v := views[0]
	if v.ID != "found" || v.Finding != 8 || len(v.Steps) != 9 {
		t.Fatalf("%+v", v)
	}
	for i, cause := range []int{-1, -1, 1, 1, 2, 2, -1, -1, -1} {
		if v.Steps[i].Cause != cause {
			t.Errorf("step %d is caused by %d, want %d", i, v.Steps[i].Cause, cause)
		}
	}
}
