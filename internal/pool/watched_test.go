package pool_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/pool"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

func TestWatched(t *testing.T) {
	release, look := make(chan struct{}), make(chan time.Time, 3)
	ended := make(chan struct{})
	for range 3 {
		look <- time.Time{}
	}
	asked := 0
	_, done := pool.Watched(t.Context(), func() int { <-release; close(ended); return 1 }, look,
		func() bool { asked++; return asked < 3 })
	if done || asked != 3 {
		t.Errorf("done %v, asked %d times", done, asked)
	}
	close(release)
	<-ended
}

// When the context ends, the caller no longer waits for work that does not end.
func TestWatchedInterrupted(t *testing.T) {
	tier.NotShort(t)
	release, ended := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	if _, done := pool.Watched(ctx, func() int { cancel(); <-release; close(ended); return 1 }, nil, nil); done {
		t.Error("it is done")
	}
	close(release)
	<-ended
}

func ExampleWatched() {
	fmt.Println(pool.Watched(context.Background(), func() int { return 7 }, nil, nil))
	// Output: 7 true
}
