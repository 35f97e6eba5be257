package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what is written with a file of testdata/golden.
func golden(t *testing.T, file string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "golden", file)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s differs (-update writes it anew):\n%s", file, d)
	}
}

func TestGoldenExports(t *testing.T) {
	unknown := sampleCampaign()
	unknown.Finding, unknown.FirstRun, unknown.Groups, unknown.Findings = nil, nil, nil, 0
	unknown.Verdict, unknown.Reasons = trace.Unknown, map[string]int{"more than 100000 steps": 3}
	passed := sampleCampaign()
	passed.Finding, passed.FirstRun, passed.Groups, passed.Findings, passed.Verdict = nil, nil, nil, 0, trace.Pass
	passed.Effects = []report.Effect{{Name: "hold votes", N: 12}, {Name: "release votes", N: 0}}
	golden(t, "junit.xml", func(w io.Writer) error { return report.JUnit(w, sampleCampaign(), unknown, passed) })
	golden(t, "campaign.json", func(w io.Writer) error { return report.JSON(w, sampleCampaign()) })
	golden(t, "shiviz.log", func(w io.Writer) error { return report.ShiViz(w, sample(true)) })
	golden(t, "annotations.txt", func(w io.Writer) error {
		for _, c := range []*report.Campaign{sampleCampaign(), unknown, passed} {
			if err := report.Annotations(w, c, report.Place{File: "smr_test.go", Line: 12}); err != nil {
				return err
			}
		}
		return nil
	})
}

// keys lists the JSON keys of a struct and of the structs in it, as documented.
func keys(t reflect.Type, prefix string) (list []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if key == "" {
			continue
		}
		list = append(list, prefix+key)
		list = append(list, keys(t.Field(i).Type, prefix+key+".")...)
	}
	return list
}

// The schema in the documentation lists every key, and no other.
func TestSchemaIsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "reports.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	_, schema, ok := strings.Cut(string(text), "<!-- schema -->")
	if !ok {
		t.Fatal("docs/reports.md has no schema")
	}
	schema, _, _ = strings.Cut(schema, "<!-- end of schema -->")
	for line := range strings.Lines(schema) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			documented = append(documented, strings.Trim(cells[1], " `"))
		}
	}
	want := append([]string{"schema"}, keys(reflect.TypeFor[report.Campaign](), "")...)
	slices.Sort(want)
	slices.Sort(documented)
	if d := cmp.Diff(want, documented); d != "" {
		t.Errorf("docs/reports.md (+) does not list the keys of report.Campaign (-):\n%s", d)
	}
}

func TestJSONKeepsEverything(t *testing.T) {
	var b bytes.Buffer
	want := campaignWith("text")
	if err := report.JSON(&b, want); err != nil {
		t.Fatal(err)
	}
	var got report.Campaign
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, &got); d != "" {
		t.Error(d)
	}
}

// Vector clocks tell exactly which step could have influenced which.
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
	}{{0, 3, true}, {1, 3, false}, {3, 4, true}, {3, 7, true}, {4, 7, true}, {2, 7, false}, {4, 10, true}, {7, 10, false}, {3, 5, true}, {6, 7, true}, {5, 7, true}, {5, 10, false}} {
		if got := before(c.a, c.b); got != c.want {
			t.Errorf("event %d (%v) before event %d (%v): %v", c.a, events[c.a], c.b, events[c.b], got)
		}
	}
}
