// Package stack formats the call stack of a panic.
package stack

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// engine begins the names of the functions that call the system under test.
const engine = "github.com/lockstep-go/lockstep.(*worker)."

// Text lists the functions on the stack, innermost first, without addresses and directories, so that equal runs give
// equal texts on every machine. It leaves out the first skip functions, those of the runtime, and everything from the
// engine on.
func Text(skip int) string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip+2, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, engine) || !more {
			return b.String()
		}
		if !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, filepath.Base(f.File), f.Line)
		}
	}
}

// ByRuntime reports whether a panic on the stack was raised by the runtime, as for a nil pointer, and not by the
// program. It holds also where a deferred function of the program panics once more.
func ByRuntime() bool {
	pcs := make([]uintptr, 512)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	raised := false // the last frame was the beginning of a panic
	for {
		f, more := frames.Next()
		if raised && strings.HasPrefix(f.Function, "runtime.") {
			return true
		}
		raised = f.Function == "runtime.gopanic"
		if !more {
			return false
		}
	}
}

// Panic carries a panic from one stack to another: the value and the stack where it began. Property is the property
// that it violates; empty: "panic".
type Panic struct {
	Property string
	Value    any
	Stack    string
}

// String returns the panic's value as text.
func (p Panic) String() string { return fmt.Sprint(p.Value) }
