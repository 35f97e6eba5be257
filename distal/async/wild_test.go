package async_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/async"
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/internal/generate"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

var wildPrograms = flag.Int("wild", 300, "how many wild programs to try")
var wildFrom = flag.Int("wildfrom", 0, "the first of them")

// wildCount says what the wild programs put to the test.
type wildCount struct {
	programs, refused, faulty, replayed, breaches, counterexamples, sampled, faults int
}

// TestWild puts programs with everything the language has through both meanings:
//
//   - a condition that is claimed to be proved is never broken in an asynchronous run;
//   - mailboxes that forget make no difference, as long as no condition is broken;
//   - an asynchronous run that breaks no condition is found again in the sequential program;
//   - what the exhaustive search of the sequential program finds is found again asynchronously;
//   - a property of single nodes, or a fault, that a short asynchronous run breaks within the bound is broken for the
//
// search as well.
func TestWild(t *testing.T) {
	tier.NotShort(t)
	var count wildCount
	for seed := *wildFrom; seed < *wildFrom+*wildPrograms; seed++ {
		src := generate.Wild(uint64(seed))
		if err := count.try(src, uint64(seed)); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, src)
		}
	}
	t.Logf("%+v", count)
	if n := *wildPrograms; count.replayed < n || count.breaches < n/2 || count.counterexamples < n/30 ||
		count.programs < n*6/10 {
		t.Errorf("%+v: the programs show nothing", count)
	}
}

func (w *wildCount) try(src string, seed uint64) error {
	c, remarks := distal.Load(src)
	if c == nil {
		for _, e := range remarks.Errors() {
			if e.Check != "never fires" && e.Check != "rounds" {
				return fmt.Errorf("not accepted: %w", remarks)
			}
		}
		return nil // a rule that another one always precedes, a message that is never sent
	}
	w.programs++
	p, err := machine.Compile(c.Program, nil)
	if err != nil {
		return err
	}
	var runs []*async.Instance
	for run := range uint64(4) {
		mix := mixes[run%3]
		mix.Hoard = run < 2
		in := async.RandomRun(p, mix, 40, run+7*seed)
		if err := w.proofs(c, in); err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		if mix.Hoard {
			mix.Hoard = false
			if err := alike(in, async.RandomRun(p, mix, 40, run+7*seed)); err != nil {
				return fmt.Errorf("run %d: %w", run, err)
			}
		}
		runs = append(runs, in)
	}
	if len(c.Refused) > 0 {
		w.refused++
		return nil
	}
	any, err := c.ParseNetwork("any")
	if err != nil {
		return err
	}
	m, err := sequential.New(c, nil, any, core.Free)
	if err != nil {
		return err
	}
	for i, in := range runs {
		if err := w.replay(in, m); err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
	}
	if err := w.search(c, m, runs); err != nil {
		return err
	}
	for _, timeouts := range []core.Timeouts{core.Free, core.Eager} {
		own, err := sequential.New(c, nil, c.Network, timeouts)
		if err != nil {
			return err
		}
		if err := w.search(c, own, nil); err != nil {
			return fmt.Errorf("network %s, timeouts %s: %w", own.Network.Name, timeouts, err)
		}
		if err := w.sample(own, seed); err != nil {
			return fmt.Errorf("network %s, timeouts %s, at random: %w", own.Network.Name, timeouts, err)
		}
	}
	return nil
}

// alike wants two runs to do the same, up to the first action that breaks a condition. A fault ends a run for what is
// to be compared.
func alike(a, b *async.Instance) error {
	x, y := a.History(), b.History()
	for i := range x {
		if i >= len(y) || x[i].Node != y[i].Node || x[i].Rule != y[i].Rule || x[i].Tag != y[i].Tag ||
			x[i].Used != y[i].Used ||
			!sequential.SameSends(x[i].Sent, y[i].Sent) ||
			string(x[i].After.AppendKey(nil)) != string(y[i].After.AppendKey(nil)) || len(x[i].Breaches) != len(y[i].Breaches) {
			return fmt.Errorf("step %d is different when mailboxes forget", i)
		}
		if ended(x[i]) {
			return nil
		}
	}
	if len(y) > len(x) {
		return fmt.Errorf("step %d is different when mailboxes forget", len(x))
	}
	return nil
}

// ended says whether a run has ended for what is to be compared: an action broke a condition, or failed.
func ended(f async.Firing) bool { return len(f.Breaches) > 0 || f.Fault != nil }

