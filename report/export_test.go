package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/golden"
	"github.com/lockstep-go/lockstep/report"
)

func TestGoldenShiViz(t *testing.T) {
	golden.Check(t, "shiviz.log", func(w io.Writer) error { return report.ShiViz(w, sample(true)) })
}

// Vector clocks show exactly which step could have influenced which.
func TestShiVizClocksAreCausality(t *testing.T) {
	tr := sample(false)
	var b bytes.Buffer
	if err := report.ShiViz(&b, tr); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")[2:]
	type event struct {
		host  string
		clock map[string]int
	}
	var events []event
	for i := 0; i+1 < len(lines); i += 2 {
		host, clock, _ := strings.Cut(lines[i], " ")
		e := event{host: host}
		if err := json.Unmarshal([]byte(clock), &e.clock); err != nil {
			t.Fatalf("%s: %v", lines[i], err)
		}
		events = append(events, e)
	}
	if want := tr.Header.Nodes + len(tr.Records) - 1; len(events) != want {
		t.Fatalf("%d events, want %d", len(events), want)
	}
	// The start of the nodes comes first; record r is event r+2.
	before := func(a, b int) bool { return events[a].clock[events[a].host] <= events[b].clock[events[a].host] }
	for _, c := range []struct {
		a, b int
		want bool
	}{
		{0, 3, true},
		{1, 3, false},
		{3, 4, true},
		{3, 7, true},
		{4, 7, true},
		{2, 7, false},
		{4, 10, true},
		{7, 10, false},
		{3, 5, true},
		{6, 7, true},
		{5, 7, true},
		{5, 10, false},
	} {
		if got := before(c.a, c.b); got != c.want {
			t.Errorf("event %d (%v) before event %d (%v): %v", c.a, events[c.a], c.b, events[c.b], got)
		}
	}
}
