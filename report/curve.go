package report

import (
	"fmt"
	"math"
	"strings"
)

// Measures of a curve, in pixels.
const (
	curveWidth  = 360
	curveHeight = 170
	curveLeft   = 52
	curveRight  = 22
	curveTop    = 12
	curveBottom = 26
)

// curve is a line over the runs of a campaign, ready to be drawn.
type curve struct {
	Title, Data, Area string
	W, H, Right       int
	XTicks, YTicks    []tick
	Last              string
}

// tick is a labelled place on an axis.
type tick struct {
	X, Y  float64
	Label string
}

// newCurve draws one value of the samples.
func newCurve(title string, samples []Sample, value func(Sample) int) curve {
	c := curve{Title: title, W: curveWidth, H: curveHeight, Right: curveWidth - curveRight}
	if len(samples) == 0 {
		return c
	}
	maxX, maxY := 1, 1
	for _, s := range samples {
		maxX, maxY = max(maxX, s.Runs), max(maxY, value(s))
	}
	x := func(v int) float64 { return curveLeft + float64(v)/float64(maxX)*(curveWidth-curveLeft-curveRight) }
	y := func(v float64) float64 {
		return curveHeight - curveBottom - v/float64(maxY)*(curveHeight-curveTop-curveBottom)
	}
	var line strings.Builder
	line.WriteString(path("M%g %g", x(0), y(0)))
	for _, s := range samples {
		line.WriteString(path("L%g %g", x(s.Runs), y(float64(value(s)))))
	}
	last := samples[len(samples)-1]
	c.Data = line.String()
	c.Area = c.Data + path("L%g %gL%g %gZ", x(last.Runs), y(0), x(0), y(0))
	c.Last = short(float64(value(last)))
	for _, v := range round(maxY) {
		c.YTicks = append(c.YTicks, tick{curveLeft, y(v), short(v)})
	}
	for _, v := range round(maxX) {
		c.XTicks = append(c.XTicks, tick{x(int(v)), curveHeight - curveBottom, short(v)})
	}
	return c
}

// round lists a few round numbers from 0 up to most.
func round(most int) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(float64(most))))
	for float64(most)/step < 2 {
		step /= 2
	}
	for float64(most)/step > 5 {
		step *= 2
	}
	step = math.Max(1, step)
	var list []float64
	for v := 0.0; v <= float64(most); v += step {
		list = append(list, math.Floor(v))
	}
	return list
}

// short writes a number in few characters: 1200 as 1.2k.
func short(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.3gG", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	default:
		return fmt.Sprintf("%.4g", v)
	}
}
