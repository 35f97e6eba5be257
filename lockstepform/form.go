package lockstepform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Result is the lock-step form of a run, or why there is none.
type Result struct {
	// Trace is the form: a run in rounds that can be drawn, replayed and shrunk like any other. It is nil if no
	// equivalent run in rounds was found.
	Trace *trace.Trace
	// Break is the first delivery that breaks the round structure, if Trace is nil and a delivery is the cause.
	Break *Break
	// Reason explains as text why there is no form.
	Reason string
	// Ignored counts the deliveries that had no effect and are lost in the form.
	Ignored int
	// Swapped counts the deliveries that a node takes in another order than in the original run. Their messages were
	// delivered before their round, and wait for it in the form.
	Swapped int
}

// Break is a delivery that breaks the round structure of a run.
type Break struct {
	Step    int // number of the step in the run
	Message trace.Message
	Text    string    // the message's content
	At      trace.Tag // the round of the receiver; without tags, Phase is the layer
	Was, Is string    // the receiver's state before and after
}

// String describes the break in a sentence.
func (b *Break) String() string {
	s := fmt.Sprintf("step %d delivers %s", b.Step, b.Message)
	if b.Text != "" {
		s += " " + b.Text
	}
	if b.Message.Tag != (trace.Tag{}) {
		s += fmt.Sprintf(" of phase %d, round %d", b.Message.Tag.Phase, b.Message.Tag.Round)
	}
	switch {
	case b.At == trace.Tag{}:
	case b.Message.Tag == trace.Tag{}:
		s += fmt.Sprintf(", when node %d was in causal layer %d", b.Message.To, b.At.Phase)
	default:
		s += fmt.Sprintf(", when node %d was in phase %d, round %d", b.Message.To, b.At.Phase, b.At.Round)
	}
	if b.Was != b.Is {
		s += fmt.Sprintf("; its state became %q", b.Is)
	}
	return s
}

// Form rewrites a recorded run into lock-step rounds. It reruns the plan's system to learn the effects of each step,
// and then runs it in rounds; it does not use the plan's strategy. Form accepts the result only if every node takes the
// same steps with the same effects and goes through the same states. It compares states by their texts and
// fingerprints. The result must also violate the same property. A message delivered before its round waits for it;
// states are then compared where the node has taken the same steps in both runs. A message delivered after its round
// that changed a state breaks the rounds, whatever the change.
//
// A run in rounds whose deliveries all respect the rounds is its own form. Form returns an error if the run could not
// be repeated, if the environment is broken, or if the context ended.
func Form(ctx context.Context, plan lockstep.Plan, t *trace.Trace) (*Result, error) {
	if len(t.Rounds) > 0 && rounds.Check(t) == nil {
		return &Result{Trace: t}, nil
	}
	if plan.System == nil {
		return nil, errors.New("lockstepform: a plan needs a System")
	}
	info, err := plan.System.Describe()
	if err != nil {
		return nil, err
	}
	switch {
	case info.Determinism != lockstep.Deterministic:
		return &Result{
			Reason: info.Name + " is not deterministic (best effort), so that no two of its runs can be compared step by step",
		}, nil
	case !info.Supports.Has(trace.Deliver):
		return &Result{Reason: "the messages of " + info.Name + " are not in the engine's hands"}, nil
	}
	plan.Steps, plan.Progress = 0, nil
	seen, t, err := repeat(ctx, plan, t)
	if err != nil {
		return nil, err
	}
	f := former{ctx: ctx, plan: plan, trace: t, info: info}
	var res *Result
	for c := visible; c < careEnd; c++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := f.form(needed(seen.moments, c))
		if err != nil {
			return nil, err
		}
		if next.Trace != nil {
			next.Ignored = ignored(seen.moments, c)
			return next, nil
		}
		if res == nil || res.Break == nil {
			res = next
		}
	}
	res.Ignored = ignored(seen.moments, visible)
	if rounds.Ticks(&info) && slices.ContainsFunc(seen.moments, (*moment).movedByTime) {
		res.Reason += "; time passes for all nodes at once, " +
			"and what it moves cannot change places with what nodes do before and after"
	}
	return res, nil
}

// ignored counts the deliveries that are not needed.
func ignored(moments []*moment, c care) (number int) {
	for _, m := range moments {
		if m.deliver() {
			number++
		}
	}
	for _, m := range needed(moments, c) {
		if m.deliver() {
			number--
		}
	}
	return number
}

func lay(ctx context.Context, steps []*moment, info lockstep.Info) (*layout, error) {
	if len(info.Rounds) > 0 {
		return byTags(steps, info.Rounds, info.Nodes)
	}
	return byLayers(ctx, steps, info.Nodes)
}

