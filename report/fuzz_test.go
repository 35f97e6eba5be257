package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// tag is a tag of an HTML page with the names of its attributes.
type tag struct{ name, attributes string }

// tags reads the tags of a page as a browser would: everything between < and >, with
// attribute values in quotes, and nothing inside scripts and styles.
func tags(page string) (list []tag, scripts []string) {
	for {
		at := strings.IndexByte(page, '<')
		if at < 0 {
			return list, scripts
		}
		var one tag
		one, page = readTag(page[at+1:])
		list = append(list, one)
		if one.name == "script" || one.name == "style" {
			end := strings.Index(strings.ToLower(page), "</"+one.name)
			if end < 0 {
				return append(list, tag{"unclosed " + one.name, ""}), scripts
			}
			if one.name == "script" {
				scripts = append(scripts, page[:end])
			}
			page = page[end:]
		}
	}
}

func readTag(s string) (tag, string) {
	end := strings.IndexAny(s, " \t\n\r/>")
	if strings.HasPrefix(s, "/") {
		end = 1 + strings.IndexAny(s[1:], " \t\n\r/>")
	}
	if end < 0 {
		return tag{s, ""}, ""
	}
	t := tag{name: strings.ToLower(s[:end])}
	var attributes []string
	for s = s[end:]; ; {
		s = strings.TrimLeft(s, " \t\n\r/")
		if s == "" || s[0] == '>' {
			t.attributes = strings.Join(attributes, " ")
			return t, strings.TrimPrefix(s, ">")
		}
		end := strings.IndexAny(s, "= \t\n\r/>")
		if end < 0 {
			return t, ""
		}
		attributes = append(attributes, strings.ToLower(s[:end]))
		s = s[end:]
		if !strings.HasPrefix(s, "=") {
			continue
		}
		if s = s[1:]; s != "" && (s[0] == '"' || s[0] == '\'') {
			close := strings.IndexByte(s[1:], s[0])
			if close < 0 {
				return t, ""
			}
			s = s[close+2:]
		} else {
			attributes = append(attributes, "unquoted")
		}
	}
}

