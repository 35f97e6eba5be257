package stack_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lockstep-go/lockstep/internal/stack"
)

func spin(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

// Of also returns the stack of a goroutine that never yields.
func TestOf(t *testing.T) {
	var stop atomic.Bool
	id, done := make(chan string), make(chan struct{})
	go func() {
		id <- stack.ID()
		spin(&stop)
		close(done)
	}()
	name := <-id
	text := stack.Of(name)
	for !strings.Contains(text, "spin") { // the goroutine may not be there yet
		text = stack.Of(name)
	}
	stop.Store(true)
	<-done
	if !strings.Contains(text, "stack_test.spin\n\tother_test.go:") || strings.Contains(text, "0x") ||
		strings.Contains(text, "created by") {
		t.Errorf("stack:\n%s", text)
	}
	if text := stack.Of("goroutine 0"); text != "" {
		t.Errorf("a goroutine that there is not:\n%s", text)
	}
}

func ExampleID() {
	fmt.Println(strings.HasPrefix(stack.ID(), "goroutine "))
	// Output: true
}
