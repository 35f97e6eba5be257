package report

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// lane is a column of the picture: a round or, if the run is not in rounds, a step.
type lane struct {
	index   int
	head    string
	name    string // with its phase, if the head does not have it
	phase   int
	band    string // the phase as text
	round   int    // number; 0: not a round
	out     trace.Nodes
	records []int
	last    int          // the last record of this lane or of those before it, -1: none
	cells   [][]cellLine // by row
	steps   [][]int      // by row: the records shown there
	lost    bool         // a message is lost here
	x, w    int
	arrowW  int // of the arrow, in front of the cells
}

// cellLine is a line of text in a cell.
type cellLine struct{ text, class string }

// newLanes sorts the records of a drawing into columns, and writes the steps into their cells.
func newLanes(s *drawing, r rows) []lane {
	var lanes []lane
	switch {
	case s.phases != nil:
		lanes = s.phases.lanes(s)
	case len(s.trace.Rounds) > 0:
		lanes = s.roundLanes()
	default:
		lanes = s.stepLanes()
	}
	last := s.first - 1
	for i := range lanes {
		l := &lanes[i]
		if k := len(l.records); k > 0 {
			last = l.records[k-1]
		}
		l.index, l.last = i, last
		if s.phases != nil {
			l.last = -1 // rounds do not end at the same time for all nodes
		}
		l.cells, l.steps = make([][]cellLine, r.count()), make([][]int, r.count())
	}
	for i := range lanes {
		for _, k := range lanes[i].records {
			s.fill(lanes, &lanes[i], r, k)
		}
	}
	for i := range lanes {
		lanes[i].finish(s.phases != nil || len(s.trace.Rounds) > 0)
	}
	return lanes
}

// stepLanes returns the columns of a run that is not in rounds: one per step.
func (s *drawing) stepLanes() (lanes []lane) {
	for i := s.first; i < len(s.trace.Records); i++ {
		head := fmt.Sprint(s.trace.Records[i].Number)
		if i == 0 {
			head = "start"
		}
		lanes = append(lanes, lane{head: head, records: []int{i}})
	}
	return lanes
}

// roundLanes returns the columns of a run in rounds, with one for the steps before the rounds and one for the settling
// stage.
func (s *drawing) roundLanes() (lanes []lane) {
	t := s.trace
	first := len(t.Rounds)
	var before, settling []int
	byRound := make([][]int, len(t.Rounds))
	for i := s.first; i < len(t.Records); i++ {
		switch rec := &t.Records[i]; {
		case rec.Settle:
			settling = append(settling, i)
		case rec.Round > 0 && rec.Round <= len(t.Rounds):
			byRound[rec.Round-1] = append(byRound[rec.Round-1], i)
			first = min(first, rec.Round-1)
		default:
			before = append(before, i)
		}
	}
	if s.first == 0 {
		first = 0
	}
	if len(before) > 0 {
		lanes = append(lanes, lane{head: "start", records: before})
	}
	for i := first; i < len(t.Rounds); i++ {
		rd := t.Rounds[i]
		lanes = append(
			lanes,
			lane{head: strings.TrimSpace(fmt.Sprintf("%d %s", rd.Number, plain.Clean(rd.Name))), round: rd.Number,
				phase: rd.Phase, band: fmt.Sprintf("phase %d", rd.Phase),
				out: trace.AllNodes(t.Header.Nodes) &^ rd.Kernel, records: byRound[i]},
		)
	}
	if len(settling) > 0 {
		lanes = append(lanes, lane{head: "settling, " + words.Count(len(settling), "step"), records: settling})
	}
	return lanes
}

// fill writes the effects of a record into the cells of its lane. If the run is sorted by phases, it uses the lanes
// that the nodes were in.
func (s *drawing) fill(lanes []lane, l *lane, r rows, i int) {
	rec := &s.trace.Records[i]
	at := func(n trace.Node) *lane {
		if s.phases == nil || int(n) >= len(s.phases.where[i]) {
			return l
		}
		return &lanes[s.phases.lane(s.phases.where[i][n])]
	}
	s.fillStep(l, at, r, i)
	for _, c := range s.changed[i] {
		for _, line := range c.lines {
			at(c.node).put(r.node(c.node), i, cellLine{line, ""})
		}
	}
	for _, e := range rec.Events {
		line := cellLine{strings.TrimSpace(e.Type + " " + e.Text), "event"}
		if e.Node > 0 && int(e.Node) <= r.nodes {
			at(e.Node).put(r.node(e.Node), i, line)
		}
		if s.isAnswer(e) {
			l.put(r.clients, i, cellLine{line.text, "answer"})
		}
	}
}

