package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// stepLine is a step in the file; its effects follow on separate lines.
type stepLine struct {
	Number int  `json:"step"`             // number of the step; 0 is the start
	Settle bool `json:"settle,omitempty"` // the step belongs to the settling stage
	Step
	Text string `json:"text,omitempty"` // the message delivered, the request given
	Body string `json:"body,omitempty"` // the forged body of a replace
	Now  Time   `json:"now,omitempty"`  // time after the step, if the step took time
	// what the system drew in the step: numbers, pairs of a node and a number, or triples of these and
	// the goroutine that the number may preempt
	Draws []Draw `json:"draws,omitempty"`
}

// goneLine is a message that a step lost.
type goneLine struct {
	ID ID `json:"gone"` // number of a message in flight that the step lost, though it did not drop it
}

// outcomeLine is the outcome in the file, with the number of lines before it. A reader thus detects a missing line.
type outcomeLine struct {
	Outcome
	Lines int `json:"lines"` // lines before this one
}

// writer writes a trace record by record: the header first, then rounds and records
// in order, then the outcome, which also flushes. After an error every call returns it.
type writer struct {
	w     *bufio.Writer
	buf   bytes.Buffer
	lines int // written so far
	now   Time
	bytes int // written so far
	counter
	err error
}

// newWriter starts a trace with its header.
func newWriter(w io.Writer, h Header) (*writer, error) {
	h.Format = Version
	tw := &writer{w: bufio.NewWriter(w)}
	tw.fits(h.check())
	tw.line(h)
	return tw, tw.err
}

// record writes a step and its effects.
func (w *writer) record(r Record) error {
	s := stepLine{Number: r.Number, Settle: r.Settle, Step: r.Step, Text: r.Text, Body: r.Body, Draws: r.Draws}
	if r.Now != w.now {
		s.Now, w.now = r.Now, r.Now
	}
	effects := len(r.Sent) + len(r.Gone) + len(r.Events) + len(r.States) + len(r.Logs)
	w.fits(
		first(s.check(), inRange("step", r.Number, 0, MaxSteps), few("effects of a step", effects, MaxEffects),
			w.add(1+effects+len(r.Draws))),
	)
	w.line(s)
	for _, m := range r.Sent {
		w.fits(m.check())
		w.line(m)
	}
	for _, id := range r.Gone {
		w.line(goneLine{id})
	}
	for _, e := range r.Events {
		w.fits(e.check())
		w.line(e)
	}
	for _, s := range r.States {
		w.fits(s.check())
		w.line(s)
	}
	for _, l := range r.Logs {
		w.fits(l.check())
		w.line(l)
	}
	return w.err
}

// fits records an error if the next line contains a value that no reader would accept.
func (w *writer) fits(err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("trace: line %d could not be read again: %w", w.lines+1, err)
	}
}

// round writes the beginning of a round.
func (w *writer) round(r Round) {
	w.fits(first(r.check(), w.add(1)))
	w.line(r)
}

// outcome ends the trace. A file without this line is truncated.
func (w *writer) outcome(o Outcome) error {
	w.fits(o.check())
	w.line(outcomeLine{o, w.lines})
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// line writes one line, unless an error has occurred before. It does not write a line that no reader would accept.
func (w *writer) line(v any) {
	if w.err != nil {
		return
	}
	w.buf.Reset()
	e := json.NewEncoder(&w.buf)
	e.SetEscapeHTML(false) // keep "1->2" readable and greppable
	if err := e.Encode(v); err != nil {
		w.err = fmt.Errorf("trace: %w", err)
		return
	}
	if w.buf.Len() > maxLine {
		w.err = fmt.Errorf("trace: line %d would have %d bytes, at most %d can be read again", w.lines+1, w.buf.Len(),
			maxLine)
		return
	}
	if w.bytes += w.buf.Len(); w.bytes > MaxBytes {
		w.err = fmt.Errorf("trace: line %d would make the file longer than the %d bytes that can be read again",
			w.lines+1, MaxBytes)
		return
	}
	if _, err := w.w.Write(w.buf.Bytes()); err != nil {
		w.err = fmt.Errorf("trace: %w", err)
	}
	w.lines++
}

// Write writes a whole trace.
func Write(w io.Writer, t *Trace) error {
	tw, err := newWriter(w, t.Header)
	if err != nil {
		return err
	}
	rounds := t.Rounds
	for _, r := range t.Records {
		for len(rounds) > 0 && r.Round >= rounds[0].Number {
			tw.round(rounds[0])
			rounds = rounds[1:]
		}
		if err := tw.record(r); err != nil {
			return err
		}
	}
	for _, r := range rounds { // trailing rounds without steps
		tw.round(r)
	}
	return tw.outcome(t.Outcome)
}
