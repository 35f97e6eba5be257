package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep/trace"
)

// shivizPattern is the first line, which defines the format of the entries for ShiViz.
const shivizPattern = `(?<host>\S+) (?<clock>\{.*\})\n(?<event>.*)`

// ShiViz writes a run as a log with vector clocks for ShiViz, which draws space-time diagrams. Each step has two lines:
// the host with its clock, and the description of the step. An action of the network, such as losing a message, is an
// event of the host "network".
func ShiViz(w io.Writer, t *trace.Trace) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n\n", shivizPattern)
	s := newDrawing(t, PageOptions{MaxSteps: len(t.Records) + 1}.complete())
	clocks := make([]clock, t.Header.Nodes+2)
	for i := range clocks {
		clocks[i] = make(clock, len(clocks))
	}
	sent := map[trace.ID]clock{}
	for i := range t.Records {
		rec := &t.Records[i]
		if rec.Step.Kind == trace.Start {
			startClocks(b, s, clocks, sent)
			continue
		}
		host := int(s.actor(i))
		if host == 0 || host > t.Header.Nodes {
			host = len(clocks) - 1
		}
		c := clocks[host]
		c[host]++
		c.merge(sent[rec.Step.Msg])
		for _, m := range rec.Sent {
			sent[m.ID] = c.copy()
		}
		if rec.Step.Kind == trace.Replace { // the receiver depends on the network, too
			sent[rec.Step.Msg] = c.copy()
		}
		effects := s.effects(i)
		line := s.what(i)
		if len(effects) > 0 {
			line += " | " + strings.Join(effects, " | ")
		}
		c.write(b, host, line)
	}
	return b.Flush()
}

// startClocks writes the start of every node as its first event.
func startClocks(b io.Writer, s *drawing, clocks []clock, sent map[trace.ID]clock) {
	rec := &s.trace.Records[0]
	for n := 1; n <= s.trace.Header.Nodes; n++ {
		clocks[n][n]++
		line := "start"
		for _, st := range rec.States {
			if int(st.Node) == n {
				line += " | " + s.text(st.Text)
			}
		}
		clocks[n].write(b, n, line)
	}
	for _, m := range rec.Sent {
		if int(m.From) <= s.trace.Header.Nodes {
			sent[m.ID] = clocks[m.From].copy()
		}
	}
}

// clock is a vector clock: index 0 is unused, and the last index is the network.
type clock []int

func (c clock) copy() clock { return append(clock(nil), c...) }

func (c clock) merge(d clock) {
	for i, v := range d {
		c[i] = max(c[i], v)
	}
}

func (c clock) host(i int) string {
	if i == len(c)-1 {
		return "network"
	}
	return fmt.Sprintf("node%d", i)
}

func (c clock) write(w io.Writer, host int, event string) {
	var parts []string
	for i, v := range c {
		if v > 0 && i > 0 {
			parts = append(parts, fmt.Sprintf("%q:%d", c.host(i), v))
		}
	}
	fmt.Fprintf(w, "%s {%s}\n%s\n", c.host(host), strings.Join(parts, ","), event)
}
