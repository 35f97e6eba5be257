package process

import (
	"bytes"
	"sync"
)

// Log keeps the last lines of a server's output. Its zero value is empty.
type Log struct {
	mutex sync.Mutex
	lines []string // the last of them, the oldest first
	count int      // all lines so far
	part  []byte   // the line that is not complete
}

// Bounds of a log: the number of lines kept, and their length.
const (
	keptLines = 500
	keptBytes = 500
)

// Write appends a server's output.
func (l *Log) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if space := keptBytes - len(l.part); space > 0 {
			l.part = append(l.part, line[:min(len(line), space)]...)
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

// Last returns the last n lines, or fewer.
func (l *Log) Last(n int) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]string(nil), l.lines[max(0, len(l.lines)-min(n, keptLines)):]...)
}

// Since returns the lines after the first mark lines, as far as they are kept, and the current number of lines.
func (l *Log) Since(mark int) (lines []string, count int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	fresh := min(l.count-mark, len(l.lines), keptLines)
	return append(lines, l.lines[len(l.lines)-max(fresh, 0):]...), l.count
}
