package campaign_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/report/internal/pagetest"
)

// pages returns the pages with a text.
func pages(text string) []func(io.Writer) error {
	return []func(io.Writer) error{
		func(w io.Writer) error { return campaign.Page(w, campaignWith(text)) },
		func(w io.Writer) error { return campaign.ComparePage(w, comparisonWith(text), text) },
	}
}

// known returns the tags that harmless texts produce.
func known(t *testing.T) map[pagetest.Tag]bool {
	all := map[pagetest.Tag]bool{}
	for _, text := range []string{"text", "a=1", strings.Repeat("a=1 ", 20)} {
		for _, page := range pages(text) {
			list, _ := pagetest.Tags(pagetest.Write(t, page))
			for _, one := range list {
				all[one] = true
			}
		}
	}
	return all
}

// Whatever the texts of a campaign contain, none breaks out of its place.
func FuzzRenderers(f *testing.F) {
	for _, text := range pagetest.Nasties() {
		f.Add(text)
	}
	var tags map[pagetest.Tag]bool
	var types map[string]schemaType
	f.Fuzz(func(t *testing.T, text string) {
		if tags == nil {
			tags, types = known(t), readSchema(t)
		}
		for _, page := range pages(text) {
			pagetest.Check(t, pagetest.Write(t, page), tags, 0)
		}
		c := campaignWith(text)
		if err := validJUnit(types,
			[]byte(pagetest.Write(t, func(w io.Writer) error { return campaign.JUnit(w, c) }))); err != nil {
			t.Errorf("JUnit: %v", err)
		}
		if _, err := json.Marshal(c.Document()); err != nil {
			t.Errorf("JSON: %v", err)
		}
		pagetest.CheckLines(t, "summary", pagetest.Write(t, func(w io.Writer) error { return c.Write(w, false) }), -1)
		notes := pagetest.Write(t,
			func(w io.Writer) error { return campaign.Annotations(w, c, campaign.Place{File: text, Line: 1}) })
		pagetest.CheckLines(t, "annotations", notes, -1)
		for line := range strings.Lines(notes) {
			if !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::warning file=") &&
				!strings.HasPrefix(line, "::error title=") && !strings.HasPrefix(line, "::warning title=") {
				t.Errorf("annotation %q", line)
			}
		}
		checkProgress(t, text)
	})
}

func checkProgress(t *testing.T, text string) {
	t.Helper()
	now := time.Unix(0, 0)
	var b bytes.Buffer
	p := campaign.Progress{
		W:        &b,
		Terminal: true,
		Width:    60,
		Now:      func() time.Time { now = now.Add(time.Second); return now },
	}
	for i := range 3 {
		if err := p.Update(campaign.Status{Runs: i, Coverage: text}); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range strings.Split(b.String(), "\r\x1b[K") {
		if utf8.RuneCountInString(line) >= 60 || slices.ContainsFunc([]rune(line), unicode.IsControl) {
			t.Fatalf("progress line %q", line)
		}
	}
}
