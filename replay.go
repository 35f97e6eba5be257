package lockstep

import (
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// Replay repeats a recorded run by its choices on the plan's system and judges it by
// the plan's spec; the plan's strategy is not asked. It returns the new recording. Its
// outcome is that of the trace when every step caused what the trace says; otherwise
// the verdict is flaky and the reason names the first step that differs.
func Replay(plan Plan, t *trace.Trace) (*trace.Trace, error) {
	w, err := newReplayer(plan, t)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.replay = t
	again, err := w.record(t.Header.Run)
	again.Header = t.Header
	again.Rounds = t.Rounds
	for i := range again.Records {
		if i < len(t.Records) {
			again.Records[i].Round = t.Records[i].Round
		}
	}
	reason := firstDifference(t, again)
	switch {
	case reason == "" && err != nil: // nothing differed, but the next step is impossible now
		reason = err.Error()
	case reason == "":
		reason = differentEnd(t, again)
	}
	if reason != "" {
		again.Outcome = trace.Outcome{Verdict: trace.Flaky, Reason: reason, Steps: max(len(again.Records)-1, 0)}
	}
	return again, nil
}

// newReplayer makes a worker that repeats runs of a trace: same system, same seed, no
// hand of a scenario in it.
func newReplayer(plan Plan, t *trace.Trace) (*worker, error) {
	if plan.Strategy == nil {
		plan.Strategy = recorded(t.Header.Strategy)
	}
	plan.Seed, plan.Settle = t.Header.Seed, t.Header.Settle
	plan, info, err := plan.check()
	if err != nil {
		return nil, err
	}
	if info.Name != t.Header.Target || info.Nodes != t.Header.Nodes {
		return nil, fmt.Errorf("lockstep: the trace is of %s with %d nodes, the plan's system is %s with %d nodes",
			t.Header.Target, t.Header.Nodes, info.Name, info.Nodes)
	}
	plan.Limits.Steps = max(plan.Limits.Steps, len(t.Records))
	w := newWorker(plan, info)
	w.run.hand.mute = true
	return w, nil
}

// follow takes the steps of the recorded run.
func (w *worker) follow() (*Finding, error) {
	r := w.run
	for i := range w.replay.Records {
		rec := &w.replay.Records[i]
		if rec.Step.Kind == trace.Start {
			continue
		}
		r.settling = rec.Settle
		*r.next = rec.Step
		if rec.Step.Kind == trace.Replace {
			r.next.Request = r.Forge(rec.Step.Msg, rec.Body).Request
		}
		if f, err := w.step(); f != nil || err != nil {
			return f, err
		}
	}
	r.settling, r.settled = w.plan.Settle > 0, w.plan.Settle > 0
	return nil, nil
}

// recorded stands for the strategy that made a trace, which a replay does not need.
type recorded string

func (s recorded) String() string         { return string(s) }
func (recorded) Check(Info) error         { return nil }
func (recorded) New(Info) Scheduler       { return recorded("") }
func (recorded) Guarantee(Info) Guarantee { return Guarantee{} }
func (recorded) Reset(Start)              {}
func (recorded) Next(*Run, *Step) bool    { return false }

// firstDifference names the first step that did not cause what it had caused before.
func firstDifference(want, got *trace.Trace) string {
	for i := range min(len(want.Records), len(got.Records)) {
		if d := differentRecord(&want.Records[i], &got.Records[i]); d != "" {
			return fmt.Sprintf("step %d (%s): %s", i, describe(&want.Records[i]), d)
		}
	}
	return ""
}

// differentEnd says how the ends of two recordings differ.
func differentEnd(want, got *trace.Trace) string {
	was, is := outcomeText(want.Outcome), outcomeText(got.Outcome)
	switch {
	case len(want.Records) != len(got.Records):
		return fmt.Sprintf("the trace has %d steps and ended with %s, the replay %d and ended with %s",
			want.Outcome.Steps, was, got.Outcome.Steps, is)
	case was != is:
		return fmt.Sprintf("the trace ended with %s, the replay with %s", was, is)
	}
	return ""
}

func describe(r *trace.Record) string {
	if r.Text == "" {
		return r.Step.Kind.String()
	}
	return r.Step.Kind.String() + " " + r.Text
}

func outcomeText(o trace.Outcome) string {
	if o.Finding != nil {
		return o.Finding.String()
	}
	return "verdict " + string(o.Verdict)
}

func differentRecord(want, got *trace.Record) string {
	if want.Text != got.Text {
		return fmt.Sprintf("it was %q, now %q", want.Text, got.Text)
	}
	if d := differentList("message", want.Sent, got.Sent, func(s trace.Sent) string { return s.Text }); d != "" {
		return d
	}
	if d := differentList("event", want.Events, got.Events, func(e trace.Event) string {
		return fmt.Sprintf("%d %s %s", e.Node, e.Type, e.Text)
	}); d != "" {
		return d
	}
	return differentList("state", want.States, got.States, func(s trace.State) string {
		return fmt.Sprintf("%d %s", s.Node, s.Text)
	})
}

// differentList compares what a step caused, thing by thing, in words.
func differentList[T any](what string, want, got []T, text func(T) string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i == len(want):
			return fmt.Sprintf("%s %q is new", what, text(got[i]))
		case i == len(got):
			return fmt.Sprintf("%s %q is missing", what, text(want[i]))
		case text(want[i]) != text(got[i]):
			return fmt.Sprintf("%s was %q, now %q", what, text(want[i]), text(got[i]))
		}
	}
	return ""
}
