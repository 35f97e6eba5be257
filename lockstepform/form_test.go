package lockstepform_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/internal/testkit/steps"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// word is a message of the small protocols of these tests.
type word struct {
	phase, round int32
	text         string
}

// talker is a node whose behavior is a function.
type talker struct {
	self  lockstep.Node
	heard []string
	phase int32
	hear  func(t *talker, c *sim.Context[word], from lockstep.Node, w word)
	fire  func(t *talker, c *sim.Context[word])
}

func (t *talker) Start(c *sim.Context[word]) {
	if t.fire != nil {
		c.SetTimeout(1)
	}
}
func (t *talker) Timeout(c *sim.Context[word])                             { t.fire(t, c) }
func (t *talker) Request(c *sim.Context[word], _ int32, text string)       { t.heard = append(t.heard, text) }
func (t *talker) Receive(c *sim.Context[word], from lockstep.Node, w word) { t.hear(t, c, from, w) }
func (t *talker) String() string {
	return fmt.Sprintf("phase=%d heard=%s", t.phase, strings.Join(t.heard, ","))
}
func (t *talker) Fingerprint() uint64 {
	h := mix.Start
	h.Text(t.String())
	return uint64(h)
}

func talkers(tagged bool, make func(t *talker)) sim.Cluster[word] {
	c := sim.Cluster[word]{Name: "talkers", Nodes: 3,
		New: func(self lockstep.Node, _ int) sim.Node[word] {
			t := &talker{self: self}
			make(t)
			return sim.With(t, sim.Capabilities[word]{State: t.String, Fingerprint: t.Fingerprint})
		},
		Type:  func(w word) string { return strings.TrimRight(w.text, "0123456789") },
		Text:  func(w word) string { return fmt.Sprintf("%s %d %d", w.text, w.phase, w.round) },
		Parse: func(s string) (w word, err error) { _, err = fmt.Sscan(s, &w.text, &w.phase, &w.round); return },
	}
	if tagged {
		c.Rounds = []string{"Ask", "Answer"}
		c.Tag = func(w word) trace.Tag { return trace.Tag{Phase: w.phase, Round: w.round} }
	}
	return c
}

// asker is a tagged protocol in which node 1 asks in phases and counts the answers. It also counts those of earlier
// phases unless it is strict.
func asker(strict bool) sim.Cluster[word] {
	return talkers(true, func(t *talker) {
		if t.self == 1 {
			t.fire = func(t *talker, c *sim.Context[word]) {
				t.phase++
				c.Broadcast(word{t.phase, 0, "ask"})
				c.SetTimeout(1)
			}
		}
		t.hear = func(t *talker, c *sim.Context[word], from lockstep.Node, w word) {
			switch {
			case w.text == "boom":
				panic("boom")
			case w.round == 0:
				c.Send(from, word{w.phase, 1, "answer"})
			case !strict || w.phase == t.phase:
				t.heard = append(t.heard, fmt.Sprintf("%d/%d", from, w.phase))
			}
		}
	})
}

func timer(n lockstep.Node) lockstep.Step { return lockstep.Step{Kind: trace.Timer, Node: n} }
func deliver(m trace.ID) lockstep.Step    { return lockstep.Step{Kind: trace.Deliver, Msg: m} }

// form records the run with the given steps and searches for its lock-step form.
func form(t *testing.T, system lockstep.System, s lockstep.Strategy) (*trace.Trace, *lockstepform.Result) {
	t.Helper()
	plan := lockstep.Plan{System: system, Strategy: s}
	run, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	res, err := lockstepform.Form(t.Context(), plan, run)
	if err != nil {
		t.Fatal(err)
	}
	if res.Trace != nil {
		again, err := replay.Run(t.Context(), plan, res.Trace)
		if err != nil || again.Difference != "" || again.Trace.Outcome.Verdict != run.Outcome.Verdict {
			t.Fatalf("the form replays to %+v, %v", again, err)
		}
	}
	return run, res
}

// The asker's messages: 1, 2, 3 are the questions of the first timer, 4, 5, 6 those of the second.
var lateAnswer = steps.List{timer(1), timer(1), deliver(2), deliver(7), deliver(5), deliver(8)}

