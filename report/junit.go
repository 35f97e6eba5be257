package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep/trace"
)

// JUnit writes campaigns as JUnit XML, as CI servers read it: a campaign is a test suite
// with seed, strategy, guarantee and trace as properties, and each property of the system
// that was judged is a test case. A finding is a failure; a campaign that says nothing,
// because runs reached a limit or the scenario never took effect, is an error.
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
	s := junitSuite{Name: clean(c.Target) + " " + clean(c.Strategy), Time: fmt.Sprintf("%.3f", float64(c.ElapsedMS)/1000)}
	for _, p := range []junitProperty{
		{"seed", fmt.Sprint(c.Seed)}, {"strategy", c.Strategy}, {"scenario", c.Scenario}, {"options", strings.TrimSpace(named("", c.Options))},
		{"runs", fmt.Sprint(c.Runs)}, {"findings", fmt.Sprint(c.Findings)}, {"verdict", string(c.Verdict)}, {"trace", c.Trace},
		{"guarantee", c.Guarantee.Text}, {"guarantee.assumes", strings.Join(c.Guarantee.Assumes, "; ")},
		{"guarantee.all_runs", fmt.Sprintf("%.6g", c.Guarantee.AllRuns)}, {"digest", c.Digest}, {"again", c.Again}, {"replay", c.Replay},
	} {
		if p.Value != "" {
			s.Properties = append(s.Properties, junitProperty{p.Name, clean(p.Value)})
		}
	}
	for _, name := range c.properties() {
		one := junitCase{Name: clean(name), Class: clean(c.Target), Time: "0.000"}
		c.judge(name, &one)
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
func (c *Campaign) properties() []string {
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
	return sorted(names)
}

// judge fills in how a property came off.
func (c *Campaign) judge(name string, one *junitCase) {
	var texts []string
	found := 0
	for _, g := range c.Groups {
		if g.Property == name {
			texts = append(texts, fmt.Sprintf("%d times, first in run %d (%s): %s", g.Findings, g.First, clean(g.Shape), clean(g.Text)))
			found += g.Findings
		}
	}
	if c.Finding != nil && c.Finding.Property == name {
		texts = append([]string{clean(c.Finding.Text)}, texts...)
		found = max(found, 1)
	}
	switch {
	case found > 0:
		kind := string(trace.Fail)
		if c.Verdict == trace.Flaky {
			kind = string(trace.Flaky)
		}
		if c.Replay != "" {
			texts = append(texts, "replay: "+clean(c.Replay))
		}
		one.Failure = &junitProblem{Message: texts[0], Type: kind, Text: strings.Join(texts, "\n")}
	case c.Verdict == trace.Unknown || c.Verdict == trace.Vacuous:
		text := "no part of the scenario took effect"
		if c.Verdict == trace.Unknown {
			text = "runs reached a limit: " + clean(strings.Join(sorted(c.Reasons), "; "))
		}
		one.Error = &junitProblem{Message: text, Type: string(c.Verdict), Text: text}
	default:
		one.Out = fmt.Sprintf("%d runs, %s", c.Runs, judged(c.Judged[name]))
	}
}
