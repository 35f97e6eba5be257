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

// progress shows how a campaign is getting on: one line redrawn on a terminal, a plain
// line now and then elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	runs     int
	limit    time.Duration
	start    time.Time
	next     time.Time
	shown    bool
}

const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 10 * time.Second
)

func newProgress(w io.Writer, runs int, limit time.Duration) *progress {
	p := &progress{w: w, runs: runs, limit: limit, start: time.Now()}
	if f, ok := w.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	p.next = p.start.Add(p.every())
	return p
}

func (p *progress) every() time.Duration {
	if p.terminal {
		return terminalEvery
	}
	return plainEvery
}

func (p *progress) update(r *lockstep.Result) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every())
	elapsed := now.Sub(p.start)
	rate := perSecond(float64(r.Runs), elapsed)
	line := fmt.Sprintf("%d runs, %.0f runs/s, %d findings, %v", r.Runs, rate, len(r.Found), elapsed.Round(time.Second))
	if left := p.left(r, elapsed, rate); left > 0 {
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.shown = true
	} else {
		fmt.Fprintln(p.w, line)
	}
}

func (p *progress) left(r *lockstep.Result, elapsed time.Duration, rate float64) time.Duration {
	byTime := p.limit - elapsed
	if rate <= 0 {
		return byTime
	}
	byRuns := time.Duration(float64(p.runs-r.Runs) / rate * float64(time.Second))
	if p.limit > 0 {
		return min(byTime, byRuns)
	}
	return byRuns
}

// clear removes the progress line before anything else is printed.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
