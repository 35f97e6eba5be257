package outside_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
)

// witness records how a test ends.
type witness struct {
	testing.TB
	end string
}

func (w *witness) Helper() {}
func (w *witness) Fatalf(text string, a ...any) {
	w.end = "failed: " + fmt.Sprintf(text, a...)
	panic(w)
}
func (w *witness) Skipf(text string, a ...any) {
	w.end = "skipped: " + fmt.Sprintf(text, a...)
	panic(w)
}

// Program finds an installed program. A missing one skips the test, or fails it if no test may be skipped.
func TestProgram(t *testing.T) {
	for _, c := range []struct{ strict, program, want string }{
		{"", "sh", ""},
		{"", "no-such-program", "skipped: NOT TESTED: no-such-program is not installed, see make setup"},
		{"1", "no-such-program", "failed: NOT TESTED: no-such-program is not installed, see make setup"},
	} {
		t.Setenv("LOCKSTEP_STRICT", c.strict)
		w := &witness{TB: t}
		func() {
			defer func() { _ = recover() }()
			if path := outside.Program(w, c.program); path == "" {
				t.Errorf("%s has no path", c.program)
			}
		}()
		if w.end != c.want {
			t.Errorf("%s with LOCKSTEP_STRICT=%q: %q, want %q", c.program, c.strict, w.end, c.want)
		}
	}
}