func TestLateMessageBreaksRounds(t *testing.T) {
	_, res := form(t, asker(false), lateAnswer)
	if res.Trace != nil || res.Break == nil {
		t.Fatalf("%+v", res)
	}
	want := `step 4 delivers 2->1 answer answer 1 1 of phase 1, round 1, when node 1 was in phase 2, round 0; its state became "phase=2 heard=2/1"`
	if got := res.Break.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestIgnoredLateMessageIsLost(t *testing.T) {
	_, res := form(t, asker(true), lateAnswer)
	if res.Trace == nil {
		t.Fatalf("%+v", res)
	}
	// Neither the late answer nor its question has an effect.
	if res.Ignored != 2 || len(res.Trace.Rounds) != 2 {
		t.Errorf("%d ignored, %d rounds", res.Ignored, len(res.Trace.Rounds))
	}
	if got := final(res.Trace, 1); got != "phase=2 heard=2/2" {
		t.Errorf("node 1 ends in %s", got)
	}
}

func final(t *trace.Trace, n trace.Node) (state string) {
	for _, r := range t.Records {
		for _, s := range r.States {
			if s.Node == n {
				state = s.Text
			}
		}
	}
	return state
}

func TestMeasureCountsLateChanges(t *testing.T) {
	for _, strict := range []bool{false, true} {
		plan := lockstep.Plan{System: asker(strict), Strategy: lateAnswer}
		m, err := lockstepform.Measure(t.Context(), plan, 2)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%+v", *m)
		want := "{Runs:2 Closed:0 Types:[{Type:answer Delivered:4 Late:2 Changed:2} {Type:ask Delivered:4 Late:0 Changed:0}]}"
		if strict {
			want = "{Runs:2 Closed:2 Types:[{Type:answer Delivered:4 Late:2 Changed:0} {Type:ask Delivered:4 Late:0 Changed:0}]}"
		}
		if got != want {
			t.Errorf("strict %v: got %s", strict, got)
		}
	}
}

func TestPanicKeepsItsForm(t *testing.T) {
	forge := lockstep.Step{Kind: trace.Replace, Msg: 5}
	run, res := form(t, asker(true),
		steps.Forging{List: steps.List{timer(1), timer(1), deliver(2), forge, deliver(5)}, Body: "boom 2 0"})
	if run.Outcome.Finding == nil || res.Trace == nil {
		t.Fatalf("%+v, %+v", run.Outcome, res)
	}
	if f := res.Trace.Outcome.Finding; f == nil || f.Property != "panic" {
		t.Errorf("%+v", res.Trace.Outcome)
	}
	if _, err := shrink.Run(t.Context(), lockstep.Plan{System: asker(true)}, res.Trace, shrink.Options{}); err != nil {
		t.Error(err)
	}
}

// relay is an untagged protocol: node 1 sends to nodes 2 and 3 on every timer, and node 2 forwards to node 3.
func relay() sim.Cluster[word] {
	return talkers(false, func(t *talker) {
		if t.self == 1 {
			t.fire = func(t *talker, c *sim.Context[word]) {
				t.phase++
				text := "news" + strconv.Itoa(int(t.phase))
				c.Send(2, word{text: text})
				c.Send(3, word{text: text})
				c.SetTimeout(1)
			}
		}
		t.hear = func(t *talker, c *sim.Context[word], from lockstep.Node, w word) {
			t.heard = append(t.heard, fmt.Sprintf("%s/%d", w.text, from))
			if t.self == 2 {
				c.Send(3, w)
			}
		}
	})
}

// The relay's messages: 1 and 2 are those of the first timer to nodes 2 and 3.
func TestCausalLayers(t *testing.T) {
	for _, c := range []struct {
		name   string
		steps  steps.List
		rounds int    // 0: none
		breaks string // the message that breaks them
	}{
		{"in order", steps.List{timer(1), deliver(1), deliver(2), deliver(3)}, 2, ""},
		{"reordered", steps.List{timer(1), deliver(2), deliver(1), deliver(3)}, 2, ""},
		{"second before first", steps.List{timer(1), timer(1), deliver(3), deliver(1), deliver(4), deliver(2)}, 1, ""},
		{"relayed news before its source's", steps.List{timer(1), deliver(1), deliver(3), deliver(2)}, 0, "1->3 news"},
		{
			"old news after new in another layer",
			steps.List{timer(1), deliver(1), deliver(3), timer(1), deliver(5)},
			2,
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, res := form(t, relay(), c.steps)
			switch {
			case c.rounds == 0 && (res.Trace != nil || res.Break == nil):
				t.Errorf("%+v", res)
			case c.rounds == 0 && res.Break.Message.String() != c.breaks:
				t.Errorf("blamed is %s: %s", res.Break, res.Reason)
			case c.rounds > 0 && res.Trace == nil:
				t.Errorf("%s, %v", res.Reason, res.Break)
			case c.rounds > 0 && len(res.Trace.Rounds) != c.rounds:
				_ = report.Grid(os.Stdout, res.Trace, report.Options{})
				t.Errorf("%d rounds, want %d", len(res.Trace.Rounds), c.rounds)
			}
		})
	}
}