// write is what a renderer makes of something.
func write(t *testing.T, render func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := render(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func runPage(tr *trace.Trace, text string) func(io.Writer) error {
	return func(w io.Writer) error {
		return report.Page(w, report.Views{Found: tr, Shrunk: sample(true), Lockstep: tr},
			report.PageOptions{Properties: []string{text, "agreement"}, Replay: text, Note: text, Answers: []string{text, "answer"}})
	}
}

// known are the tags that harmless texts give.
func known(t *testing.T) (run, campaign map[tag]bool) {
	run, campaign = map[tag]bool{}, map[tag]bool{}
	for _, text := range []string{"text", "a=1", strings.Repeat("a=1 ", 20)} {
		for _, inRounds := range []bool{false, true} {
			for _, tr := range []*trace.Trace{sample(inRounds), hostile(inRounds, text)} {
				list, _ := tags(write(t, runPage(tr, text)))
				for _, one := range list {
					run[one] = true
				}
			}
		}
		list, _ := tags(write(t, func(w io.Writer) error { return report.CampaignPage(w, campaignWith(text)) }))
		for _, one := range list {
			campaign[one] = true
		}
	}
	return run, campaign
}

func checkPage(t *testing.T, page string, known map[tag]bool, scripts int) {
	t.Helper()
	if !utf8.ValidString(page) {
		t.Error("the page is not UTF-8")
	}
	list, found := tags(page)
	for _, one := range list {
		if !known[one] {
			t.Fatalf("a text became the tag %+v", one)
		}
	}
	if len(found) != scripts {
		t.Fatalf("%d scripts, want %d", len(found), scripts)
	}
	if scripts > 0 {
		var data []any
		if err := json.Unmarshal([]byte(found[0]), &data); err != nil {
			t.Fatalf("the data of the page cannot be read: %v", err)
		}
	}
}

// Whatever the texts of a trace or a campaign are, nothing breaks out of its place.
func FuzzRenderers(f *testing.F) {
	for i, text := range nasties() {
		f.Add(text, i%2 == 0, uint8(3), i)
	}
	f.Add("x", true, uint8(0), -1)
	f.Add("x", false, uint8(64), 1<<30)
	var run, campaign map[tag]bool
	var types map[string]schemaType
	f.Fuzz(func(t *testing.T, text string, inRounds bool, nodes uint8, step int) {
		if run == nil {
			run, campaign = known(t)
			types = readSchema(t)
		}
		tr := hostile(inRounds, text)
		tr.Header.Nodes = int(nodes) % (trace.MaxNodes + 1)
		tr.Outcome.Finding.Step = step
		checkPage(t, write(t, runPage(tr, text)), run, 2)
		c := campaignWith(text)
		checkPage(t, write(t, func(w io.Writer) error { return report.CampaignPage(w, c) }), campaign, 0)
		if err := validJUnit(types, []byte(write(t, func(w io.Writer) error { return report.JUnit(w, c) }))); err != nil {
			t.Errorf("JUnit: %v", err)
		}
		var back report.Campaign
		if err := json.Unmarshal([]byte(write(t, func(w io.Writer) error { return report.JSON(w, c) })), &back); err != nil {
			t.Errorf("JSON: %v", err)
		}
		checkLines(t, "ShiViz", write(t, func(w io.Writer) error { return report.ShiViz(w, tr) }), 2+2*(tr.Header.Nodes+len(tr.Records)-1))
		notes := write(t, func(w io.Writer) error { return report.Annotations(w, c, report.Place{File: text, Line: 1}) })
		checkLines(t, "annotations", notes, -1)
		for line := range strings.Lines(notes) {
			if !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::warning file=") &&
				!strings.HasPrefix(line, "::error title=") && !strings.HasPrefix(line, "::warning title=") {
				t.Errorf("annotation %q", line)
			}
		}
		tr.Header.Nodes = max(3, tr.Header.Nodes)
		checkLines(t, "grid", write(t, func(w io.Writer) error { return report.Grid(w, tr, report.Options{}) }), -1)
		checkProgress(t, text)
	})
}

// checkLines checks that a text has so many lines, where that is known, and no control
// characters.
func checkLines(t *testing.T, what, text string, want int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if want >= 0 && len(lines) != want {
		t.Errorf("%s has %d lines, want %d", what, len(lines), want)
	}
	for _, line := range lines {
		if i := strings.IndexFunc(line, unicode.IsControl); i >= 0 {
			t.Fatalf("%s holds a control character: %q", what, line)
		}
	}
}

func checkProgress(t *testing.T, text string) {
	t.Helper()
	now := time.Unix(0, 0)
	var b bytes.Buffer
	p := report.Progress{W: &b, Terminal: true, Width: 60, Now: func() time.Time { now = now.Add(time.Second); return now }}
	for i := range 3 {
		if err := p.Update(report.Status{Runs: i, Coverage: text}); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range strings.Split(b.String(), "\r\x1b[K") {
		if utf8.RuneCountInString(line) >= 60 || slices.ContainsFunc([]rune(line), unicode.IsControl) {
			t.Fatalf("progress line %q", line)
		}
	}
}

func TestNastyTextsInEveryRenderer(t *testing.T) {
	run, campaign := known(t)
	for i, text := range nasties() {
		t.Run(name(i, text), func(t *testing.T) {
			for _, inRounds := range []bool{false, true} {
				page := write(t, runPage(hostile(inRounds, text), text))
				checkPage(t, page, run, 2)
				if len(page) > 2<<20 {
					t.Errorf("the page has %d bytes", len(page))
				}
			}
			checkPage(t, write(t, func(w io.Writer) error { return report.CampaignPage(w, campaignWith(text)) }), campaign, 0)
		})
	}
}

// The check itself notices a text that breaks out.
func TestTagsSeeWhatBreaksOut(t *testing.T) {
	for _, page := range []string{`<p>a<b>c</b></p>`, `<p class="x" onclick="y">`, `<p class=x>`, `<script>a</script><script>b</script>`} {
		list, scripts := tags(page)
		fine := len(scripts) <= 1
		for _, one := range list {
			fine = fine && slices.Contains([]tag{{"p", "class"}, {"p", ""}, {"/p", ""}, {"script", ""}, {"/script", ""}}, one)
		}
		if fine {
			t.Errorf("%s passed as %v", page, fmt.Sprint(list))
		}
	}
}
