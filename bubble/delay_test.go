package bubble_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/bubble"
)

// A distribution is read as it is written, and nothing else is.
func TestDelayText(t *testing.T) {
	for _, text := range []string{"0s", "5ms", "1ms..5ms", "1ms..5ms+0.01:2s"} {
		var d bubble.Delay
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != text {
			t.Errorf("%q is read as %q, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "5", "-1ms", "5ms..1ms", "1ms..", "1ms..5ms+2:2s", "1ms..5ms+0.1", "5ms+0.1:1ms"} {
		d := bubble.Delay{Max: time.Hour}
		if err := d.UnmarshalText([]byte(text)); err == nil || d.Max != time.Hour {
			t.Errorf("%q is read as %q", text, d)
		}
	}
}
