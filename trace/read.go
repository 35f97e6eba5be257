package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// maxLine bounds the length of a line, so that a file that is no trace at all cannot exhaust the memory. A forged
// body may have six bytes in the file for each of its own.
const maxLine = 8 << 20

// ErrFormat is wrapped by every error about the content of a trace file.
var ErrFormat = errors.New("not a readable Lockstep trace")

// reader reads a trace record by record.
type reader struct {
	in     *bufio.Scanner
	number int    // of the line last read
	lines  int    // read so far, except blank ones
	ahead  []byte // a line read but not yet used
	header Header

	round   int // the round that records now belong to
	records int // records read
	sent    ID  // messages seen
	now     Time
	bytes   int // read so far
	counter
	outcome *Outcome
}

// newReader reads the header of a trace and refuses one that this version cannot read.
func newReader(r io.Reader) (*reader, error) {
	in := bufio.NewScanner(io.LimitReader(r, MaxBytes+1))
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	tr := &reader{in: in}
	line, err := tr.line()
	if err != nil {
		return nil, err
	}
	if line == nil {
		return nil, fmt.Errorf("%w: the file is empty", ErrFormat)
	}
	var probe struct {
		Format *int `json:"lockstep"`
	}
	if json.Unmarshal(line, &probe) != nil || probe.Format == nil {
		return nil, fmt.Errorf("%w: line 1 has no \"lockstep\" format version", ErrFormat)
	}
	if *probe.Format != Version {
		advice := "record the run again with lockstep trace, or use the Lockstep that wrote it"
		if *probe.Format > Version {
			advice = "update Lockstep"
		}
		return nil, fmt.Errorf("%w: line 1: format version %d, this tool reads version %d: %s", ErrFormat,
			*probe.Format, Version, advice)
	}
	if err := strict(line, &tr.header); err != nil {
		return nil, tr.bad(err)
	}
	if err := tr.header.check(); err != nil {
		return nil, tr.bad(err)
	}
	if err := tr.header.Order.check(); err != nil {
		return nil, tr.bad(err)
	}
	return tr, nil
}

// next reads the next round or record: exactly one of the two is not nil. After the last it returns io.EOF, and
// another error if the file is truncated or damaged.
func (r *reader) next() (*Round, *Record, error) {
	if r.outcome != nil {
		return nil, nil, io.EOF
	}
	line, err := r.line()
	if err != nil {
		return nil, nil, err
	}
	if line == nil {
		return nil, nil, fmt.Errorf("%w: it ends after line %d without a verdict, so it was cut off", ErrFormat,
			r.number)
	}
	switch what, err := classify(line); {
	case err != nil:
		return nil, nil, r.bad(err)
	case what.Step != nil:
		rec, err := r.record(line)
		return nil, rec, err
	case what.Round != nil:
		rd, err := r.roundLine(line)
		return rd, nil, err
	case what.Verdict != nil:
		return nil, nil, r.end(line)
	default:
		return nil, nil, r.bad(errors.New("expected a step, a round or the verdict"))
	}
}

// probe holds the key that determines the kind of a line.
type probe struct {
	Step    *json.RawMessage `json:"step"`
	Round   *json.RawMessage `json:"round"`
	Sent    *json.RawMessage `json:"sent"`
	Event   *json.RawMessage `json:"event"`
	State   *json.RawMessage `json:"state"`
	Gone    *json.RawMessage `json:"gone"`
	Log     *json.RawMessage `json:"log"`
	Verdict *json.RawMessage `json:"verdict"`
}

func classify(line []byte) (probe, error) {
	var p probe
	err := json.Unmarshal(line, &p)
	if p.Verdict != nil { // an outcome counts its steps under the key "steps" and its finding's inside
		return probe{Verdict: p.Verdict}, err
	}
	return p, err
}

