//go:build !lockstep_overlay

package bubble

// Exact says whether the program was built with the overlay ("lockstep go"), so that runs
// repeat always, in every process.
const Exact = false

func rules(uint64)     {}
func onNode(int32)     {}
func takeOver() func() { return func() {} }
func collect(int)      {}