// fillStep writes the step itself into the cells.
func (s *drawing) fillStep(l *lane, at func(trace.Node) *lane, r rows, i int) {
	rec := &s.trace.Records[i]
	n, row := s.actor(i), r.network
	if n != 0 {
		row = r.node(n)
	}
	l.lost = l.lost || len(rec.Gone) > 0
	switch rec.Step.Kind {
	case trace.Drop:
		l.lost = true
	case trace.Crash, trace.Restart, trace.Pause, trace.Jump:
		at(n).put(row, i, cellLine{rec.Step.Kind.String(), "fault"})
	case trace.Timer:
		at(n).put(row, i, cellLine{"timer", "act"})
	case trace.Request:
		l.put(r.clients, i,
			cellLine{strings.TrimPrefix(rec.Text, fmt.Sprintf("client->%d ", rec.Step.Node)), "request"})
		l.put(row, i)
	case trace.Cut, trace.Heal, trace.Duplicate, trace.Replace:
		l.put(r.network, i, cellLine{s.what(i), "fault"})
	case trace.Deliver:
		l.put(row, i)
	}
}

// finish keeps the lines that fit and, in rounds, the state at the end of the round.
func (l *lane) finish(inRounds bool) {
	for row := range l.cells {
		if inRounds {
			l.cells[row] = latestLines(l.cells[row])
		}
		l.cells[row] = brokenLines(l.cells[row])
	}
}

// brokenLines breaks lines that are too long for a cell.
func brokenLines(lines []cellLine) []cellLine {
	var all []cellLine
	for _, line := range lines {
		for _, part := range plain.Wrap(plain.Clean(line.text), cellCharsMax, 1, cellLinesMax) {
			all = append(all, cellLine{part, line.class})
		}
	}
	return all
}

func (l *lane) put(row, record int, lines ...cellLine) {
	if row < 0 {
		return
	}
	l.cells[row] = append(l.cells[row], lines...)
	if k := len(l.steps[row]); k == 0 || l.steps[row][k-1] != record {
		l.steps[row] = append(l.steps[row], record)
	}
}

// latestLines keeps the state at the end of a round: the last value of each field, and one timer.
func latestLines(lines []cellLine) []cellLine {
	var kept []cellLine
	for i, line := range lines {
		key, _, isField := strings.Cut(line.text, "=")
		superseded := false
		for _, later := range lines[i+1:] {
			laterKey, _, ok := strings.Cut(later.text, "=")
			superseded = superseded || line == later ||
				line.class == "" && isField && ok && laterKey == key && later.class == ""
		}
		if !superseded {
			kept = append(kept, line)
		}
	}
	return kept
}

// empty reports whether the lane is empty.
func (l *lane) empty() bool {
	for _, c := range l.cells {
		if len(c) > 0 {
			return false
		}
	}
	return true
}

// rows numbers the rows of the picture from the top.
type rows struct {
	clients, network int // -1: absent
	first            int // of node 1
	nodes            int
}

func newRows(s *drawing) rows {
	r := rows{clients: -1, network: -1, nodes: s.trace.Header.Nodes}
	if s.hasClients() {
		r.clients = r.first
		r.first++
	}
	if s.has(func(rec *trace.Record) bool {
		switch rec.Step.Kind {
		case trace.Cut, trace.Heal, trace.Duplicate, trace.Replace:
			return true
		}
		return false
	}) {
		r.network = r.first
		r.first++
	}
	return r
}

func (r rows) count() int { return r.first + r.nodes }

// node returns the row of a node, or of the clients for messages from outside.
func (r rows) node(n trace.Node) int {
	if n == 0 {
		return r.clients
	}
	return r.first + int(n) - 1
}

func (r rows) name(row int) string {
	switch row {
	case r.clients:
		return "clients"
	case r.network:
		return "network"
	default:
		return fmt.Sprintf("node %d", row-r.first+1)
	}
}
