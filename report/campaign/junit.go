package campaign

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// JUnit writes campaigns as JUnit XML, as CI servers read it: a campaign is a test suite
// with seed, strategy, guarantee and trace as properties, and each property of the system
// that was judged is a test case. A finding is a failure; a campaign that says nothing,
// because runs were not judged, the scenario never took effect or somebody stopped it, is an
// error.
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
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

func junitSuiteOf(c *Campaign) junitSuite {
	d := c.Document()
	s := junitSuite{Name: plain.Clean(d.Target) + " " + plain.Clean(d.Strategy), Time: fmt.Sprintf("%.3f", c.Elapsed.Seconds())}
	for _, p := range []junitProperty{
		{"seed", fmt.Sprint(d.Seed)}, {"strategy", d.Strategy}, {"scenario", d.Scenario}, {"build", d.Build},
		{"options", strings.TrimSpace(plain.Named("", "", d.Options))}, {"runs", fmt.Sprint(d.Runs)}, {"findings", fmt.Sprint(d.Findings)},
		{"verdict", string(d.Verdict)}, {"interrupted", yes(d.Interrupted)}, {"trace", d.Trace},
		{"guarantee", d.Guarantee.Text}, {"guarantee.assumes", strings.Join(d.Guarantee.Assumes, "; ")},
		{"guarantee.all_runs", fmt.Sprintf("%.6g", d.Guarantee.AllRuns)}, {"digest", d.Digest}, {"again", d.Again}, {"replay", d.Replay},
	} {
		if p.Value != "" {
			s.Properties = append(s.Properties, junitProperty{p.Name, plain.Clean(p.Value)})
		}
	}
	for _, name := range d.properties() {
		one := junitCase{Name: plain.Clean(name), Class: plain.Clean(d.Target), Time: "0.000"}
		d.judge(name, &one)
		if one.Failure != nil {
			s.Failures++
		}
		if one.Error != nil {
			s.Errors++
		}
		s.Cases = append(s.Cases, one)
	}
	s.Cases[0].Time = s.Time // the runs judged all properties together
	s.Tests = len(s.Cases)
	return s
}

// properties are the names of all properties that were judged or violated.
func (c *Document) properties() []string {
	names := map[string]bool{}
	for name := range c.Judged {
		names[name] = true
	}
	if c.Finding != nil {
		names[c.Finding.Property] = true
	}
	for _, g := range c.Groups {
		names[g.Property] = true
	}
	if len(names) == 0 {
		names["panic"] = true
	}
	return plain.Keys(names)
}

// judge fills in how a property came off.
func (c *Document) judge(name string, one *junitCase) {
	var texts []string
	found := 0
	for _, g := range c.Groups {
		if g.Property == name {
			texts = append(texts, fmt.Sprintf("%s, first in run %d (%s): %s", words.Count(g.Findings, "time"), g.First, plain.Clean(g.Shape), plain.Clean(g.Text)))
			found += g.Findings
		}
	}
	if c.Finding != nil && c.Finding.Property == name {
		texts = append([]string{plain.Clean(c.Finding.Text)}, texts...)
		found = max(found, 1)
	}
	switch {
	case found > 0:
		kind := string(trace.Fail)
		if c.Verdict == trace.Flaky {
			kind = string(trace.Flaky)
		}
		if c.Replay != "" {
			texts = append(texts, "replay: "+plain.Clean(c.Replay))
		}
		one.Failure = &junitProblem{Message: texts[0], Type: kind, Text: strings.Join(texts, "\n")}
	case c.Verdict == trace.Unknown || c.Verdict == trace.Vacuous:
		text := "no part of the scenario took effect"
		if c.Verdict == trace.Unknown {
			text = unknown(c)
		}
		one.Error = &junitProblem{Message: text, Type: string(c.Verdict), Text: text}
	default:
		one.Out = words.Count(c.Runs, "run") + ", " + judged(c, name)
	}
}

// judged says how often a property could have failed.
func judged(d *Document, name string) string {
	if n := d.Judged[name]; n != nil {
		return "judged " + words.Count(*n, "time")
	}
	return "judged, nobody counted how often"
}

// unknown says why nothing is known.
func unknown(d *Document) string {
	switch {
	case len(d.Reasons) > 0:
		return "runs were not judged: " + plain.Clean(strings.Join(plain.Keys(d.Reasons), "; "))
	case d.Interrupted:
		return "interrupted after " + words.Count(d.Runs, "run")
	default:
		return "no run was made"
	}
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}
