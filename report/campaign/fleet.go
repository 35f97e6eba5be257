package campaign

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/page"
	"github.com/lockstep-go/lockstep/report/internal/plain"
)

//go:embed fleet.html
var fleetHTML string

//go:embed fleet.js
var fleetJS string

var fleetTemplate = page.Parse("fleet", fleetHTML)

// Fleet is the state of many machines: campaigns, their findings, and the workers that make the runs.
type Fleet struct {
	Campaigns []FleetCampaign // the newest first
	Findings  []FleetFinding  // the newest first
	Workers   []FleetWorker
	// Quarantine has the results that were rejected last, which do not count; the newest first.
	Quarantine []FleetQuarantined
	// Speed is the total number of runs per second.
	Speed float64
	// Refused is the number of invalid messages.
	Refused int
}

// FleetCampaign is the line of a campaign.
type FleetCampaign struct {
	ID, Name, State, Why string
	*Campaign
	Of int // planned runs; 0: as many as the time allows
}

// FleetFinding is the line of a finding.
type FleetFinding struct {
	Campaign, Property, Shape, Text string
	Run                             int
	After                           time.Duration
}

// FleetWorker is the line of a worker.
type FleetWorker struct {
	Name, Campaign, Refuses string
	Runs                    int64
	Speed                   float64
}

// FleetQuarantined is the line of a rejected result.
type FleetQuarantined struct {
	Campaign, Worker, Why string
	First                 int // first run of its batch
}

// The largest numbers of table lines, and of campaigns with curves, that the page shows at once.
const (
	mostFindings = 20
	mostProblems = 50
	mostWorkers  = 200
	mostCurves   = 4
	mostRejected = 20
)

// FleetPage writes a page about a fleet. Its script gets the changing part, which FleetLive writes, from the server at
// ./events. Without a script the page reloads periodically.
func FleetPage(w io.Writer, f *Fleet) error { return page.Render(w, fleetTemplate, newFleetData(f)) }

// FleetLive writes the changing part of the page.
func FleetLive(w io.Writer, f *Fleet) error {
	var b bytes.Buffer
	if err := fleetTemplate.ExecuteTemplate(&b, "live", newFleetData(f)); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// fleetData is the data of the template.
type fleetData struct {
	*Fleet
	Title string
	Cards []card
	More  string // a note about what is not shown
	Rows  []fleetRow
	// Problems are the problems of all campaigns.
	Problems []fleetProblem
}

// fleetProblem is a problem of a campaign.
type fleetProblem struct {
	Campaign string
	lockstep.Problem
}

// fleetRow is a campaign with its texts for the page.
type fleetRow struct {
	FleetCampaign
	D       Document
	Class   string // the style of the verdict
	Done    string
	Promise string
	Next    string // the probability that the next run reaches something new; empty if there is no estimate
	Curves  []curve
}

// Program returns the script of the page.
func (fleetData) Program() template.JS { return template.JS(fleetJS) }

func newFleetData(f *Fleet) *fleetData {
	d := &fleetData{Fleet: f, Title: "Lockstep fleet"}
	runs, findings, drawn := 0, 0, 0
	for _, c := range f.Campaigns {
		doc := c.Document()
		row := fleetRow{FleetCampaign: c, D: doc, Promise: doc.Guarantee.Text}
		if Failed(doc.Problems) {
			row.Class = "problem-error"
		}
		for _, p := range doc.Problems {
			d.Problems = append(d.Problems, fleetProblem{c.ID, p})
		}
		if doc.Guarantee.PerRun > 0 {
			row.Promise = fmt.Sprintf("a given target is hit with probability at least %s so far",
				percent(doc.Guarantee.AllRuns))
		}
		if e := doc.NextRun; e != nil {
			row.Next = probability(*e)
		}
		if row.Done = plain.Number(float64(doc.Runs)); c.Of > 0 {
			row.Done += " of " + plain.Number(float64(c.Of))
		}
		if drawn == 0 || c.State == "running" && drawn < mostCurves {
			drawn++
			var p pageData
			if p.curves(c.Curve) == nil {
				row.Curves = p.Curves
			}
		}
		runs, findings = runs+doc.Runs, findings+doc.Findings
		d.Rows = append(d.Rows, row)
	}
	bad := ""
	if findings > 0 {
		bad = "bad"
	}
	d.Cards = []card{
		{plain.Number(f.Speed), "runs per second", ""},
		{plain.Number(float64(len(f.Workers))), words.Plural(len(f.Workers), "worker"), ""},
		{
			plain.Number(float64(runs)),
			words.Plural(runs, "run"),
			"",
		},
		{plain.Number(float64(findings)), words.Plural(findings, "finding"), bad},
	}
	errorsFirst := func(a, b fleetProblem) int { return cmp.Compare(a.Severity, b.Severity) }
	slices.SortStableFunc(d.Problems, errorsFirst)
	if n := len(d.Problems); n > mostProblems {
		d.Problems = d.Problems[:mostProblems]
		d.More += fmt.Sprintf("The first %d of %d problems are shown; the pages of the campaigns have all. ",
			mostProblems, n)
	}
	copied := *f
	d.Fleet = &copied
	if n := len(f.Findings); n > mostFindings {
		copied.Findings = f.Findings[:mostFindings]
		d.More += fmt.Sprintf("The last %d of %d findings are shown. ", mostFindings, n)
	}
	if n := len(f.Workers); n > mostWorkers {
		copied.Workers = f.Workers[:mostWorkers]
		d.More += fmt.Sprintf("%d of %d workers are shown. ", mostWorkers, n)
	}
	if n := len(f.Quarantine); n > mostRejected {
		copied.Quarantine = f.Quarantine[:mostRejected]
		d.More += fmt.Sprintf("The last %d of %d rejected results are shown. ", mostRejected, n)
	}
	if f.Refused > 0 {
		d.More += words.Count(f.Refused, "message") + " from workers were rejected and changed nothing. "
	}
	return d
}