func (r *reader) record(line []byte) (*Record, error) {
	var s stepLine
	if err := strict(line, &s); err != nil {
		return nil, r.bad(err)
	}
	if s.Number != r.records {
		return nil, r.bad(fmt.Errorf("step %d where step %d should be", s.Number, r.records))
	}
	if err := first(r.checkStep(s.Step), s.check(), inRange("step", s.Number, 0, MaxSteps),
		r.add(1+len(s.Draws))); err != nil {
		return nil, r.bad(err)
	}
	r.records++
	if s.Now != 0 {
		r.now = s.Now
	}
	rec := &Record{
		Number: s.Number,
		Step:   s.Step,
		Text:   s.Text,
		Body:   s.Body,
		Draws:  s.Draws,
		Settle: s.Settle,
		Now:    r.now,
		Round:  r.round,
	}
	if s.Settle {
		rec.Round = 0
	}
	return rec, r.effects(rec)
}

// effects reads the lines with the effects of a step, up to the first other line.
func (r *reader) effects(rec *Record) error {
	for number := 0; ; number++ {
		line, err := r.line()
		if err != nil || line == nil {
			return err
		}
		what, err := classify(line)
		if err != nil {
			return r.bad(err)
		}
		switch {
		case what.Step != nil, what.Round != nil, what.Verdict != nil:
			r.ahead = line
			return nil
		case number == MaxEffects:
			err = fmt.Errorf("step %d has more than %d effects", rec.Number, MaxEffects)
		case what.Sent != nil:
			err = r.sentLine(line, rec)
		case what.Event != nil:
			var e Event
			err = strict(line, &e)
			err = first(err, r.checkNode(e.Node, true), e.check())
			rec.Events = append(rec.Events, e)
		case what.State != nil:
			var s State
			err = strict(line, &s)
			err = first(err, r.checkNode(s.Node, false), s.check())
			rec.States = append(rec.States, s)
		case what.Log != nil:
			var l Log
			err = strict(line, &l)
			err = first(err, r.checkNode(l.Node, true), l.check())
			rec.Logs = append(rec.Logs, l)
		case what.Gone != nil:
			var g goneLine
			err = strict(line, &g)
			if err == nil && (g.ID < 1 || g.ID > r.sent) {
				err = fmt.Errorf("message %d is gone, but %d messages were sent so far", g.ID, r.sent)
			}
			rec.Gone = append(rec.Gone, g.ID)
		default:
			err = errors.New("neither a step nor something that a step causes")
		}
		if err = first(err, r.add(1)); err != nil {
			return r.bad(err)
		}
	}
}

func (r *reader) sentLine(line []byte, rec *Record) error {
	var m Sent
	if err := strict(line, &m); err != nil {
		return err
	}
	if m.ID != r.sent+1 {
		return fmt.Errorf("message %d where message %d should be", m.ID, r.sent+1)
	}
	if m.Copy < 0 || m.Copy >= m.ID {
		return fmt.Errorf("message %d is a copy of message %d, which is not sent before it", m.ID, m.Copy)
	}
	r.sent++
	rec.Sent = append(rec.Sent, m)
	return first(r.checkNode(m.From, true), r.checkNode(m.To, false), m.check())
}

func (r *reader) roundLine(line []byte) (*Round, error) {
	var rd Round
	if err := strict(line, &rd); err != nil {
		return nil, r.bad(err)
	}
	if rd.Number != r.round+1 {
		return nil, r.bad(fmt.Errorf("round %d where round %d should be", rd.Number, r.round+1))
	}
	if rd.Kernel&^AllNodes(r.header.Nodes) != 0 {
		return nil, r.bad(fmt.Errorf("kernel %s has nodes outside 1..%d", rd.Kernel, r.header.Nodes))
	}
	if err := first(rd.check(), r.add(1)); err != nil {
		return nil, r.bad(err)
	}
	r.round = rd.Number
	return &rd, nil
}

