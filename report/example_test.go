package report_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/report"
)

// The page of a run is one file: write it anywhere and open it in a browser.
func ExamplePage() {
	var page bytes.Buffer
	if err := report.Page(&page, report.Views{Found: sample(false), Lockstep: sample(true)},
		report.PageOptions{}); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(page.String(), "node 2 decided 2, node 1 had 9"))
	// Output: true
}

func ExampleShape() {
	fmt.Println(report.Shape(sample(true)))
	// Output: 2 phases: 1 answer in phase 1, 1 decided in phase 2
}

// A run for a bug report: the finding, and what led to it.
func ExampleMarkdown() {
	var b strings.Builder
	if err := report.Markdown(&b, whole(), report.PageOptions{Replay: "lockstep replay run.trace"}); err != nil {
		panic(err)
	}
	lines := strings.Split(b.String(), "\n")
	fmt.Println(strings.Join(lines[:9], "\n"))
	fmt.Println(lines[len(lines)-2])
	// Output:
	// ## complete
	//
	// revision 107 is missing
	//
	// store · 3 nodes ·  · seed 0 · run 0
	//
	//     lockstep replay run.trace
	//
	// What the finding is about, by node: watched.
	// | 0.100 s | | **finding** | **violates complete: revision 107 is missing** |
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
