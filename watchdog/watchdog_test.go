package watchdog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/watchdog"
)

func ExampleAfter() {
	plan := lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix, Runs: 10,
		Watchdog: watchdog.After(time.Minute)}
	r, err := lockstep.Explore(context.Background(), plan)
	fmt.Println(r.Runs, r.Verdict(), err)
	// Output: 10 pass <nil>
}

func TestAfter(t *testing.T) {
	if watchdog.After(0) != nil {
		t.Error("no timeout is not a watchdog")
	}
	look, stop := watchdog.After(time.Nanosecond)()
	<-look
	stop()
}
