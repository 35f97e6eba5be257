// Package script writes drafts of shell scripts that do with real servers what a run did.
//
// A trace is untrusted: a [Writer] writes each line as one line, and [Argument] turns a text of a trace into one quoted
// argument. A text that begins with a dash may still be an option of the command: see [IsFlag].
package script

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// pause is the shortest time between two lines that a script waits.
const pause = 50 * time.Millisecond

// Writer writes the lines of a script. Its zero value is ready to use.
type Writer struct {
	b  strings.Builder
	at trace.Time
}

// Text writes a text of the program's own, unchanged.
func (w *Writer) Text(text string) { w.b.WriteString(text) }

// Line writes one line for a time of the run, after a pause if the run had one.
func (w *Writer) Line(at trace.Time, format string, args ...any) {
	if d := time.Duration(at - w.at); w.at > 0 && d >= pause {
		fmt.Fprintf(&w.b, "sleep %.2f\n", d.Seconds())
	}
	w.at = max(w.at, at)
	w.b.WriteString(words.Clean(fmt.Sprintf(format, args...)) + "\n")
}

// End writes the finding of a run as a comment, and waits for what runs in the background.
func (w *Writer) End(t *trace.Trace) {
	if f := t.Outcome.Finding; f != nil {
		w.Line(w.at, "# expected: %s: %s", f.Property, f.Text)
	}
	w.Text("wait\n")
}

// String is the script so far.
func (w *Writer) String() string { return w.b.String() }

// Argument is a text of a trace as one argument of a command.
func Argument(text string) string { return words.Quoted(words.Clean(text)) }

// IsFlag reports whether a command would take a text for an option.
func IsFlag(text string) bool { return strings.HasPrefix(text, "-") }

// Answered reports which operations of clients are answered, by the record of their call. A script starts the others in
// the background.
func Answered(t *trace.Trace) map[int]bool {
	open, done := map[string]int{}, map[int]bool{}
	for i := range t.Records {
		for _, e := range t.Records[i].Events {
			client, _, _ := strings.Cut(e.Text, " ")
			switch e.Type {
			case spec.EventCall:
				open[client] = i
			case spec.EventReturn:
				if from, ok := open[client]; ok {
					done[from] = true
				}
			}
		}
	}
	return done
}
