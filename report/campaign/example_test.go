package campaign_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/report/campaign"
)

func ExamplePage() {
	var page bytes.Buffer
	if err := campaign.Page(&page, sampleCampaign()); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(page.String(), "at most 1.05%"))
	// Output: true
}

func ExampleGroupFindings() {
	for _, g := range campaign.GroupFindings([]campaign.Occurrence{
		{Run: 4, Trace: failing(true)},
		{Run: 9, Trace: failing(true)},
	}) {
		fmt.Printf("%d times, first in run %d: %s\n", g.Findings, g.First, g.Text)
	}
	// Output: 2 times, first in run 4: 1 and 2 differ
}

func ExampleJUnit() {
	var b bytes.Buffer
	if err := campaign.JUnit(&b, sampleCampaign()); err != nil {
		panic(err)
	}
	fmt.Println(strings.Split(b.String(), "\n")[1])
	// Output: <testsuites name="lockstep" tests="2" failures="1" errors="0">
}

func ExampleCampaign_Document() {
	d := sampleCampaign().Document()
	fmt.Println(d.Verdict, *d.FirstRun, d.Finding.Property, d.Digest)
	// Output: fail 238 prefix 0123456789abcdef
}

func ExampleAnnotations() {
	_ = campaign.Annotations(os.Stdout, sampleCampaign(), campaign.Place{File: "smr_test.go", Line: 12})
	// Output: ::error file=smr_test.go,line=12,title=lockstep smr-bug::prefix in 22 of 3000 runs, first in run 238: node 1 outputs ad, but node 2 had output c%0Auniform:period=4,isolations=4,rounds=16, seed 1%0Areplay: lockstep replay lockstep-out/prefix-seed1-run238.trace
}

func ExampleCampaign_Write() {
	if err := passed().Write(os.Stdout, false); err != nil {
		fmt.Println(err)
	}
	// Output:
	// smr-bug nodes=3 under uniform:period=4,isolations=4,rounds=16, seed 1
	// 3000 runs, 152000 steps in 490ms (6122 runs/s, 310204 steps/s)
	// average run: 50.7 steps, no events
	// property prefix was checked 9120 times, 3.04 a run
	// guarantee: one run hits a given 4-periodic uniform execution with probability at least 7.05e-06 (there are 141905)
	//            these 3000 runs hit it with probability at least 0.0209; probability 0.95 takes 424926 runs
	//            assumptions: messages are lost as the rounds say; nothing else is random
	// digest 0123456789abcdef (the same command gives the same digest)
	// PASS nothing found
}

func ExampleComparePage() {
	var page bytes.Buffer
	if err := campaign.ComparePage(&page, comparisonWith("uniform"),
		"lockstep compare smr-bug --strategies uniform"); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(page.String(), "– &gt;1000"))
	// Output: true
}

func ExampleAddSample() {
	var curve []campaign.Sample
	for runs := range 1000 {
		curve = campaign.AddSample(curve, &lockstep.Result{Runs: runs + 1}, time.Duration(runs)*time.Millisecond)
	}
	fmt.Println(len(curve) <= 400, curve[len(curve)-1].Runs)
	// Output: true 1000
}

func ExampleAddToGroups() {
	var groups []campaign.Group
	for _, run := range []int{4, 9} {
		groups = campaign.AddToGroups(groups, campaign.Group{Property: "prefix", Shape: "1 output", First: run})
	}
	fmt.Println(len(groups), groups[0].Findings, groups[0].First)
	// Output: 1 2 4
}

func ExampleFleetPage() {
	f := &campaign.Fleet{
		Speed:     1200,
		Campaigns: []campaign.FleetCampaign{{ID: "000001", State: "running", Campaign: sampleCampaign(), Of: 10_000}},
		Workers:   []campaign.FleetWorker{{Name: "<b>", Campaign: "000001", Runs: 12}},
	}
	var page, live bytes.Buffer
	if err := errors.Join(campaign.FleetPage(&page, f), campaign.FleetLive(&live, f)); err != nil {
		panic(err)
	}
	fmt.Println(
		strings.Contains(page.String(), live.String()),
		strings.Contains(page.String(), "<td><b>"),
		strings.Contains(live.String(), `href="./campaign/000001"`),
	)
	// Output: true false true
}
