package main

import (
	"io"
	"os"
	"time"

	"github.com/lockstep-go/lockstep/report"
	"golang.org/x/term"
)

// options are the drawing options for a writer: colour and full width on a terminal.
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

// newProgress shows how work is getting on, on standard error: runs and limit are what is
// planned, 0 where it is not known.
func newProgress(w io.Writer, runs int, limit time.Duration) *report.Progress {
	p := &report.Progress{W: w, Now: time.Now, Runs: runs, Limit: limit}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.Terminal = true
		p.Width, _, _ = term.GetSize(int(f.Fd())) // 0 stands for the usual width
	}
	p.Start()
	return p
}
