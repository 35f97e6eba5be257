package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// Sizes of the picture's parts, in pixels.
const (
	headHeight   = 50
	rowGap       = 8
	rowMin       = 46
	lineHeight   = 14
	charWidth    = 6.65
	cellPadding  = 7
	cellLinesMax = 10
	cellCharsMax = 24
	arrowWidth   = 66
	labelWidth   = 92
	propHeight   = 26
	stripRow     = 9
)

// scene is the picture of one view, with the positions of all its parts.
type scene struct {
	ID, Label string
	Hidden    bool
	Size      string // as text
	Shrunk    string
	Limits    string
	InRounds  bool
	Phased    bool // sorted by the rounds of the protocol
	Aside     string
	Down      bool // some node is down for a while
	CutOff    bool // some node is cut off for a while
	W, H      int
	LabelW    int
	Rows      []sceneRow
	Bands     []band
	Columns   []sceneColumn
	Shades    []box
	Cells     []sceneCell
	Arrows    []arrow
	Holds     []hold
	Types     []messageType
	Strip     strip
	Table     []tableRow
	Timeline  *timeline // nil if the run has none
	Values    *values   // likewise
	Early     string    // the steps before the picture, one per line
	EarlySize int       // their number
	Outcome   trace.Outcome

	data    viewData
	drawing *drawing
	rows    rows
	lanes   []lane
	laneOf  map[int]int // by record
	types   map[string]int
}

type (
	sceneRow struct {
		Y, H, Mid, Bottom, Text int
		Name, Class             string
	}
	band struct {
		X, W int
		Text string
	}
	sceneColumn struct {
		Index, Round, X, W, Text int
		Head, Name, Class        string
	}
	box struct {
		X, Y, W, H, Column int
		Class, Title       string
	}
	textLine struct {
		X, Y        int
		Text, Class string
	}
	sceneCell struct {
		box
		Lines        []textLine
		Steps, Label string
		Step         int
	}
	hold struct {
		Y, X1, X2, Text int
		Name, Broken    string
		At              int
	}
	messageType struct{ Name, Class string }
	strip       struct {
		W, H, Unit int
		Boxes      []box
	}
	arrow struct {
		Line, Head, Bar, Mark string // path data
		Class, Title          string
		Step, Column          int
	}
)

// newScene draws a view of a run. If the run is not in rounds, byPhase sorts it by the rounds of its protocol.
func newScene(id, label string, t *trace.Trace, byPhase bool, o PageOptions) *scene {
	s := &scene{ID: id, Label: label, drawing: newDrawing(t, o), LabelW: labelWidth, Outcome: t.Outcome,
		InRounds: byPhase ||
			len(t.Rounds) > 0, Shrunk: plain.Cut(plain.Clean(t.Header.Shrunk), o.MaxText), types: map[string]int{}}
	if byPhase {
		s.drawing.phases, s.Phased = newPhases(t), true
	}
	s.rows = newRows(s.drawing)
	s.lanes = newLanes(s.drawing, s.rows)
	s.laneOf = map[int]int{}
	for i, l := range s.lanes {
		for _, r := range l.records {
			s.laneOf[r] = i
		}
	}
	s.placeColumns()
	s.placeRows()
	s.placeCells()
	s.placeArrows()
	s.placeProperties(o)
	s.placeStrip()
	s.Table, s.Timeline, s.Values = s.drawing.table(), s.drawing.timeline(), s.drawing.values()
	s.Early, s.EarlySize = s.drawing.early(), s.drawing.first
	s.data = s.drawing.data(id, len(s.lanes), s.laneOf)
	s.say(o)
	return s
}

// say writes the size of the run and the limits of the picture as text.
func (s *scene) say(o PageOptions) {
	t := s.drawing.trace
	lost, delivered := 0, 0
	for i := range t.Records {
		lost += len(t.Records[i].Gone)
		switch t.Records[i].Step.Kind {
		case trace.Drop:
			lost++
		case trace.Deliver:
			delivered++
		}
	}
	parts := []string{
		words.Count(max(0, len(t.Records)-1), "step"),
		words.Count(delivered, "message delivered"),
		fmt.Sprintf("%d lost", lost),
	}
	if n, by := s.drawing.forged(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d forged, of %s", n, by))
	}
	if p := s.drawing.phases; p != nil {
		parts = append(p.size(s.drawing), parts...)
		s.Aside = plain.Cut(plain.Clean(strings.Join(t.Header.Aside, ", ")), o.MaxText)
	} else if s.InRounds {
		last, isolated := 0, 0
		for _, r := range t.Rounds {
			last = max(last, r.Phase)
			isolated += t.Header.Nodes - (r.Kernel & trace.AllNodes(t.Header.Nodes)).Len()
		}
		parts = append([]string{words.Count(last, "phase"), words.Count(len(t.Rounds), "round"),
			fmt.Sprintf("%d isolated %s", isolated, words.Plural(isolated, "cell"))}, parts...)
	}
	s.Size = strings.Join(parts, ", ")
	shown := "all of them"
	if s.drawing.first > 0 {
		shown = fmt.Sprintf("here the last %d of %d: the first %d are lines of text", o.MaxSteps, len(t.Records),
			s.drawing.first)
	}
	s.Limits = fmt.Sprintf(
		"This page draws up to %s of a run, %s. Texts are cut after %d characters and a cell after %d lines; cut texts "+
			"end in …",
		words.Count(o.MaxSteps, "step"),
		shown,
		o.MaxText,
		cellLinesMax,
	)
}

