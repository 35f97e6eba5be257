package report_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/lockstep-go/lockstep/report"
)

// The page of a run is one file: write it anywhere and open it in a browser.
func ExamplePage() {
	var page bytes.Buffer
	if err := report.Page(&page, report.Views{Found: sample(false), Lockstep: sample(true)}, report.PageOptions{}); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(page.String(), "node 2 decided 2, node 1 had 9"))
	// Output: true
}

func ExampleCampaignPage() {
	var page bytes.Buffer
	if err := report.CampaignPage(&page, sampleCampaign()); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(page.String(), "at most 1.05%"))
	// Output: true
}

func ExampleShape() {
	fmt.Println(report.Shape(sample(true)))
	// Output: 2 phases: 1 answer in phase 1, 1 decided in phase 2
}

func ExampleGroupFindings() {
	for _, g := range report.GroupFindings([]report.Occurrence{{Run: 4, Trace: sample(true)}, {Run: 9, Trace: sample(true)}}) {
		fmt.Printf("%d times, first in run %d: %s\n", g.Findings, g.First, g.Text)
	}
	// Output: 2 times, first in run 4: node 2 decided 2, node 1 had 9
}

func ExampleJUnit() {
	var b bytes.Buffer
	if err := report.JUnit(&b, sampleCampaign()); err != nil {
		panic(err)
	}
	fmt.Println(strings.Split(b.String(), "\n")[1])
	// Output: <testsuites name="lockstep" tests="1" failures="1" errors="0">
}

func ExampleJSON() {
	var b bytes.Buffer
	if err := report.JSON(&b, sampleCampaign()); err != nil {
		panic(err)
	}
	fmt.Println(b.String()[:48])
	// Output: {"schema":1,"target":"smr-bug","options":{"nodes
}

func ExampleShiViz() {
	var b bytes.Buffer
	if err := report.ShiViz(&b, sample(false)); err != nil {
		panic(err)
	}
	fmt.Println(strings.Join(strings.Split(b.String(), "\n")[8:12], "\n"))
	// Output:
	// node1 {"node1":2}
	// request client->1 put a | sends 1->2 Ask x=1 | sends 1->3 Ask x=1
	// node2 {"node1":2,"node2":2}
	// deliver 1->2 Ask x=1 | node 2: x=1 | sends 2->1 Answer x=1
}

func ExampleAnnotations() {
	_ = report.Annotations(os.Stdout, sampleCampaign(), report.Place{File: "smr_test.go", Line: 12})
	// Output: ::error file=smr_test.go,line=12,title=lockstep smr-bug::prefix: node 1 outputs ad, but node 2 had output c%0A3 of 3000 runs, first in run 238, seed 1%0Areplay: lockstep replay lockstep-out/prefix-seed1-run238.trace
}
