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

// Fleet is what many machines are doing: campaigns, what they have found, and who makes the runs.
type Fleet struct {
	Campaigns []FleetCampaign // the newest first
	Findings  []FleetFinding  // likewise
	Workers   []FleetWorker
	// Quarantine has the results that were rejected last, of which nothing counts; the newest first.
	Quarantine []FleetQuarantined
	// Speed is the number of runs a second of all of them.
	Speed float64
	// Refused is the number of messages that did not fit.
	Refused int
}

// FleetCampaign is a line about a campaign.
type FleetCampaign struct {
	ID, Name, State, Why string
	*Campaign
	Of int // runs that are planned; 0: as many as there is time for
}

// FleetFinding is a line about a finding.
type FleetFinding struct {
	Campaign, Property, Shape, Text string
	Run                             int
	After                           time.Duration
}

// FleetWorker is a line about a worker.
type FleetWorker struct {
	Name, Campaign, Refuses string
	Runs                    int64
	Speed                   float64
}

// FleetQuarantined is a line about a result that was rejected.
type FleetQuarantined struct {
	Campaign, Worker, Why string
	First                 int // run of its batch
}

// The numbers of lines of tables, and of campaigns with curves, that are shown at once.
const (
	mostFindings = 20
	mostProblems = 50
	mostWorkers  = 200
	mostCurves   = 4
	mostRejected = 20
)

// FleetPage writes a page about a fleet. Its program has the changing part, which FleetLive writes, sent by
// the server at ./events; without it the page loads itself again now and then.
func FleetPage(w io.Writer, f *Fleet) error { return page.Render(w, fleetTemplate, newFleetData(f)) }

// FleetLive writes the part of the page that changes.
func FleetLive(w io.Writer, f *Fleet) error {
	var b bytes.Buffer
	if err := fleetTemplate.ExecuteTemplate(&b, "live", newFleetData(f)); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// fleetData is what the template is made from.
type fleetData struct {
	*Fleet
	Title string
	Cards []card
	More  string // what is not shown
	Rows  []fleetRow
	// Problems are those of all campaigns.
	Problems []fleetProblem
}

// fleetProblem is a problem of a campaign.
type fleetProblem struct {
	Campaign string
	lockstep.Problem
}

// fleetRow is a campaign with what is said of it.
type fleetRow struct {
	FleetCampaign
	D       Document
	Class   string // of the verdict
	Done    string
	Promise string
	Curves  []curve
}

// Program is the page's own.
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
			row.Promise = fmt.Sprintf(
				"a given target is hit with probability at least %s so far",
				percent(doc.Guarantee.AllRuns),
			)
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
