package enginetest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// FakeT is a test that records its output and its failure.
type FakeT struct {
	testing.TB
	// TestName is the name of the test, and Until its deadline, if it has one.
	TestName string
	Until    time.Time
	// Text is the output of the test, and Bad reports that it failed.
	Text strings.Builder
	Bad  bool
}

// Run calls a test function, and returns when the function ends or fails fatally.
func (f *FakeT) Run(do func(testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(f)
	}()
	<-done
}

// Name returns the name of the test.
func (f *FakeT) Name() string { return f.TestName }

// Helper does nothing.
func (f *FakeT) Helper() {}

// Failed reports whether the test failed.
func (f *FakeT) Failed() bool { return f.Bad }

// Logf writes a line.
func (f *FakeT) Logf(format string, args ...any) { fmt.Fprintf(&f.Text, format+"\n", args...) }

// Errorf fails the test with a line.
func (f *FakeT) Errorf(format string, args ...any) {
	f.Bad = true
	f.Logf(format, args...)
}

// Fatalf fails the test and ends it.
func (f *FakeT) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// Fatal fails the test and ends it.
func (f *FakeT) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

// Deadline returns the deadline of the test.
func (f *FakeT) Deadline() (time.Time, bool) { return f.Until, !f.Until.IsZero() }
