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
