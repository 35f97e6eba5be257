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

// Panic carries a panic from one stack to another: the value and the stack where it began. Property is the property
// that it violates; empty: "panic".
type Panic struct {
	Property string
	Value    any
	Stack    string
}

// String returns the panic's value as text.
func (p Panic) String() string { return fmt.Sprint(p.Value) }
