package trace

import "fmt"

// Difference returns the first difference between a recording and its rerun, or the empty string.
func Difference(want, got *Trace) string {
	for i := range min(len(want.Records), len(got.Records)) {
		if d := differentRecord(&want.Records[i], &got.Records[i]); d != "" {
			return fmt.Sprintf("step %d (%s): %s", i, describe(&want.Records[i]), d)
		}
	}
	return differentEnd(want, got)
}

// differentEnd reports the difference between the ends of two recordings.
func differentEnd(want, got *Trace) string {
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

func describe(r *Record) string {
	if r.Text == "" {
		return r.Step.Kind.String()
	}
	return r.Step.Kind.String() + " " + r.Text
}

func outcomeText(o Outcome) string {
	if o.Finding != nil {
		return o.Finding.String()
	}
	return "verdict " + string(o.Verdict)
}

func differentRecord(want, got *Record) string {
	if want.Step.Kind != got.Step.Kind || want.Text != got.Text {
		return fmt.Sprintf("it was %q, now %q", describe(want), describe(got))
	}
	if d := differentList("message", want.Sent, got.Sent, func(s Sent) string { return s.Text }); d != "" {
		return d
	}
	if d := differentList("event", want.Events, got.Events, func(e Event) string {
		return fmt.Sprintf("%d %s %s", e.Node, e.Type, e.Text)
	}); d != "" {
		return d
	}
	return differentList("state", want.States, got.States, func(s State) string {
		return fmt.Sprintf("%d %s", s.Node, s.Text)
	})
}

// differentList compares the effects of a step one by one, as text.
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
