package trace

import (
	"strings"
	"testing"
)

// The limits of whole traces, without traces of that size.
func TestLimitsOfAll(t *testing.T) {
	const header = `{"lockstep":4,"tool":"x","target":"t","strategy":"s","seed":1,"run":0,"nodes":3}` + "\n"
	for _, c := range []struct {
		line    string
		records int
		entries int
		want    string
	}{
		{`{"step":1000000,"do":"heal"}`, MaxSteps, MaxSteps, ""},
		{`{"step":1000001,"do":"heal"}`, MaxSteps + 1, MaxSteps + 1, "line 2: step is 1000001, allowed are 0..1000000"},
		{`{"step":1,"do":"heal"}`, 1, MaxEntries - 1, ""},
		{
			`{"step":1,"do":"heal"}`,
			1,
			MaxEntries,
			"line 2: there are more than 2000000 steps, rounds, effects and draws",
		},
		{`{"step":1,"do":"heal","draws":[1,2]}`, 1, MaxEntries - 2, "line 2: there are more than 2000000"},
		{`{"step":1,"do":"heal"}` + "\n" + `{"event":"x"}`, 1, MaxEntries - 1, "line 3: there are more than 2000000"},
		{`{"round":100001,"phase":1,"kernel":[]}`, 1, 1, "line 2: round is 100001, allowed are 0..100000"},
		{`{"round":1,"phase":1,"kernel":[]}`, 1, MaxEntries, "line 2: there are more than 2000000"},
	} {
		r, err := newReader(strings.NewReader(header + c.line))
		if err != nil {
			t.Fatal(err)
		}
		r.records, r.entries = c.records, c.entries
		if strings.Contains(c.line, "100001") {
			r.round = MaxRounds
		}
		_, _, err = r.next()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s after %d entries: %v, want %q", c.line, c.entries, err, c.want)
		}
	}
}
