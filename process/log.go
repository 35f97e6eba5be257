package process

import (
	"bytes"
	"sync"
)

// Log keeps the last lines of what a server writes. Its zero value is empty.
type Log struct {
	mutex sync.Mutex
	lines []string // the last of them, the oldest first
	count int      // all that there were
	part  []byte   // the line that has not ended
}

// Bounds of a log: how many lines are kept, and how long they may be.
const (
	keptLines = 500
	keptBytes = 500
)

// Write takes what a server writes.
func (l *Log) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := keptBytes - len(l.part); room > 0 {
			l.part = append(l.part, line[:min(len(line), room)]...)
		}
		if whole {
			l.add(string(bytes.TrimRight(l.part, "\r")))
			l.part = l.part[:0]
		}
		rest = after
	}
	return len(p), nil
}

func (l *Log) add(line string) {
	if l.count++; len(l.lines) == 2*keptLines {
		l.lines = append(l.lines[:0], l.lines[keptLines:]...)
	}
	l.lines = append(l.lines, line)
}

// Last is the last n lines, or fewer.
func (l *Log) Last(n int) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]string(nil), l.lines[max(0, len(l.lines)-min(n, keptLines)):]...)
}

// Since is what came after the first so many lines, as far as it is kept, and how many lines
// there are by now.
func (l *Log) Since(mark int) (lines []string, count int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	fresh := min(l.count-mark, len(l.lines), keptLines)
	return append(lines, l.lines[len(l.lines)-max(fresh, 0):]...), l.count
}
