// Package replay reruns a recorded run step by step and reports the result.
//
// Messages are identified by their names (see [trace.Name]). A trace can therefore be followed as far as possible after
// small changes of the system.
//
// Three places rerun a recorded run several times and count: the engine, this package and package shrink. They stay
// apart because each stops for another reason. The engine counts all repetitions in the worker that found the failure,
// replay compares each with the recording, and shrink stops when a candidate can no longer reach its share.
package replay

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Replayed is the result of replaying a recorded run.
type Replayed struct {
	// Trace is the new recording. Its verdict is fail if the run violates the property of the trace again, whatever
	// else differs. It is flaky if two replays differ; the second replay takes place if the first neither matches the
	// trace nor violates the same property. Otherwise it is the verdict of the new run.
	Trace *trace.Trace
	// Difference describes the first step whose effects differ from the trace. It is empty if all steps and the end
	// agree.
	Difference string
	// Failed and Of count, for a system with best-effort determinism, the failing repetitions and all repetitions.
	Failed, Of int
}

// Run replays a recorded run by its choices on the plan's system and checks it by the plan's spec; the plan's strategy
// is not used. It returns an error if the plan cannot be run, its system is not that of the trace, or the environment
// is broken.
func Run(ctx context.Context, plan lockstep.Plan, t *trace.Trace) (*Replayed, error) {
	b, err := lockstep.NewRunnerFor(plan, t)
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

func repeat(ctx context.Context, b *lockstep.Runner, plan lockstep.Plan, t *trace.Trace) (*Replayed, error) {
	if b.Info().Determinism == lockstep.BestEffort {
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
		r.Trace.Outcome = trace.Outcome{
			Verdict: trace.Flaky,
			Reason:  "repeated twice, the run came out in two ways: " + d,
			Steps:   r.Trace.Outcome.Steps,
		}
	}
	return r, nil
}

// once replays the trace and compares.
func once(ctx context.Context, b *lockstep.Runner, t *trace.Trace) (*Replayed, error) {
	player := lockstep.NewPlayer(trace.ScriptOf(t), t.Rounds).Wait()
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

// several replays the trace as often as the plan says and counts the failures. The engine's own confirmation only
// counts. Each repetition here is recorded and compared with the trace, so that the best one can be shown.
func several(ctx context.Context, b *lockstep.Runner, plan lockstep.Plan, t *trace.Trace) (*Replayed, error) {
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

// Words returns a short summary of a replay, for people.
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
		s = "fixed: the run now passes"
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