// placeColumns positions every lane from left to right.
func (s *scene) placeColumns() {
	x := 4
	for i := range s.lanes {
		l := &s.lanes[i]
		chars := 0
		for _, cell := range l.cells {
			for _, line := range cell {
				chars = max(chars, min(runes(line.text), cellCharsMax))
			}
		}
		hasMail := slices.ContainsFunc(l.records, func(r int) bool {
			k := s.drawing.trace.Records[r].Step.Kind
			return k == trace.Deliver || k == trace.Drop
		})
		if s.InRounds && hasMail {
			l.arrowW = arrowWidth
		}
		l.x, l.w = x, l.arrowW+int(float64(chars)*charWidth)+2*cellPadding
		if s.InRounds {
			l.w = max(l.w, int(float64(runes(l.head))*charWidth)+12)
		} else {
			l.w = max(l.w, 16)
		}
		x += l.w + 4
		c := sceneColumn{Index: i, Round: l.round, X: l.x, W: l.w, Text: l.x + l.w/2, Head: l.head, Name: l.name}
		if slices.Contains(l.records, s.drawing.finding) {
			c.Class = "finding"
		} else if !s.InRounds && i%5 != 0 && l.w < 40 {
			c.Head = ""
		}
		s.Columns = append(s.Columns, c)
		if k := len(s.Bands) - 1; l.phase > 0 && (k < 0 || s.lanes[i-1].phase != l.phase) {
			s.Bands = append(s.Bands, band{l.x, l.w, l.band})
		} else if l.phase > 0 {
			s.Bands[k].W = l.x + l.w - s.Bands[k].X
		}
	}
	s.W = x + 4
}

// placeRows sets the height of every row.
func (s *scene) placeRows() {
	y := headHeight
	_, byzantine := s.drawing.forged()
	for row := range s.rows.count() {
		lines := 0
		for i := range s.lanes {
			lines = max(lines, min(len(s.lanes[i].cells[row]), cellLinesMax))
		}
		h := max(rowMin, lines*lineHeight+2*cellPadding)
		class := "node"
		if row < s.rows.first {
			class, h = "other", max(28, lines*lineHeight+2*cellPadding)
		}
		name := s.rows.name(row)
		if class == "node" && byzantine.Has(trace.Node(row-s.rows.first+1)) {
			name = "◆ " + name // the sign of a forged message
		}
		s.Rows = append(s.Rows,
			sceneRow{Y: y, H: h, Mid: y + h/2, Bottom: y + h, Text: y + h/2 + 4, Name: name, Class: class})
		y += h + rowGap
	}
	s.H = y
}

// placeCells writes states and events, and shades isolated nodes.
func (s *scene) placeCells() {
	for i := range s.lanes {
		l := &s.lanes[i]
		s.shadeOutages(l)
		for n := range (l.out & trace.AllNodes(s.rows.nodes)).All() {
			r := s.Rows[s.rows.node(n)]
			s.Shades = append(s.Shades,
				box{l.x, r.Y, l.w, r.H, i, "iso", fmt.Sprintf("node %d is isolated in round %d", n, l.round)})
		}
		for row := range l.cells {
			if len(l.steps[row]) > 0 {
				s.placeCell(i, row)
			}
		}
	}
}

// shadeOutages shades the nodes that are down or cut off when the lane ends. Isolated nodes keep their shade, which is
// more specific.
func (s *scene) shadeOutages(l *lane) {
	if l.last < 0 {
		return
	}
	out := s.drawing.out[l.last]
	for n := range ((out.down | out.cut) &^ l.out & trace.AllNodes(s.rows.nodes)).All() {
		class := "down"
		if s.Down = s.Down || out.down.Has(n); !out.down.Has(n) {
			class, s.CutOff = "cut", true
		}
		r := s.Rows[s.rows.node(n)]
		s.Shades = append(s.Shades,
			box{l.x, r.Y, l.w + 4, r.H, l.index, class, fmt.Sprintf("node %d is %s", n, out.word(n))})
	}
}

