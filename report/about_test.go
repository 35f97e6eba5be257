package report_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/internal/pagetest"
	"github.com/lockstep-go/lockstep/trace"
)

// drawn returns the grid of a trace.
func drawn(t *testing.T, tr *trace.Trace, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Grid(&b, tr, report.Options{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The grid shows every step of a shrunk run. Of other runs it shows a single step that changed nothing.
func TestGridHidesNoStep(t *testing.T) {
	idle := func(n int) *trace.Trace {
		tr := sample(false)
		for range n {
			tr.Records = append(tr.Records,
				trace.Record{Number: len(tr.Records), Step: trace.Step{Kind: trace.Timer, Node: 1}, Text: "1 timer"})
		}
		return tr
	}
	for _, c := range []struct {
		idle   int
		shrunk string
		hidden bool
	}{{1, "", false}, {2, "", true}, {2, "from 9 steps", false}} {
		tr := idle(c.idle)
		tr.Header.Shrunk = c.shrunk
		text := drawn(t, tr, 100)
		for _, r := range tr.Records[1:] {
			hidden := !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d[*: ] `, r.Number)).MatchString(text)
			if want := c.hidden && r.Number >= 9; hidden != want {
				t.Errorf("%+v: step %d hidden: %v\n%s", c, r.Number, hidden, text)
			}
		}
	}
	tr := sample(true)
	tr.Rounds = append(tr.Rounds, trace.Round{Number: 5, Phase: 2, Name: "Ask", Kernel: 7},
		trace.Round{Number: 6, Phase: 2, Name: "Answer", Kernel: 7})
	if text := drawn(t, tr, 200); !strings.Contains(text, "5-6 idle") || strings.Contains(text, "timer") {
		t.Errorf("idle rounds are not joined:\n%s", text)
	}
	tr.Header.Shrunk = "from 9 rounds"
	if text := drawn(t, tr, 200); !strings.Contains(text, "6 Answer") || !strings.Contains(text, "timer") {
		t.Errorf("a round or a timer of a shrunk run is hidden:\n%s", text)
	}
}

// However narrow the picture is, no field of a text is cut away.
func TestGridCutsNoField(t *testing.T) {
	fields := ""
	for i := range 20 {
		fields += fmt.Sprintf(" field%d=%d", i, i)
	}
	for _, inRounds := range []bool{false, true} {
		for _, width := range []int{40, 80, 300} {
			tr := sample(inRounds)
			tr.Records[2].Text += fields
			tr.Records[2].States[0].Text += fields
			tr.Records[5].Events[0].Text += fields + " theEnd"
			text := drawn(t, tr, width)
			if strings.Contains(text, "…") || !strings.Contains(text, "field19=19") ||
				!strings.Contains(text, "theEnd") {
				t.Errorf("rounds %v, width %d: something is cut\n%s", inRounds, width, text)
			}
			for line := range strings.Lines(text) {
				if n := len([]rune(line)) - 1; n > width && !strings.HasPrefix(line, "FAIL") {
					t.Errorf("width %d: a line of %d columns: %s", width, n, line)
				}
			}
		}
	}
	if one, two := drawn(t, sample(false), 60), drawn(t, sample(false), 120); one == two {
		t.Error("the width makes no difference")
	}
}

// A finding marks its steps. These are the steps that it names, even if it was noticed at the end. Otherwise these are
// the step where it was noticed and the steps in which the other nodes reported its values.
func TestFindingMarksSteps(t *testing.T) {
	for _, c := range []struct {
		what  string
		set   func(*trace.Finding)
		stars string
		past  string
	}{
		{"as it is", func(*trace.Finding) {}, "8", "2 1"},
		{"values of nodes", func(f *trace.Finding) { f.Values = []string{"put a", "2"} }, "5 8", "1 2"},
		{"named steps", func(f *trace.Finding) { f.About = []int{5} }, "5", "1 2"},
		{"no such step", func(f *trace.Finding) { f.About = []int{99, -1} }, "8", "1 2"},
	} {
		tr := sample(false)
		c.set(tr.Outcome.Finding)
		text := drawn(t, tr, 100)
		numbers := func(sign string) map[string]bool {
			m := map[string]bool{}
			for _, x := range regexp.MustCompile(`(?m)^ +(\d+)`+sign+` `).FindAllStringSubmatch(text, -1) {
				m[x[1]] = true
			}
			return m
		}
		for sign, want := range map[string]string{`\*`: c.stars, ":": c.past} {
			if got := numbers(sign); len(got) != len(strings.Fields(want)) {
				t.Errorf("%s: %s marks %v, want %s\n%s", c.what, sign, got, want, text)
			} else {
				for _, n := range strings.Fields(want) {
					if !got[n] {
						t.Errorf("%s: %s marks %v, want %s", c.what, sign, got, want)
					}
				}
			}
		}
		page := pagetest.Write(t,
			func(w io.Writer) error { return report.Page(w, report.Views{Found: tr}, report.PageOptions{}) })
		for _, n := range strings.Fields(c.stars) {
			if !regexp.MustCompile(`class="cell [a-z ]*about" data-step="` + n + `"`).MatchString(page) {
				t.Errorf("%s: step %s is not marked on the page", c.what, n)
			}
		}
	}
}

// Crashed and cut-off nodes are shaded while they are out.
func TestOutagesAreShaded(t *testing.T) {
	step := func(kind trace.Kind, n trace.Node, from, to trace.Nodes, oneWay bool) trace.Step {
		return trace.Step{Kind: kind, Node: n, From: from, To: to, OneWay: oneWay}
	}
	tr := &trace.Trace{Header: trace.Header{Target: "toy", Nodes: 3}, Outcome: trace.Outcome{Verdict: trace.Pass}}
	want := []string{"...", "..x", "..x", "...", "~..", "...", "...", "~..", "..."}
	for i, s := range []trace.Step{{}, step(trace.Crash, 3, 0, 0, false), step(trace.Timer, 1, 0, 0, false),
		step(trace.Restart, 3, 0, 0, false),
		step(trace.Cut, 0, 1, 6, false), step(trace.Heal, 0, 1, 2, false), step(trace.Heal, 0, 1, 4, false),
		step(trace.Cut, 0, 6, 1, true), step(trace.Heal, 0, 2, 1, true)} {
		tr.Records = append(
			tr.Records,
			trace.Record{
				Number: i,
				Step:   s,
				Text:   s.String(),
				States: []trace.State{{Node: 1, Text: fmt.Sprint("x=", i)}},
			},
		)
	}
	text := drawn(t, tr, 100)
	for i := 1; i < len(want); i++ {
		if line := fmt.Sprintf("%5d  %s %s", i, want[i], tr.Records[i].Step.Kind); !strings.Contains(text, line) {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
	page := pagetest.Write(t,
		func(w io.Writer) error { return report.Page(w, report.Views{Found: tr}, report.PageOptions{}) })
	for class, columns := range map[string][]int{"down": {1, 2}, "cut": {4, 7}} {
		if got := occurrences(page, `<rect class="`+class+`" data-column=`); got != len(columns) {
			t.Errorf("%d cells are %s, want %d", got, class, len(columns))
		}
		for _, c := range columns {
			if occurrences(page, fmt.Sprintf(`<rect class="%s" data-column="%d"`, class, c)) != 1 {
				t.Errorf("column %d is not %s", c, class)
			}
		}
	}
	tr.Rounds = []trace.Round{
		{Number: 1, Phase: 1, Kernel: 7},
		{Number: 2, Phase: 1, Kernel: 7},
		{Number: 3, Phase: 1, Kernel: 7},
	}
	for i := range tr.Records {
		tr.Records[i].Round = []int{0, 1, 2, 3, 3, 3, 3, 3, 3}[i]
	}
	if text := drawn(t, tr, 100); strings.Count(text, "~down~") != 2 {
		t.Errorf("node 3 is down in two rounds:\n%s", text)
	}
}

// The arrow of a request ends at the node's cell, whatever the cell contains.
func TestRequestsReachTheirNode(t *testing.T) {
	for _, lines := range []string{"", "a=1", "a=1 b=2 c=3 d=4 e=5"} {
		tr := sample(false)
		if lines != "" {
			tr.Records[1].States = []trace.State{{Node: 1, Text: lines}}
		}
		page := pagetest.Write(t,
			func(w io.Writer) error { return report.Page(w, report.Views{Found: tr}, report.PageOptions{}) })
		arrow := regexp.MustCompile(`<g class="arrow request" data-step="1".*?<path class="line" d="M[0-9.]+ [0-9.]+L([0-9.]+) ([0-9.]+)"`).
			FindStringSubmatch(page)
		cells := regexp.MustCompile(`<g class="cell [a-z ]*" data-step="1"[^>]*><rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"`).
			FindAllStringSubmatch(page, -1)
		if arrow == nil || len(cells) != 2 {
			t.Fatalf("arrow %v, cells %v", arrow, cells)
		}
		var x, y float64
		var left, top, width, height float64
		_, _ = fmt.Sscan(arrow[1]+" "+arrow[2], &x, &y)
		_, _ = fmt.Sscan(strings.Join(cells[1][1:], " "), &left, &top, &width, &height)
		if x < left || x > left+width || y < top-1 || y > top+height {
			t.Errorf("%q: the arrow ends at %g,%g, the cell is at %g,%g and %g by %g", lines, x, y, left, top, width,
				height)
		}
	}
}

// The page links to the pictures of a run by their names, whatever characters these have.
func TestPageLinksPictures(t *testing.T) {
	page := pagetest.Write(t, func(w io.Writer) error {
		return report.Page(w, report.Views{Found: sample(false)},
			report.PageOptions{Pictures: []string{"out/a-history.html", "javascript:alert(1)"}})
	})
	for _, want := range []string{`<a href="./a-history.html">`, `<a href="./javascript:alert%281%29">`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not there", want)
		}
	}
}
