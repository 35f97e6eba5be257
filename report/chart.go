package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Chart is a picture of curves over a common axis.
type Chart struct {
	Title string
	X, Y  string // what the axes show
	// Top is the value at the upper edge, unless a line goes higher: 1 for shares.
	Top   float64
	Lines []Line
}

// Line is one curve of a chart.
type Line struct {
	Name string
	// Points are in the order of their X.
	Points []Point
	// Steps says that the line keeps its height up to the next point, as a count does.
	Steps bool
	// Dashed draws the line broken: a prediction, a limit.
	Dashed bool
	// Like is the number, from 1, of an earlier line whose colour this one has; 0: its own.
	Like int
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// The measures of a chart.
const (
	chartWidth, chartHeight = 640.0, 360.0
	plotLeft, plotTop       = 52.0, 34.0
	plotRight, plotBottom   = chartWidth - 14, chartHeight - 46
	legendLine              = 16.0
)

// palette are colours that people with any kind of sight can tell apart (after Okabe and
// Ito).
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// SVG draws the chart. Its axes begin at 0.
func (c Chart) SVG(w io.Writer) error {
	width, height := 0.0, max(0, c.Top)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			if !(p.X >= 0 && p.Y >= 0) || math.IsInf(p.X+p.Y, 0) {
				return fmt.Errorf("report: the line %q has the point (%v, %v), allowed are finite numbers from 0", l.Name, p.X, p.Y)
			}
			width, height = max(width, p.X), max(height, p.Y)
		}
	}
	if width == 0 || height == 0 {
		return fmt.Errorf("report: the chart %q has nothing to draw", c.Title)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="white"/>`+"\n", chartWidth, chartHeight)
	text(&b, chartWidth/2, 18, "middle", `font-size="14"`, c.Title)
	x := axis{most: width, from: plotLeft, to: plotRight}
	y := axis{most: height, from: plotBottom, to: plotTop}
	drawAxes(&b, c, x, y)
	for i, l := range c.Lines {
		drawLine(&b, l, c.colour(i), x, y)
	}
	c.legend(&b)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// colour is that of the i-th line.
func (c Chart) colour(i int) string {
	if like := c.Lines[i].Like; like > 0 && like <= i {
		return c.colour(like - 1)
	}
	own := 0
	for _, l := range c.Lines[:i] {
		if l.Like == 0 {
			own++
		}
	}
	return palette[own%len(palette)]
}

// axis maps values from 0 to most onto the picture.
type axis struct{ most, from, to float64 }

func (a axis) at(v float64) float64 { return a.from + (a.to-a.from)*v/a.most }

// ticks are round numbers along the axis, at most so many apart from 0.
func (a axis) ticks(most int) []float64 {
	unit := math.Pow(10, math.Floor(math.Log10(a.most/float64(most))))
	step := 10 * unit
	for _, k := range []float64{1, 2, 5} {
		if k*unit*float64(most) >= a.most {
			step = k * unit
			break
		}
	}
	var list []float64
	for i := 0; float64(i)*step <= a.most*(1+1e-9); i++ {
		list = append(list, float64(i)*step)
	}
	return list
}

func drawAxes(b *strings.Builder, c Chart, x, y axis) {
	for _, v := range y.ticks(5) {
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/>`+"\n", plotLeft, y.at(v), plotRight)
		text(b, plotLeft-6, y.at(v)+4, "end", "", short(v))
	}
	for _, v := range x.ticks(8) {
		fmt.Fprintf(b, `<path d="M%.1f %.1fv4" stroke="#888"/>`+"\n", x.at(v), plotBottom)
		text(b, x.at(v), plotBottom+17, "middle", "", short(v))
	}
	fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1fH%.1f" stroke="#888" fill="none"/>`+"\n", plotLeft, plotTop, plotBottom, plotRight)
	text(b, (plotLeft+plotRight)/2, chartHeight-10, "middle", "", c.X)
	text(b, 0, 0, "middle", fmt.Sprintf(`transform="translate(14 %.1f) rotate(-90)"`, (plotTop+plotBottom)/2), c.Y)
}

func drawLine(b *strings.Builder, l Line, colour string, x, y axis) {
	if len(l.Points) == 0 {
		return
	}
	fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.6"%s d="`, colour, dashes(l))
	for i, p := range l.Points {
		switch {
		case i == 0:
			fmt.Fprintf(b, "M%.1f %.1f", x.at(p.X), y.at(p.Y))
		case l.Steps:
			fmt.Fprintf(b, "H%.1fV%.1f", x.at(p.X), y.at(p.Y))
		default:
			fmt.Fprintf(b, "L%.1f %.1f", x.at(p.X), y.at(p.Y))
		}
	}
	b.WriteString(`"/>` + "\n")
}

func dashes(l Line) string {
	if l.Dashed {
		return ` stroke-dasharray="6 4"`
	}
	return ""
}

// legend names the lines in the lower right corner, where curves that rise leave room.
func (c Chart) legend(b *strings.Builder) {
	at := plotBottom - 10 - legendLine*float64(len(c.Lines)-1)
	for i, l := range c.Lines {
		fmt.Fprintf(b, `<path d="M%.1f %.1fh24" stroke="%s" stroke-width="1.6"%s/>`+"\n", plotRight-30, at-4, c.colour(i), dashes(l))
		text(b, plotRight-36, at, "end", "", l.Name)
		at += legendLine
	}
}

func text(b *strings.Builder, x, y float64, anchor, more, words string) {
	if more != "" {
		more = " " + more
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, more, html.EscapeString(words))
}
