// Package replay repeats a recorded run step by step and tells what became of it.
//
// Messages go by their names (see [trace.Name]), so that a trace can be followed after the
// system was changed a little, as far as it goes.
package replay

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Replayed is a recorded run that was made again.
type Replayed struct {
	// Trace is the new recording. Its verdict is fail where the property of the trace is
	// violated again, whatever else is different; flaky where the run of a trace that
	// failed, or one that differs from its trace, came out in two ways when it was repeated
	// twice; otherwise what the run came to.
	Trace *trace.Trace
	// Difference tells the first step that did not cause what the trace says, and is empty
	// where all did and the end is the same.
	Difference string
	// Failed and Of say, for a system that repeats itself only roughly, that the run failed
	// in so many of so many repetitions.
	Failed, Of int
}

// Run repeats a recorded run by its choices on the plan's system and judges it by the plan's
// spec; the plan's strategy is not asked. An error means that the plan cannot be run, that its
// system is not that of the trace, or that the environment is broken.
func Run(ctx context.Context, plan lockstep.Plan, t *trace.Trace) (*Replayed, error) {
	b, err := lockstep.NewBenchFor(plan, t)
	if err != nil {
		return nil, err
	}
	b.KeepOrder(true)
	r, err := repeat(ctx, b, plan, t)
	if closed := b.Close(); err == nil {
		err = closed
	}
	return r, err
}

func repeat(ctx context.Context, b *lockstep.Bench, plan lockstep.Plan, t *trace.Trace) (*Replayed, error) {
	if b.Info().Repeats == lockstep.Roughly {
		return several(ctx, b, plan, t)
	}
	r, err := once(ctx, b, t)
	if err != nil || r.Difference == "" || sameProperty(t, r.Trace) {
		return r, err
	}
	again, err := once(ctx, b, t)
	if err != nil {
		return nil, err
	}
	if d := trace.Difference(r.Trace, again.Trace); d != "" {
		r.Trace.Outcome = trace.Outcome{Verdict: trace.Flaky, Reason: "repeated twice, the run came out in two ways: " + d, Steps: r.Trace.Outcome.Steps}
	}
	return r, nil
}

// once plays the trace and compares.
func once(ctx context.Context, b *lockstep.Bench, t *trace.Trace) (*Replayed, error) {
	player := lockstep.NewPlayer(trace.ScriptOf(t), t.Rounds).Patiently()
	again, err := b.Record(ctx, t.Header.Run, player)
	if err != nil {
		return nil, err
	}
	again.Header = t.Header
	r := &Replayed{Trace: again, Difference: trace.Difference(t, again)}
	if sameProperty(t, again) {
		again.Outcome.Reason = r.Difference
	}
	return r, nil
}

// several plays the trace as often as the plan says and counts how often it fails. The engine's own confirmation only
// counts; each repetition here is recorded and compared with the trace, so that the best can be shown.
func several(ctx context.Context, b *lockstep.Bench, plan lockstep.Plan, t *trace.Trace) (*Replayed, error) {
	var best *Replayed
	failed, of := 0, plan.Repetitions
	if of == 0 {
		of = lockstep.DefaultRepetitions
	}
	for range of {
		r, err := once(ctx, b, t)
		if err != nil {
			return nil, err
		}
		if sameProperty(t, r.Trace) {
			failed++
		}
		if best == nil || failed == 1 && sameProperty(t, r.Trace) {
			best = r
		}
	}
	best.Failed, best.Of = failed, of
	return best, nil
}

func sameProperty(a, b *trace.Trace) bool {
	x, y := a.Outcome.Finding, b.Outcome.Finding
	return x != nil && y != nil && x.Property == y.Property
}

// Words sums up a replay in a few words, for people.
func (r *Replayed) Words(t *trace.Trace) string {
	var s string
	switch o := r.Trace.Outcome; {
	case r.Of > 0:
		s = fmt.Sprintf("failed in %d of %d repetitions", r.Failed, r.Of)
	case o.Verdict == trace.Flaky:
		return "flaky: " + o.Reason
	case sameProperty(t, r.Trace) && r.Difference == "":
		return "the same finding"
	case sameProperty(t, r.Trace):
		s = "it still fails"
	case o.Finding != nil:
		s = "another finding: " + o.Finding.String()
	case t.Outcome.Finding != nil && o.Verdict == trace.Pass:
		s = "mended: the run now passes"
	case r.Difference == "":
		return fmt.Sprintf("verdict %s, as recorded", o.Verdict)
	default:
		s = "verdict " + string(o.Verdict)
	}
	if r.Difference != "" {
		s += "; the first difference: " + r.Difference
	}
	return s
}
