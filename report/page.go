package report

import (
	_ "embed"
	"errors"
	"io"
	"slices"

	"github.com/lockstep-go/lockstep/report/internal/page"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// Views are the forms of a run that a page shows. The page leaves out views that are nil; at least one must be set.
type Views struct {
	Found    *trace.Trace // the run as it was found
	Shrunk   *trace.Trace // the shrunk run
	Lockstep *trace.Trace // in lockstep rounds
}

// phased returns the run that the page also shows by the rounds of its protocol. This is the smallest run if there is
// no lockstep form. It is nil if the messages have no tags.
func (v Views) phased() *trace.Trace {
	t := v.Shrunk
	if t == nil {
		t = v.Found
	}
	if v.Lockstep != nil || t == nil || !phased(t) {
		return nil
	}
	return t
}

// PageOptions of [Page].
type PageOptions struct {
	// Title of the page; empty means the target and the finding.
	Title string
	// Properties are checked along the bottom; empty means the one that was violated.
	Properties []string
	// Answers are the types of events that answer a client's request; empty means
	// DefaultAnswers.
	Answers []string
	// Replay is the command that replays the run, for the reader to copy.
	Replay string
	// Note is shown under the heading: for example why there is no lockstep form.
	Note string
	// Why describes how the run differs from the nearest run that passes, one difference a line.
	Why []string
	// Pictures are files beside the page, such as the history that a checker drew. The page links to each by its name.
	Pictures []string
	// MaxSteps is the number of steps drawn of a view, the last ones; 0 means DefaultMaxSteps. The others are lines of
	// text.
	MaxSteps int
	// MaxText is the number of characters shown of a text; 0 means DefaultMaxText.
	MaxText int
}

// Default limits of a page.
const (
	DefaultMaxSteps = 2000
	DefaultMaxText  = 1000
)

// DefaultAnswers are the types of events that pages draw as answers to clients.
var DefaultAnswers = []string{"answer", "answered", "applied", "reply", "response", "result"}

func (p PageOptions) complete() PageOptions {
	if p.MaxSteps <= 0 {
		p.MaxSteps = DefaultMaxSteps
	}
	if p.MaxText <= 0 {
		p.MaxText = DefaultMaxText
	}
	if p.Answers == nil {
		p.Answers = DefaultAnswers
	}
	return p
}

// Page writes a run as one self-contained HTML file: it needs no network and no other file. Nodes are rows. Rounds are
// columns; if the run is not in rounds, steps are. The page opens at the finding. It shows the contents of the trace as
// text: a browser neither parses them as markup nor executes them.
func Page(w io.Writer, v Views, o PageOptions) error {
	o = o.complete()
	data := pageData{Options: o}
	for _, x := range []struct {
		id, label string
		trace     *trace.Trace
	}{{"found", "found", v.Found}, {"shrunk", "shrunk", v.Shrunk}, {"lockstep", "lock-step form", v.Lockstep}} {
		if x.trace != nil {
			data.Views = append(data.Views, newScene(x.id, x.label, x.trace, false, o))
		}
	}
	if t := v.phased(); t != nil {
		data.Views = append(data.Views,
			newScene("phases", "by "+plain.Cut(plain.Clean(t.Header.Phases.String()), cellCharsMax), t, true, o))
	}
	if len(data.Views) == 0 {
		return errors.New("report: a page needs at least one view of a run")
	}
	data.open(v)
	if data.timed() {
		data.Options.Note = "" // that a run in time has no rounds
	}
	return page.Render(w, pageTemplate, data)
}

// timed reports whether the page opens with a timeline.
func (p *pageData) timed() bool {
	return slices.ContainsFunc(p.Views, func(s *scene) bool { return !s.Hidden && s.Timeline != nil })
}

// pageData is the data of the page's template.
type pageData struct {
	Options  PageOptions
	Title    string
	Header   trace.Header
	Subtitle string
	Outcome  trace.Outcome
	Verdict  string
	Said     string // text of the finding
	Open     string // the view shown first
	Views    []*scene
	Data     []viewData
}

// Program reports that the page has a script.
func (pageData) Program() bool { return true }

// open chooses the view shown first: one in rounds, which is the easiest to read.
func (p *pageData) open(v Views) {
	first := v.Lockstep
	p.Open = "lockstep"
	for _, x := range []struct {
		id    string
		trace *trace.Trace
	}{{"shrunk", v.Shrunk}, {"found", v.Found}} {
		if x.trace != nil && (first == nil || len(first.Rounds) == 0 && len(x.trace.Rounds) > 0) {
			p.Open, first = x.id, x.trace
		}
	}
	if v.phased() != nil && len(first.Rounds) == 0 {
		p.Open = "phases"
	}
	for _, s := range p.Views {
		s.Hidden = s.ID != p.Open
		p.Data = append(p.Data, s.data)
	}
	p.Header, p.Outcome = first.Header, first.Outcome
	p.Subtitle = plain.Cut(subtitle(first.Header), p.Options.MaxText)
	p.Verdict = string(first.Outcome.Verdict)
	if f := first.Outcome.Finding; f != nil {
		p.Said = plain.Cut(plain.Clean(f.Text), p.Options.MaxText)
	}
	p.Title = p.Options.Title
	if p.Title == "" {
		p.Title = "Lockstep: " + first.Header.Target
		if f := first.Outcome.Finding; f != nil {
			p.Title += ", " + f.Property
		}
	}
	p.Title = plain.Cut(plain.Clean(p.Title), p.Options.MaxText)
}

//go:embed page.html
var pageHTML string

var pageTemplate = page.Parse("page", pageHTML)
