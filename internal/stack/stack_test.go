package stack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/stack"
)

func inner() string { return stack.Text(0) }

func TestText(t *testing.T) {
	text := inner()
	if !strings.Contains(text, "stack_test.inner\n\tstack_test.go:") || strings.Contains(text, "0x") ||
		strings.Contains(text, "/internal/stack/stack_test.go") {
		t.Errorf("stack:\n%s", text)
	}
}

func ExamplePanic() {
	fmt.Println(stack.Panic{Value: "too much", Stack: "somewhere"})
	// Output: too much
}

// The runtime raises the panic for a nil pointer and an index, the program its own. A deferred function that panics
// once more changes nothing, and a panic that was recovered is none.
func TestByRuntime(t *testing.T) {
	var none *int
	var empty []int
	again := func() { panic(fmt.Sprint("again after ", recover() != nil)) }
	for name, c := range map[string]struct {
		raise func()
		want  bool
	}{
		"nil":         {func() { *none = 1 }, true},
		"index":       {func() { empty[len(empty)] = 1 }, true},
		"own":         {func() { panic("own") }, false},
		"nil, again":  {func() { defer again(); *none = 1 }, true},
		"own, again":  {func() { defer again(); panic("own") }, false},
		"own, before": {func() { caught(func() { *none = 1 }); panic("own") }, false},
	} {
		if got := caught(c.raise); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if stack.ByRuntime() {
		t.Error("without a panic")
	}
}

// caught reports whether the runtime raised the panic of a function.
func caught(raise func()) (by bool) {
	defer func() {
		by = stack.ByRuntime()
		_ = recover()
	}()
	raise()
	return false
}
