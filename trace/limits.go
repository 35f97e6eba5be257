package trace

import (
	"fmt"
	"math"
)

// The limits of a trace. A file may come from an untrusted source, and a number in it must not determine the memory
// or time that its reader takes. The limits are far beyond the needs of runs, and Write respects them too.
const (
	MaxBytes   = 256 << 20     // of a file
	MaxEntries = 2_000_000     // steps, rounds, effects of steps and draws of a trace together
	MaxSteps   = 1_000_000     // of a run
	MaxRounds  = 100_000       // lock-step rounds of a run
	MaxSettle  = 50_000        // steps of the settling stage that a plan asks for
	MaxEffects = 100_000       // messages, events, states and log lines of one step, or its draws
	MaxRun     = 1 << 40       // number of a run in its campaign
	MaxNames   = 1000          // options, drawn values, names of rounds, types without a round, values of a finding
	MaxName    = MaxText + 256 // bytes of a name or of a truncated text: of a target, a message, a state
	MaxValue   = 64 << 10      // bytes of other texts: of an option, a finding, a reason
	MaxPhase   = math.MaxInt32
	MaxTime    = 1 << 60 // time of a run
	MaxWait    = 3600e9  // time of one Wait step: an hour, if the unit is a nanosecond
)

// inRange reports that a number is outside its limits.
func inRange[N ~int | ~int32 | ~int64](what string, n, low, high N) error {
	if n < low || n > high {
		return fmt.Errorf("%s is %d, allowed are %d..%d", what, n, low, high)
	}
	return nil
}

// short reports that a text is longer than its limit.
func short(what, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s has %d bytes, allowed are %d", what, len(text), most)
	}
	return nil
}

// few reports that a list is longer than its limit.
func few(what string, n, most int) error {
	if n > most {
		return fmt.Errorf("there are %d %s, allowed are %d", n, what, most)
	}
	return nil
}

// first is the first error, if any.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// check reports the first part of a header that exceeds its limit.
func (h *Header) check() error {
	err := first(inRange("nodes", h.Nodes, 1, MaxNodes), inRange("run", h.Run, 0, MaxRun),
		inRange("settle", h.Settle, 0, MaxSettle), inRange("phases.per", h.Phases.Per, 0, MaxPhase),
		few("options", len(h.Options), MaxNames), few("drawn values", len(h.Drawn), MaxNames),
		few("names of rounds", len(h.Rounds), MaxNames), few("types aside", len(h.Aside), MaxNames))
	for _, t := range []struct{ what, text string }{
		{"tool", h.Tool},
		{"target", h.Target},
		{"build", h.Build},
		{"strategy", h.Strategy},
		{"scenario", h.Scenario},
		{"shrunk", h.Shrunk},
		{"phases.group", h.Phases.Group},
		{"phases.name", h.Phases.Name},
	} {
		err = first(err, short(t.what, t.text, MaxName))
	}
	for _, names := range [][]string{h.Rounds, h.Aside} {
		for _, name := range names {
			err = first(err, short("a name", name, MaxName))
		}
	}
	for _, options := range []map[string]string{h.Options, h.Drawn} {
		//lockstep:unordered one that is too long is reported, whichever
		for key, value := range options {
			err = first(err, short("a key", key, MaxName), short("a value", value, MaxValue))
		}
	}
	return err
}

// check reports the first part of a step that exceeds its limit.
func (s *stepLine) check() error {
	return first(inRange("at", s.At, 0, MaxTime), inRange("for", s.For, 0, MaxWait), inRange("now", s.Now, 0, MaxTime),
		short("the text", s.Text, MaxName), short("the body", s.Body, MaxBody), few("draws", len(s.Draws), MaxEffects))
}

// check reports the first part of a message that exceeds its limit.
func (s *Sent) check() error {
	return first(inRange("at", s.At, 0, MaxTime), short("the type", s.Type, MaxName),
		short("the text", s.Text, MaxName))
}

func (e *Event) check() error {
	return first(short("the type", e.Type, MaxName), short("the text", e.Text, MaxName))
}

func (s *State) check() error { return short("the text", s.Text, MaxName) }

func (l *Log) check() error {
	return first(inRange("at", l.At, 0, MaxTime), short("the source", l.Source, MaxName),
		short("the level", l.Level, MaxName), short("the text", l.Text, MaxName))
}

func (r *Round) check() error {
	return first(inRange("round", r.Number, 0, MaxRounds), inRange("phase", r.Phase, 0, MaxPhase),
		short("the name", r.Name, MaxName))
}

// check reports the first part of an outcome that exceeds its limit. The steps of a finding are steps of the run, or
// the one after it.
func (o *Outcome) check() error {
	err := first(inRange("steps", o.Steps, 0, MaxSteps), short("the reason", o.Reason, MaxValue))
	f := o.Finding
	if f == nil {
		return err
	}
	err = first(err, inRange("the finding's step", f.Step, 0, o.Steps+1), short("the property", f.Property, MaxName),
		short("the text", f.Text, MaxValue), short("the stack", f.Stack, MaxValue),
		few("values", len(f.Values), MaxNames), few("steps that the finding is about", len(f.About), MaxEffects))
	for _, text := range f.Values {
		err = first(err, short("a value", text, MaxValue))
	}
	for _, step := range f.About {
		err = first(err, inRange("a step that the finding is about", step, 0, o.Steps+1))
	}
	return err
}

// counter counts the entries of a trace.
type counter struct{ entries int }

// add adds entries, for example those of a step and its draws.
func (c *counter) add(n int) error {
	c.entries += n
	if c.entries > MaxEntries {
		return fmt.Errorf("there are more than %d steps, rounds, effects and draws", MaxEntries)
	}
	return nil
}
