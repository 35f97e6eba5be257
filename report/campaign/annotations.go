package campaign

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// maxAnnotations bounds the annotations of each severity: GitHub shows ten of a kind.
const maxAnnotations = 10

// Place is a source position that annotations point to; the zero Place is none.
type Place struct {
	File string
	Line int
}

// Annotations writes a campaign as GitHub workflow commands: an error or a warning for each problem, and a
// notice for a campaign that passed.
func Annotations(w io.Writer, c *Campaign, at Place) error {
	d := c.Document()
	a := annotator{place: at, title: "lockstep " + d.Target}
	count := map[string]int{}
	for i, p := range d.Problems {
		if count[p.Severity]++; count[p.Severity] > maxAnnotations {
			continue
		}
		lines := append(problemTexts([]lockstep.Problem{p}), fmt.Sprintf("%s, seed %d", d.Strategy, d.Seed))
		lines[0] = p.Text
		if i == 0 && d.Replay != "" {
			lines = append(lines, "replay: "+d.Replay)
		} else if i == 0 && d.Rerun != "" && p.Severity == lockstep.SeverityError {
			lines = append(lines, "rerun: "+d.Rerun)
		}
		a.add(p.Severity, strings.Join(lines, "\n"))
	}
	for _, s := range []string{lockstep.SeverityError, lockstep.SeverityWarning} {
		if more := count[s] - maxAnnotations; more > 0 {
			a.add(s, fmt.Sprintf("%d more %s, not shown here", more, words.Plural(more, "problem")))
		}
	}
	if d.Verdict == trace.Pass {
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
	fmt.Fprintf(&a.b, "::%s %s::%s\n", kind, strings.Join(properties, ","),
		commandEscapes.Replace(strings.Join(lines, "\n")))
}

var (
	commandEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeProperty(s string) string { return propertyEscapes.Replace(plain.Short(s)) }
