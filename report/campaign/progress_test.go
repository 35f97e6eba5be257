package campaign_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/report/campaign"
)

// screen is the subset of a terminal that a progress line needs.
type screen struct {
	lines []string
	line  string
}

func (s *screen) Write(b []byte) (int, error) {
	text := strings.ReplaceAll(string(b), "\r\x1b[K", "\f")
	for _, r := range text {
		switch r {
		case '\f':
			s.line = ""
		case '\n':
			s.lines, s.line = append(s.lines, s.line), ""
		default:
			s.line += string(r)
		}
	}
	return len(b), nil
}

// ticking is a clock that the test advances.
type ticking struct{ now time.Time }

func (t *ticking) tick(d time.Duration) { t.now = t.now.Add(d) }

func TestProgressOnATerminal(t *testing.T) {
	clock, s := &ticking{now: time.Unix(1000, 0)}, &screen{}
	p := &campaign.Progress{W: s, Terminal: true, Width: 90, Runs: 1000, Now: func() time.Time { return clock.now }}
	p.Start()
	update := func(runs, findings int) {
		if err := p.Update(campaign.Status{Runs: runs, Findings: findings, Coverage: "12 states"}); err != nil {
			t.Fatal(err)
		}
	}
	update(1, 0)
	if s.line != "" {
		t.Errorf("too early: %q", s.line)
	}
	clock.tick(2 * time.Second)
	update(100, 1)
	want := "100 of 1000 runs, 50 runs/s, 1 finding, 12 states, 2s, 18s left"
	if s.line != want {
		t.Errorf("got  %q\nwant %q", s.line, want)
	}
	fmt.Fprintln(p, "a log line")
	if s.line != want || len(s.lines) != 1 || s.lines[0] != "a log line" {
		t.Errorf("after a log line: %q, %q", s.lines, s.line)
	}
	fmt.Fprint(p, "half a ")
	clock.tick(time.Second)
	update(200, 1)
	if s.line != "half a " {
		t.Errorf("drawn into half a line: %q", s.line)
	}
	fmt.Fprintln(p, "line")
	if s.lines[1] != "half a line" {
		t.Errorf("%q", s.lines)
	}
	if err := p.Done(); err != nil || s.line != "" {
		t.Errorf("Done leaves %q, %v", s.line, err)
	}
}

// If a campaign would take longer than a Duration holds, the line shows the time limit, or no time.
func TestProgressOfManySlowRuns(t *testing.T) {
	for limit, want := range map[time.Duration]string{
		0:           "1 of 2147483647 runs, 0.1 runs/s, 0 findings, 10s\n",
		time.Minute: "1 of 2147483647 runs, 0.1 runs/s, 0 findings, 10s, 50s left\n",
	} {
		clock, b := &ticking{now: time.Unix(1000, 0)}, &bytes.Buffer{}
		p := &campaign.Progress{W: b, Runs: 1<<31 - 1, Limit: limit, Now: func() time.Time { return clock.now }}
		p.Start()
		clock.tick(10 * time.Second)
		if err := p.Update(campaign.Status{Runs: 1}); err != nil || b.String() != want {
			t.Errorf("%q, %v; want %q", b, err, want)
		}
	}
}

func TestProgressInAPipe(t *testing.T) {
	clock, b := &ticking{now: time.Unix(1000, 0)}, &bytes.Buffer{}
	p := &campaign.Progress{W: b, Limit: time.Minute, Now: func() time.Time { return clock.now }}
	for i := range 31 {
		if err := p.Update(campaign.Status{Runs: i * 10}); err != nil {
			t.Fatal(err)
		}
		clock.tick(time.Second)
	}
	p.Done()
	want := "100 runs, 10 runs/s, 0 findings, 10s, 50s left\n200 runs, 10 runs/s, 0 findings, 20s, 40s left\n300 " +
		"runs, 10 runs/s, 0 findings, 30s, 30s left\n"
	if b.String() != want {
		t.Errorf("got %q", b)
	}
}

// Logs and updates from many goroutines never mix within a line.
func TestProgressKeepsLogLinesWhole(t *testing.T) {
	clock, s := &ticking{now: time.Unix(1000, 0)}, &screen{}
	var mutex sync.Mutex
	p := &campaign.Progress{W: s, Terminal: true, Every: time.Nanosecond, Now: func() time.Time {
		mutex.Lock()
		defer mutex.Unlock()
		clock.tick(time.Millisecond)
		return clock.now
	}}
	logger := log.New(p, "", 0)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 100 {
				logger.Printf("log %d %d", g, i)
				_ = p.Update(campaign.Status{Runs: i})
			}
		})
	}
	group.Wait()
	if len(s.lines) != 400 {
		t.Fatalf("%d lines", len(s.lines))
	}
	for _, line := range s.lines {
		var g, i int
		if n, _ := fmt.Sscanf(line, "log %d %d", &g, &i); n != 2 || line != fmt.Sprintf("log %d %d", g, i) {
			t.Errorf("line %q", line)
		}
	}
}

func ExampleProgress() {
	now := time.Unix(0, 0)
	p := &campaign.Progress{W: os.Stdout, Runs: 400, Every: time.Second, Now: func() time.Time { return now }}
	p.Start()
	for runs := 100; runs <= 300; runs += 100 {
		now = now.Add(time.Second)
		_ = p.Update(campaign.Status{Runs: runs, Findings: runs / 200})
	}
	_ = p.Done()
	// Output:
	// 100 of 400 runs, 100 runs/s, 0 findings, 1s, 3s left
	// 200 of 400 runs, 100 runs/s, 1 finding, 2s, 2s left
	// 300 of 400 runs, 100 runs/s, 1 finding, 3s, 1s left
}
