// Package batch lets one process make batches of a campaign's runs for another process. A program serves batches. It
// writes a hello message, reads requests for batches from its input, one per line, and writes their results to its
// output, one per line. It ends when its input ends.
package batch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/coverage/model"
	"github.com/lockstep-go/lockstep/internal/sketch"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Hello is the first message of a program: its identity and its campaign.
type Hello struct {
	Version string `json:"version"` // of Lockstep
	Program string `json:"program"` // see ThisProgram

	Target       string            `json:"target"`
	Build        string            `json:"build,omitempty"`
	Options      map[string]string `json:"options,omitempty"`
	Strategy     string            `json:"strategy"`
	Scenario     string            `json:"scenario,omitempty"`
	Seed         uint64            `json:"seed"`
	Runs         int               `json:"runs"`
	Keep         int               `json:"keep"`
	KeepGoing    bool              `json:"keep_going"`
	Inconclusive int               `json:"inconclusive"` // the number of inconclusive runs that a campaign tolerates
	// Sequential reports that one program must make all runs, in order.
	Sequential bool `json:"sequential,omitempty"`
	// Lineages and Epoch are those of the strategy, if it has several lineages: then a batch is an epoch of one of
	// them.
	Lineages int `json:"lineages,omitempty"`
	Epoch    int `json:"epoch,omitempty"`
	// Exact reports that runs are deterministic, so that the digest is meaningful.
	Exact     bool               `json:"exact"`
	Guarantee lockstep.Guarantee `json:"guarantee"`
	// Properties are those of the spec, which report whether they are optional.
	Properties []lockstep.Count `json:"properties,omitempty"`
}

// Same reports the first difference from the campaign of another program.
func (h Hello) Same(other Hello) error {
	for _, d := range []struct{ what, is, want string }{
		{"Lockstep", other.Version, h.Version}, {"target", other.Target, h.Target}, {"build", other.Build, h.Build},
		{"options", fmt.Sprint(other.Options), fmt.Sprint(h.Options)}, {"strategy", other.Strategy, h.Strategy},
		{"program", other.Program, h.Program},
	} {
		if d.is != d.want {
			return fmt.Errorf(
				"this is another program: its %s is %q, the campaign's is %q; use a copy of the program that gave the campaign",
				d.what,
				d.is,
				d.want,
			)
		}
	}
	return nil
}

// EpochOf returns the first run of the epoch of a run, if the strategy has several lineages.
func (h Hello) EpochOf(run int) int {
	all := max(h.Lineages*h.Epoch, 1)
	return run / all * all
}

// Ask requests the runs from First up to, not including, End. Found is the number of findings known to come before
// them.
type Ask struct {
	First int `json:"first"`
	End   int `json:"end"`
	Found int `json:"found"`
}

// Lesson is what was learned in the runs of a lineage from First on.
type Lesson struct {
	First   int    `json:"first"`
	Learned []byte `json:"learned"`
}

// order is a line of the input: a batch, and the lessons for it that the program does not have yet.
type order struct {
	Ask
	Warm    bool     `json:"warm,omitempty"` // no batch: the program warms its process up and reports when it has
	Lessons []Lesson `json:"lessons,omitempty"`
}

// Measures are the measurements of a batch's runs.
type Measures struct {
	// Coverage is the meter that observes the plan's runs; nil: there is none.
	Coverage *coverage.Meter
	// Code is the meter that counts the statements of the plan's runs; nil: there is none.
	Code *code.Meter
	// Model returns what passing runs visited of a model since the last call; nil: there is none.
	Model func() *model.Visits
	// Closure requests counts of late messages, in separate runs.
	Closure bool
}

