//go:build !lockstep_overlay

package bubble

import "time"

// Exact says whether the program was built with the overlay ("lockstep go"), so that runs
// repeat always, in every process.
const Exact = false

func rules(uint64)     {}
func freeze(int32)     {}
func thaw(int32)       {}
func asEngine() func() { return func() {} }

func setClock(int32, ClockError) {}
func now() time.Time             { return time.Now() }
func loosen(int)                 {}
func onNode(int32)               {}
func takeOver() func()           { return func() {} }
func collect(int)                {}

func carry(*World, int) {}
func carryNoMore()      {}
func unplug(int32)      {}
func bury(int32)        {}

// chunk is what travels on sockets, which needs the overlay.
type chunk struct{}

func (*chunk) deliver()                {}
func (*chunk) lose()                   {}
func (*chunk) bytes() (string, []byte) { return "", nil }
