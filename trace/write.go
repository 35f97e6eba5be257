package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// stepLine is a step as the file holds it; what it caused follows on lines of its own.
type stepLine struct {
	Number int  `json:"step"`
	Settle bool `json:"settle,omitempty"`
	Step
	Text  string `json:"text,omitempty"`
	Body  string `json:"body,omitempty"`
	Draws []Draw `json:"draws,omitempty"`
}

// goneLine is a message that a step took away.
type goneLine struct {
	ID ID `json:"gone"`
}

// outcomeLine is the outcome as the file holds it, with the number of lines before it: a
// file from which a line was lost is known to be damaged.
type outcomeLine struct {
	Outcome
	Lines int `json:"lines"`
}

// writer writes a trace record by record: the header first, then rounds and records
// in order, then the outcome, which also flushes. After an error every call returns it.
type writer struct {
	w     *bufio.Writer
	buf   bytes.Buffer
	lines int // written so far
	err   error
}

// newWriter starts a trace with its header.
func newWriter(w io.Writer, h Header) (*writer, error) {
	h.Format = Version
	tw := &writer{w: bufio.NewWriter(w)}
	tw.line(h)
	return tw, tw.err
}

// record writes a step and what it caused.
func (w *writer) record(r Record) error {
	w.line(stepLine{Number: r.Number, Settle: r.Settle, Step: r.Step, Text: r.Text, Body: r.Body, Draws: r.Draws})
	for _, m := range r.Sent {
		w.line(m)
	}
	for _, id := range r.Gone {
		w.line(goneLine{id})
	}
	for _, e := range r.Events {
		w.line(e)
	}
	for _, s := range r.States {
		w.line(s)
	}
	return w.err
}

// outcome ends the trace. A file without this line is known to be cut off.
func (w *writer) outcome(o Outcome) error {
	w.line(outcomeLine{o, w.lines})
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// line writes one line, unless something has failed before. A line that no reader would
// take is not written.
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
		w.err = fmt.Errorf("trace: line %d would have %d bytes, at most %d can be read again", w.lines+1, w.buf.Len(), maxLine)
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
			tw.line(rounds[0])
			rounds = rounds[1:]
		}
		if err := tw.record(r); err != nil {
			return err
		}
	}
	for _, r := range rounds { // trailing rounds in which nothing happened
		tw.line(r)
	}
	return tw.outcome(t.Outcome)
}
