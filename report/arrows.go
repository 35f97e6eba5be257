package report

import (
	"fmt"
	"math"

	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// placeArrows draws the messages. In rounds an arrow stays inside the round in which the message arrives or is lost.
// Otherwise it leads from the step that sent the message to the step that took it.
func (s *scene) placeArrows() {
	for i := s.drawing.first; i < len(s.drawing.trace.Records); i++ {
		rec := &s.drawing.trace.Records[i]
		for _, m := range rec.Sent {
			if m.Lost && !s.aside(m.Type) { // sent into a cut: lost where it was sent
				s.message(s.drawing.mails[m.ID], i, s.laneAt(m.Tag, i), nil)
			}
		}
		m := s.drawing.mails[rec.Step.Msg]
		if m == nil || s.aside(m.Type) || rec.Step.Kind != trace.Deliver && rec.Step.Kind != trace.Drop {
			if rec.Step.Kind == trace.Request {
				s.request(i, &s.lanes[s.laneOf[i]], rec.Step.Node)
			}
			continue
		}
		var from *lane
		if k, ok := s.laneOf[m.sentBy]; ok && !s.InRounds {
			from = &s.lanes[k]
		}
		s.message(m, i, &s.lanes[s.laneOf[i]], from)
	}
	s.Types = make([]messageType, len(s.types))
	for name, k := range s.types {
		s.Types[k] = messageType{Name: plain.Cut(plain.Clean(name), cellCharsMax), Class: fmt.Sprintf("m%d", k%8)}
	}
}

// aside reports whether the picture leaves out messages of a type.
func (s *scene) aside(kind string) bool { return s.Phased && s.drawing.phases.aside(kind) }

// laneAt returns the lane in which a message is lost on sending.
func (s *scene) laneAt(t trace.Tag, i int) *lane {
	if s.Phased {
		return &s.lanes[s.drawing.phases.lane(t)]
	}
	return &s.lanes[s.laneOf[i]]
}

// spread separates the ends of arrows that share a row.
func (s *scene) spread(n trace.Node) float64 {
	step := math.Min(4, 24/float64(s.rows.nodes+1))
	return (float64(n) - float64(s.rows.nodes+1)/2) * step
}

// message draws one message that record i took.
func (s *scene) message(m *mail, i int, to, from *lane) {
	fromRow, toRow := s.rows.node(m.From), s.rows.node(m.To)
	if fromRow < 0 || toRow < 0 || fromRow >= len(s.Rows) || toRow >= len(s.Rows) {
		return
	}
	if _, ok := s.types[m.Type]; !ok {
		s.types[m.Type] = len(s.types)
	}
	x1, x2 := float64(to.x+3), float64(to.x+max(to.arrowW, 12)-5)
	y1, y2 := float64(s.Rows[fromRow].Mid)+s.spread(m.To), float64(s.Rows[toRow].Mid)+s.spread(m.From)
	if !s.InRounds {
		x2 = float64(to.x - 1)
		if to.empty() {
			x2 = float64(to.x + 3)
		}
		x1 = float64(to.x - 40)
		if from != nil {
			x1 = float64(from.x + max(12, from.w-6))
		}
		if m.takeBy < 0 { // lost on sending
			x1, x2 = float64(to.x+8), float64(to.x+34)
		}
	}
	a := arrow{
		Step:   i - s.drawing.first,
		Class:  fmt.Sprintf("m%d", s.types[m.Type]%8),
		Column: to.index,
		Title:  s.drawing.text(m.Text),
	}
	if a.Title == "" {
		a.Title = s.drawing.text(m.Message.String())
	}
	s.draw(&a, m, x1, y1, x2, y2)
	if s.Phased {
		if late := s.drawing.phases.late(m, i); late != "" {
			a.Class += " late"
			a.Title += " (" + late + ")"
		}
	}
	s.Arrows = append(s.Arrows, a)
}

// draw gives an arrow its shape: a head if it arrives, a bar if it is lost, a diamond if it is forged.
func (s *scene) draw(a *arrow, m *mail, x1, y1, x2, y2 float64) {
	length := math.Max(1, math.Hypot(x2-x1, y2-y1))
	dx, dy := (x2-x1)/length, (y2-y1)/length
	if m.lost {
		part := 0.6
		if !s.InRounds {
			part = 0.9
		}
		x2, y2 = x1+(x2-x1)*part, y1+(y2-y1)*part
		a.Bar = path("M%g %gL%g %g", x2-5*dy, y2+5*dx, x2+5*dy, y2-5*dx)
		a.Class += " lost"
		a.Title += " (lost)"
	} else {
		bx, by := x2-7*dx, y2-7*dy
		a.Head = path("M%g %gL%g %gL%g %gZ", x2, y2, bx-3*dy, by+3*dx, bx+3*dy, by-3*dx)
	}
	if m.forged {
		x, y := (x1+x2)/2, (y1+y2)/2
		a.Mark = path("M%g %gL%g %gL%g %gL%g %gZ", x-6, y, x, y-6, x+6, y, x, y+6)
		a.Class += " forged"
		a.Title += " (forged)"
	}
	a.Line = path("M%g %gL%g %g", x1, y1, x2, y2)
}

// request draws a client's request on its way to a node.
func (s *scene) request(i int, l *lane, n trace.Node) {
	if s.rows.clients < 0 || n == 0 || int(n) > s.rows.nodes {
		return
	}
	from, to := s.Rows[s.rows.clients], s.Rows[s.rows.node(n)]
	x := float64(l.x + l.arrowW + 4)
	y1, y2 := float64(from.Bottom), float64(to.Mid-4) // to the dot on the line of the node's lifetime
	if lines := min(len(l.cells[s.rows.node(n)]), cellLinesMax); lines > 0 {
		y2 = float64(to.Mid - cellHeight(lines)/2) // to the cell
	}
	s.Arrows = append(
		s.Arrows,
		arrow{Step: i - s.drawing.first, Class: "request", Column: l.index, Title: s.drawing.what(i),
			Line: path("M%g %gL%g %g", x, y1, x, y2), Head: path("M%g %gL%g %gL%g %gZ", x, y2, x-3, y2-7, x+3, y2-7)},
	)
}
