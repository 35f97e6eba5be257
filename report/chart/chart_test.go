package chart_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/report/chart"
)

// A chart is well-formed XML, has a path for each line, and keeps names unchanged.
func TestChart(t *testing.T) {
	var b strings.Builder
	c := chart.Chart{Title: "a < b & c", X: "tests", Y: "share", Lines: []chart.Line{
		{Name: "first", Points: []chart.Point{{0, 0}, {10, 1}}},
		{Name: "second", Steps: true, Dashed: true, Like: 1, Points: []chart.Point{{1, 0.25}, {4, 0.5}, {9, 1}}},
		{Name: "third"},
	}}
	if err := c.SVG(&b); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	texts := map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			texts[string(c)] = true
		}
	}
	for _, want := range []string{"a < b & c", "tests", "share", "first", "second", "third", "10", "0.2"} {
		if !texts[want] {
			t.Errorf("no text %q", want)
		}
	}
	// The path goes from (0,0) to the upper right and keeps its height until the next point.
	for _, want := range []string{
		`d="M52.0 314.0L626.0 34.0"`,
		`stroke="#0072b2" stroke-width="1.6" stroke-dasharray="6 4" d="M109.4 244.0H281.6V174.0H568.6V34.0"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no path with %s in\n%s", want, b.String())
		}
	}
}

func TestChartRefuses(t *testing.T) {
	var b strings.Builder
	low := chart.Chart{Top: 1, Lines: []chart.Line{{Name: "low", Points: []chart.Point{{1, 0.5}}}}}
	if err := low.SVG(&b); err != nil || !strings.Contains(b.String(), ">1</text>") {
		t.Errorf("a chart up to 1: %v\n%s", err, b.String())
	}
	for _, points := range [][]chart.Point{nil, {{0, 0}}, {{1, math.NaN()}}, {{math.Inf(1), 1}}, {{-1, 1}}} {
		if err := (chart.Chart{Lines: []chart.Line{{Name: "x", Points: points}}}).SVG(io.Discard); err == nil {
			t.Errorf("%v was drawn", points)
		}
	}
}

func ExampleChart_SVG() {
	c := chart.Chart{
		Title: "covered",
		X:     "runs",
		Y:     "share",
		Lines: []chart.Line{{Name: "isolation", Points: []chart.Point{{1, 0.4}, {2, 0.8}, {3, 1}}}},
	}
	var b strings.Builder
	if err := c.SVG(&b); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Println(strings.SplitAfter(b.String(), ">")[0])
	// Output: <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 360" font-family="sans-serif" font-size="11">
}

// In a page a chart has the page's class, and neither background nor title.
func TestChartInAPage(t *testing.T) {
	var b strings.Builder
	c := chart.Chart{
		Title: "states",
		X:     "runs",
		Class: "curve",
		Lines: []chart.Line{{Name: "x", Area: true, Points: []chart.Point{{0, 0}, {10, 5}}}},
	}
	if err := c.SVG(&b); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{`<svg class="curve"`: true, `aria-label="states over runs"`: true,
		`<rect`: false, "http://": false,
		`class="area" fill="#0072b2" fill-opacity="0.15" d="M52.0 144.0L338.0 12.0V144.0H52.0Z"`: true} {
		if strings.Contains(b.String(), text) != want {
			t.Errorf("%q in the picture: %v\n%s", text, !want, b.String())
		}
	}
}
