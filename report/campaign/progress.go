package campaign

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
)

// Status is the progress of a campaign.
type Status struct {
	Runs     int
	Findings int
	// Coverage is a short text about what was covered, e.g. "7322 states"; empty: not shown.
	Coverage string
}

// Progress shows the progress of a campaign. On a terminal it redraws one line; elsewhere it prints a plain line
// periodically. Log lines go through it as an [io.Writer], so that they never end up in the middle of the drawn line.
// Progress is safe for concurrent use.
type Progress struct {
	// W is the writer of the output.
	W io.Writer
	// Now is the clock; it must be set.
	Now func() time.Time
	// Terminal reports that W can redraw a line.
	Terminal bool
	// Width is the number of columns of the terminal; 0 means 80.
	Width int
	// Runs is the number of planned runs; 0: unknown.
	Runs int
	// Limit is the planned time; 0: no limit.
	Limit time.Duration
	// Every is the shortest time between two lines; 0 means 200 ms on a terminal and 10 s elsewhere.
	Every time.Duration

	mutex   sync.Mutex
	start   time.Time
	next    time.Time
	drawn   string // the current line on the terminal
	partial bool   // a log line is not finished
}

// Defaults of a Progress.
const (
	progressTerminalEvery = 200 * time.Millisecond
	progressPlainEvery    = 10 * time.Second
)

// Start starts the measurement of time. Without it the first Update does.
func (p *Progress) Start() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.begin(p.Now())
}

func (p *Progress) begin(now time.Time) {
	if p.start.IsZero() {
		p.start, p.next = now, now.Add(p.every())
	}
}

func (p *Progress) every() time.Duration {
	switch {
	case p.Every > 0:
		return p.Every
	case p.Terminal:
		return progressTerminalEvery
	default:
		return progressPlainEvery
	}
}

// Update shows the status if the next line is due.
func (p *Progress) Update(s Status) error {
	return p.Show(func(elapsed time.Duration) string { return p.line(s, elapsed) })
}

// Show shows a line of the caller's, computed from the time since Start, if the next line is due.
func (p *Progress) Show(text func(elapsed time.Duration) string) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now := p.Now()
	p.begin(now)
	if now.Before(p.next) || p.partial {
		return nil
	}
	p.next = now.Add(p.every())
	line := plain.Clean(text(now.Sub(p.start)))
	if !p.Terminal {
		_, err := fmt.Fprintln(p.W, line)
		return err
	}
	width := p.Width
	if width <= 0 {
		width = 80
	}
	p.drawn = plain.Cut(line, width-1) // a full line would wrap and could not be redrawn
	_, err := io.WriteString(p.W, "\r\x1b[K"+p.drawn)
	return err
}

func (p *Progress) line(s Status, elapsed time.Duration) string {
	rate := 0.0
	if elapsed > 0 {
		rate = float64(s.Runs) / elapsed.Seconds()
	}
	parts := []string{words.Count(s.Runs, "run")}
	if p.Runs > 0 {
		parts[0] = fmt.Sprintf("%d of %s", s.Runs, words.Count(p.Runs, "run"))
	}
	parts = append(parts, fmt.Sprintf("%s runs/s", plain.Number(rate)), words.Count(s.Findings, "finding"))
	if s.Coverage != "" {
		parts = append(parts, plain.Clean(s.Coverage))
	}
	parts = append(parts, elapsed.Round(time.Second).String())
	if left, ok := p.left(s, elapsed, rate); ok {
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}

// indefinitely is a time in seconds too long to wait for, and close to the largest Duration.
const indefinitely = 1e9

// left returns the time until the planned runs or the planned time are used up, whichever comes first.
func (p *Progress) left(s Status, elapsed time.Duration, rate float64) (left time.Duration, known bool) {
	if p.Limit > 0 {
		left, known = max(0, p.Limit-elapsed), true
	}
	if p.Runs > 0 && rate > 0 {
		seconds := float64(max(0, p.Runs-s.Runs)) / rate
		if byRuns := time.Duration(seconds * float64(time.Second)); seconds < indefinitely && (!known || byRuns < left) {
			left, known = byRuns, true
		}
	}
	return left, known
}

// Write writes log lines. It removes the drawn line and redraws it after the last complete line.
func (p *Progress) Write(b []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	if p.drawn != "" && !p.partial {
		if _, err := io.WriteString(p.W, "\r\x1b[K"); err != nil {
			return 0, err
		}
	}
	n, err := p.W.Write(b)
	p.partial = b[len(b)-1] != '\n'
	if err == nil && p.drawn != "" && !p.partial {
		_, err = io.WriteString(p.W, p.drawn)
	}
	return n, err
}

// Done removes the drawn line. Later output starts on a clean line.
func (p *Progress) Done() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.drawn == "" {
		return nil
	}
	p.drawn = ""
	if p.partial {
		return nil
	}
	_, err := io.WriteString(p.W, "\r\x1b[K")
	return err
}