// repeat replays a run and records the effects of its steps. It also returns the new recording: after a small change of
// the system, that is the run to rewrite.
func repeat(ctx context.Context, plan lockstep.Plan, t *trace.Trace) (*watch, *trace.Trace, error) {
	w := &watch{}
	plan.Observers = []lockstep.Observer{w}
	again, err := replay.Run(ctx, plan, t)
	if err != nil {
		return nil, nil, err
	}
	if again.Difference != "" && again.Trace.Outcome.Verdict != trace.Fail {
		return nil, nil, fmt.Errorf("lockstepform: the run cannot be repeated: %s", again.Difference)
	}
	t = again.Trace
	if k := len(t.Records); len(w.moments) < k && k > 0 && t.Outcome.Finding != nil { // the last step panicked
		w.moments = append(w.moments, w.panicked(t))
	}
	forged := map[trace.ID]string{} // the bodies that replace those of messages
	for i, m := range w.moments {
		rec := &t.Records[i]
		if rec.Step.Kind == trace.Replace {
			forged[rec.Step.Msg] = rec.Body
		}
		m.forged = forged[m.msg.ID]
		if rec.Settle { // the fair steps of the settling stage have no schedule to regroup
			w.moments = w.moments[:i]
			break
		}
		m.number = i
	}
	return w, t, nil
}

// panicked returns the step in which the system panicked; only the choice is known.
func (w *watch) panicked(t *trace.Trace) *moment {
	rec := &t.Records[len(t.Records)-1]
	m := &moment{step: rec.Step, node: rec.Step.Node, changed: true}
	if sent, ok := t.Message(rec.Step.Msg); ok && m.deliver() {
		m.msg, m.node = sent.Message, sent.To
		m.content = w.contents[sent.ID-1]
	}
	return m
}

func (r *Result) blame(m *moment) {
	if m != nil && m.deliver() {
		r.Break = &Break{Step: m.number, Message: m.msg, Text: m.content, At: m.at, Was: m.was, Is: m.is}
	}
}

// former attempts to build a run in rounds.
type former struct {
	ctx   context.Context
	plan  lockstep.Plan
	trace *trace.Trace
	info  lockstep.Info
}

// form lays out steps and runs them, leaving as much as possible to the rules of rounds. It first leaves timers and the
// order of delivery to them, then one of these, then neither. Runs that follow the rules are easier to read and to
// shrink.
func (f *former) form(steps []*moment) (*Result, error) {
	res := &Result{}
	l, err := lay(f.ctx, steps, f.info)
	if stopped := f.ctx.Err(); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		res.Reason = err.Error()
		var e *misplaced
		if errors.As(err, &e) {
			res.blame(e.m)
		}
		return res, nil
	}
	for _, exact := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		if !exact[0] && len(f.info.Rounds) == 0 {
			continue // without tags, timers fire when no message is in flight, which is not meaningful
		}
		s := &regroup{layout: l, exactTimers: exact[0], exactOrder: exact[1]}
		t, d, err := f.try(s)
		if err != nil {
			return nil, err
		}
		if d != nil {
			res.Reason, res.Break = d.why, nil
			res.blame(d.culprit)
			continue
		}
		s.kernels = isolations(t, s.scheduler.made)
		isolated, d, err := f.try(s)
		if err != nil {
			return nil, err
		}
		if d == nil {
			t = isolated
		}
		return &Result{Trace: t, Swapped: l.swapped()}, nil
	}
	return res, nil
}

// try executes the run and compares it with the original one, first without a spec, so that no finding ends it early.
// The returned trace was recorded with the plan's spec.
func (f *former) try(s *regroup) (*trace.Trace, *difference, error) {
	w := &watch{}
	plan := f.plan
	plan.Spec, plan.Scenario, plan.Observers = nil, nil, []lockstep.Observer{w}
	t, err := f.make(plan, s)
	if err != nil {
		return nil, nil, err
	}
	broken := t.Outcome.Finding != nil // without a spec, only a panic is a finding
	if d := compare(s.layout, w.moments, s.scheduler.made, broken); d != nil {
		return nil, d, nil
	}
	plan.Spec, plan.Scenario, plan.Observers = f.plan.Spec, f.plan.Scenario, nil
	t, err = f.make(plan, s)
	if err != nil {
		return nil, nil, err
	}
	if !sameFinding(f.trace.Outcome.Finding, t.Outcome.Finding) {
		return nil, &difference{
			why: fmt.Sprintf("all nodes go through the same states in rounds, but the finding is %s instead of %s",
				findingText(t.Outcome.Finding), findingText(f.trace.Outcome.Finding)),
		}, nil
	}
	t.Header = f.trace.Header
	t.Header.Drawn = nil
	return t, nil, nil
}

// make records the run in rounds.
func (f *former) make(plan lockstep.Plan, s *regroup) (*trace.Trace, error) {
	plan.Strategy = s
	b, err := lockstep.NewRunnerFor(plan, f.trace)
	if err != nil {
		return nil, err
	}
	t, err := b.Record(f.ctx, f.trace.Header.Run, nil)
	return t, errors.Join(err, b.Close())
}

func findingText(f *trace.Finding) string {
	if f == nil {
		return "none"
	}
	return f.String()
}

// sameFinding reports whether two equivalent runs violate the same property with the same values. The order of the
// nodes may differ, and with it the text.
func sameFinding(a, b *trace.Finding) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Property == b.Property &&
		slices.Equal(slices.Sorted(slices.Values(a.Values)), slices.Sorted(slices.Values(b.Values)))
}
