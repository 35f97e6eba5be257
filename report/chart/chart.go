// Package chart draws curves over a common axis, as SVG.
package chart

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"github.com/lockstep-go/lockstep/report/internal/plain"
)

// Chart is a picture of curves over a common axis.
type Chart struct {
	Title string
	X, Y  string // the titles of the axes
	// Top is the value at the upper edge, unless a line goes higher: 1 for shares.
	Top   float64
	Lines []Line
	// Class makes a smaller picture for a page: this is its class, and the page's style sheet colors it. If Class is
	// empty, the picture is a separate file, with a background, a title and a legend.
	Class string
}

// Line is one curve of a chart.
type Line struct {
	Name string
	// Points are in ascending order of X.
	Points []Point
	// Steps makes the line keep its height up to the next point, as a count does.
	Steps bool
	// Area fills the area below the line.
	Area bool
	// Dashed draws a broken line: a prediction, a limit.
	Dashed bool
	// Like is the number, from 1, of an earlier line whose color this line shares; 0: its own color.
	Like int
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// frame has the size of a picture and the edges of the plot.
type frame struct{ width, height, left, top, right, bottom float64 }

func (c Chart) frame() frame {
	if c.Class != "" {
		return frame{360, 170, 52, 12, 338, 144}
	}
	return frame{640, 360, 52, 34, 626, 314}
}

// legendLine is the height of a line of the legend.
const legendLine = 16.0

// palette has colors that people with color blindness can distinguish (after Okabe and Ito).
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// SVG draws the chart. Its axes begin at 0.
func (c Chart) SVG(w io.Writer) error {
	width, height := 0.0, max(0, c.Top)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			if !(p.X >= 0 && p.Y >= 0) || math.IsInf(p.X+p.Y, 0) {
				return fmt.Errorf("chart: the line %q has the point (%v, %v), allowed are finite numbers from 0",
					l.Name, p.X, p.Y)
			}
			width, height = max(width, p.X), max(height, p.Y)
		}
	}
	if width == 0 || height == 0 {
		return fmt.Errorf("chart: the chart %q has nothing to draw", c.Title)
	}
	f := c.frame()
	x := axis{most: width, from: f.left, to: f.right}
	y := axis{most: height, from: f.bottom, to: f.top}
	var b strings.Builder
	c.open(&b, f)
	c.drawAxes(&b, f, x, y)
	for i, l := range c.Lines {
		drawLine(&b, l, c.color(i), x, y)
	}
	if c.Class == "" {
		c.legend(&b, f)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// open begins the picture.
func (c Chart) open(b *strings.Builder, f frame) {
	if c.Class != "" {
		fmt.Fprintf(
			b,
			`<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s over %s">`+"\n",
			html.EscapeString(c.Class),
			f.width,
			f.height,
			html.EscapeString(c.Title),
			html.EscapeString(c.X),
		)
		return
	}
	fmt.Fprintf(
		b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11">`+"\n",
		f.width,
		f.height,
	)
	fmt.Fprintf(b, `<rect width="%g" height="%g" fill="white"/>`+"\n", f.width, f.height)
	text(b, f.width/2, 18, "middle", `font-size="14"`, c.Title)
}

// color returns the color of the i-th line.
func (c Chart) color(i int) string {
	if like := c.Lines[i].Like; like > 0 && like <= i {
		return c.color(like - 1)
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

// ticks returns round numbers along the axis from 0, at most this many.
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

func (c Chart) drawAxes(b *strings.Builder, f frame, x, y axis) {
	for _, v := range y.ticks(5) {
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f" stroke="#ddd"/>`+"\n", f.left, y.at(v), f.right)
		text(b, f.left-6, y.at(v)+4, "end", "", plain.Number(v))
	}
	for _, v := range x.ticks(8) {
		fmt.Fprintf(b, `<path class="axis" d="M%.1f %.1fv4" stroke="#888"/>`+"\n", x.at(v), f.bottom)
		text(b, x.at(v), f.bottom+17, "middle", "", plain.Number(v))
	}
	fmt.Fprintf(
		b,
		`<path class="axis" d="M%.1f %.1fV%.1fH%.1f" stroke="#888" fill="none"/>`+"\n",
		f.left,
		f.top,
		f.bottom,
		f.right,
	)
	if c.Class == "" {
		text(b, (f.left+f.right)/2, f.height-10, "middle", "", c.X)
		text(b, 0, 0, "middle", fmt.Sprintf(`transform="translate(14 %.1f) rotate(-90)"`, (f.top+f.bottom)/2), c.Y)
	}
}

func drawLine(b *strings.Builder, l Line, color string, x, y axis) {
	if len(l.Points) == 0 {
		return
	}
	var d strings.Builder
	for i, p := range l.Points {
		switch {
		case i == 0:
			fmt.Fprintf(&d, "M%.1f %.1f", x.at(p.X), y.at(p.Y))
		case l.Steps:
			fmt.Fprintf(&d, "H%.1fV%.1f", x.at(p.X), y.at(p.Y))
		default:
			fmt.Fprintf(&d, "L%.1f %.1f", x.at(p.X), y.at(p.Y))
		}
	}
	if l.Area {
		fmt.Fprintf(
			b,
			`<path class="area" fill="%s" fill-opacity="0.15" d="%sV%.1fH%.1fZ"/>`+"\n",
			color,
			d.String(),
			y.at(0),
			x.at(l.Points[0].X),
		)
	}
	fmt.Fprintf(
		b,
		`<path class="data" fill="none" stroke="%s" stroke-width="1.6"%s d="%s"/>`+"\n",
		color,
		dashes(l),
		d.String(),
	)
}

func dashes(l Line) string {
	if l.Dashed {
		return ` stroke-dasharray="6 4"`
	}
	return ""
}

// legend names the lines in the lower right corner, which rising curves leave free.
func (c Chart) legend(b *strings.Builder, f frame) {
	at := f.bottom - 10 - legendLine*float64(len(c.Lines)-1)
	for i, l := range c.Lines {
		fmt.Fprintf(
			b,
			`<path d="M%.1f %.1fh24" stroke="%s" stroke-width="1.6"%s/>`+"\n",
			f.right-30,
			at-4,
			c.color(i),
			dashes(l),
		)
		text(b, f.right-36, at, "end", "", l.Name)
		at += legendLine
	}
}

func text(b *strings.Builder, x, y float64, anchor, more, words string) {
	if more != "" {
		more = " " + more
	}
	fmt.Fprintf(
		b,
		`<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n",
		x,
		y,
		anchor,
		more,
		html.EscapeString(words),
	)
}