func TestRunInRoundsIsItsOwnForm(t *testing.T) {
	plan := lockstep.Plan{System: asker(true), Strategy: strategy.Uniform{Period: 2, Rounds: 4}}
	run, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	res, err := lockstepform.Form(t.Context(), plan, run)
	if err != nil || res.Trace != run {
		t.Errorf("%+v, %v", res, err)
	}
}

// as is a system with a changed description.
type as struct {
	lockstep.System
	change func(*lockstep.Info)
}

func (a as) Describe() (lockstep.Info, error) {
	info, err := a.System.Describe()
	a.change(&info)
	return info, err
}

// TestNoFormOfSuchSystems checks that Form reports why a system has no lock-step forms.
func TestNoFormOfSuchSystems(t *testing.T) {
	run, err := lockstep.Record(t.Context(), lockstep.Plan{System: asker(true), Strategy: lateAnswer}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*lockstep.Info){
		"talkers is not deterministic": func(i *lockstep.Info) {
			i.Determinism = lockstep.BestEffort
		},
		"the messages of talkers are not in the engine's hands": func(i *lockstep.Info) {
			i.Supports &^= trace.KindsOf(trace.Deliver)
		},
	} {
		res, err := lockstepform.Form(t.Context(), lockstep.Plan{System: as{asker(true), change}}, run)
		if err != nil || res.Trace != nil || !strings.Contains(res.Reason, want) {
			t.Errorf("%+v, %v, want %s", res, err, want)
		}
	}
}

func TestFormRefusesWhatCannotBeRepeated(t *testing.T) {
	run, err := lockstep.Record(t.Context(), lockstep.Plan{System: asker(true), Strategy: lateAnswer}, 0)
	if err != nil {
		t.Fatal(err)
	}
	was := run.Records[3].Text
	run.Records[3].Text = "something else"
	if _, err := lockstepform.Form(t.Context(), lockstep.Plan{System: asker(true)}, run); err == nil ||
		!strings.Contains(err.Error(), "cannot be repeated") {
		t.Errorf("error %v", err)
	}
	if _, err := lockstepform.Form(t.Context(), lockstep.Plan{}, run); err == nil ||
		!strings.Contains(err.Error(), "needs a System") {
		t.Errorf("a plan without a system: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run.Records[3].Text = was
	res, err := lockstepform.Form(t.Context(), lockstep.Plan{System: asker(true)}, run)
	if err != nil || res.Trace == nil {
		t.Errorf("the run as it was: %+v, %v", res, err)
	}
	if _, err := lockstepform.Form(ctx, lockstep.Plan{System: asker(true)}, run); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// An environment that breaks once, at any time, is an error and never the reason why there is no form.
func TestFormErrors(t *testing.T) {
	plan := lockstep.Plan{
		System:   smr.Cluster{Nodes: 3, Bug: true},
		Spec:     smr.Prefix,
		Strategy: strategy.DefaultWalk,
		Runs:     5000,
	}
	small, err := shrink.Run(t.Context(), plan, toy.Find(t, plan)[0].Trace, shrink.Options{Attempts: 300})
	if err != nil {
		t.Fatal(err)
	}
	inUse := errors.New("port in use")
	for at := 1; ; at++ {
		steps := 0
		broken := plan
		broken.System = toy.Wrapped{
			System: plan.System,
			Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step, out *lockstep.Outbox) error {
				if steps++; steps == at {
					return inUse
				}
				return d.Do(ctx, s, out)
			},
		}
		form, err := lockstepform.Form(t.Context(), broken, small.Trace)
		if steps < at {
			if at < 50 || err != nil || form.Trace == nil {
				t.Errorf("a form takes %d steps: %+v, %v", steps, form, err)
			}
			return
		}
		if !errors.Is(err, inUse) {
			t.Fatalf("broken in step %d: %+v, error %v", at, form, err)
		}
	}
}
