// Package watchdog detects hanging runs; it has the clock for this, because the engine has none.
package watchdog

import "time"

// Default is the timeout of go tests and of the command line.
const Default = 30 * time.Second

// After is a watchdog for the field Watchdog of a plan: a run hangs if no step begins within the given time. The
// watchdog detects it within twice that time. Zero or less means that there is no watchdog.
func After(timeout time.Duration) func() (look <-chan time.Time, stop func()) {
	if timeout <= 0 {
		return nil
	}
	return func() (<-chan time.Time, func()) {
		t := time.NewTicker(timeout) //nolint:forbidigo // this is the clock
		return t.C, t.Stop
	}
}