// Made is the result of a batch.
type Made struct {
	Ask
	// Result has the findings without their traces, which are separate, in the same order.
	Result *lockstep.Result `json:"result,omitempty"`
	Traces []Trace          `json:"traces,omitempty"`
	// Schedules and States count distinct schedules and states.
	Schedules sketch.Sketch `json:"schedules,omitempty"`
	States    sketch.Sketch `json:"states,omitempty"`
	// Coverage, Code, Model and Closure are the results of the plan's measures.
	Coverage *coverage.Sum          `json:"coverage,omitempty"`
	Code     *code.Sum              `json:"code,omitempty"`
	Model    *model.Visits          `json:"model,omitempty"`
	Closure  *lockstepform.Measured `json:"closure,omitempty"`
	// Learned is what the batch learned, for the other lineages of a strategy with several.
	Learned []byte `json:"learned,omitempty"`
	// Error is the reason for a failure of the tool.
	Error string `json:"error,omitempty"`
}

// Trace is a trace in its file format, with its pictures.
type Trace struct {
	Text     []byte          `json:"text"`
	Pictures []trace.Picture `json:"pictures,omitempty"`
	Shape    string          `json:"shape"`
}

// Pack moves the traces out of a result.
func Pack(r *lockstep.Result) ([]Trace, error) {
	var list []Trace
	for i := range r.Failures {
		t := r.Failures[i].Trace
		var b bytes.Buffer
		if err := trace.Write(&b, t); err != nil {
			return nil, err
		}
		list = append(list, Trace{b.Bytes(), t.Pictures, report.Shape(t)})
		r.Failures[i].Trace, r.Failures[i].Finding.Stack = nil, "" // the stack is long, and the trace has it
	}
	return list, nil
}

// Unpack puts traces back into their findings.
func Unpack(r *lockstep.Result, list []Trace) error {
	if len(list) != len(r.Failures) {
		return fmt.Errorf("%d findings with %d traces", len(r.Failures), len(list))
	}
	for i, packed := range list {
		t, err := packed.Read()
		if err != nil {
			return fmt.Errorf("the trace of run %d: %w", r.Failures[i].Run, err)
		}
		r.Failures[i].Trace = t
		if f := t.Outcome.Finding; f != nil {
			r.Failures[i].Finding.Stack = f.Stack
		}
	}
	return nil
}

// Read parses the trace.
func (p Trace) Read() (*trace.Trace, error) {
	t, err := trace.Read(bytes.NewReader(p.Text))
	if err == nil {
		t.Pictures = p.Pictures
	}
	return t, err
}

