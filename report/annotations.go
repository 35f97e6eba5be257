package report

import (
	"fmt"
	"io"
	"strings"

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
	a := annotator{place: at, title: "lockstep " + c.Target}
	groups := c.Groups
	if len(groups) == 0 && c.Finding != nil {
		g := Group{Property: c.Finding.Property, Text: c.Finding.Text, Findings: c.Findings, Trace: c.Trace}
		if c.FirstRun != nil {
			g.First = *c.FirstRun
		}
		groups = []Group{g}
	}
	for i, g := range groups {
		if i == maxAnnotations {
			a.add("warning", fmt.Sprintf("%d more groups of findings are not shown", len(groups)-i))
			break
		}
		text := fmt.Sprintf("%s: %s\n%d of %d runs, first in run %d, seed %d", g.Property, g.Text, g.Findings, c.Runs, g.First, c.Seed)
		if i == 0 && c.Replay != "" {
			text += "\nreplay: " + c.Replay
		}
		a.add("error", text)
	}
	for _, name := range sorted(c.Judged) {
		if c.Judged[name] == 0 {
			a.add("warning", fmt.Sprintf("property %s was never put to the test", name))
		}
	}
	for _, e := range c.Effects {
		if e.N == 0 {
			a.add("warning", fmt.Sprintf("scenario: %s never took effect", e.Name))
		}
	}
	switch c.Verdict {
	case trace.Unknown, trace.Vacuous:
		a.add("warning", fmt.Sprintf("the campaign is %s: %s", c.Verdict, strings.Join(sorted(c.Reasons), "; ")))
	case trace.Pass:
		a.add("notice", fmt.Sprintf("%d runs, nothing found; %s", c.Runs, c.Guarantee.Text))
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
		lines[i] = cut(clean(lines[i]), DefaultMaxText)
	}
	fmt.Fprintf(&a.b, "::%s %s::%s\n", kind, strings.Join(properties, ","), commandEscapes.Replace(strings.Join(lines, "\n")))
}

var (
	commandEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeProperty(s string) string { return propertyEscapes.Replace(cut(clean(s), DefaultMaxText)) }
