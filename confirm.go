package lockstep

import (
	"slices"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// confirm repeats the failing run just made, on the same deployment, and compares the results. It reruns a
// deterministic system once from its seed, with the recorder on. A run of a best-effort system was recorded when it
// happened; confirm replays it several times by the names of its messages.
func (w *worker) confirm(f *Failure, digest uint64) error {
	if w.info.Determinism == BestEffort {
		return w.confirmBestEffort(f)
	}
	if w.keep {
		defer w.play(w.noted())()
	}
	t, err := w.record(f.Run)
	if err != nil {
		return err
	}
	f.Trace, f.Repeated = t, 1
	defer func() {
		if f.Flaky != "" {
			f.Nondeterminism = w.nondeterminism()
		}
	}()
	switch again := t.Outcome.Finding; {
	case again == nil:
		f.Flaky = "the second time nothing was found"
	case again.Property != f.Finding.Property || again.Text != f.Finding.Text:
		f.Flaky = "the second time it was " + again.String()
	case w.run.digest != digest:
		f.Flaky = "the second time the steps differed"
	default:
		f.Failed = 1
	}
	return nil
}

// noted is the player of the run just made, based on the notes of the scheduler's choices.
func (w *worker) noted() *Player {
	p := NewPlayer(slices.Clone(w.notes), slices.Clone(w.run.Rounds()))
	p.seedOf, p.drawn = w.start.SeedOf, w.sched.Report(true).Drawn
	return p
}

// play makes a player the scheduler of the next runs, and returns a function that undoes this.
func (w *worker) play(p *Player) func() {
	sched, keep := w.sched, w.keep
	w.sched, w.keep = p, false
	return func() { w.sched, w.keep = sched, keep }
}

// confirmBestEffort counts in how many repetitions the recorded run fails again. The scenario moves nothing meanwhile:
// the recording includes its steps and the values that the system drew.
func (w *worker) confirmBestEffort(f *Failure) error {
	script := trace.ScriptOf(f.Trace).Exploring()
	defer w.play(NewPlayer(script, f.Trace.Rounds).Wait())()
	w.run.fromTrace(f.Trace)
	defer func() { w.run.control.mute, w.run.draws.again = false, false }()
	for range w.Repetitions {
		outcome, err := w.one(f.Trace.Header.Run)
		if err != nil {
			return err
		}
		f.Repeated++
		f.Failed += mix.Bit(outcome.Finding != nil && outcome.Finding.Property == f.Finding.Property)
	}
	if f.Failed == 0 {
		f.Flaky = "it passed in all repetitions"
	}
	return nil
}

// Divergence is a passing run of a deterministic system that differed when it was rerun from its seed.
type Divergence struct {
	Run int
	// Difference is the first difference between the two runs.
	Difference string
	// Nondeterminism lists what the system did in the run that may differ between runs.
	Nondeterminism []string
}

// recheck reruns the passing run just made and compares.
func (w *worker) recheck(one *ran) (*Divergence, error) {
	outcome, err := w.one(one.number)
	if err != nil || w.run.digest == one.digest && outcome.Verdict == one.outcome.Verdict {
		return nil, err
	}
	var traces [2]*trace.Trace
	for i := range traces {
		if traces[i], err = w.record(one.number); err != nil {
			return nil, err
		}
	}
	first := trace.Difference(traces[0], traces[1])
	if first == "" {
		first = "the steps differed; when it was recorded twice, they did not"
	}
	return &Divergence{one.number, first, w.nondeterminism()}, nil
}

// nondeterminism lists what the system did in the run just made that may differ between runs.
func (w *worker) nondeterminism() []string {
	if w.run.can.Nondeterminism == nil {
		return nil
	}
	return w.run.can.Nondeterminism()
}
