//go:build !lockstep_overlay

package bubble

import "time"

// Overlay reports whether the program was built with the overlay ("lockstep go"). Then runs are deterministic in every
// process.
const Overlay = false

func beginRun(bool, int)  {}
func rules(*World)        {}
func freeze(int32)        {}
func thaw(int32)          {}
func asNode(int32) func() { return func() {} }

func setClock(int32, ClockError)    {}
func now() time.Time                { return time.Now() }
func loosen(int)                    {}
func onNode(int32)                  {}
func incarnation() int32            { return 0 }
func takeOver(time.Duration) func() { return func() {} }
func collect(int)                   {}
func giveUp(string)                 {}
func discard(string)                {}

func carry(*World, int, float64) {}
func carryNoMore()               {}
func unplug(int32, bool)         {}
func silence(int32)              {}
func sources() []string          { return nil }

// chunk is data on sockets, which need the overlay.
type chunk struct{}

func (*chunk) deliver()                     {}
func (*chunk) lose()                        {}
func (*chunk) byDialer() bool               { return false }
func (*chunk) bytes() (string, []byte, int) { return "", nil, 0 }