func (s *scene) placeCell(i, row int) {
	l, r := &s.lanes[i], s.Rows[row]
	lines := l.cells[row]
	last := l.steps[row][len(l.steps[row])-1]
	c := sceneCell{box: box{X: l.x + l.arrowW, W: l.w - l.arrowW, Column: i}, Step: last - s.drawing.first}
	var steps []string
	for _, k := range l.steps[row] {
		steps = append(steps, fmt.Sprint(k-s.drawing.first))
	}
	c.Steps = strings.Join(steps, " ")
	c.Label = fmt.Sprintf("%s, %s", r.Name, l.head)
	if len(lines) == 0 { // a dot on the line of the node's lifetime
		c.Class, c.H, c.W = "dot", 8, 8
		if s.isAbout(l.steps[row]) {
			c.Class += " about"
		}
		c.Y, c.X = r.Mid-4, l.x+max(l.arrowW, 4)
		s.Cells = append(s.Cells, c)
		return
	}
	shown := lines[:min(len(lines), cellLinesMax)]
	c.H = cellHeight(len(shown))
	c.Y = r.Mid - c.H/2
	c.Class = "state"
	for k, line := range shown {
		text := plain.Cut(plain.Clean(line.text), cellCharsMax)
		if k == cellLinesMax-1 && len(lines) > cellLinesMax {
			text, line.class = fmt.Sprintf("… %d more", len(lines)-k), "more"
		}
		c.Lines = append(c.Lines, textLine{c.X + cellPadding, c.Y + 15 + k*lineHeight, text, line.class})
	}
	if slices.Contains(l.steps[row], s.drawing.finding) {
		c.Class += " finding"
	}
	if s.isAbout(l.steps[row]) {
		c.Class += " about"
	}
	s.Cells = append(s.Cells, c)
}

// cellHeight returns the height of a cell with this number of lines.
func cellHeight(lines int) int { return lines*lineHeight + 8 }

// isAbout reports whether the finding is about one of the records.
func (s *scene) isAbout(records []int) bool {
	return slices.ContainsFunc(records, func(i int) bool { return contains(s.drawing.about, i) })
}

// placeProperties draws along the bottom how long each property held.
func (s *scene) placeProperties(o PageOptions) {
	names := o.Properties
	f := s.Outcome.Finding
	if f != nil && !slices.Contains(names, f.Property) {
		names = append(slices.Clone(names), f.Property)
	}
	for _, name := range names {
		y := s.H
		s.Rows = append(
			s.Rows,
			sceneRow{Y: y, H: propHeight, Mid: y + propHeight/2, Bottom: y + propHeight, Text: y + propHeight/2 + 4,
				Name: plain.Cut(plain.Clean(name), 13), Class: "property"},
		)
		h := hold{Y: y + propHeight/2, X1: 4, X2: s.W - 8, Name: s.drawing.text(name), At: -1}
		if f != nil && f.Property == name {
			for i, l := range s.lanes {
				if slices.Contains(l.records, s.drawing.finding) {
					h.X2, h.At = l.x+l.w/2, i
				}
			}
			h.Broken = s.drawing.text(f.Text)
		}
		h.Text = h.X2 - 14
		s.Holds = append(s.Holds, h)
		s.H += propHeight
	}
	s.H += 8
}

// placeStrip draws the schedule in small: the isolated nodes, and where messages are lost.
func (s *scene) placeStrip() {
	n := len(s.lanes)
	unit := 28
	if n > 0 {
		unit = min(unit, max(2, 1000/n))
	}
	s.Strip = strip{W: max(1, n*unit), H: (s.rows.nodes+1)*stripRow + 2, Unit: unit}
	for i := range s.lanes {
		l := &s.lanes[i]
		x := i * unit
		for node := trace.Node(1); int(node) <= s.rows.nodes; node++ {
			class := ""
			switch {
			case l.out.Has(node):
				class = "iso"
			case l.last >= 0 && s.drawing.out[l.last].word(node) != "":
				class = "out"
			case len(l.cells[s.rows.node(node)]) > 0:
				class = "busy"
			case len(l.steps[s.rows.node(node)]) > 0:
				class = "touched"
			default:
				continue
			}
			s.Strip.Boxes = append(s.Strip.Boxes,
				box{X: x, Y: (int(node) - 1) * stripRow, W: max(1, unit-1), H: stripRow - 1, Class: class})
		}
		if l.lost {
			s.Strip.Boxes = append(s.Strip.Boxes,
				box{X: x, Y: s.rows.nodes * stripRow, W: max(1, unit-1), H: 3, Class: "lost"})
		}
		if slices.Contains(l.records, s.drawing.finding) {
			s.Strip.Boxes = append(s.Strip.Boxes,
				box{X: x, Y: s.rows.nodes*stripRow + 4, W: max(2, unit-1), H: 4, Class: "finding"})
		}
	}
}

// path writes path data without unnecessary digits.
func path(format string, v ...float64) string {
	args := make([]any, len(v))
	for i, x := range v {
		args[i] = math.Round(x*10) / 10
	}
	return fmt.Sprintf(format, args...)
}
