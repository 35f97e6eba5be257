package campaign

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// JUnit writes campaigns as JUnit XML for CI servers. A campaign is a test suite with seed, strategy, guarantee and
// trace as properties. Each property of the system is a test case, and the case "campaign" has the problems that
// concern no single property. A finding and a divergence are failures. A campaign without a result is an error: its
// runs were not checked, the scenario never took effect, or a person stopped it. A property that was never checked is
// skipped.
func JUnit(w io.Writer, campaigns ...*Campaign) error {
	doc := junitSuites{Name: "lockstep"}
	for _, c := range campaigns {
		s := junitSuiteOf(c)
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
		doc.Suites = append(doc.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Skipped *junitSkipped `xml:"skipped"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

func junitSuiteOf(c *Campaign) junitSuite {
	d := c.Document()
	s := junitSuite{
		Name: plain.Clean(d.Target) + " " + plain.Clean(d.Strategy),
		Time: fmt.Sprintf("%.3f", c.Elapsed.Seconds()),
	}
	for _, p := range []junitProperty{
		{"seed", fmt.Sprint(d.Seed)}, {"strategy", d.Strategy}, {"scenario", d.Scenario}, {"build", d.Build},
		{"options", strings.TrimSpace(plain.Named("", "", d.Options))}, {"runs", fmt.Sprint(d.Runs)},
		{"findings", fmt.Sprint(d.Findings)},
		{"verdict", string(d.Verdict)}, {"interrupted", yes(d.Interrupted)}, {"trace", d.Trace},
		{"guarantee", d.Guarantee.Text}, {"guarantee.assumes", strings.Join(d.Guarantee.Assumes, "; ")},
		{"guarantee.all_runs", fmt.Sprintf("%.6g", d.Guarantee.AllRuns)}, {"digest", d.Digest}, {"rerun", d.Rerun},
		{"replay", d.Replay},
	} {
		if p.Value != "" {
			s.Properties = append(s.Properties, junitProperty{p.Name, plain.Clean(p.Value)})
		}
	}
	s.Cases = []junitCase{c.campaignCase(&d)}
	for _, name := range d.properties() {
		s.Cases = append(s.Cases, c.propertyCase(&d, name))
	}
	for _, one := range s.Cases {
		switch {
		case one.Failure != nil:
			s.Failures++
		case one.Error != nil:
			s.Errors++
		case one.Skipped != nil:
			s.Skipped++
		}
	}
	s.Cases[0].Time = s.Time // the runs checked all properties together
	s.Tests = len(s.Cases)
	return s
}

// properties returns the names of all properties that were checked or violated.
func (d *Document) properties() []string {
	names := map[string]bool{}
	for name := range d.Checked {
		names[name] = true
	}
	for _, p := range d.Problems {
		if p.Property != "" {
			names[p.Property] = true
		}
	}
	return plain.Keys(names)
}

// campaignCase returns the case of the problems that concern no single property.
func (c *Campaign) campaignCase(d *Document) junitCase {
	one := junitCase{Name: "campaign", Class: plain.Clean(d.Target), Time: "0.000"}
	var list []lockstep.Problem
	for _, p := range d.Problems {
		if p.Property == "" {
			list = append(list, p)
		}
	}
	text := plain.Lines(strings.Join(problemTexts(list), "\n"))
	for _, p := range list {
		if p.Severity == lockstep.SeverityError || p.Verdict() != trace.Pass {
			one.set(&p, text)
			return one
		}
	}
	one.Out = strings.TrimSpace(text + "\n" + c.Summary())
	return one
}

// problemTexts returns problems with all of their places.
func problemTexts(list []lockstep.Problem) (lines []string) {
	for _, p := range list {
		lines = append(lines, fmt.Sprintf("%s: %s", p.Severity, p.Text))
		for _, place := range p.Places {
			lines = append(lines, "  at "+place)
		}
	}
	return lines
}

// set makes a problem the outcome of the case: a failure if the system causes it, and else an error.
func (j *junitCase) set(p *lockstep.Problem, text string) {
	x := &junitProblem{Message: plain.Clean(p.Text), Type: string(p.Verdict()), Text: text}
	if v := p.Verdict(); v == trace.Fail || v == trace.Flaky {
		j.Failure = x
	} else {
		j.Error = x
	}
}

// propertyCase returns the case of a property.
func (c *Campaign) propertyCase(d *Document, name string) junitCase {
	one := junitCase{Name: plain.Clean(name), Class: plain.Clean(d.Target), Time: "0.000"}
	for _, p := range d.Problems {
		switch {
		case p.Property == name && p.Severity == lockstep.SeverityWarning: // never exercised, or never reached
			one.Skipped = &junitSkipped{plain.Clean(p.Text)}
		case p.Property == name && one.Failure == nil:
			one.set(&p, d.failureText(&p))
			return one
		case one.Error == nil && p.Property == "" && (p.Verdict() == trace.Unknown || p.Verdict() == trace.Vacuous):
			one.set(&p, plain.Clean(p.Text)) // the property was not shown to hold
		}
	}
	switch {
	case one.Error != nil:
		one.Skipped = nil
	case one.Skipped == nil:
		one.Out = words.Count(d.Runs, "run") + ", " + checked(d, name)
	}
	return one
}

// failureText describes the failure of a property: the groups of findings, and how to replay the first.
func (d *Document) failureText(p *lockstep.Problem) string {
	lines := problemTexts([]lockstep.Problem{*p})
	for _, g := range d.Groups {
		if g.Property == p.Property {
			lines = append(lines, fmt.Sprintf("%s, first in run %d (%s): %s",
				words.Count(g.Findings, "time"), g.First, g.Shape, g.Text))
		}
	}
	if d.Replay != "" {
		lines = append(lines, "replay: "+d.Replay)
	}
	return plain.Lines(strings.Join(lines, "\n"))
}

// checked reports how often a property could have failed.
func checked(d *Document, name string) string {
	if n := d.Checked[name]; n != nil {
		return "checked " + words.Count(*n, "time")
	}
	return "checked, nothing counts how often"
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}
