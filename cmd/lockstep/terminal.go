package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lockstep-go/lockstep"
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

// ticker shows how long work is getting on: one line redrawn on a terminal, a plain line
// now and then elsewhere.
type ticker struct {
	w        io.Writer
	terminal bool
	start    time.Time
	next     time.Time
	shown    bool
}

const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 10 * time.Second
)

func newTicker(w io.Writer) *ticker {
	t := &ticker{w: w, start: time.Now()}
	if f, ok := w.(*os.File); ok {
		t.terminal = term.IsTerminal(int(f.Fd()))
	}
	t.next = t.start.Add(t.every())
	return t
}

func (t *ticker) every() time.Duration {
	if t.terminal {
		return terminalEvery
	}
	return plainEvery
}

// line shows a line if it is time for one.
func (t *ticker) line(text func(elapsed time.Duration) string) {
	now := time.Now()
	if now.Before(t.next) {
		return
	}
	t.next = now.Add(t.every())
	if t.terminal {
		fmt.Fprintf(t.w, "\r\x1b[K%s", text(now.Sub(t.start)))
		t.shown = true
	} else {
		fmt.Fprintln(t.w, text(now.Sub(t.start)))
	}
}

// clear removes the line before anything else is printed.
func (t *ticker) clear() {
	if t.shown {
		fmt.Fprint(t.w, "\r\x1b[K")
	}
}

// campaignLine is a campaign in progress as one line.
func campaignLine(r *lockstep.Result, runs int, limit, elapsed time.Duration) string {
	rate := perSecond(float64(r.Runs), elapsed)
	line := fmt.Sprintf("%d runs, %.0f runs/s, %d findings, %v", r.Runs, rate, len(r.Found), elapsed.Round(time.Second))
	left := limit - elapsed
	if rate > 0 {
		byRuns := time.Duration(float64(runs-r.Runs) / rate * float64(time.Second))
		if limit == 0 || byRuns < left {
			left = byRuns
		}
	}
	if left > 0 {
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}
