package report_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/internal/pagetest"
	"github.com/lockstep-go/lockstep/trace"
)

func runPage(tr *trace.Trace, text string) func(io.Writer) error {
	return func(w io.Writer) error {
		return report.Page(
			w,
			report.Views{Found: tr, Shrunk: sample(true), Lockstep: tr},
			report.PageOptions{
				Properties: []string{text, "agreement"},
				Replay:     text,
				Note:       text,
				Answers:    []string{text, "answer"},
			},
		)
	}
}

// known returns the tags that harmless texts produce.
func known(t *testing.T) map[pagetest.Tag]bool {
	run := map[pagetest.Tag]bool{}
	for _, text := range []string{"text", "a=1", strings.Repeat("a=1 ", 20)} {
		for _, inRounds := range []bool{false, true} {
			for _, tr := range []*trace.Trace{sample(inRounds), hostile(inRounds, text)} {
				list, _ := pagetest.Tags(pagetest.Write(t, runPage(tr, text)))
				for _, one := range list {
					run[one] = true
				}
			}
		}
	}
	return run
}

// Whatever the texts of a trace contain, none breaks out of its place.
func FuzzRenderers(f *testing.F) {
	for i, text := range pagetest.Nasties() {
		f.Add(text, i%2 == 0, uint8(3), i)
	}
	f.Add("x", true, uint8(0), -1)
	f.Add("x", false, uint8(64), 1<<30)
	var run map[pagetest.Tag]bool
	f.Fuzz(func(t *testing.T, text string, inRounds bool, nodes uint8, step int) {
		if run == nil {
			run = known(t)
		}
		tr := hostile(inRounds, text)
		tr.Header.Nodes = int(nodes) % (trace.MaxNodes + 1)
		tr.Outcome.Finding.Step = step
		pagetest.Check(t, pagetest.Write(t, runPage(tr, text)), run, 2)
		pagetest.CheckLines(t, "ShiViz", pagetest.Write(t, func(w io.Writer) error { return report.ShiViz(w, tr) }),
			2+2*(tr.Header.Nodes+len(tr.Records)-1))
		tr.Header.Nodes = max(3, tr.Header.Nodes)
		pagetest.CheckLines(t, "grid",
			pagetest.Write(t, func(w io.Writer) error { return report.Grid(w, tr, report.Options{}) }), -1)
	})
}

func TestNastyTextsInEveryRenderer(t *testing.T) {
	tier.NotShort(t)
	run := known(t)
	for i, text := range pagetest.Nasties() {
		t.Run(pagetest.Name(i, text), func(t *testing.T) {
			for _, inRounds := range []bool{false, true} {
				page := pagetest.Write(t, runPage(hostile(inRounds, text), text))
				pagetest.Check(t, page, run, 2)
				if len(page) > 2<<20 {
					t.Errorf("the page has %d bytes", len(page))
				}
			}
		})
	}
}

// hostileTimeline is a run in time whose texts are all the given one.
func hostileTimeline(text string) *trace.Trace {
	t := whole()
	for i := range t.Records {
		r := &t.Records[i]
		for j := range r.Logs {
			r.Logs[j].Text, r.Logs[j].Level = text, text
		}
		for j := range r.Events {
			r.Events[j].Type, r.Events[j].Text = text, fmt.Sprint(text, i, j)
		}
	}
	t.Outcome.Finding.Text, t.Outcome.Finding.Property = text, text
	return t
}

// No text breaks out of its place in a timeline: on the page, on the console and in Markdown.
func TestNastyTextsInTimeline(t *testing.T) {
	run := map[pagetest.Tag]bool{}
	for _, harmless := range []string{"text", "a=1", strings.Repeat("a=1 ", 20)} {
		list, _ := pagetest.Tags(pagetest.Write(t, runPage(hostileTimeline(harmless), harmless)))
		for _, one := range list {
			run[one] = true
		}
	}
	for i, text := range pagetest.Nasties() {
		t.Run(pagetest.Name(i, text), func(t *testing.T) {
			bad := hostileTimeline(text)
			pagetest.Check(t, pagetest.Write(t, runPage(bad, text)), run, 2)
			for what, write := range map[string]func(io.Writer) error{
				"grid":     func(w io.Writer) error { return report.Grid(w, bad, report.Options{}) },
				"Markdown": func(w io.Writer) error { return report.Markdown(w, bad, report.PageOptions{}) },
			} {
				pagetest.CheckLines(t, what, pagetest.Write(t, write), -1)
			}
		})
	}
}
