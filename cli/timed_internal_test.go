package cli

import (
	"context"
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

// A campaign that continues for a while after its time is reported, and one that ends in time is not.
func TestOvertime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, long := range []bool{false, true} {
			reports := 0
			ctx, cancel := context.WithCancel(t.Context())
			ended := overtime(ctx, func() { reports++ })
			time.Sleep(time.Minute)
			cancel()
			if long {
				time.Sleep(2 * grace)
			}
			ended()
			synctest.Wait()
			if want := map[bool]int{true: 1}[long]; reports != want {
				t.Errorf("%d reports, not %d", reports, want)
			}
		}
	})
}
