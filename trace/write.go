package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// stepLine is a step as the file holds it; what it caused follows on lines of its own.
type stepLine struct {
	Number int  `json:"step"`
	Settle bool `json:"settle,omitempty"`
	Step
	Text string `json:"text,omitempty"`
	Body string `json:"body,omitempty"`
}

// Writer writes a trace record by record: the header first, then rounds and records
// in order, then the outcome, which also flushes. After an error every call returns it.
type Writer struct {
	w   *bufio.Writer
	err error
}

// NewWriter starts a trace with its header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Format = Version
	tw := &Writer{w: bufio.NewWriter(w)}
	tw.line(h)
	return tw, tw.err
}

// Round writes the start of a round: the records that follow belong to it.
func (w *Writer) Round(r Round) error {
	w.line(r)
	return w.err
}

// Record writes a step and what it caused.
func (w *Writer) Record(r Record) error {
	w.line(stepLine{Number: r.Number, Settle: r.Settle, Step: r.Step, Text: r.Text, Body: r.Body})
	for _, m := range r.Sent {
		w.line(m)
	}
	for _, e := range r.Events {
		w.line(e)
	}
	for _, s := range r.States {
		w.line(s)
	}
	return w.err
}

// Outcome ends the trace. A file without this line is known to be cut off.
func (w *Writer) Outcome(o Outcome) error {
	w.line(o)
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// line writes one line, unless something has failed before.
func (w *Writer) line(v any) {
	if w.err != nil {
		return
	}
	e := json.NewEncoder(w.w)
	e.SetEscapeHTML(false) // keep "1->2" readable and greppable
	if err := e.Encode(v); err != nil {
		w.err = fmt.Errorf("trace: %w", err)
	}
}

// Write writes a whole trace.
func Write(w io.Writer, t *Trace) error {
	tw, err := NewWriter(w, t.Header)
	if err != nil {
		return err
	}
	rounds := t.Rounds
	for _, r := range t.Records {
		for len(rounds) > 0 && r.Round >= rounds[0].Number {
			tw.line(rounds[0])
			rounds = rounds[1:]
		}
		if err := tw.Record(r); err != nil {
			return err
		}
	}
	for _, r := range rounds { // trailing rounds in which nothing happened
		tw.line(r)
	}
	return tw.Outcome(t.Outcome)
}
