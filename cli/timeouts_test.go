package cli

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/watchdog"
)

// The default step timeout is the one that the target needs; the command line overrides it.
func TestTimeouts(t *testing.T) {
	slow := target.Target{StepTimeout: time.Hour}
	for _, c := range []struct {
		target      target.Target
		asked, want time.Duration
	}{
		{target.Target{}, watchdog.Default, watchdog.Default},
		{slow, watchdog.Default, time.Hour},
		{slow, time.Minute, time.Minute},
		{slow, 0, 0},
	} {
		if got := timeout(c.target, c.asked); got != c.want {
			t.Errorf("asked for %s of a target that needs %s: %s", c.asked, c.target.StepTimeout, got)
		}
	}
}
