//go:build lockstep_overlay

package bubble

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/internal/stack"
)

// exited records that a goroutine of a node ends its process. The argument how is the function that it calls, or an
// error of the Go runtime. All goroutines of the node are stopped from now on; the calling one stops when this returns.
// Exits of dead incarnations do not count.
func (w *World) exited(number int32, how string, status int) {
	call, place := exitCall(how, status)
	w.halt(w.running(number), exit{
		status: status, fatal: strings.HasPrefix(how, fatal), text: call + " at " + place, stack: stack.Text(2),
	})
	w.stopCaller(number)
}

// kill ends the process of an incarnation, from a goroutine of it.
func (w *World) kill(number int32) {
	w.halt(w.running(number), exit{killed: true, text: "while it started"})
	w.stopCaller(number)
}

// running is the incarnation of that number if it runs, or nil.
func (w *World) running(number int32) *Node {
	if n := w.incarnation(node(number)); n != nil && n.number() == number {
		return n
	}
	return nil
}

// stopCaller freezes an incarnation, from a goroutine of it.
func (w *World) stopCaller(number int32) {
	if w.lent { // the goroutine is the engine's, which still needs it
		panic(exiting{})
	}
	freeze(number)
}

// fatal begins the errors of the Go runtime that no program can catch.
const fatal = "fatal error: "

// exitHelpers are the packages through which programs exit.
var exitHelpers = []string{"runtime", "os", "syscall", "log", "flag", "sync", "internal/sync", "internal/runtime/maps"}

// exitCall describes how the calling goroutine exits: the function of the standard library that the program called, and
// where.
func exitCall(how string, status int) (call, place string) {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	name := how
	for {
		f, more := frames.Next()
		if slices.Contains(exitHelpers, packageOf(f.Function)) && more {
			name = f.Function
			continue
		}
		place = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		switch {
		case strings.Contains(how, ": "): // an error of the runtime, or a signal
			return "died of " + how, place
		case name == how:
			return fmt.Sprintf("called %s(%d)", how, status), place
		default:
			return fmt.Sprintf("called %s, which exits with status %d,", name, status), place
		}
	}
}

// packageOf is the path of a function's package.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}
