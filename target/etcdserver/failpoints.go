package etcdserver

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/failpoint"
)

// EventFailpoint is the type of event that reports a goroutine paused at a failpoint; the value is its name.
const EventFailpoint = "failpoint"

// stands is the maximum time for which a goroutine pauses at a failpoint.
const stands = 300 * time.Millisecond

// anywhere stands for all failpoints.
const anywhere = "any"

// failpoints parses the probabilities of a pause at failpoints, "raftBeforeSave:0.1,walBeforeSync:0.01", in
// thousandths. All lists the existing failpoints.
func failpoints(text string, all []string) (map[string]int, error) {
	shares := map[string]int{}
	if text == "" {
		return shares, nil
	}
	if len(all) == 0 {
		return nil, fmt.Errorf(
			"etcdserver: failpoints is %q, but this build has none: the target etcdserver-failpoints has", text)
	}
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(part, ":")
		share, err := strconv.ParseFloat(number, 64)
		if err != nil || !(share >= 0.001 && share <= 1) || name != anywhere && !slices.Contains(all, name) {
			return nil, fmt.Errorf(
				"etcdserver: failpoints has %q, allowed are NAME:SHARE with a share of 0.001 to 1 and a name of: %s %s",
				part, anywhere, strings.Join(all, " "))
		}
		shares[name] = int(math.Round(share * 1000))
	}
	return shares, nil
}

// pauseAtFailpoints makes goroutines sometimes pause at failpoints: then the strategy can crash the node there, and
// other goroutines can overtake them.
func pauseAtFailpoints(w *bubble.World, shares map[string]int) {
	if len(shares) == 0 {
		failpoint.Set(nil)
		return
	}
	chance := w.Source(2000)
	failpoint.Set(func(name string) {
		share := max(shares[name], shares[anywhere])
		if share == 0 || w.Settling() || chance.IntN(1000) < 1000-share {
			return
		}
		w.Event(lockstep.Event{Node: w.CallerNode(), Type: EventFailpoint, Value: name})
		time.Sleep(time.Millisecond + time.Duration(chance.IntN(int(stands/time.Millisecond)))*time.Millisecond)
	})
}
