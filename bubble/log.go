package bubble

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Log adds a line to the recording of the run, for readers alone: a line of the server's own log ([trace.LogServer]),
// or what a client or an operator of the test asked for and was answered. A level may be empty. Log calls text only
// while the run is recorded. text must not wait. What it draws does not move the random choices of the node, so that a
// run is the same whether it is recorded or not.
func (n *Node) Log(source, level string, text func() string) {
	w := n.world
	if !w.logs || n.dead.Load() {
		return
	}
	defer asEngine()()
	l := trace.Log{Source: source, Node: n.self, Level: level, At: trace.Time(w.Now()), Text: text()}
	w.mutex.Lock()
	w.lines = append(w.lines, l)
	w.mutex.Unlock()
}

// LogPairs logs a line of the server's own log that has keys and values, as most structured loggers of Go have them.
func (n *Node) LogPairs(level, text string, pairs ...any) {
	if !n.Recorded() {
		return
	}
	n.Log(trace.LogServer, level, func() string {
		var b strings.Builder
		b.WriteString(text)
		for i := 0; i+1 < len(pairs); i += 2 {
			fmt.Fprintf(&b, " %v=%v", pairs[i], pairs[i+1])
		}
		return b.String()
	})
}

// LogWriter returns a writer to which a server writes its log, one line at a time. While the run is not recorded it is
// io.Discard, for which package log does no work.
func (n *Node) LogWriter(level string) io.Writer {
	if !n.Recorded() {
		return io.Discard
	}
	return logWriter{n, level}
}

type logWriter struct {
	node  *Node
	level string
}

func (l logWriter) Write(line []byte) (int, error) {
	l.node.Log(trace.LogServer, l.level, func() string { return strings.TrimRight(string(line), "\n") })
	return len(line), nil
}

// Recorded reports whether the run is recorded. It is for loggers that should do no work otherwise; nothing else of a
// node may depend on it.
func (n *Node) Recorded() bool { return n.world.logs }

// Log levels of servers.
const (
	Debug = "debug"
	Info  = "info"
	Warn  = "warn"
	Error = "error"
)

// address matches the address of a value, which a logger prints if it is given a pointer.
var address = regexp.MustCompile(`\b0x[0-9a-f]{8,12}\b`)

// deliverLogs passes the lines of the step to the engine, and the new roles of nodes. Directories of nodes are named
// differently in every process, and addresses of values differ; a line has the part that is the same. The caller holds
// the lock of the world.
func (d *deployment) deliverLogs(out *lockstep.Outbox) {
	w := d.world
	if !w.logs {
		return
	}
	root := ""
	if d.files {
		root, _ = d.env.Dir()
	}
	for _, l := range w.lines {
		if root != "" {
			l.Text = strings.ReplaceAll(strings.ReplaceAll(l.Text, root+"/", ""), sameRoot+"/", "")
		}
		l.Text = address.ReplaceAllString(l.Text, "0x(address)")
		out.Log(l)
	}
	clear(w.lines)
	w.lines = w.lines[:0]
}

// role logs the role of a node if it changed.
func (d *deployment) role(self lockstep.Node, out *lockstep.Outbox) {
	if len(d.Roles) == 0 {
		return
	}
	role := ""
	if n := d.incarnations[self-1]; n != nil && n.role != nil {
		role = n.role()
	}
	if role == d.world.roles[self] {
		return
	}
	if d.world.roles[self] = role; role != "" {
		out.Log(trace.Log{Source: trace.LogRole, Node: self, At: trace.Time(d.world.Now()), Text: role})
	}
}