// ThisProgram identifies the program. A program that was built on demand, which every machine does separately, is
// identified by a hash of its inputs. Any other program is identified by a hash of its file.
func ThisProgram() (string, error) {
	if key := target.ThisKey(); key != "" {
		return key, nil
	}
	file, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// maker makes batches.
type maker struct {
	runner *lockstep.BatchRunner
	meter  *coverage.Meter // nil if there is nothing to measure, like the next field
	code   *code.Meter
	model  func() *model.Visits
	// gauge counts late messages in the runs of another batch runner; both are nil if the campaign does not need it.
	gauge    *lockstepform.Gauge
	measured *lockstep.BatchRunner
}

// newMaker prepares a plan.
func newMaker(plan lockstep.Plan, measures Measures) (m *maker, err error) {
	m = &maker{meter: measures.Coverage, code: measures.Code, model: measures.Model}
	bare := plan
	plan.Distinct, plan.Progress = true, nil
	if m.runner, err = lockstep.NewBatchRunner(plan); err != nil || !measures.Closure {
		return m, err
	}
	if _, _, terms := m.runner.Prepared(); terms.Lineages > 1 {
		return m, fmt.Errorf(
			"--closure makes runs of its own, of which the lineages of %s would have to learn apart: leave --closure or "+
				"--fleet out",
			plan.Strategy,
		)
	}
	bare.Observers, bare.Progress = nil, nil
	m.gauge = lockstepform.NewGauge()
	m.measured, err = lockstep.NewBatchRunner(m.gauge.Plan(bare))
	return m, err
}

// close closes the batch runners.
func (m *maker) close() {
	for _, c := range []*lockstep.BatchRunner{m.runner, m.measured} {
		if c != nil {
			_ = c.Close() // there is no caller to report it to
		}
	}
}

// Serve makes batches of a plan until the input ends.
func Serve(ctx context.Context, plan lockstep.Plan, measures Measures, in io.Reader, out io.Writer) error {
	m, err := newMaker(plan, measures)
	defer m.close()
	if err != nil {
		return err
	}
	hello, err := helloOf(m.runner)
	if err != nil {
		return err
	}
	say := json.NewEncoder(out)
	if err := say.Encode(hello); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	asks := listen(in, cancel)
	for next := range asks {
		for _, l := range next.Lessons {
			m.runner.Learn(l.First, l.Learned)
		}
		made, err := &Made{}, error(nil)
		if next.Warm {
			err = m.runner.WarmUp(ctx)
		} else {
			made, err = m.make(ctx, next.Ask)
		}
		if ctx.Err() != nil { // the other process no longer reads the output
			return nil
		}
		if err != nil {
			made.Error = err.Error()
		}
		if err := say.Encode(made); err != nil {
			return err
		}
	}
	return nil
}

// listen reads the requests. When the input ends, it ends the batch under way, because no process waits for it.
func listen(in io.Reader, end func()) <-chan order {
	asks := make(chan order, 1)
	go func() {
		defer close(asks)
		defer end()
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, mostOfLine)
		for lines.Scan() {
			var ask order
			if json.Unmarshal(lines.Bytes(), &ask) != nil || !ask.Warm && (ask.First < 0 || ask.End <= ask.First) {
				return
			}
			asks <- ask
		}
	}()
	return asks
}

// make makes a batch.
func (m *maker) make(ctx context.Context, ask Ask) (*Made, error) {
	made := &Made{Ask: ask}
	result, failed := m.runner.Make(ctx, ask.First, ask.End, ask.Found)
	made.Result, made.Learned = result, m.runner.Learned(ask.First)
	if m.meter != nil {
		sum := m.meter.Take()
		made.Coverage = &sum
	}
	if m.code != nil {
		sum := m.code.Take()
		made.Code = &sum
		if failed == nil {
			failed = m.code.Err()
		}
	}
	if m.model != nil {
		made.Model = m.model()
	}
	if f := result.First(); failed == nil && m.gauge != nil && result.Runs > 0 &&
		(f == nil || f.Finding.Property != lockstep.Hang) {
		_, failed = m.measured.Make(ctx, ask.First, ask.First+result.Runs, 0)
		made.Closure = m.gauge.Take()
	}
	schedules, states := m.runner.Distinct()
	made.Schedules.Add(schedules...)
	made.States.Add(states...)
	traces, err := Pack(result)
	made.Traces = traces
	if failed == nil {
		failed = err
	}
	return made, failed
}

// helloOf returns the hello message of the program and its plan.
func helloOf(runner *lockstep.BatchRunner) (Hello, error) {
	plan, info, terms := runner.Prepared()
	program, err := ThisProgram()
	h := Hello{
		Version:      lockstep.Version,
		Program:      program,
		Target:       info.Name,
		Build:        info.Build,
		Options:      info.Options,
		Strategy:     plan.Strategy.String(),
		Seed:         plan.Seed,
		Runs:         plan.Runs,
		Keep:         plan.Keep,
		KeepGoing:    plan.KeepGoing,
		Inconclusive: plan.MaxInconclusive,
		Sequential: terms.Sequential &&
			terms.Lineages < 2,
		Lineages:   terms.Lineages,
		Epoch:      terms.Epoch,
		Exact:      info.Determinism == lockstep.Deterministic,
		Guarantee:  terms.Guarantee,
		Properties: runner.Properties(),
	}
	if plan.Scenario != nil {
		h.Scenario = plan.Scenario.Name()
	}
	return h, err
}
