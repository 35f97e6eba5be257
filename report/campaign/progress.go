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

// Status is how far a campaign is.
type Status struct {
	Runs     int
	Findings int
	// Coverage is what was reached, in a few words, e.g. "7322 states"; empty: not shown.
	Coverage string
}

// Progress shows how a campaign is getting on: on a terminal one line that is drawn over
// and over, elsewhere a plain line now and then. Log lines go through it as an
// [io.Writer], so that they never end up in the middle of the drawn line. It may be used
// from several goroutines.
type Progress struct {
	// W is where it writes.
	W io.Writer
	// Now is the clock; it must be set.
	Now func() time.Time
	// Terminal says that W can draw over a line.
	Terminal bool
	// Width is the number of columns of the terminal; 0 means 80.
	Width int
	// Runs is the number of runs planned; 0 means that it is not known.
	Runs int
	// Limit is the time planned; 0 means that there is none.
	Limit time.Duration
	// Every is the least time between two lines; 0 means 200 ms on a terminal and 10 s
	// elsewhere.
	Every time.Duration

	mutex   sync.Mutex
	start   time.Time
	next    time.Time
	drawn   string // the line on the terminal now
	partial bool   // a log line is not finished
}

// Defaults of a Progress.
const (
	progressTerminalEvery = 200 * time.Millisecond
	progressPlainEvery    = 10 * time.Second
)

// Start begins to measure time. Without it the first Update does.
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

// Update shows the status if it is time to.
func (p *Progress) Update(s Status) error {
	return p.Show(func(elapsed time.Duration) string { return p.line(s, elapsed) })
}

// Show shows a line of the caller's, made from the time since Start, if it is time to.
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
	p.drawn = plain.Cut(line, width-1) // a full line would wrap and could not be drawn over
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

// forever is a time in seconds that nobody waits for, and a Duration does not hold much more.
const forever = 1e9

// left is the time until the runs or the time planned are used up, whichever is first.
func (p *Progress) left(s Status, elapsed time.Duration, rate float64) (left time.Duration, known bool) {
	if p.Limit > 0 {
		left, known = max(0, p.Limit-elapsed), true
	}
	if p.Runs > 0 && rate > 0 {
		seconds := float64(max(0, p.Runs-s.Runs)) / rate
		if byRuns := time.Duration(seconds * float64(time.Second)); seconds < forever && (!known || byRuns < left) {
			left, known = byRuns, true
		}
	}
	return left, known
}

// Write writes log lines: the drawn line makes way for them and comes back after the
// last whole line.
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

// Done removes the drawn line. What is written afterwards starts on a clean line.
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
