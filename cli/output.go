package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/report/chart"
	"github.com/lockstep-go/lockstep/trace"
	"golang.org/x/term"
)

// Schema is the version of the JSON that all commands print with --json. It changes when a key is removed or changes
// its meaning, not when a key is added.
const Schema = 3

// JSON prints an object on one line. The schema and the name of the command come before the object's own keys.
func (e *Env) JSON(v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	body := bytes.TrimPrefix(b.Bytes(), []byte("{"))
	if len(body) == b.Len() {
		return fmt.Errorf("%s prints no JSON object: %.40s", e.command, b.Bytes())
	}
	comma := ","
	if body[0] == '}' {
		comma = ""
	}
	_, err := fmt.Fprintf(e.Out, `{"schema":%d,"command":%q%s%s`, Schema, e.command, comma, body)
	return err
}

// Documents returns for each command of this package that prints JSON the value that it prints, without content. The
// schema in the documentation is generated from their types.
func Documents() map[string]any {
	return map[string]any{
		"list":    lists{},
		"run":     campaign.Document{},
		"replay":  replayed{},
		"shrink":  shrunk{},
		"compare": compared{},
		"plan":    cover.Answer{},
		"doctor":  diagnosis{},
	}
}

// Grid draws a run. On a terminal it uses color and the full width.
func (e *Env) Grid(t *trace.Trace) error { return report.Grid(e.Out, t, options(e.Out)) }

// Write writes a file.
func (e *Env) Write(file string, content func(io.Writer) error) error { return e.write(file, content) }

// Chart writes a chart to the file of the flag --svg.
func (e *Env) Chart(file string, c chart.Chart) error {
	if err := e.write(file, c.SVG); err != nil {
		return fmt.Errorf("--svg %s: %w", file, err)
	}
	return nil
}

// options returns the drawing options for a writer: color and full width on a terminal.
func options(w io.Writer) report.Options {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return report.Options{}
	}
	o := report.Options{Color: os.Getenv("NO_COLOR") == ""}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		o.Width = min(width, 100)
	}
	return o
}

// Progress shows the progress of the work on standard error. runs and limit are the planned totals; 0: unknown.
func (e *Env) Progress(runs int, limit time.Duration) *campaign.Progress {
	if runs == unbounded {
		runs = 0
	}
	p := &campaign.Progress{W: e.Err, Now: time.Now, Runs: runs, Limit: limit}
	if f, ok := e.Err.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.Terminal = true
		p.Width, _, _ = term.GetSize(int(f.Fd())) // 0 selects the default width
	}
	p.Start()
	return p
}
