package campaign

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// maxAnnotations bounds the annotations of a campaign: GitHub shows ten of a kind.
const maxAnnotations = 10

// Place is a place in the source that annotations point to; the zero Place is none.
type Place struct {
	File string
	Line int
}

// Annotations writes a campaign as GitHub workflow commands: an error for each group of
// findings, a warning for whatever says nothing because it was never put to the test.
func Annotations(w io.Writer, c *Campaign, at Place) error {
	d := c.Document()
	a := annotator{place: at, title: "lockstep " + d.Target}
	groups := d.Groups
	if len(groups) == 0 && d.Finding != nil {
		groups = []Group{{Property: d.Finding.Property, Text: d.Finding.Text, Findings: d.Findings, Trace: d.Trace, First: *d.FirstRun}}
	}
	for i, g := range groups {
		if i == maxAnnotations {
			a.add("warning", words.Count(len(groups)-i, "group of findings")+" more: not shown here")
			break
		}
		text := fmt.Sprintf("%s: %s\n%d of %s, first in run %d, seed %d", g.Property, g.Text, g.Findings, words.Count(d.Runs, "run"), g.First, d.Seed)
		if i == 0 && d.Replay != "" {
			text += "\nreplay: " + d.Replay
		}
		a.add("error", text)
	}
	for _, name := range c.Result.Unjudged() {
		a.add("warning", fmt.Sprintf("property %s was never put to the test", name))
	}
	for _, name := range c.Result.Idle() {
		a.add("warning", fmt.Sprintf("scenario: %s never took effect", name))
	}
	switch d.Verdict {
	case trace.Unknown:
		a.add("warning", "the campaign is unknown: "+unknown(&d))
	case trace.Vacuous:
		a.add("warning", "the campaign is vacuous: no part of the scenario took effect")
	case trace.Pass:
		a.add("notice", fmt.Sprintf("%s, nothing found; %s", words.Count(d.Runs, "run"), d.Guarantee.Text))
	}
	_, err := io.WriteString(w, a.b.String())
	return err
}

// annotator writes workflow commands.
type annotator struct {
	b     strings.Builder
	place Place
	title string
}

func (a *annotator) add(kind, text string) {
	var properties []string
	if a.place.File != "" {
		properties = append(properties, "file="+escapeProperty(a.place.File))
		if a.place.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", a.place.Line))
		}
	}
	properties = append(properties, "title="+escapeProperty(a.title))
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = plain.Short(lines[i])
	}
	fmt.Fprintf(&a.b, "::%s %s::%s\n", kind, strings.Join(properties, ","), commandEscapes.Replace(strings.Join(lines, "\n")))
}

var (
	commandEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeProperty(s string) string { return propertyEscapes.Replace(plain.Short(s)) }
