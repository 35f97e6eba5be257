package enginetest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// FakeT is a test that writes down what happens to it.
type FakeT struct {
	testing.TB
	// TestName is its name, and Until its deadline, where it has one.
	TestName string
	Until    time.Time
	// Text is what it printed, and Bad says that it failed.
	Text strings.Builder
	Bad  bool
}

// Run calls what a test would call, and returns when that ends or fails the test for good.
func (f *FakeT) Run(do func(testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(f)
	}()
	<-done
}

// Name is the name of the test.
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

// Deadline is when the test must have ended.
func (f *FakeT) Deadline() (time.Time, bool) { return f.Until, !f.Until.IsZero() }