// sample makes random runs of the sequential program and follows what they find.
func (w *wildCount) sample(m *sequential.Model, seed uint64) error {
	r, err := explore.Random(m, explore.RandomOptions{Phases: 3, Runs: 20, Seed: seed})
	if err != nil || r.Violation == nil {
		return err
	}
	w.sampled++
	_, err = async.Follow(m, r.Violation.Start, r.Violation.Trace, r.Violation.Property)
	return err
}

// proofs wants the first action that breaks something to break no condition that was claimed to be proved: a proof may
// use that all conditions have held so far.
func (w *wildCount) proofs(c *check.Program, in *async.Instance) error {
	for _, f := range in.History() {
		for _, b := range f.Breaches {
			w.breaches++
			if c.Proved(b.Condition, f.Rule) {
				return fmt.Errorf("a condition claimed to be proved is broken: %s", b)
			}
		}
		if ended(f) {
			return nil
		}
	}
	return nil
}

// replay wants a run without breaches and faults in the sequential program.
func (w *wildCount) replay(in *async.Instance, m *sequential.Model) error {
	if len(in.Breaches()) > 0 {
		return nil
	}
	if slices.ContainsFunc(in.History(), ended) {
		w.faulty++
		return nil
	}
	w.replayed++
	return async.Replay(in, m)
}

// search searches the sequential program, follows what it finds, and compares with what the runs found.
func (w *wildCount) search(c *check.Program, m *sequential.Model, runs []*async.Instance) error {
	calls := 0
	r, err := explore.Exhaustive(m, explore.Options{Phases: 2, Memory: 16 << 20, Progress: func(explore.Progress) bool {
		calls++
		return calls < 2000
	}})
	if err != nil {
		return err
	}
	if v := r.Violation; v != nil {
		w.counterexamples++
		if _, err := async.Follow(m, v.Start, v.Trace, v.Property); err != nil {
			return fmt.Errorf("%s is broken in phase %d, round %s, but not message by message: %w\n%s", v.Property, v.Phase,
				v.RoundName, err, m.Text(v.Trace))
		}
		return nil
	}
	if r.Verdict != explore.Pass {
		return nil
	}
	for _, in := range runs {
		if b := backward(in, m.Program.Core.First+2); b != "" {
			return fmt.Errorf("an asynchronous run breaks a condition that is watched, the search finds nothing: %s", b)
		}
		if broken := w.local(c, in, m.Program.Core.First+2); broken != "" {
			return fmt.Errorf("an asynchronous run breaks %s within the bound, the search finds nothing", broken)
		}
	}
	return nil
}

// backward is the first breach of a run, if it is of condition 1, by a plain timeout, before a phase.
func backward(in *async.Instance, end int64) string {
	for _, f := range in.History() {
		// What fires after the last round of the bound is past it.
		if f.Fault != nil || f.Tag.Phase >= end-1 || len(f.Sent) > 0 && f.Sent[0].Tag.Phase >= end {
			return ""
		}
		for _, b := range f.Breaches {
			if _, plain := f.Rule.Trigger.(core.OnTimeout); plain && b.Condition == core.Grows && len(f.Sent) == 1 {
				return b.String()
			}
			return ""
		}
	}
	return ""
}

// local names a property of single nodes, an assertion or a fault that a run without breaches breaks before a phase.
func (w *wildCount) local(c *check.Program, in *async.Instance, end int64) string {
	if len(in.Breaches()) > 0 {
		return ""
	}
	for i := 1; i <= in.Nodes(); i++ {
		if in.Tag(i).Phase >= end {
			return "" // some of it is past the bound
		}
	}
	for _, f := range in.History() {
		if f.Fault != nil {
			w.faults++
			return "fault"
		}
		if f.Broken >= 0 {
			return c.Props[f.Broken].Name
		}
		if i := single(c, f.After); i != "" {
			return i
		}
	}
	return ""
}

// single names a property of single nodes that a state of a node breaks: it would break it whatever node it is of.
func single(c *check.Program, s *machine.State) string {
	alone := *c.Program
	alone.Props = nil
	for _, q := range c.Props {
		if !q.Joint && q.Moment == core.OnStates {
			alone.Props = append(alone.Props, q)
		}
	}
	p, err := machine.Compile(&alone, nil)
	if err != nil {
		return err.Error()
	}
	states := make([]*machine.State, p.N)
	for i := range states {
		states[i] = s
	}
	if i, _ := p.Check(states); i >= 0 {
		return alone.Props[i].Name
	}
	return ""
}
