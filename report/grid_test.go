package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// The scripts hold traces and the pictures made of them; -rewrite regenerates the pictures.
//
//	grid width=60       draw the trace below
//	color               the same in color, with escapes made visible
func TestGrid(t *testing.T) {
	datadriven.Walk(t, "testdata/grid", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			tr, err := trace.Read(strings.NewReader(d.Input))
			if err != nil {
				return err.Error() + "\n"
			}
			o := report.Options{Color: d.Cmd == "color"}
			d.MaybeScanArgs(t, "width", &o.Width)
			var b bytes.Buffer
			if err := report.Grid(&b, tr, o); err != nil {
				return err.Error()
			}
			return strings.ReplaceAll(b.String(), "\x1b", "<esc>")
		})
	})
}

// Whatever a trace contains, every line fits the width and is free of control characters.
func TestGridFitsAndIsClean(t *testing.T) {
	nasty := "a\x1b[31mred\r\n\x00\t<b>&\u202e" + strings.Repeat("long ", 40)
	for _, rounds := range []int{0, 12} {
		tr := &trace.Trace{Header: trace.Header{Target: "t", Strategy: "s", Nodes: 3},
			Outcome: trace.Outcome{Verdict: trace.Pass}}
		for i := range rounds {
			tr.Rounds = append(tr.Rounds,
				trace.Round{Number: i + 1, Phase: i/4 + 1, Name: nasty, Kernel: trace.Nodes(i % 8)})
		}
		for i := range 13 {
			tr.Records = append(
				tr.Records,
				trace.Record{
					Number: i,
					Step:   trace.Step{Kind: trace.Timer, Node: 1},
					Text:   nasty,
					Round:  min(i, rounds),
					Sent:   []trace.Sent{{Message: trace.Message{ID: trace.ID(i + 1), From: 1, To: 2, Type: nasty}}},
					Events: []trace.Event{
						{Type: nasty, Node: 2, Text: nasty},
					},
					States: []trace.State{{Node: 3, Text: fmt.Sprint(i, nasty)}},
				},
			)
		}
		for _, width := range []int{0, 40, 80, 200} {
			var b bytes.Buffer
			if err := report.Grid(&b, tr, report.Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			limit := width
			if limit == 0 {
				limit = 100
			}
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(line, "\n")
				if n := len([]rune(line)); n > limit {
					t.Errorf("rounds %d, width %d: a line of %d columns: %s", rounds, width, n, line)
				}
				if strings.ContainsAny(line, "\x1b\r\x00\t") {
					t.Errorf("control characters in %q", line)
				}
			}
		}
	}
}

func ExampleGrid() {
	t := &trace.Trace{
		Header: trace.Header{Target: "toy", Strategy: "by hand", Nodes: 2},
		Rounds: []trace.Round{{Number: 1, Phase: 1, Name: "Ask", Kernel: trace.NodesOf(1)}},
		Records: []trace.Record{
			{Sent: []trace.Sent{{Message: trace.Message{ID: 1, From: 1, To: 2, Type: "Ask"}}}},
			{
				Number: 1,
				Step:   trace.Step{Kind: trace.Drop, Msg: 1},
				Round:  1,
				States: []trace.State{{Node: 1, Text: "votes=1"}},
			},
		},
		Outcome: trace.Outcome{Verdict: trace.Pass, Steps: 1},
	}
	var b strings.Builder
	if err := report.Grid(&b, t, report.Options{}); err != nil {
		fmt.Println(err)
	}
	fmt.Print(b.String())
	// Output:
	// toy, 2 nodes, by hand, seed 0, run 0
	//
	//         | phase 1
	// round   | 1 Ask
	// --------+-----------
	// node 1  | votes=1
	// node 2  | ~isolated~
	// --------+-----------
	// lost    | 1>2 Ask
	//
	// PASS after 1 step
}
