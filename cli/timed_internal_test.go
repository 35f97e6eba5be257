package cli

import (
	"testing"
	"testing/synctest"
	"time"
)

// The time of a campaign is paused while at least one pause is active; pauses may overlap.
func TestTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, clock, end := newTimed(t.Context(), 10*time.Second)
		defer end()
		time.Sleep(4 * time.Second)
		first := clock.pause()
		time.Sleep(time.Hour)
		second := clock.pause()
		first()
		time.Sleep(time.Hour)
		second()
		time.Sleep(5 * time.Second)
		if ctx.Err() != nil {
			t.Fatal("it ended after nine seconds")
		}
		<-ctx.Done()
		if took := time.Since(start); took != 2*time.Hour+10*time.Second {
			t.Errorf("it ended after %v", took)
		}
		clock.pause()() // too late to matter
	})
}
