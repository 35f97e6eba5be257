// Package preempttest tests the preemption of goroutines in a bubble with planted races.
//
// Its tests need a program that was built with points in this package:
//
//	lockstep go test -preempt ./bubble/preempttest ./bubble/preempttest
package preempttest
