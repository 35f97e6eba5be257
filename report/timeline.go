package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/trace"
)

// moment is a row of a timeline: a choice of the run or something observed, or a summary of the steps between two such
// rows.
type moment struct {
	Time    string // virtual time since the start; "" if the trace does not have it
	Number  int    // of the step
	Stage   string
	What    string
	Effects []string
	Summary bool   // of the steps since the row before
	Class   string // "finding", "about" or nothing
}

// timelineFrom is the number of steps from which on a run in time has a timeline.
const timelineFrom = 30

// timeline returns what happened in a run of a system with time, for readers that know the system: requests of clients
// and their answers, faults, and observed events, with their times. Most steps of such a run deliver messages or let
// time pass; between the rows they are summed up.
func (s *drawing) timeline() []moment {
	inTime := slices.ContainsFunc(s.trace.Records, func(r trace.Record) bool { return r.Step.Kind == trace.Wait })
	if !inTime || len(s.trace.Records) < timelineFrom {
		return nil
	}
	var rows []moment
	asked := map[string]trace.Time{} // when the open operation of a client began
	since := passed{}
	for i := range s.trace.Records {
		rec := &s.trace.Records[i]
		passes := rec.Step.Kind == trace.Deliver || rec.Step.Kind == trace.Wait || rec.Step.Kind == trace.Start
		if passes && len(rec.Events) == 0 && i != s.finding {
			since.add(s, i)
			continue
		}
		if text := since.String(); text != "" {
			rows = append(rows, moment{What: text, Summary: true})
		}
		since = passed{}
		m := moment{Time: clockTime(rec.Now), Number: rec.Number}
		if rec.Step.Kind != trace.Wait && rec.Step.Kind != trace.Start {
			m.What = s.what(i)
		}
		if rec.Settle {
			m.Stage = "settling"
		}
		for _, e := range rec.Events {
			m.Effects = append(m.Effects, s.text(fmt.Sprintf("node %d: %s %s%s", e.Node, e.Type, e.Text,
				took(asked, e, rec.Now))))
		}
		switch {
		case i == s.finding:
			m.Class = "finding"
			f := s.trace.Outcome.Finding
			m.Effects = append(m.Effects, s.text("violates "+f.Property+": "+f.Text))
		case contains(s.about, i):
			m.Class = "about"
		}
		rows = append(rows, m)
	}
	return rows
}

// took returns how long an operation took, if the event is its answer.
func took(asked map[string]trace.Time, e trace.Event, now trace.Time) string {
	client, _, _ := strings.Cut(e.Text, " ")
	switch e.Type {
	case "call":
		asked[client] = now
	case "return":
		from, known := asked[client]
		delete(asked, client)
		if known && now > from {
			return fmt.Sprintf(" (after %s)", rounded(now-from))
		}
	}
	return ""
}

// clockTime returns a time of the run as text.
func clockTime(at trace.Time) string {
	if at == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f s", time.Duration(at).Seconds())
}

// rounded returns a duration with three digits or so.
func rounded(d trace.Time) time.Duration {
	unit := time.Duration(1)
	for time.Duration(d) >= 1000*unit {
		unit *= 10
	}
	return time.Duration(d).Round(unit)
}

// passed counts the steps between two rows of a timeline.
type passed struct {
	delivered map[string]int // by type
}

func (p *passed) add(s *drawing, i int) {
	rec := &s.trace.Records[i]
	if m := s.mails[rec.Step.Msg]; rec.Step.Kind == trace.Deliver && m != nil {
		if p.delivered == nil {
			p.delivered = map[string]int{}
		}
		p.delivered[m.Type]++
	}
}

// most is the number of message types that a summary names.
const most = 4

// String sums up the messages, the most frequent types first.
func (p *passed) String() string {
	types := slices.SortedFunc(maps.Keys(p.delivered), func(a, b string) int {
		return cmp.Or(p.delivered[b]-p.delivered[a], strings.Compare(a, b))
	})
	var parts []string
	others := 0
	for i, kind := range types {
		if i < most {
			parts = append(parts, fmt.Sprintf("%d %s", p.delivered[kind], kind))
		} else {
			others += p.delivered[kind]
		}
	}
	if others > 0 {
		parts = append(parts, words.Count(others, "other message"))
	}
	return strings.Join(parts, ", ")
}
