package replay

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Until replays a recorded run up to a step: that step is the last one taken. It calls stop before this step, unless
// stop is nil: a debugger can be attached then. No time of the run passes in the meantime, in systems in virtual time.
// The recording that it returns has the steps taken, whose effects a reader can look at; its verdict says nothing,
// because the run is not over.
func Until(ctx context.Context, plan lockstep.Plan, t *trace.Trace, step int, stop func()) (*trace.Trace, error) {
	if last := len(t.Records) - 1; step < 1 || step > last {
		return nil, fmt.Errorf("replay: step %d, allowed are 1..%d", step, last)
	}
	part := *t
	if t.Records[step].Settle {
		part.Records = t.Records[:step+1]
	} else {
		part.Records, part.Header.Settle = t.Records[:step+1], 0
	}
	if stop != nil {
		plan.Watchdog = nil // the debugger may take any time
	}
	b, err := lockstep.NewRunnerFor(plan, &part)
	if err != nil {
		return nil, err
	}
	b.KeepOrder(true)
	p := &stopper{Player: lockstep.NewPlayer(trace.ScriptOf(&part), part.Rounds).Wait(), at: step - 1, stop: stop}
	again, err := b.Record(ctx, t.Header.Run, p)
	if closed := b.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	again.Header = t.Header
	again.Records = again.Records[:min(len(again.Records), step+1)]
	return again, nil
}

// stopper is a player that stops before a step.
type stopper struct {
	*lockstep.Player
	at   int
	stop func()
}

// Next takes the next step.
func (s *stopper) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if turn.Steps() == s.at && s.stop != nil {
		s.stop()
		s.stop = nil
	}
	return s.Player.Next(turn, next)
}