func (r *reader) end(line []byte) error {
	var o outcomeLine
	if err := strict(line, &o); err != nil {
		return r.bad(err)
	}
	if before := r.lines - 1; o.Lines != before {
		return r.bad(fmt.Errorf("the verdict counts %d lines before it, the file holds %d", o.Lines, before))
	}
	if o.Steps != max(r.records-1, 0) {
		return r.bad(fmt.Errorf("the verdict counts %d steps, the file holds %d", o.Steps, max(r.records-1, 0)))
	}
	if err := o.check(); err != nil {
		return r.bad(err)
	}
	switch o.Verdict {
	case Pass, Fail, Unknown, Vacuous, Flaky:
	default:
		return r.bad(fmt.Errorf("unknown verdict %q", o.Verdict))
	}
	if (o.Verdict == Fail) != (o.Finding != nil) {
		return r.bad(errors.New("a finding belongs to the verdict fail, and only to it"))
	}
	if rest, err := r.line(); err != nil || rest != nil {
		return errors.Join(r.bad(errors.New("something follows the verdict")), err)
	}
	r.outcome = &o.Outcome
	return io.EOF
}

func (r *reader) checkStep(s Step) error {
	if (s.Kind == Start) != (r.records == 0) {
		return fmt.Errorf("%s cannot be step %d", s.Kind, r.records)
	}
	if (s.From|s.To)&^AllNodes(r.header.Nodes) != 0 {
		return fmt.Errorf("links between nodes outside 1..%d", r.header.Nodes)
	}
	switch s.Kind {
	case Deliver, Drop, Duplicate, Replace:
		if s.Msg < 1 || s.Msg > r.sent {
			return fmt.Errorf("%s of message %d, but %d messages were sent so far", s.Kind, s.Msg, r.sent)
		}
	case Timer, Crash, Restart, Request, Pause, Jump:
		return r.checkNode(s.Node, false)
	case Wait:
		if s.For < 1 {
			return fmt.Errorf("wait for %d, it must last", s.For)
		}
	}
	return nil
}

func (r *reader) checkNode(n Node, zeroAllowed bool) error {
	if int(n) > r.header.Nodes || n == 0 && !zeroAllowed {
		return fmt.Errorf("node %d is not in 1..%d", n, r.header.Nodes)
	}
	return nil
}

// line is the next line that is not blank, or nil at the end.
func (r *reader) line() ([]byte, error) {
	if line := r.ahead; line != nil { // already counted when it was read
		r.ahead = nil
		return line, nil
	}
	for r.in.Scan() {
		r.number++
		if r.bytes += len(r.in.Bytes()) + 1; r.bytes > MaxBytes {
			return nil, r.bad(fmt.Errorf("the file has more than %d bytes", MaxBytes))
		}
		line := bytes.TrimSpace(r.in.Bytes())
		if len(line) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return nil, r.bad(errors.New("it is not UTF-8 text"))
		}
		r.lines++
		return bytes.Clone(line), nil
	}
	if err := r.in.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("%w: line %d is longer than %d bytes", ErrFormat, r.number+1, maxLine)
		}
		return nil, err
	}
	return nil, nil
}

func (r *reader) bad(err error) error { return fmt.Errorf("%w: line %d: %w", ErrFormat, r.number, err) }

// strict decodes a line and refuses unknown keys: they come from another version, and guessing would misread it.
func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Read reads a whole trace.
func Read(r io.Reader) (*Trace, error) {
	tr, err := newReader(r)
	if err != nil {
		return nil, err
	}
	t := &Trace{Header: tr.header}
	for {
		round, rec, err := tr.next()
		switch {
		case errors.Is(err, io.EOF):
			t.Outcome = *tr.outcome
			return t, nil
		case err != nil:
			return nil, err
		case round != nil:
			t.Rounds = append(t.Rounds, *round)
		default:
			t.Records = append(t.Records, *rec)
		}
	}
}

// ReadFile reads the trace in a file. An error names the file.
func ReadFile(file string) (*Trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	t, err := Read(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return t, errors.Join(err, f.Close())
}
