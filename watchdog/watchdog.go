// Package watchdog has the clock by which the engine, which has none, sees that a run hangs.
package watchdog

import "time"

// Default is the patience of go tests and of the command line.
const Default = 30 * time.Second

// After is a watchdog for the field Watch of a plan: a run in which no step is begun for the
// given time hangs. It is noticed before twice the time is over. Zero or less means that
// there is no watchdog.
func After(patience time.Duration) func() (look <-chan time.Time, stop func()) {
	if patience <= 0 {
		return nil
	}
	return func() (<-chan time.Time, func()) {
		t := time.NewTicker(patience) //nolint:forbidigo // this is the clock
		return t.C, t.Stop
	}
}
